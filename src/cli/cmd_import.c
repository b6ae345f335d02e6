/* cli/cmd_import.c - assay import: another profiler's trace becomes a run. */
#include "cli/command.h"

#include "base/file.h"
#include "base/units.h"
#include "cli/file_roles.h"
#include "cli/result.h"
#include "store/import.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct settings {
    const char *output;
    uint64_t buffer_bytes;
    const char *temporary_dir;
    int keep;
};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const char *const keeps[] = {[IMPORT_KEEP_MOST] = "most",
                                    [IMPORT_KEEP_ALL] = "all",
                                    [IMPORT_KEEP_FEW] = "few",
                                    NULL};

static const struct option options[] = {
    OPTION_OUTPUT("RUN", "write the run to this file",
                  .shown_default =
                      "the trace's name with .assay, in the current folder; "
                      "run.assay for standard input",
                  FIELD(output)),
    {OPT_CHOICE("keep", "WHICH", keeps),
     .help = "how many spans to keep in full: few are those of the first, the "
             "median, the slowest and the last iteration, most are all up to 4 "
             "million",
     .shown_default = "most", FIELD(keep)},
    {OPT_SIZE("buffer", "SIZE", 1 << 20, 0x1p40),
     .help = "memory for events before they are sorted on disk",
     .shown_default = "128M", FIELD(buffer_bytes)},
    {OPT_FILE("temporary", "FOLDER"), .help = "folder for sorting them",
     .shown_default = "$TMPDIR, or /var/tmp", FIELD(temporary_dir)},
    {.kind = OPTION_END},
};

/* "/data/resnet.json.gz" becomes "resnet.assay". */
static enum assay_status
import_default_output(const char *path, struct str *out, struct error *err)
{
    static const char *const endings[] = {".gz", ".json", NULL};
    const char *slash = strrchr(path, '/');

    if (strcmp(path, "-") == 0)
        path = "run";
    return result_name(slash ? slash + 1 : path, endings, STORE_SUFFIX, out,
                       err);
}

static double import_file_bytes(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? (double)info.st_size : 0;
}

static const char *import_fact_or(const struct run *run, const char *key,
                                  const char *otherwise)
{
    const char *value = run_fact(run, key);

    return value ? value : otherwise;
}

static void import_print_count(struct sink *sink, const char *count,
                               const char *noun)
{
    sink_printf(sink, "%s %s%s", count, noun,
                strcmp(count, "1") == 0 ? "" : "s");
}

/* "12345 events: X 12000, B 300, ..." */
static void import_print_events(const struct run *run, struct sink *sink)
{
    static const char prefix[] = "import.events.";
    const char *between = ": ";

    sink_puts(sink, "read   ");
    import_print_count(sink, import_fact_or(run, "import.events", "0"),
                       "event");
    for (size_t i = 0; i < run_fact_count(run); i++) {
        const char *key, *value;

        run_fact_at(run, i, &key, &value);
        if (strncmp(key, prefix, strlen(prefix)) != 0)
            continue;
        sink_printf(sink, "%s%s %s", between, key + strlen(prefix), value);
        between = ", ";
    }
    sink_puts(sink, "\n");
}

static void import_print_found(const struct run *run, struct sink *sink)
{
    double kernels_us =
        strtod(import_fact_or(run, "import.kernels_us", "0"), NULL);
    char text[UNITS_MAX];

    sink_puts(sink, "found  ");
    import_print_count(sink, import_fact_or(run, "import.operators", "0"),
                       "operator");
    sink_puts(sink, ", ");
    import_print_count(sink, import_fact_or(run, "import.kernels", "0"),
                       "kernel");
    if (kernels_us > 0)
        sink_printf(sink, " (%s)", units_time(text, kernels_us * 1e3));
    snprintf(text, sizeof text, "%zu", run_thread_count(run));
    sink_puts(sink, ", ");
    import_print_count(sink, text, "thread");
    snprintf(text, sizeof text, "%" PRIu64, run_iteration_count(run));
    sink_puts(sink, ", ");
    import_print_count(sink, text, "iteration");
    sink_puts(sink, "\n");
    if (kernels_us > 0)
        sink_printf(sink,
                    "       %s of the kernels are under the operator that "
                    "launched them\n",
                    import_fact_or(run, "import.kernels_linked", "0"));
}

