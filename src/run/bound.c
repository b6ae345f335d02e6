/* run/bound.c - see bound.h. */
#include "run/bound.h"

#include "base/mem.h"

#include <math.h>

/* Less than this part of the time explained by arithmetic or memory is
 * neither's doing. */
static const double least_explained = 1.0 / 3;
/* What bounds this part of a scope's time bounds the scope. */
static const double most_of_it = 2.0 / 3;
/* Of a scope whose work is known for less of its time nothing is said. */
static const double least_covered = 0.5;

const char *bound_kind_text(enum bound_kind kind)
{
    static const char *const texts[] = {
#define RUN_BOUND_TEXT(name, text) text,
        RUN_BOUND_KINDS(RUN_BOUND_TEXT)
#undef RUN_BOUND_TEXT
    };

    return texts[kind];
}

struct bound bound_unknown(void)
{
    return (struct bound){.kind = BOUND_UNKNOWN,
                          .time_ns = NAN,
                          .covered_ns = NAN,
                          .macs = NAN,
                          .gflops = NAN,
                          .done_flops = NAN,
                          .done_bytes = NAN,
                          .done_gflops = NAN,
                          .gbs = NAN,
                          .intensity = NAN,
                          .floor_ns = NAN,
                          .share = NAN,
                          .saved_ns = NAN};
}

void bounds_release(struct bounds *bounds)
{
    mem_free(bounds->items);
    *bounds = (struct bounds){0};
}

/* ---- sums ---------------------------------------------------------------- */

static double plus(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static enum bound_kind kind_of(const struct bound *bound)
{
    enum bound_kind most = BOUND_COMPUTE;

    if (!(bound->covered_ns > 0) ||
        bound->covered_ns < bound->time_ns * least_covered)
        return BOUND_UNKNOWN;
    for (enum bound_kind i = BOUND_COMPUTE; i < BOUND_MIXED; i++)
        most = bound->kind_ns[i] > bound->kind_ns[most] ? i : most;
    return bound->kind_ns[most] >= bound->covered_ns * most_of_it ? most
                                                                  : BOUND_MIXED;
}

/* What follows from the sums. */
static void derive(struct bound *bound)
{
    bound->kind = kind_of(bound);
    bound->gflops =
        bound->macs > 0 ? ratio(2 * bound->macs, bound->time_ns) : NAN;
    bound->done_gflops = ratio(bound->done_flops, bound->covered_ns);
    bound->gbs = ratio(bound->done_bytes, bound->covered_ns);
    bound->intensity = ratio(bound->done_flops, bound->done_bytes);
    bound->share = ratio(bound->floor_ns, bound->covered_ns);
    bound->saved_ns = bound->covered_ns - bound->floor_ns;
}

/* All sums but the time, which a parent has of its own. */
static void add_work(struct bound *into, const struct bound *from)
{
    into->covered_ns = plus(into->covered_ns, from->covered_ns);
    into->macs = plus(into->macs, from->macs);
    into->done_flops = plus(into->done_flops, from->done_flops);
    into->done_bytes = plus(into->done_bytes, from->done_bytes);
    into->floor_ns = plus(into->floor_ns, from->floor_ns);
    for (enum bound_kind i = 0; i < N_BOUND_KINDS; i++)
        into->kind_ns[i] += from->kind_ns[i];
}

void bound_add(struct bound *into, const struct bound *from)
{
    into->time_ns = plus(into->time_ns, from->time_ns);
    add_work(into, from);
    derive(into);
}

/* ---- each scope by itself ------------------------------------------------ */

/* What a scope itself did in an iteration. */
struct own {
    double calls, total_ns, self_ns;
    double flops, bytes; /* executed; NaN: unknown */
};

static bool is_measured(const struct own *own)
{
    return own->self_ns > 0 && own->calls > 0 && !isnan(own->flops) &&
           !isnan(own->bytes);
}

static void count_cells(const struct run *run, struct own *owns)
{
    double n = (double)run_iteration_count(run);

    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);
        struct own *own = &owns[cell->scope];

        if (cell->is_outside)
            continue;
        own->calls += (double)cell->calls.n / n;
        own->total_ns += (double)cell->total_ns / n;
        own->self_ns += (double)cell->self_ns / n;
    }
}

