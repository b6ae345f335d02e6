/* run/compare.c - a comparison: from runs to rows. */
#include "run/compare_internal.h"

#include "base/mem.h"
#include "run/device_balance.h"

#include <math.h>
#include <string.h>

static const double default_confidence = 0.95;

/* For every run, A's then B's: its ids of the scopes of the first run on its
 * side, and its iterations that count. */
struct scope_ids {
    uint32_t **of_run;
    struct chosen *chosen;
    bool *has_device;
    size_t n_runs;
};

static const struct run *compare_nth_run(const struct comparison *c, size_t i)
{
    return i < c->a.n_runs ? c->a.runs[i] : c->b.runs[i - c->a.n_runs];
}

static void scope_ids_release(struct scope_ids *ids)
{
    for (size_t i = 0; ids->of_run && i < ids->n_runs; i++)
        mem_free(ids->of_run[i]);
    for (size_t i = 0; ids->chosen && i < ids->n_runs; i++)
        chosen_release(&ids->chosen[i]);
    mem_free(ids->of_run);
    mem_free(ids->chosen);
    mem_free(ids->has_device);
}

/* Parents have lower ids than their children. */
static enum assay_status scope_ids_map(const struct run *first,
                                       const struct run *run, uint32_t *ids,
                                       struct error *err)
{
    ids[RUN_ROOT] = RUN_ROOT;
    for (uint32_t i = RUN_ROOT + 1; i < run_scope_count(first); i++) {
        const struct scope *scope = run_scope(first, i);
        enum assay_status st;

        ids[i] = RUN_NONE;
        if (ids[scope->parent] == RUN_NONE)
            continue;
        st = run_scope_find(run, ids[scope->parent], scope->name,
                            scope->class_name, &ids[i], err);
        if (st)
            return st;
    }
    return ASSAY_OK;
}

static enum assay_status scope_ids_init(struct scope_ids *ids,
                                        const struct comparison *c,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;

    ids->n_runs = compare_run_count(c);
    ids->of_run = mem_array(ids->n_runs, sizeof *ids->of_run);
    ids->chosen = mem_array(ids->n_runs, sizeof *ids->chosen);
    ids->has_device = mem_array(ids->n_runs, sizeof *ids->has_device);
    if (!ids->of_run || !ids->chosen || !ids->has_device)
        return error_nomem(err, ids->n_runs * sizeof *ids->of_run,
                           "the scopes of a comparison");
    for (size_t i = 0; !st && i < ids->n_runs; i++) {
        const struct run *first = i < c->a.n_runs ? c->a.runs[0] : c->b.runs[0];

        ids->of_run[i] =
            mem_array(run_scope_count(first), sizeof **ids->of_run);
        if (!ids->of_run[i])
            return error_nomem(err,
                               run_scope_count(first) * sizeof **ids->of_run,
                               "the scopes of a comparison");
        st = scope_ids_map(first, compare_nth_run(c, i), ids->of_run[i], err);
        if (!st)
            st = chosen_find(compare_nth_run(c, i), &ids->chosen[i], err);
        ids->has_device[i] = run_has_device(compare_nth_run(c, i));
    }
    return st;
}

/* The scope of a row in a run, RUN_NONE if the run does not have it. */
static uint32_t compare_scope_in(const struct comparison *c,
                                 const struct scope_ids *ids, size_t row,
                                 size_t run)
{
    uint32_t scope = run < c->a.n_runs ? c->rows[row].a : c->rows[row].b;

    return scope == RUN_NONE ? RUN_NONE : ids->of_run[run][scope];
}

/* Host and device time of a scope per iteration; NaN: none. */
static enum assay_status compare_two_times(const struct run *run,
                                           uint32_t scope, double *host_ns,
                                           double *device_ns, struct error *err)
{
    struct scope_stats host, device;
    enum assay_status st = run_scope_stats(run, scope, RUN_ANY, &host, err);

    if (!st)
        st = run_scope_device_stats(run, scope, RUN_ANY, &device, err);
    *host_ns = *device_ns = NAN;
    if (st)
        return st;
    *host_ns = host.mean_ns;
    if (device.calls && !device.is_outside)
        *device_ns = device.mean_ns * run_device_scale(run);
    return ASSAY_OK;
}

