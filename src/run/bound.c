/* run/bound.c - see bound.h. */
#include "run/bound.h"

#include "base/mem.h"
#include "run/device_balance.h"

#include <math.h>

/* If arithmetic and memory explain less of the time than this, neither is the
 * bound. */
static const double least_explained = 1.0 / 3;
/* What bounds this share of a scope's time bounds the scope. */
static const double most_of_it = 2.0 / 3;
/* If the work is known for less of the time than this, the bound is unknown. */
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

static double bound_plus(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

static double bound_ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static enum bound_kind bound_kind_of(const struct bound *bound)
{
    enum bound_kind most = BOUND_COMPUTE;

    if (!(bound->covered_ns > 0) ||
        bound->covered_ns < bound->time_ns * least_covered)
        return BOUND_UNKNOWN;
    for (enum bound_kind i = BOUND_COMPUTE; i < BOUND_MIXED; i++)
        most = bound->kind_ns[i] > bound->kind_ns[most] ? i : most;
    if (bound->kind_ns[most] == 0)
        return BOUND_UNKNOWN; /* forgotten */
    return bound->kind_ns[most] >= bound->covered_ns * most_of_it ? most
                                                                  : BOUND_MIXED;
}

/* Whether the kinds were forgotten: each covered nanosecond is of one. */
static bool bound_is_forgotten(const struct bound *bound)
{
    double sum = 0;

    for (enum bound_kind i = 0; i < N_BOUND_KINDS; i++)
        sum += bound->kind_ns[i];
    return bound->covered_ns > 0 && sum == 0;
}

/* Computes what follows from the sums. */
static void bound_derive(struct bound *bound)
{
    bound->kind = bound_kind_of(bound);
    bound->gflops =
        bound->macs > 0 ? bound_ratio(2 * bound->macs, bound->time_ns) : NAN;
    bound->done_gflops = bound_ratio(bound->done_flops, bound->covered_ns);
    bound->gbs = bound_ratio(bound->done_bytes, bound->covered_ns);
    bound->intensity = bound_ratio(bound->done_flops, bound->done_bytes);
    bound->share = bound_ratio(bound->floor_ns, bound->covered_ns);
    bound->saved_ns = bound->covered_ns - bound->floor_ns;
    if (bound_is_forgotten(bound))
        bound->share = bound->saved_ns = NAN;
}

/* Adds all sums but the time, which a parent has of its own. */
static void bound_add_work(struct bound *into, const struct bound *from)
{
    into->covered_ns = bound_plus(into->covered_ns, from->covered_ns);
    into->macs = bound_plus(into->macs, from->macs);
    into->done_flops = bound_plus(into->done_flops, from->done_flops);
    into->done_bytes = bound_plus(into->done_bytes, from->done_bytes);
    into->floor_ns = bound_plus(into->floor_ns, from->floor_ns);
    for (enum bound_kind i = 0; i < N_BOUND_KINDS; i++)
        into->kind_ns[i] += from->kind_ns[i];
}

void bound_add(struct bound *into, const struct bound *from)
{
    into->time_ns = bound_plus(into->time_ns, from->time_ns);
    bound_add_work(into, from);
    bound_derive(into);
}

/* ---- each scope on its own -------------------------------------------- */

/* What a scope itself did per iteration, in the time of one side. */
struct own_work {
    bool is_device; /* devices worked for it, or for a scope below it */
    double calls, total_ns, self_ns;
    double flops, bytes; /* executed; NaN: unknown */
};

static bool own_is_measured(const struct own_work *own)
{
    return own->self_ns > 0 && own->calls > 0 && !isnan(own->flops) &&
           !isnan(own->bytes);
}

static bool own_is_of_device(const struct run *run, const struct cell *cell)
{
    return run_thread(run, cell->thread)->kind == THREAD_DEVICE;
}

/* Parents come before their children. */
static void own_find_sides(const struct run *run, struct own_work *owns,
                           size_t n)
{
    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (!cell->is_outside && own_is_of_device(run, cell))
            owns[cell->scope].is_device = true;
    }
    for (uint32_t i = (uint32_t)n; i-- > 1;) {
        if (owns[i].is_device)
            owns[run_scope(run, i)->parent].is_device = true;
    }
}

static void own_count_cells(const struct run *run, struct own_work *owns)
{
    double n = (double)run_counted(run).n, scale = run_device_scale(run);

    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);
        struct own_work *own = &owns[cell->scope];
        struct cell_sums sums;
        double each;

        if (cell->is_outside)
            continue;
        if (own_is_of_device(run, cell) != own->is_device)
            continue;
        each = own->is_device ? scale / n : 1 / n;
        sums = run_cell_sums(run, cell);
        own->calls += sums.calls * each;
        own->total_ns += sums.total_ns * each;
        own->self_ns += sums.self_ns * each;
    }
}