static void find_own(const struct run *run, struct own *owns, size_t n)
{
    count_cells(run, owns);
    for (uint32_t i = 0; i < n; i++) {
        const struct scope_work *work = run_work(run, i);

        owns[i].flops = work ? work->done_flops : NAN;
        owns[i].bytes = work ? work->done_bytes : NAN;
    }
}

/* Bounded by one thing: its floor is the longest of what each of them needs. */
static void bound_own(const struct peaks *peaks, const struct own *own,
                      struct bound *bound)
{
    double compute = own->flops / peaks->gflops;
    double memory = own->bytes > 0
                        ? own->bytes / peaks_gbs(peaks, own->bytes / own->calls)
                        : 0;
    double launch = own->calls * peaks->launch_ns;
    enum bound_kind kind = compute >= memory ? BOUND_COMPUTE : BOUND_MEMORY;
    double floor = fmax(compute, memory);

    if (!is_measured(own) || isnan(compute) || isnan(memory))
        return;
    if (floor < own->self_ns * least_explained)
        kind = BOUND_LATENCY;
    if (floor > 0 && launch > floor && launch < own->self_ns) {
        kind = BOUND_LATENCY;
        floor = launch;
    }
    bound->covered_ns = own->self_ns;
    bound->done_flops = own->flops;
    bound->done_bytes = own->bytes;
    bound->floor_ns = floor;
    bound->kind_ns[kind] = own->self_ns;
}

static void raise_peaks(struct peaks *peaks, const struct own *owns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct own *own = &owns[i];

        if (is_measured(own))
            peaks_raise(peaks, own->flops / own->self_ns,
                        own->bytes / own->calls, own->bytes / own->self_ns);
    }
}

/* A parent comes before its children, so that from the back every scope is
 * complete when it is added to its parent. */
static void sum_up(const struct run *run, struct bounds *bounds)
{
    for (uint32_t i = (uint32_t)bounds->n; i-- > 0;) {
        struct bound *bound = &bounds->items[i];
        uint32_t parent = run_scope(run, i)->parent;

        derive(bound);
        bounds->is_known |= bound->kind != BOUND_UNKNOWN;
        if (parent != RUN_NONE)
            add_work(&bounds->items[parent], bound);
    }
}

/* The time of a scope that was called is its own, of one that only groups the
 * sum of those below. */
static void set_times(const struct run *run, const struct own *owns,
                      struct bounds *bounds)
{
    for (uint32_t i = (uint32_t)bounds->n; i-- > 0;) {
        struct bound *bound = &bounds->items[i];
        uint32_t parent = run_scope(run, i)->parent;

        if (owns[i].calls > 0)
            bound->time_ns = owns[i].total_ns;
        if (parent != RUN_NONE && !(owns[parent].calls > 0))
            bounds->items[parent].time_ns =
                plus(bounds->items[parent].time_ns, bound->time_ns);
    }
}

static void fill(const struct run *run, const struct own *owns,
                 struct bounds *bounds)
{
    raise_peaks(&bounds->peaks, owns, bounds->n);
    for (uint32_t i = 0; i < bounds->n; i++) {
        const struct scope_work *work = run_work(run, i);

        bounds->items[i].macs = work ? work->macs : NAN;
        bound_own(&bounds->peaks, &owns[i], &bounds->items[i]);
    }
    set_times(run, owns, bounds);
    sum_up(run, bounds);
}

enum assay_status bounds_build(const struct run *run, struct bounds *out,
                               struct error *err)
{
    size_t n = run_scope_count(run);
    struct own *owns = mem_array(n, sizeof *owns);

    out->items = mem_array(n, sizeof *out->items);
    if (!owns || !out->items) {
        mem_free(owns);
        return error_nomem(err, n * sizeof *out->items, "the bounds of a run");
    }
    out->n = n;
    out->peaks = peaks_of_facts(run);
    for (size_t i = 0; i < n; i++)
        out->items[i] = bound_unknown();
    if (run_has_iterations(run)) {
        find_own(run, owns, n);
        fill(run, owns, out);
    }
    mem_free(owns);
    return ASSAY_OK;
}