/* Whether the devices of a side were busy with a row for longer than its hosts,
 * which then only launched it. */
static enum assay_status compare_find_side(const struct comparison *c,
                                           const struct scope_ids *ids,
                                           size_t row, size_t first, size_t end,
                                           bool *is_device, struct error *err)
{
    double host_sum = 0, device_sum = 0;
    enum assay_status st = ASSAY_OK;

    for (size_t i = first; !st && i < end; i++) {
        uint32_t scope = compare_scope_in(c, ids, row, i);
        double host_ns, device_ns;

        if (scope == RUN_NONE || scope == RUN_ROOT || !ids->has_device[i])
            continue;
        st = compare_two_times(compare_nth_run(c, i), scope, &host_ns,
                               &device_ns, err);
        if (isnan(device_ns))
            continue;
        host_sum += host_ns;
        device_sum += device_ns;
    }
    *is_device = device_sum > host_sum;
    return st;
}

/* The means that the other screens show. Of a run with more iterations than are
 * kept one by one, they are more exact than those of the kept ones. */
static enum assay_status compare_fill_means(struct location *location,
                                            const struct run *run,
                                            uint32_t scope, bool is_device,
                                            struct error *err)
{
    double scale = is_device ? run_device_scale(run) : 1;
    struct scope_stats stats;
    enum assay_status st =
        is_device ? run_scope_device_stats(run, scope, RUN_ANY, &stats, err)
                  : run_scope_stats(run, scope, RUN_ANY, &stats, err);

    if (st || (is_device && !stats.calls))
        return st;
    stats.mean_ns *= scale;
    location->mean_ns = stats.mean_ns;
    location->self_ns = stats.mean_self_ns * scale;
    if (location->n && location->sample_ns > 0 && stats.mean_ns > 0)
        location->centres[CENTRE_MEAN].log +=
            log(stats.mean_ns / location->sample_ns);
    return ASSAY_OK;
}

static bool compare_is_testable(const struct comparison *c, size_t row,
                                const struct durations *durations)
{
    return c->rows[row].a != RUN_NONE && c->rows[row].b != RUN_NONE &&
           !durations->is_outside && durations->n_called >= COMPARE_MIN_POINTS;
}

static bool compare_is_device(const struct comparison *c,
                              const struct compare_row *row, size_t run)
{
    return run < c->a.n_runs ? row->a_is_device : row->b_is_device;
}

/* The locations of a row. If the runs had different clocks, the coarsest
 * counts. */
static enum assay_status compare_locate_row(struct comparison *c,
                                            const struct scope_ids *ids,
                                            struct durations *durations,
                                            size_t row, struct error *err)
{
    struct location *locations = c->locations + row * ids->n_runs;
    struct compare_row *of = &c->rows[row];
    enum assay_status st =
        compare_find_side(c, ids, row, 0, c->a.n_runs, &of->a_is_device, err);
    double tick_ns = 1;

    if (!st)
        st = compare_find_side(c, ids, row, c->a.n_runs, ids->n_runs,
                               &of->b_is_device, err);
    for (size_t i = 0; !st && i < ids->n_runs; i++) {
        uint32_t scope = compare_scope_in(c, ids, row, i);

        locations[i].mean_ns = locations[i].self_ns = NAN;
        if (scope == RUN_NONE)
            continue;
        st = durations_read(&durations[i], compare_nth_run(c, i), scope,
                            compare_is_device(c, of, i), &ids->chosen[i], err);
        if (!st && compare_is_testable(c, row, &durations[i]))
            tick_ns = fmax(
                tick_ns, location_tick_ns(durations[i].sorted, durations[i].n));
    }
    for (size_t i = 0; i < ids->n_runs; i++) {
        uint32_t scope = compare_scope_in(c, ids, row, i);

        if (!st && compare_is_testable(c, row, &durations[i]))
            locations[i] = location_of(&durations[i], tick_ns);
        c->rows[row].is_outside |= durations[i].is_outside;
        if (!st && scope != RUN_NONE)
            st = compare_fill_means(&locations[i], compare_nth_run(c, i), scope,
                                    compare_is_device(c, of, i), err);
        durations_release(&durations[i]);
    }
    return st;
}

