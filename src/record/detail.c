/* record/detail.c - see detail.h.
 *
 * Samples of iterations wait, in the order they came, until their iteration is
 * complete. Each settling then looks at the durations alone and copies the
 * samples of the few iterations it chooses. */
#include "record/detail.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

enum { max_waiting = 128 * 1024 };

struct samples {
    struct sample *items;
    size_t n, capacity;
};

/* Neighbours among the waiting samples that belong to one iteration. */
struct stretch {
    uint32_t iteration;
    size_t n;
};

/* An iteration that was seen and not yet chosen or passed over. */
struct waiting {
    int64_t duration_ns; /* -1 while it lasts */
    uint32_t n_samples;
};

/* An iteration that is kept until a better one comes. */
struct choice {
    bool is_made;
    uint32_t iteration;
    int64_t duration_ns;
    struct samples samples;
};

enum { FIRST, SLOWEST, MEDIAN, LAST, N_CHOICES };

struct detail {
    struct choice choices[N_CHOICES];
    struct sketch durations;

    struct samples samples; /* waiting ones */
    struct stretch *stretches;
    size_t n_stretches, stretches_capacity;
    struct waiting *waiting; /* iterations base, base + 1, ... */
    size_t n_waiting, waiting_capacity;
    uint32_t base;
    size_t n_ended; /* waiting ones that had ended at the last settling */

    struct samples first_outside, last_outside;
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

static enum assay_status no_memory(struct error *err)
{
    return error_nomem(err, sizeof(struct sample), "the detail of a run");
}

static bool append(struct samples *to, const struct sample *items, size_t n)
{
    struct sample *moved =
        vec_reserve(to->items, &to->capacity, to->n + n, sizeof *moved);

    if (!moved)
        return false;
    to->items = moved;
    memcpy(to->items + to->n, items, n * sizeof *items);
    to->n += n;
    return true;
}

static bool add_outside(struct detail *detail, const struct sample *sample)
{
    struct samples *last = &detail->last_outside;

    if (detail->first_outside.n < DETAIL_MAX_OUTSIDE)
        return append(&detail->first_outside, sample, 1);
    if (detail->n_last_outside < DETAIL_MAX_OUTSIDE) {
        if (!append(last, sample, 1))
            return false;
    } else {
        last->items[detail->n_last_outside % DETAIL_MAX_OUTSIDE] = *sample;
    }
    detail->n_last_outside++;
    return true;
}

static bool reach_iteration(struct detail *detail, size_t index)
{
    struct waiting *moved;

    moved = vec_reserve(detail->waiting, &detail->waiting_capacity, index + 1,
                        sizeof *moved);
    if (!moved)
        return false;
    detail->waiting = moved;
    while (detail->n_waiting <= index)
        detail->waiting[detail->n_waiting++] =
            (struct waiting){.duration_ns = -1};
    return true;
}

static bool add_to_stretch(struct detail *detail, uint32_t iteration)
{
    size_t n = detail->n_stretches;
    struct stretch *moved;

    if (n && detail->stretches[n - 1].iteration == iteration) {
        detail->stretches[n - 1].n++;
        return true;
    }
    moved = vec_reserve(detail->stretches, &detail->stretches_capacity, n + 1,
                        sizeof *moved);
    if (!moved)
        return false;
    detail->stretches = moved;
    detail->stretches[detail->n_stretches++] =
        (struct stretch){.iteration = iteration, .n = 1};
    return true;
}

enum assay_status detail_add(struct detail *detail, const struct sample *sample,
                             struct error *err)
{
    size_t index = sample->iteration - detail->base;
    bool is_end = sample->scope == RUN_ROOT;
    struct waiting *waiting;

