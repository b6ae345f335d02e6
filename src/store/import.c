/* store/import.c - see import.h. */
#include "store/import_internal.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { default_buffer_bytes = 128 << 20 };

static const char *import_temporary_folder(const struct import_options *options)
{
    const char *folder = options ? options->temporary_dir : NULL;

    if (!folder)
        folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/var/tmp";
}

static enum assay_status import_init(struct import *import,
                                     const struct import_options *options,
                                     struct error *err)
{
    size_t bytes = options ? options->buffer_bytes : 0;
    const char *folder = import_temporary_folder(options);
    enum assay_status st = run_new(&import->run, err);

    import->keep = options ? options->keep : IMPORT_KEEP_MOST;
    import->first_ns = INT64_MAX;
    import->last_ns = INT64_MIN;
    if (!bytes)
        bytes = default_buffer_bytes;
    if (!st)
        st = event_sort_new(bytes / 4, folder, &import->pairs, err);
    if (!st)
        st = event_sort_new(bytes / 2, folder, &import->spans, err);
    if (!st)
        st = event_sort_new(bytes / 8, folder, &import->links, err);
    if (!st)
        st = event_sort_new(bytes / 8, folder, &import->device, err);
    if (st)
        return st;
    import->earliest.starts =
        mem_array(IMPORT_MAX_KEPT, sizeof *import->earliest.starts);
    if (!import->earliest.starts)
        return error_nomem(err, IMPORT_MAX_KEPT * sizeof(int64_t),
                           "importing a trace");
    return ASSAY_OK;
}

static void import_free(struct import *import)
{
    if (!import)
        return;
    run_free(import->run);
    tables_release(&import->tables);
    event_sort_free(import->pairs);
    event_sort_free(import->spans);
    event_sort_free(import->links);
    event_sort_free(import->device);
    mem_free(import->steps);
    mem_free(import->earliest.starts);
    mem_free(import);
}

static enum assay_status import_count_fact(struct import *import,
                                           const char *key, uint64_t n,
                                           struct error *err)
{
    return run_fact_printf(import->run, err, key, "%" PRIu64, n);
}

static enum assay_status import_set_letter_facts(struct import *import,
                                                 struct error *err)
{
    enum assay_status st = ASSAY_OK;
    char key[] = "import.events.?";

    for (int letter = 0; !st && letter < 128; letter++) {
        uint64_t n = import->n_events_by_letter[letter];

        key[sizeof key - 2] = (char)letter;
        if (n > 0)
            st = import_count_fact(import, key, n, err);
    }
    return st;
}

static enum assay_status import_set_kernel_time(struct import *import,
                                                struct error *err)
{
    int64_t us = import->kernels_ns / 1000, rest = import->kernels_ns % 1000;

    return rest ? run_fact_printf(import->run, err, "import.kernels_us",
                                  "%" PRId64 ".%03d", us, (int)rest)
                : run_fact_printf(import->run, err, "import.kernels_us",
                                  "%" PRId64, us);
}

static enum assay_status import_set_facts(struct import *import,
                                          struct error *err)
{
    enum assay_status st =
        import_count_fact(import, "import.events", import->n_events, err);

    if (!st)
        st = import_set_letter_facts(import, err);
    if (!st)
        st = import_count_fact(import, "import.spans", import->n_spans, err);
    if (!st)
        st = import_count_fact(import, "import.operators", import->n_operators,
                               err);
    if (!st)
        st =
            import_count_fact(import, "import.kernels", import->n_kernels, err);
    if (!st)
        st = import_set_kernel_time(import, err);
    if (!st)
        st = import_count_fact(import, "import.kernels_linked",
                               import->n_linked, err);
    if (!st)
        st = import_count_fact(import, "import.overlaps", import->n_overlaps,
                               err);
    if (!st && import->is_unclosed)
        st = run_fact_set(import->run, "import.note",
                          "the array of events has no closing bracket", err);
    return st;
}

static enum assay_status import_finish(struct import *import, struct error *err)
{
    enum assay_status st = import_match_pairs(import, err);

    if (st)
        return st;
    event_sort_free(import->pairs);
    import->pairs = NULL;
    st = import_make_threads(import, err);
    if (st)
        return st;
    import_settle_steps(import);
    st = import_count_spans(import, err);
    if (!st)
        st = import_set_facts(import, err);
    if (!st && import->last_ns > import->first_ns)
        run_duration_set(import->run, import->last_ns - import->first_ns);
    return st ? st : run_seal(import->run, err);
}

enum assay_status import_trace_from(struct json_source source,
                                    const struct import_options *options,
                                    struct run **out, struct error *err)
{
    struct import *import = mem_zalloc(sizeof *import);
    struct json_reader *reader = NULL;
    enum assay_status st;

    *out = NULL;
    if (!import)
        return error_nomem(err, sizeof *import, "importing a trace");
    st = import_init(import, options, err);
    if (!st)
        st = json_reader_new(source, NULL, &reader, err);
    if (!st)
        st = import_read_events(import, reader, err);
    json_reader_free(reader);
    if (!st)
        st = import_finish(import, err);
    if (!st) {
        *out = import->run; /* now the caller's */
        import->run = NULL;
    }
    import_free(import);
    return st;
}

enum assay_status import_trace(const char *path,
                               const struct import_options *options,
                               struct run **out, struct error *err)
{
    struct trace_file *file;
    enum assay_status st;

    *out = NULL;
    st = trace_file_open(path, options ? options->progress : NULL, &file, err);
    if (st)
        return st;
    st = import_trace_from(trace_file_source(file), options, out, err);
    trace_file_close(file);
    if (st)
        error_context(err, "importing %s",
                      strcmp(path, "-") == 0 ? "standard input" : path);
    return st;
}