static enum assay_status compare_locate(struct comparison *c,
                                        const struct scope_ids *ids,
                                        struct error *err)
{
    struct durations *durations = mem_array(ids->n_runs, sizeof *durations);
    enum assay_status st = ASSAY_OK;
    size_t n_locations;

    if (!mem_mul(c->n_rows, ids->n_runs, &n_locations))
        n_locations = SIZE_MAX;
    c->locations = mem_array(n_locations, sizeof *c->locations);
    c->tests = mem_array(c->n_rows, sizeof *c->tests);
    if (!durations || !c->locations || !c->tests)
        st = error_nomem(err, c->n_rows * sizeof *c->tests,
                         "the rows of a comparison");
    for (size_t i = 0; !st && i < c->n_rows; i++)
        st = compare_locate_row(c, ids, durations, i, err);
    mem_free(durations);
    return st;
}

/* Whether a run counts for its side of a row: as it does for the test, where
 * there was one. Of a pair both do or none does. */
static bool compare_run_counts(const struct comparison *c, size_t row, size_t i)
{
    const struct location *runs = c->locations + row * compare_run_count(c);
    size_t n = c->a.n_runs;

    if (!c->tests[row].is_tested)
        return !isnan(runs[i].mean_ns);
    return runs[i].n > 0 && (!c->are_pairs || runs[(i + n) % (2 * n)].n > 0);
}

/* One side of a row, per iteration. Over several runs the geometric mean, whose
 * ratio is what is tested: that of a scope is at least the sum of those below
 * it. */
static void compare_fill_side(const struct comparison *c, size_t row,
                              size_t first, size_t end, double *ns,
                              double *self_ns)
{
    const struct location *runs = c->locations + row * compare_run_count(c);
    double sum = 0, self_sum = 0, n = 0;

    for (size_t i = first; i < end; i++) {
        if (!compare_run_counts(c, row, i))
            continue;
        sum +=
            runs[i].n ? runs[i].centres[CENTRE_MEAN].log : log(runs[i].mean_ns);
        self_sum += runs[i].self_ns;
        n++;
    }
    *ns = n > 0 ? exp(sum / n) : NAN;
    *self_ns = n > 0 ? self_sum / n : NAN;
}

static double compare_share(double ns, double whole_ns)
{
    return whole_ns > 0 && ns > 0 ? fmin(1, ns / whole_ns) : 0;
}

static void compare_fill_costs(struct comparison *c)
{
    size_t n_a = c->a.n_runs;
    struct compare_row *whole = &c->rows[0];

    for (size_t i = 0; i < c->n_rows; i++) {
        struct compare_row *row = &c->rows[i];

        compare_fill_side(c, i, 0, n_a, &row->a_ns, &row->a_self_ns);
        compare_fill_side(c, i, n_a, compare_run_count(c), &row->b_ns,
                          &row->b_self_ns);
        if (row->is_outside)
            continue;
        row->share = row->a == RUN_NONE ? compare_share(row->b_ns, whole->b_ns)
                                        : compare_share(row->a_ns, whole->a_ns);
    }
}

static enum assay_status compare_check(const struct comparison *c,
                                       struct error *err)
{
    if (c->a.n_runs == 0 || c->b.n_runs == 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a comparison needs at least one run on each side");
    if (!(c->confidence > 0 && c->confidence < 1))
        return error_set(err, ASSAY_BAD_USAGE,
                         "the confidence cannot be %g; it must lie between 0 "
                         "and 1",
                         c->confidence);
    if (c->are_pairs && c->a.n_runs != c->b.n_runs)
        return error_set(err, ASSAY_BAD_USAGE,
                         "pairs need as many runs on each side, not %zu and "
                         "%zu",
                         c->a.n_runs, c->b.n_runs);
    return ASSAY_OK;
}

static enum assay_status compare_fill(struct comparison *c, struct error *err)
{
    struct scope_ids ids = {0};
    enum assay_status st;

