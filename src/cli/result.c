/* cli/result.c - see result.h. */
#include "cli/result.h"

#include "base/units.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { file_columns = 100 }; /* a file may be read on any screen */

enum assay_status result_open(const char *path, struct result *result,
                              struct error *err)
{
    bool is_file = path && strcmp(path, "-") != 0;
    enum assay_status st;

    *result = (struct result){
        .path = is_file ? path : NULL,
        .term = is_file ? term_plain(file_columns) : term_of(stdout),
    };
    st = output_open(is_file ? path : "-", &result->output, err);
    if (!st)
        result->sink = output_sink(result->output);
    return st;
}

enum assay_status result_check_run(const char *path, struct error *err)
{
    if (strcmp(path, "-") != 0)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "a run is a database and cannot go to standard output; "
                     "name a file: -o run.assay");
}

enum assay_status result_name(const char *path, const char *const *endings,
                              const char *ending, struct str *out,
                              struct error *err)
{
    size_t n = strlen(path);

    for (; *endings; endings++) {
        size_t n_ending = strlen(*endings);

        if (n > n_ending &&
            memcmp(path + n - n_ending, *endings, n_ending) == 0)
            n -= n_ending;
    }
    if (str_append_n(out, path, n) || str_append(out, ending))
        return error_nomem(err, n, "a file name");
    return ASSAY_OK;
}

enum assay_status result_name_of_run(const char *path, const char *ending,
                                     struct str *out, struct error *err)
{
    size_t n = store_stem(path);

    if (str_append_n(out, path, n) || str_append(out, ending))
        return error_nomem(err, n, "a file name");
    return ASSAY_OK;
}

static enum assay_status result_printf(struct error *err, const char *format,
                                       ...) ASSAY_PRINTF(2, 3);

static enum assay_status result_printf(struct error *err, const char *format,
                                       ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vprintf(format, args);
    va_end(args);
    if (n < 0 || fflush(stdout))
        return error_errno(err, errno, "writing standard output");
    return ASSAY_OK;
}

enum assay_status result_print(const char *text, struct error *err)
{
    return result_printf(err, "%s", text);
}

static enum assay_status result_commit(struct result *result,
                                       enum assay_status st, struct error *err)
{
    if (st)
        output_discard(result->output);
    else
        st = output_commit(result->output, err);
    result->output = NULL;
    return st;
}

enum assay_status result_close(struct result *result, enum assay_status st,
                               struct error *err)
{
    char size[UNITS_MAX];
    uint64_t bytes;

    if (!result->output)
        return st;
    bytes = result->sink->written;
    st = result_commit(result, st, err);
    if (st || !result->path)
        return st;
    return result_printf(err, "wrote  %s  %s\n", result->path,
                         units_file_size(size, (double)bytes));
}

enum assay_status result_end(struct result *result, enum assay_status st,
                             struct str *wrote, struct error *err)
{
    if (!result->output)
        return st;
    st = result_commit(result, st, err);
    return st || !result->path ? st : result_list(result->path, wrote, err);
}

enum assay_status result_list(const char *path, struct str *wrote,
                              struct error *err)
{
    char size[UNITS_MAX];
    struct stat info;

    if (stat(path, &info))
        return ASSAY_OK;
    if (str_printf(wrote, "%s%s %s", wrote->n ? ", " : "", path,
                   units_file_size(size, (double)info.st_size)))
        return error_nomem(err, wrote->n, "the names of what was written");
    return ASSAY_OK;
}
