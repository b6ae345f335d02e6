/* train/fit_trial.c - see fit.h: a training in a process of its own, within a
 * limit. */
#include "train/fit.h"

#include "base/child.h"
#include "base/scanner.h"

#include <stdio.h>
#include <unistd.h>

/* What the child tells. */
struct answer {
    enum assay_status status;
    double images_per_s;
    struct error error;
};

/* What it is started with. */
struct trial {
    const struct fit_options *options;
    int64_t batch;
    bool is_check;
};

/* A fuse above the limit, which the parent watches: libraries reserve memory
 * that they never touch (oneDNN some MiB for each kernel), and that is not to
 * count. */
static size_t fuse_bytes(size_t bytes)
{
    static const size_t reserved_bytes = (size_t)512 << 20;

    return bytes + bytes / 4 + reserved_bytes;
}

static void run_trial(void *context, int line)
{
    const struct trial *trial = context;
    struct answer answer = {0};

    answer.status = trial->options->train(trial->options->context, trial->batch,
                                          trial->is_check, &answer.images_per_s,
                                          &answer.error);
    child_send(line, &answer, sizeof answer, 0);
}

static size_t resident_bytes(pid_t child)
{
    uint64_t pages = 0;
    char path[32], line[128];
    const char *at = line;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/statm", (long)child);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (fgets(line, sizeof line, file)) { /* all pages, those that are here */
        scan_over(&at);
        scan_blanks(&at);
        if (!scan_number(&at, UINT64_MAX, &pages))
            pages = 0;
    }
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Reads the answer. A child that has more than the limit is over it. */
static enum child_told watch(const struct child *child, size_t memory_bytes,
                             struct answer *answer, bool *is_over)
{
    static const double every_seconds = 0.005;
    enum child_told told;

    do {
        told =
            child_receive(child->line, answer, sizeof *answer, every_seconds);
        *is_over =
            told == CHILD_LATE && resident_bytes(child->pid) > memory_bytes;
    } while (told == CHILD_LATE && !*is_over);
    return told;
}

static enum assay_status judge(const struct answer *answer, bool is_told,
                               struct fit_trial *out, struct error *err)
{
    if (!is_told)
        out->end = FIT_KILLED;
    else if (answer->status == ASSAY_NOMEM)
        out->end = FIT_REFUSED;
    else if (answer->status)
        return error_set(err, answer->status, "%s", answer->error.text);
    if (out->end == FIT_FITS)
        out->images_per_s = answer->images_per_s;
    return ASSAY_OK;
}

enum assay_status fit_trial(const struct fit_options *options, int64_t batch,
                            bool is_check, struct fit_trial *out,
                            struct error *err)
{
    const struct child_options how = {.what = "a trial",
                                      .is_quiet = true,
                                      .is_expendable = true,
                                      .data_bytes =
                                          fuse_bytes(options->memory_bytes)};
    struct trial trial = {options, batch, is_check};
    struct answer answer = {0};
    struct rusage usage = {0};
    struct child child;
    enum child_told told;
    bool is_over;
    enum assay_status st = child_start(&child, &how, run_trial, &trial, err);

    *out = (struct fit_trial){.batch = batch, .is_check = is_check};
    if (st)
        return st;
    told = watch(&child, options->memory_bytes, &answer, &is_over);
    child_end(&child, is_over, &usage);
    out->peak_bytes = (size_t)usage.ru_maxrss * 1024;
    if (is_over || out->peak_bytes > options->memory_bytes) {
        out->end = FIT_OVER;
        return ASSAY_OK;
    }
    return judge(&answer, told == CHILD_TOLD, out, err);
}
