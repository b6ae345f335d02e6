/* train/fit.c - see fit.h: which batch to try next.
 *
 * Memory is about a + b * batch. Two trials that fit give a and b, and so the
 * batch that should just fit. Where it does not, the truth is near: below it
 * steps become larger until one fits, and then the range is halved. */
#include "train/fit.h"

/* All batches up to `low` fit, from `high` on none does. */
struct search {
    const struct fit_options *options;
    int64_t low, high;
    struct fit_trial fits[2]; /* the two largest, larger last; batch 0: none */
    struct fit_trial fails;   /* the smallest */
    struct fit_trial last;
    int n_failed; /* since the last one that fitted */
    size_t n_trials;
};

static void note_fit(struct search *search, const struct fit_trial *trial)
{
    if (trial->batch != search->fits[1].batch)
        search->fits[0] = search->fits[1];
    search->fits[1] = *trial;
    search->low = trial->batch;
    search->n_failed = 0;
}

/* What fitted in a trial may fail in the longer check: what was learnt from it
 * goes too. */
static void note_failure(struct search *search, const struct fit_trial *trial)
{
    search->high = trial->batch;
    search->fails = *trial;
    search->n_failed++;
    if (search->low < trial->batch)
        return;
    search->low = trial->batch - 1;
    search->fits[0] = search->fits[1] = (struct fit_trial){0};
}

static enum assay_status try_batch(struct search *search, int64_t batch,
                                   bool is_check, struct error *err)
{
    const struct fit_options *options = search->options;
    struct fit_trial trial;
    enum assay_status st = fit_trial(options, batch, is_check, &trial, err);

    if (st)
        return st;
    search->n_trials++;
    if (options->tried)
        options->tried(options->context, &trial);
    search->last = trial;
    if (trial.end == FIT_FITS)
        note_fit(search, &trial);
    else
        note_failure(search, &trial);
    return ASSAY_OK;
}

/* Where the line through the two largest that fit meets the limit; 0: there is
 * no such line. */
static int64_t predict(const struct search *search)
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
    /* It says that what failed fits: it is no line. */
    return search->fails.batch ? 0 : search->high - 1;
}

/* 1/16 of the range below what failed, then 1/8 of it and so on. */
static int64_t step_down(const struct search *search)
{
    enum { first = 16, last = 2 };
    int64_t range = search->high - search->low;
    bool is_half = range < first || search->n_failed > 3;

    return search->high -
           range / (is_half ? last : first >> (search->n_failed - 1));
}

static int64_t choose_next(const struct search *search)
{
    int64_t guess = predict(search);

    if (guess > search->low && guess < search->high)
        return guess;
    /* The line says that no more fit: one more shows whether it is right. */
    if (guess && guess <= search->low)
        return search->low + 1;
    if (search->n_failed)
        return step_down(search);
    if (search->fails.batch)
        return search->low + (search->high - search->low) / 2;
    return search->low ? 2 * search->low : 1;
}

static enum assay_status narrow(struct search *search, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    while (!st && search->high - search->low > 1) {
        int64_t batch = choose_next(search);

        if (batch >= search->high)
            batch = search->high - 1;
        st = try_batch(search, batch, false, err);
    }
    return st;
}

enum assay_status fit_search(const struct fit_options *options,
                             struct fit_result *out, struct error *err)
{
    struct search search = {.options = options, .high = options->most + 1};
    enum assay_status st;

    *out = (struct fit_result){0};
    do {
        st = narrow(&search, err);
        if (!st && search.low)
            st = try_batch(&search, search.low, true, err);
    } while (!st && search.low && search.last.end != FIT_FITS);
    if (st)
        return st;
    out->batch = search.low;
    out->trial = search.low ? search.fits[1] : search.fails;
    out->is_most = search.low == options->most;
    out->n_trials = search.n_trials;
    return ASSAY_OK;
}
