/* train/fit.c - see fit.h.
 *
 * Memory is about a + b * batch. Two trials that fit give a and b, and so the
 * batch that should just fit. If it does not, the answer is near: go down in
 * growing steps until one fits, then halve the range. */
#include "train/fit.h"

#include "base/child.h"
#include "base/scanner.h"

#include <stdio.h>
#include <unistd.h>

/* ---- one trial, in a process of its own --------------------------------- */

/* What the child sends back. */
struct trial_answer {
    enum assay_status status;
    struct fit_trained trained;
    struct error error;
};

/* What the child starts with. */
struct trial_start {
    const struct fit_options *options;
    int64_t batch;
    bool is_check;
};

/* A hard limit above the one that the parent watches: libraries reserve memory
 * that they never touch (oneDNN some MiB per kernel), which should not
 * count. */
static size_t fuse_bytes(size_t bytes)
{
    static const size_t reserved_bytes = (size_t)512 << 20;

    return bytes + bytes / 4 + reserved_bytes;
}

static void run_trial(void *context, int line)
{
    const struct trial_start *trial = context;
    struct trial_answer answer = {0};

    answer.status =
        trial->options->train(trial->options->context, trial->batch,
                              trial->is_check, &answer.trained, &answer.error);
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
    if (fgets(line, sizeof line, file)) { /* all pages, resident pages */
        scan_over(&at);
        scan_blanks(&at);
        if (!scan_number(&at, UINT64_MAX, &pages))
            pages = 0;
    }
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Waits for the answer, or until the child is over the limit of the host's
 * memory. */
static enum child_told trial_watch(const struct child *child,
                                   const struct fit_options *options,
                                   struct trial_answer *answer, bool *is_over)
{
    static const double every_seconds = 0.005;
    double seconds = options->is_on_device ? 0 : every_seconds;
    enum child_told told;

    do {
        told = child_receive(child->line, answer, sizeof *answer, seconds);
        *is_over = told == CHILD_LATE &&
                   resident_bytes(child->pid) > options->memory_bytes;
    } while (told == CHILD_LATE && !*is_over);
    return told;
}

static enum assay_status trial_judge(const struct trial_answer *answer,
                                     bool is_told, struct fit_trial *out,
                                     struct error *err)
{
    if (!is_told)
        out->end = FIT_KILLED;
    else if (answer->status == ASSAY_NOMEM)
        out->end = FIT_REFUSED;
    else if (answer->status)
        return error_set(err, answer->status, "%s", answer->error.text);
    if (out->end == FIT_FITS)
        out->images_per_s = answer->trained.images_per_s;
    return ASSAY_OK;
}

static enum assay_status fit_try(const struct fit_options *options,
                                 int64_t batch, bool is_check,
                                 struct fit_trial *out, struct error *err)
{
    const struct child_options how = {
        .what = "a trial",
        .is_quiet = true,
        .is_expendable = true,
        .data_bytes =
            options->is_on_device ? 0 : fuse_bytes(options->memory_bytes)};
    struct trial_start trial = {options, batch, is_check};
    struct trial_answer answer = {0};
    struct rusage usage = {0};
    struct child child;
    enum child_told told;
    bool is_over;
    enum assay_status st = child_start(&child, &how, run_trial, &trial, err);

    *out = (struct fit_trial){.batch = batch, .is_check = is_check};
    if (st)
        return st;
    told = trial_watch(&child, options, &answer, &is_over);
    child_end(&child, is_over, &usage);
    out->peak_bytes = options->is_on_device ? answer.trained.device_bytes
                                            : (size_t)usage.ru_maxrss * 1024;
    if (is_over || out->peak_bytes > options->memory_bytes) {
        out->end = FIT_OVER;
        return ASSAY_OK;
    }
    return trial_judge(&answer, told == CHILD_TOLD, out, err);
}

/* ---- where trials run ---------------------------------------------------- */

/* The question and its answer. */
struct place_question {
    enum assay_status (*find)(void *context, const struct device **out,
                              struct error *err);
    void *context;
    enum assay_status status;
    struct fit_place place;
    struct error error;
};

static void answer_place(void *context, int line)
{
    struct place_question *question = context;
    struct fit_place *place = &question->place;
    const struct device *device = NULL;
    size_t total_bytes;

    question->status =
        question->find(question->context, &device, &question->error);
    if (!question->status) {
        struct space *space = device->space;

        place->is_host = space->is_host;
        snprintf(place->device, sizeof place->device, "%s", device->name);
        if (space->is_host || !space->room ||
            !space->room(space, &place->free_bytes, &total_bytes))
            place->free_bytes = 0;
    }
    child_send(line, question, sizeof *question, 0);
}

enum assay_status fit_find_place(
    enum assay_status (*find)(void *context, const struct device **out,
                              struct error *err),
    void *context, struct fit_place *out, struct error *err)
{
    const struct child_options options = {.what = "a look at the device"};
    struct place_question question = {.find = find, .context = context};
    struct child child;
    enum child_told told;
    enum assay_status st =
        child_start(&child, &options, answer_place, &question, err);

    if (st)
        return st;
    told = child_receive(child.line, &question, sizeof question, 0);
    child_end(&child, told != CHILD_TOLD, NULL);
    if (told != CHILD_TOLD)
        return error_set(err, ASSAY_IO, "looking at the device failed");
    if (question.status && err)
        *err = question.error;
    *out = question.place;
    return question.status;
}

/* ---- which batch to try next -------------------------------------------- */

/* All batches up to `low` fit; from `high` on none does. */
struct batch_search {
    const struct fit_options *options;
    int64_t low, high;
    struct fit_trial fits[2]; /* the two largest, in order; batch 0: none */
    struct fit_trial fails;   /* the smallest */
    struct fit_trial last;
    int n_failed; /* since the last one that fit */
    size_t n_trials;
};

static void search_note_fit(struct batch_search *search,
                            const struct fit_trial *trial)
{
    if (trial->batch != search->fits[1].batch)
        search->fits[0] = search->fits[1];
    search->fits[1] = *trial;
    search->low = trial->batch;
    search->n_failed = 0;
}

/* A batch that fit in a trial may fail in the longer check; then the trials it
 * rests on no longer count. */
static void search_note_failure(struct batch_search *search,
                                const struct fit_trial *trial)
{
    search->high = trial->batch;
    search->fails = *trial;
    search->n_failed++;
    if (search->low < trial->batch)
        return;
    search->low = trial->batch - 1;
    search->fits[0] = search->fits[1] = (struct fit_trial){0};
}

static enum assay_status search_try(struct batch_search *search, int64_t batch,
                                    bool is_check, struct error *err)
{
    const struct fit_options *options = search->options;
    struct fit_trial trial;
    enum assay_status st = fit_try(options, batch, is_check, &trial, err);

    if (st)
        return st;
    search->n_trials++;
    if (options->tried)
        options->tried(options->context, &trial);
    search->last = trial;
    if (trial.end == FIT_FITS)
        search_note_fit(search, &trial);
    else
        search_note_failure(search, &trial);
    return ASSAY_OK;
}

/* Where the line through the two largest that fit meets the limit; 0 if there
 * is no such line. */
static int64_t search_predict(const struct batch_search *search)
{
    const struct fit_trial *a = &search->fits[0], *b = &search->fits[1];
    double slope, batches;

    if (!a->batch || b->batch <= a->batch || b->peak_bytes <= a->peak_bytes)
        return 0;
    slope =
        (double)(b->peak_bytes - a->peak_bytes) / (double)(b->batch - a->batch);
    batches =
        ((double)search->options->memory_bytes - (double)b->peak_bytes) / slope;
    if (batches < (double)(search->high - b->batch))
        return b->batch + (int64_t)batches;
    /* If it predicts that the failed batch fits, it is not a line. */
    return search->fails.batch ? 0 : search->high - 1;
}

/* Down by 1/16 of the range, then 1/8 and so on. */
static int64_t search_step_down(const struct batch_search *search)
{
    enum { first = 16, last = 2 };
    int64_t range = search->high - search->low;
    bool is_half = range < first || search->n_failed > 3;

    return search->high -
           range / (is_half ? last : first >> (search->n_failed - 1));
}

static int64_t search_choose(const struct batch_search *search)
{
    int64_t guess = search_predict(search);

    if (guess > search->low && guess < search->high)
        return guess;
    /* The line says that no more fit: try one more to see. */
    if (guess && guess <= search->low)
        return search->low + 1;
    if (search->n_failed)
        return search_step_down(search);
    if (search->fails.batch)
        return search->low + (search->high - search->low) / 2;
    return search->low ? 2 * search->low : 1;
}

static enum assay_status search_narrow(struct batch_search *search,
                                       struct error *err)
{
    enum assay_status st = ASSAY_OK;

    while (!st && search->high - search->low > 1) {
        int64_t batch = search_choose(search);

        if (batch >= search->high)
            batch = search->high - 1;
        st = search_try(search, batch, false, err);
    }
    return st;
}

enum assay_status fit_search(const struct fit_options *options,
                             struct fit_result *out, struct error *err)
{
    struct batch_search search = {.options = options,
                                  .high = options->most + 1};
    enum assay_status st;

    *out = (struct fit_result){0};
    do {
        st = search_narrow(&search, err);
        if (!st && search.low)
            st = search_try(&search, search.low, true, err);
    } while (!st && search.low && search.last.end != FIT_FITS);
    if (st)
        return st;
    out->batch = search.low;
    out->trial = search.low ? search.fits[1] : search.fails;
    out->is_most = search.low == options->most;
    out->n_trials = search.n_trials;
    return ASSAY_OK;
}