/* On a device, spans of a scope need not enclose those of the scopes below it:
 * its time is the sum of their own. */
static void own_sum_device(const struct run *run, struct own_work *owns,
                           size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (owns[i].is_device)
            owns[i].total_ns = owns[i].self_ns;
    }
    for (uint32_t i = (uint32_t)n; i-- > 1;) {
        if (owns[i].is_device)
            owns[run_scope(run, i)->parent].total_ns += owns[i].total_ns;
    }
}

static bool own_has_time(const struct own_work *own)
{
    return own->calls > 0 || own->is_device;
}

static void own_find(const struct run *run, struct own_work *owns, size_t n)
{
    bool has_device = run_has_device(run); /* the peaks are its */

    own_find_sides(run, owns, n);
    own_count_cells(run, owns);
    own_sum_device(run, owns, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct scope_work *work =
            owns[i].is_device == has_device ? run_work(run, i) : NULL;

        owns[i].flops = work ? work->done_flops : NAN;
        owns[i].bytes = work ? work->done_bytes : NAN;
    }
}

/* The floor is the longest of what compute, memory and launches need. */
static void bound_own(const struct peaks *peaks, const struct own_work *own,
                      struct bound *bound)
{
    double compute = own->flops / peaks->gflops;
    double memory = own->bytes > 0
                        ? own->bytes / peaks_gbs(peaks, own->bytes / own->calls)
                        : 0;
    double launch = own->calls * peaks->launch_ns;
    enum bound_kind kind = compute >= memory ? BOUND_COMPUTE : BOUND_MEMORY;
    /* What came out of a cache in part is faster than memory. */
    double floor = fmin(fmax(compute, memory), own->self_ns);

    if (!own_is_measured(own) || isnan(compute) || isnan(memory))
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

static void bounds_raise_peaks(struct peaks *peaks, const struct own_work *owns,
                               size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct own_work *own = &owns[i];

        if (own_is_measured(own))
            peaks_raise(peaks, own->flops / own->self_ns,
                        own->bytes / own->calls, own->bytes / own->self_ns);
    }
}

/* Parents come before their children, so going backwards every scope is
 * complete when it is added to its parent. What the host did itself is no part
 * of a parent that is timed by devices. */
static void bounds_sum_up(const struct run *run, const struct own_work *owns,
                          struct bounds *bounds)
{
    for (uint32_t i = (uint32_t)bounds->n; i-- > 0;) {
        struct bound *bound = &bounds->items[i];
        uint32_t parent = run_scope(run, i)->parent;

        bound_derive(bound);
        bounds->is_known |= bound->kind != BOUND_UNKNOWN;
        if (parent != RUN_NONE && owns[parent].is_device == owns[i].is_device)
            bound_add_work(&bounds->items[parent], bound);
    }
}

/* A scope that was called has its own time; a group has the sum of those
 * below. */
static void bounds_set_times(const struct run *run, const struct own_work *owns,
                             struct bounds *bounds)
{
    for (uint32_t i = (uint32_t)bounds->n; i-- > 0;) {
        struct bound *bound = &bounds->items[i];
        uint32_t parent = run_scope(run, i)->parent;

        if (own_has_time(&owns[i]))
            bound->time_ns = owns[i].total_ns;
        if (parent != RUN_NONE && !own_has_time(&owns[parent]))
            bounds->items[parent].time_ns =
                bound_plus(bounds->items[parent].time_ns, bound->time_ns);
    }
}

static void bounds_fill(const struct run *run, const struct own_work *owns,
                        struct bounds *bounds)
{
    bounds_raise_peaks(&bounds->peaks, owns, bounds->n);
    for (uint32_t i = 0; i < bounds->n; i++) {
        const struct scope_work *work = run_work(run, i);

        bounds->items[i].macs = work ? work->macs : NAN;
        bound_own(&bounds->peaks, &owns[i], &bounds->items[i]);
    }
    bounds_set_times(run, owns, bounds);
    bounds_sum_up(run, owns, bounds);
}

/* Other programs make a layer look bound by latency, and what they took look
 * like something to save. */
static void bounds_forget_kinds(struct bounds *bounds)
{
    for (size_t i = 0; i < bounds->n; i++) {
        struct bound *bound = &bounds->items[i];

        for (int k = 0; k < N_BOUND_KINDS; k++)
            bound->kind_ns[k] = 0;
        bound_derive(bound);
    }
    bounds->is_known = false;
}

enum assay_status bounds_build(const struct run *run, struct bounds *out,
                               struct error *err)
{
    size_t n = run_scope_count(run);
    struct own_work *owns = mem_array(n, sizeof *owns);

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
        own_find(run, owns, n);
        bounds_fill(run, owns, out);
    }
    if (run_is_disturbed(run))
        bounds_forget_kinds(out);
    mem_free(owns);
    return ASSAY_OK;
}
