/* run/device_balance.c - see device_balance.h. */
#include "run/device_balance.h"

#include "base/mem.h"
#include "base/vec.h"
#include "run/run_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *idle_reason_text(enum idle_reason reason)
{
    static const char *const texts[] = {
#define RUN_IDLE_TEXT(name, text) text,
        RUN_IDLE_REASONS(RUN_IDLE_TEXT)
#undef RUN_IDLE_TEXT
    };

    return texts[reason];
}

/* ---- what ran ------------------------------------------------------------ */

/* What a sample on a device's lane is. */
enum device_work { DEVICE_KERNEL, DEVICE_COPY_IN, DEVICE_COPY_OUT };

struct device_span {
    int64_t begin_ns, end_ns;
    int64_t launched_ns; /* begin_ns where it is unknown */
    enum device_work work;
};

/* A stage of the iteration on the host: a span directly below the root. */
enum host_stage { HOST_MODEL, HOST_PHOTOGRAPH, HOST_DATA, HOST_OTHER };
struct host_span {
    int64_t begin_ns, end_ns;
    enum host_stage stage;
};

struct device_books {
    const struct run *run;
    struct iteration iteration;
    struct device_span *spans;
    size_t n_spans, spans_capacity;
    struct host_span *stages;
    size_t n_stages, stages_capacity;
    bool has_model; /* a stage by that name */
    struct device_balance balance;
};

static bool device_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* Lanes of copies have " copy in" and " copy out" at the end of their names; in
 * other profilers' traces copies are called "Memcpy HtoD" and "Memcpy DtoH". */
static enum device_work run_device_work(const struct run *run,
                                        const struct sample *sample)
{
    const char *lane = run_thread(run, sample->thread)->name;
    const char *name = run_scope(run, sample->scope)->name;

    if (device_ends_with(lane, " copy in") || strstr(name, "Memcpy HtoD"))
        return DEVICE_COPY_IN;
    if (device_ends_with(lane, " copy out") || strstr(name, "Memcpy DtoH"))
        return DEVICE_COPY_OUT;
    return DEVICE_KERNEL;
}

static bool device_is_of_lane(const struct run *run,
                              const struct sample *sample)
{
    return run_thread(run, sample->thread)->kind == THREAD_DEVICE;
}

static enum host_stage device_stage_of(const char *name)
{
    if (strcmp(name, "model") == 0)
        return HOST_MODEL;
    if (strcmp(name, "data") == 0)
        return HOST_DATA;
    return strcmp(name, "decode") == 0 || strcmp(name, "preprocess") == 0
               ? HOST_PHOTOGRAPH
               : HOST_OTHER;
}

static bool device_add_span(struct device_books *books,
                            const struct sample *sample)
{
    if (!vec_grow(&books->spans, &books->spans_capacity, books->n_spans + 1,
                  sizeof *books->spans))
        return false;
    books->spans[books->n_spans++] = (struct device_span){
        .begin_ns = sample->start_ns,
        .end_ns = sample->start_ns + sample->duration_ns,
        .launched_ns = sample->start_ns - sample->queued_ns,
        .work = run_device_work(books->run, sample)};
    return true;
}

static bool device_add_stage(struct device_books *books,
                             const struct sample *sample)
{
    const struct scope *scope = run_scope(books->run, sample->scope);
    enum host_stage stage = device_stage_of(scope->name);

    if (scope->parent != RUN_ROOT)
        return true;
    if (!vec_grow(&books->stages, &books->stages_capacity, books->n_stages + 1,
                  sizeof *books->stages))
        return false;
    books->has_model |= stage == HOST_MODEL;
    books->stages[books->n_stages++] =
        (struct host_span){.begin_ns = sample->start_ns,
                           .end_ns = sample->start_ns + sample->duration_ns,
                           .stage = stage};
    return true;
}

static int device_compare_spans(const void *left, const void *right)
{
    const struct device_span *a = left, *b = right;

    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* What the iteration's host thread and the devices did in it. */
static enum assay_status device_gather(struct device_books *books,
                                       struct error *err)
{
    const struct run *run = books->run;
    bool is_kept = true;

    for (size_t i = 0; is_kept && i < run_kept_count(run); i++) {
        const struct sample *sample = run_kept(run, i);

        if (sample->iteration != books->iteration.index)
            continue;
        if (device_is_of_lane(run, sample))
            is_kept = device_add_span(books, sample);
        else if (sample->thread == books->iteration.thread)
            is_kept = device_add_stage(books, sample);
    }
    if (!is_kept)
        return error_nomem(err, books->n_spans * sizeof *books->spans,
                           "the books of a device");
    if (books->n_spans)
        qsort(books->spans, books->n_spans, sizeof *books->spans,
              device_compare_spans);
    return ASSAY_OK;
}

/* ---- what it waited for -------------------------------------------------- */

/* How much of the time the host was in stages of this kind. */
static int64_t device_time_in(const struct device_books *books, int64_t from_ns,
                              int64_t to_ns, enum host_stage stage)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < books->n_stages; i++) {
        const struct host_span *span = &books->stages[i];
        int64_t begin_ns = span->begin_ns > from_ns ? span->begin_ns : from_ns;
        int64_t end_ns = span->end_ns < to_ns ? span->end_ns : to_ns;

        if (span->stage == stage && end_ns > begin_ns)
            sum_ns += end_ns - begin_ns;
    }
    return sum_ns;
}

/* What the model was at, between two things that ran; NULL: there is none.
 * After a result was copied out the host had waited for it, and launches only
 * then; before a copy it brings the data to where the copy takes it from. */
static enum idle_reason device_reason(const struct device_span *before,
                                      const struct device_span *after)
{
    if (before && before->work == DEVICE_COPY_OUT)
        return IDLE_SYNC;
    if (after && after->work != DEVICE_KERNEL)
        return IDLE_COPY;
    return after ? IDLE_LAUNCH : IDLE_HOST;
}

