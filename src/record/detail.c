/* record/detail.c - see detail_internal.h.
 *
 * Samples of iterations wait, in the order they came, until their iteration is
 * complete. detail_settle() then looks only at the durations and copies the
 * samples of the few iterations it chooses. */
#include "record/detail_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

enum { max_waiting = 128 * 1024 };

struct sample_list {
    struct sample *items;
    size_t n, capacity;
};

/* Consecutive waiting samples of one iteration. */
struct detail_stretch {
    uint32_t iteration;
    size_t n;
};

/* An iteration that is neither chosen nor passed over yet. */
struct waiting {
    int64_t duration_ns; /* -1 until it ends */
    uint32_t n_samples;
};

/* An iteration that is kept until a better one comes. */
struct detail_choice {
    bool is_made;
    uint32_t iteration;
    int64_t duration_ns;
    struct sample_list samples;
};

enum { FIRST, SLOWEST, MEDIAN, LAST, N_CHOICES };

struct detail {
    struct detail_choice choices[N_CHOICES];
    struct sketch durations;

    struct sample_list samples; /* waiting ones */
    struct detail_stretch *stretches;
    size_t n_stretches, stretches_capacity;
    struct waiting *waiting; /* iterations base, base + 1, ... */
    size_t n_waiting, waiting_capacity;
    uint32_t base;
    size_t n_ended; /* waiting ones that had ended when last settled */

    struct sample_list first_outside, last_outside;
    uint64_t n_last_outside; /* ever; the oldest are overwritten */
};

enum assay_status detail_new(struct detail **out, struct error *err)
{
    *out = mem_zalloc(sizeof **out);
    return *out ? ASSAY_OK
                : error_nomem(err, sizeof **out, "the detail of a run");
}

void detail_free(struct detail *detail)
{
    if (!detail)
        return;
    for (int i = 0; i < N_CHOICES; i++)
        mem_free(detail->choices[i].samples.items);
    sketch_release(&detail->durations);
    mem_free(detail->samples.items);
    mem_free(detail->stretches);
    mem_free(detail->waiting);
    mem_free(detail->first_outside.items);
    mem_free(detail->last_outside.items);
    mem_free(detail);
}

static enum assay_status detail_no_memory(struct error *err)
{
    return error_nomem(err, sizeof(struct sample), "the detail of a run");
}

static bool samples_append(struct sample_list *to, const struct sample *items,
                           size_t n)
{
    if (!vec_grow(&to->items, &to->capacity, to->n + n, sizeof *items))
        return false;
    memcpy(to->items + to->n, items, n * sizeof *items);
    to->n += n;
    return true;
}

static bool detail_add_outside(struct detail *detail,
                               const struct sample *sample)
{
    struct sample_list *last = &detail->last_outside;

    if (detail->first_outside.n < DETAIL_MAX_OUTSIDE)
        return samples_append(&detail->first_outside, sample, 1);
    if (detail->n_last_outside < DETAIL_MAX_OUTSIDE) {
        if (!samples_append(last, sample, 1))
            return false;
    } else {
        last->items[detail->n_last_outside % DETAIL_MAX_OUTSIDE] = *sample;
    }
    detail->n_last_outside++;
    return true;
}

static bool detail_reach(struct detail *detail, size_t index)
{
    if (!vec_grow(&detail->waiting, &detail->waiting_capacity, index + 1,
                  sizeof *detail->waiting))
        return false;
    while (detail->n_waiting <= index)
        detail->waiting[detail->n_waiting++] =
            (struct waiting){.duration_ns = -1};
    return true;
}

static bool detail_add_to_stretch(struct detail *detail, uint32_t iteration)
{
    size_t n = detail->n_stretches;

    if (n && detail->stretches[n - 1].iteration == iteration) {
        detail->stretches[n - 1].n++;
        return true;
    }
    if (!vec_grow(&detail->stretches, &detail->stretches_capacity, n + 1,
                  sizeof *detail->stretches))
        return false;
    detail->stretches[detail->n_stretches++] =
        (struct detail_stretch){.iteration = iteration, .n = 1};
    return true;
}

enum assay_status detail_add(struct detail *detail, const struct sample *sample,
                             struct error *err)
{
    size_t index = sample->iteration - detail->base;
    bool is_end = sample->scope == RUN_ROOT;
    struct waiting *waiting;

    if (sample->iteration == RUN_NONE)
        return detail_add_outside(detail, sample) ? ASSAY_OK
                                                  : detail_no_memory(err);
    if (sample->iteration < detail->base) /* too late to be chosen */
        return ASSAY_OK;
    if (!detail_reach(detail, index))
        return detail_no_memory(err);
    waiting = &detail->waiting[index];
    if (is_end)
        waiting->duration_ns = sample->duration_ns;
    if (!is_end && (waiting->n_samples >= DETAIL_MAX_OF_ITERATION ||
                    detail->samples.n >= 2 * max_waiting))
        return ASSAY_OK;
    if (!samples_append(&detail->samples, sample, 1))
        return detail_no_memory(err);
    if (!detail_add_to_stretch(detail, sample->iteration)) {
        detail->samples.n--;
        return detail_no_memory(err);
    }
    waiting->n_samples++;
    return detail->samples.n % max_waiting ? ASSAY_OK
                                           : detail_settle(detail, err);
}