    if (sample->iteration == RUN_NONE)
        return add_outside(detail, sample) ? ASSAY_OK : no_memory(err);
    if (sample->iteration < detail->base) /* came too late to be chosen */
        return ASSAY_OK;
    if (!reach_iteration(detail, index))
        return no_memory(err);
    waiting = &detail->waiting[index];
    if (is_end)
        waiting->duration_ns = sample->duration_ns;
    if (!is_end && (waiting->n_samples >= DETAIL_MAX_OF_ITERATION ||
                    detail->samples.n >= 2 * max_waiting))
        return ASSAY_OK;
    if (!append(&detail->samples, sample, 1))
        return no_memory(err);
    if (!add_to_stretch(detail, sample->iteration)) {
        detail->samples.n--;
        return no_memory(err);
    }
    waiting->n_samples++;
    return detail->samples.n % max_waiting ? ASSAY_OK
                                           : detail_settle(detail, err);
}

static bool choose(struct detail *detail, int which, uint32_t iteration)
{
    struct choice *choice = &detail->choices[which];
    const struct sample *at = detail->samples.items;

    choice->is_made = true;
    choice->iteration = iteration;
    choice->duration_ns = detail->waiting[iteration - detail->base].duration_ns;
    choice->samples.n = 0;
    for (size_t i = 0; i < detail->n_stretches; i++) {
        const struct stretch *stretch = &detail->stretches[i];

        if (stretch->iteration == iteration &&
            !append(&choice->samples, at, stretch->n))
            return false;
        at += stretch->n;
    }
    return true;
}

static int64_t distance(int64_t a, double b)
{
    double d = (double)a - b;

    return (int64_t)(d < 0 ? -d : d);
}

/* Chooses among the first n waiting iterations. */
static bool choose_among(struct detail *detail, size_t n)
{
    const struct choice *slowest = &detail->choices[SLOWEST];
    const struct choice *middle = &detail->choices[MEDIAN];
    size_t longest = n, nearest = n, last = n;
    double median = sketch_quantile(&detail->durations, 0.5);
    int64_t most = slowest->is_made ? slowest->duration_ns : -1;
    int64_t least =
        middle->is_made ? distance(middle->duration_ns, median) : INT64_MAX;

    for (size_t i = 0; i < n; i++) {
        int64_t duration_ns = detail->waiting[i].duration_ns;

        if (duration_ns < 0)
            continue;
        last = i;
        if (duration_ns > most) {
            most = duration_ns;
            longest = i;
        }
        if (distance(duration_ns, median) < least) {
            least = distance(duration_ns, median);
            nearest = i;
        }
        if (!detail->choices[FIRST].is_made &&
            !choose(detail, FIRST, detail->base + (uint32_t)i))
            return false;
    }
    return (longest == n ||
            choose(detail, SLOWEST, detail->base + (uint32_t)longest)) &&
           (nearest == n ||
            choose(detail, MEDIAN, detail->base + (uint32_t)nearest)) &&
           (last == n || choose(detail, LAST, detail->base + (uint32_t)last));
}

/* Forgets the first n waiting iterations and their samples. */
static void pass_over(struct detail *detail, size_t n)
{
    struct samples *samples = &detail->samples;
    const struct sample *at = samples->items;
    size_t kept = 0;

    samples->n = 0;
    for (size_t i = 0; i < detail->n_stretches; i++) {
        struct stretch stretch = detail->stretches[i];

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

/* The waiting iterations up to the last that has ended; one among them that
 * has not never will. */
static size_t count_ended(const struct detail *detail)
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
        n = count_ended(detail);
    for (size_t i = 0; i < n; i++) {
        int64_t duration_ns = detail->waiting[i].duration_ns;

        if (duration_ns >= 0 && sketch_add(&detail->durations, duration_ns, 1))
            return no_memory(err);
    }
    if (n && !choose_among(detail, n))
        return no_memory(err);
    if (n)
        pass_over(detail, n);
    detail->n_ended = count_ended(detail);
    return ASSAY_OK;
}

static enum assay_status keep(struct run *run, const struct samples *samples,
                              struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < samples->n && !st; i++)
        st = run_keep(run, &samples->items[i], err);
    return st;
}

static bool is_chosen_before(const struct detail *detail, int which)
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
        if (!detail->choices[i].is_made || is_chosen_before(detail, i))
            continue;
        has_iterations = true;
        st = keep(run, &detail->choices[i].samples, err);
    }
    if (!st)
        st = keep(run, &detail->first_outside, err);
    if (!st && !has_iterations)
        st = keep(run, &detail->last_outside, err);
    return st;
}