static void device_add_idle(struct device_books *books, int64_t from_ns,
                            int64_t to_ns, enum idle_reason reason)
{
    double *reasons = books->balance.reasons_ns;
    int64_t photo_ns = device_time_in(books, from_ns, to_ns, HOST_PHOTOGRAPH);
    int64_t data_ns = device_time_in(books, from_ns, to_ns, HOST_DATA);
    int64_t rest_ns = to_ns - from_ns - photo_ns - data_ns;
    int64_t model_ns = books->has_model
                           ? device_time_in(books, from_ns, to_ns, HOST_MODEL)
                           : rest_ns;

    if (to_ns <= from_ns)
        return;
    reasons[IDLE_PHOTOGRAPH] += (double)photo_ns;
    reasons[IDLE_DATA] += (double)data_ns;
    reasons[reason] += (double)model_ns;
    reasons[IDLE_HOST] += (double)(rest_ns - model_ns);
    books->balance.idle_ns += (double)(to_ns - from_ns);
}

/* A gap: until the launch of what ran next, for a reason; from then on for the
 * launch itself. */
static void device_add_gap(struct device_books *books, int64_t from_ns,
                           int64_t to_ns, const struct device_span *before,
                           const struct device_span *after)
{
    int64_t launched_ns = after ? after->launched_ns : to_ns;

    if (launched_ns < from_ns)
        launched_ns = from_ns;
    if (launched_ns > to_ns)
        launched_ns = to_ns;
    device_add_idle(books, from_ns, launched_ns, device_reason(before, after));
    device_add_idle(books, launched_ns, to_ns, IDLE_LAUNCH);
}

static void device_sweep(struct device_books *books)
{
    struct device_balance *balance = &books->balance;
    int64_t at_ns = books->iteration.start_ns;
    int64_t end_ns = at_ns + books->iteration.duration_ns;
    const struct device_span *before = NULL;

    balance->iteration = books->iteration.index;
    balance->span_ns = (double)books->iteration.duration_ns;
    for (size_t i = 0; i < books->n_spans; i++) {
        const struct device_span *span = &books->spans[i];
        int64_t from_ns = span->begin_ns > at_ns ? span->begin_ns : at_ns;
        int64_t to_ns = span->end_ns < end_ns ? span->end_ns : end_ns;

        if (from_ns >= end_ns)
            break;
        if (from_ns > at_ns)
            device_add_gap(books, at_ns, from_ns, before, span);
        if (to_ns > from_ns)
            *(span->work == DEVICE_KERNEL ? &balance->kernels_ns
                                          : &balance->copies_ns) +=
                (double)(to_ns - from_ns);
        at_ns = to_ns > from_ns ? to_ns : from_ns;
        before = span;
    }
    if (end_ns > at_ns)
        device_add_gap(books, at_ns, end_ns, before, NULL);
}

/* ---- which iteration ----------------------------------------------------- */

/* Whether a device did something in it that is kept. */
static bool device_is_in(const struct run *run, uint32_t iteration)
{
    for (size_t i = 0; i < run_kept_count(run); i++) {
        const struct sample *sample = run_kept(run, i);

        if (sample->iteration == iteration && device_is_of_lane(run, sample))
            return true;
    }
    return false;
}

/* False where there is none. */
static bool device_choose(const struct run *run, double median_ns,
                          struct iteration *out)
{
    double best_ns = INFINITY;
    uint32_t last = RUN_NONE;

    for (size_t i = 0; i < run_kept_count(run); i++) {
        uint32_t index = run_kept(run, i)->iteration;

        if (index == last || index == RUN_NONE)
            continue;
        last = index;
        for (size_t k = 0; k < run_iterations_kept(run); k++) {
            const struct iteration *iteration = run_iteration(run, k);
            double away_ns = fabs((double)iteration->duration_ns - median_ns);

            if (iteration->index == index && away_ns < best_ns &&
                device_is_in(run, index)) {
                best_ns = away_ns;
                *out = *iteration;
            }
        }
    }
    return best_ns < INFINITY;
}

enum assay_status run_device_balance(const struct run *run,
                                     struct device_balance *out, bool *is_known,
                                     struct error *err)
{
    struct device_books books = {.run = run};
    struct scope_stats stats;
    enum assay_status st;

    *is_known = false;
    *out = (struct device_balance){0};
    if (!run_has_iterations(run))
        return ASSAY_OK;
    st = run_scope_stats(run, RUN_ROOT, RUN_ANY, &stats, err);
    if (st || !device_choose(run, stats.median_ns, &books.iteration))
        return st;
    st = device_gather(&books, err);
    if (!st) {
        device_sweep(&books);
        *out = books.balance;
        *is_known = true;
    }
    mem_free(books.spans);
    mem_free(books.stages);
    return st;
}

/* ---- some of the iterations ---------------------------------------------- */

static double device_count_iterations(const struct run *run,
                                      const struct cell *cell)
{
    double n = 0;

    if (run_counted(run).n_disturbed == 0)
        return (double)cell->iterations.n;
    for (size_t i = 0; i < cell->n_points; i++)
        n += run_iteration_counts(run, cell->points[i].iteration);
    return n;
}

double run_device_scale(const struct run *run)
{
    double n_timed = 0;

    if (!run_fact(run, RUN_DEVICE_TIMED))
        return 1;
    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (!cell->is_outside &&
            run_thread(run, cell->thread)->kind == THREAD_DEVICE)
            n_timed = fmax(n_timed, device_count_iterations(run, cell));
    }
    return n_timed > 0 ? (double)run_counted(run).n / n_timed : 1;
}