    st = compare_check(c, err);
    if (!st)
        st = align_trees(c, err);
    if (st)
        return st;
    for (size_t i = 0; i < c->n_rows; i++) {
        struct compare_row *row = &c->rows[i];

        row->ratio = row->low = row->high = row->p = row->p_raw = NAN;
    }
    st = scope_ids_init(&ids, c, err);
    if (!st)
        st = compare_locate(c, &ids, err);
    if (!st)
        st = pairs_choose(c, err);
    if (!st)
        st = significance_test(c, err);
    if (!st) {
        compare_fill_costs(c);
        st = cause_find(c, err);
    }
    scope_ids_release(&ids);
    return st;
}

enum assay_status compare_new(const struct compare_side *a,
                              const struct compare_side *b,
                              const struct compare_options *options,
                              struct comparison **out, struct error *err)
{
    struct comparison *c = mem_zalloc(sizeof *c);
    enum assay_status st;

    *out = NULL;
    if (!c)
        return error_nomem(err, sizeof *c, "a comparison");
    c->a = *a;
    c->b = *b;
    c->confidence = options && options->confidence != 0 ? options->confidence
                                                        : default_confidence;
    c->floor = options ? options->floor : COMPARE_FLOOR;
    c->are_pairs = options && options->are_pairs;
    c->are_starts = options && options->are_starts;
    c->n_looks = options && options->n_looks ? options->n_looks : 1;
    st = compare_fill(c, err);
    if (st)
        compare_free(c);
    else
        *out = c;
    return st;
}

void compare_free(struct comparison *comparison)
{
    if (!comparison)
        return;
    mem_free(comparison->rows);
    mem_free(comparison->tests);
    mem_free(comparison->locations);
    mem_free(comparison);
}

size_t compare_row_count(const struct comparison *comparison)
{
    return comparison->n_rows;
}

const struct compare_row *compare_row(const struct comparison *comparison,
                                      size_t i)
{
    return &comparison->rows[i];
}

size_t compare_n_tested(const struct comparison *comparison)
{
    return comparison->n_tested;
}

double compare_confidence(const struct comparison *comparison)
{
    return comparison->confidence;
}

double compare_floor(const struct comparison *comparison)
{
    return comparison->floor;
}

bool compare_has_pairs(const struct comparison *comparison)
{
    return comparison->are_pairs || comparison->are_starts;
}

size_t compare_pairs_left_out(const struct comparison *comparison)
{
    return comparison->n_left_out;
}

bool compare_has_starts(const struct comparison *comparison)
{
    return comparison->are_starts;
}

bool compare_covers_starts(const struct comparison *comparison)
{
    return comparison->are_starts || comparison->a.n_runs > 1 ||
           comparison->b.n_runs > 1;
}

double compare_share_of_whole(const struct comparison *comparison, size_t i,
                              double ratio)
{
    return (ratio - 1) * comparison->rows[i].a_ns / comparison->rows[0].a_ns;
}

const struct compare_side *compare_side_a(const struct comparison *comparison)
{
    return &comparison->a;
}

const struct compare_side *compare_side_b(const struct comparison *comparison)
{
    return &comparison->b;
}

static const struct run *compare_row_run(const struct comparison *c,
                                         const struct compare_row *row,
                                         uint32_t *scope)
{
    *scope = row->b == RUN_NONE ? row->a : row->b;
    return row->b == RUN_NONE ? c->a.runs[0] : c->b.runs[0];
}

const struct scope *compare_row_scope(const struct comparison *comparison,
                                      size_t i)
{
    uint32_t scope;
    const struct run *run =
        compare_row_run(comparison, &comparison->rows[i], &scope);

    return run_scope(run, scope);
}

enum assay_status compare_row_path(const struct comparison *comparison,
                                   size_t i, struct str *path)
{
    uint32_t scope;
    const struct run *run =
        compare_row_run(comparison, &comparison->rows[i], &scope);

    return run_scope_path(run, scope, path);
}