static bool detail_choose(struct detail *detail, int which, uint32_t iteration)
{
    struct detail_choice *choice = &detail->choices[which];
    const struct sample *at = detail->samples.items;

    choice->is_made = true;
    choice->iteration = iteration;
    choice->duration_ns = detail->waiting[iteration - detail->base].duration_ns;
    choice->samples.n = 0;
    for (size_t i = 0; i < detail->n_stretches; i++) {
        const struct detail_stretch *stretch = &detail->stretches[i];

        if (stretch->iteration == iteration &&
            !samples_append(&choice->samples, at, stretch->n))
            return false;
        at += stretch->n;
    }
    return true;
}

static int64_t detail_distance(int64_t a, double b)
{
    double d = (double)a - b;

    return (int64_t)(d < 0 ? -d : d);
}

/* Chooses among the first n waiting iterations. */
static bool detail_choose_among(struct detail *detail, size_t n)
{
    const struct detail_choice *slowest = &detail->choices[SLOWEST];
    const struct detail_choice *middle = &detail->choices[MEDIAN];
    size_t longest = n, nearest = n, last = n;
    double median = sketch_quantile(&detail->durations, 0.5);
    int64_t most = slowest->is_made ? slowest->duration_ns : -1;
    int64_t least = middle->is_made
                        ? detail_distance(middle->duration_ns, median)
                        : INT64_MAX;

    for (size_t i = 0; i < n; i++) {
        int64_t duration_ns = detail->waiting[i].duration_ns;

        if (duration_ns < 0)
            continue;
        last = i;
        if (duration_ns > most) {
            most = duration_ns;
            longest = i;
        }
        if (detail_distance(duration_ns, median) < least) {
            least = detail_distance(duration_ns, median);
            nearest = i;
        }
        if (!detail->choices[FIRST].is_made &&
            !detail_choose(detail, FIRST, detail->base + (uint32_t)i))
            return false;
    }
    return (longest == n ||
            detail_choose(detail, SLOWEST, detail->base + (uint32_t)longest)) &&
           (nearest == n ||
            detail_choose(detail, MEDIAN, detail->base + (uint32_t)nearest)) &&
           (last == n ||
            detail_choose(detail, LAST, detail->base + (uint32_t)last));
}

/* Drops the first n waiting iterations and their samples. */
static void detail_drop(struct detail *detail, size_t n)
{
    struct sample_list *samples = &detail->samples;
    const struct sample *at = samples->items;
    size_t kept = 0;

    samples->n = 0;
    for (size_t i = 0; i < detail->n_stretches; i++) {
        struct detail_stretch stretch = detail->stretches[i];

        if (stretch.iteration - detail->base >= n) {
            memmove(samples->items + samples->n, at, stretch.n * sizeof *at);
            samples->n += stretch.n;
            detail->stretches[kept++] = stretch;
        }
        at += stretch.n;
    }
    detail->n_stretches = kept;
    detail->n_waiting -= n;
    if (detail->n_waiting)
        memmove(detail->waiting, detail->waiting + n,
                detail->n_waiting * sizeof *detail->waiting);
    detail->base += (uint32_t)n;
}

/* The number of waiting iterations up to the last that has ended; if one before
 * it has not, it never will. */
static size_t detail_count_ended(const struct detail *detail)
{
    size_t n = detail->n_waiting;

    while (n && detail->waiting[n - 1].duration_ns < 0)
        n--;
    return n;
}

enum assay_status detail_settle(struct detail *detail, struct error *err)
{
    size_t n = detail->n_ended;

    if (detail->samples.n >= max_waiting)
        n = detail_count_ended(detail);
    for (size_t i = 0; i < n; i++) {
        int64_t duration_ns = detail->waiting[i].duration_ns;

        if (duration_ns >= 0 && sketch_add(&detail->durations, duration_ns, 1))
            return detail_no_memory(err);
    }
    if (n && !detail_choose_among(detail, n))
        return detail_no_memory(err);
    if (n)
        detail_drop(detail, n);
    detail->n_ended = detail_count_ended(detail);
    return ASSAY_OK;
}

static enum assay_status samples_keep(struct run *run,
                                      const struct sample_list *samples,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < samples->n && !st; i++)
        st = run_keep(run, &samples->items[i], err);
    return st;
}

static bool detail_is_chosen_before(const struct detail *detail, int which)
{
    for (int i = 0; i < which; i++) {
        if (detail->choices[i].is_made &&
            detail->choices[i].iteration == detail->choices[which].iteration)
            return true;
    }
    return false;
}

enum assay_status detail_keep(const struct detail *detail, struct run *run,
                              struct error *err)
{
    enum assay_status st = ASSAY_OK;
    bool has_iterations = false;

    run_forget_kept(run);
    for (int i = 0; i < N_CHOICES && !st; i++) {
        if (!detail->choices[i].is_made || detail_is_chosen_before(detail, i))
            continue;
        has_iterations = true;
        st = samples_keep(run, &detail->choices[i].samples, err);
    }
    if (!st)
        st = samples_keep(run, &detail->first_outside, err);
    if (!st && !has_iterations)
        st = samples_keep(run, &detail->last_outside, err);
    return st;
}