/* Nothing if all are kept. */
static void import_print_kept(const struct run *run, struct sink *sink)
{
    struct kept_share share = run_kept_share(run);

    if (share.samples < share.of_samples)
        sink_printf(sink,
                    "kept   %" PRIu64 " of %" PRIu64
                    " spans in full; --keep all keeps the others too\n",
                    share.samples, share.of_samples);
}

static enum assay_status import_print_result(const struct run *run,
                                             const char *output,
                                             struct error *err)
{
    char size[UNITS_MAX];
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    import_print_events(run, result.sink);
    import_print_found(run, result.sink);
    import_print_kept(run, result.sink);
    sink_printf(result.sink, "wrote  %s  %s\n", output,
                units_file_size(size, import_file_bytes(output)));
    sink_printf(result.sink, "next   assay show %s\n", output);
    return result_close(&result, ASSAY_OK, err);
}

static enum assay_status import_read_trace(const char *path,
                                           const struct settings *settings,
                                           struct run **out, struct error *err)
{
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct progress progress =
        progress_start(&screen, &term, clock_real(), "importing", "bytes",
                       (uint64_t)import_file_bytes(path));
    struct import_options import = {
        .buffer_bytes = (size_t)settings->buffer_bytes,
        .temporary_dir = settings->temporary_dir,
        .progress = &progress,
        .keep = (enum import_keep)settings->keep,
    };
    enum assay_status st = import_trace(path, &import, out, err);

    progress_finish(&progress);
    return st;
}

/* It is needed only once the buffer is full, which may take a while. */
static enum assay_status import_check_temporary(const char *folder,
                                                struct error *err)
{
    if (folder && access(folder, W_OK | X_OK))
        return error_errno(err, errno, "cannot write to %s", folder);
    return ASSAY_OK;
}

/* Fails in the first second, not after reading the whole trace. */
static enum assay_status import_check_output(const char *output,
                                             struct error *err)
{
    struct store_writer *writer = NULL;
    enum assay_status st = store_open(output, &writer, err);

    store_abandon(writer);
    return st;
}

static enum assay_status import_to(const char *path, const char *output,
                                   const struct settings *settings,
                                   struct error *err)
{
    struct run *run = NULL;
    enum assay_status st =
        strcmp(path, "-") == 0 ? ASSAY_OK : file_check_stream(path, err);

    if (!st)
        st = import_check_temporary(settings->temporary_dir, err);
    if (!st)
        st = import_check_output(output, err);
    if (!st)
        st = import_read_trace(path, settings, &run, err);
    if (!st)
        st = store_save(run, output, err);
    if (!st)
        st = import_print_result(run, output, err);
    run_free(run);
    return st;
}

static enum assay_status run_import(const struct arguments *arguments,
                                    struct error *err)
{
    const struct settings *settings = arguments->settings;
    const char *path = arguments->operands.items[0];
    const char *output = settings->output;
    struct str name = {0};
    enum assay_status st = ASSAY_OK;

    if (output) {
        st = result_check_run(output, err);
    } else {
        st = import_default_output(path, &name, err);
        output = str_text(&name);
        if (!st)
            st = file_roles_check_one("the run", output, &arguments->operands,
                                      err);
    }
    if (!st)
        st = import_to(path, output, settings, err);
    str_release(&name);
    return st;
}

const struct command cmd_import = {
    .name = "import",
    .section = "Runs",
    .purpose = "turn a trace of another profiler into a run",
    .usage = TEXTS("import [options] TRACE"),
    .operands = {.min = 1,
                 .max = 1,
                 .missing = "a trace",
                 .endings = TEXTS(".json", ".json.gz")},
    .description =
        TEXTS("Reads Chrome trace event JSON, plain or gzip, as PyTorch's "
              "profiler exports it, and writes a run for all other commands. "
              "Memory use is bounded however long the trace is. TRACE - is "
              "standard input."),
    .options = options,
    .examples =
        EXAMPLES({"import trace.json", "write trace.assay"},
                 {"import /data/resnet.pt.trace.json.gz -o resnet.assay",
                  "from a compressed trace, with another name"},
                 {"import - -o resnet.assay",
                  "the output of another program, through a pipe"}),
    .settings_bytes = sizeof(struct settings),
    .run = run_import,
};
