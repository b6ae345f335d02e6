/* run/compare.c - a comparison, from its runs to its rows. */
#include "run/compare_internal.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

static const double default_confidence = 0.95;

/* For every run the ids of the scopes that the first run of its side has. */
struct scope_ids {
    uint32_t **of_run; /* A's runs then B's */
    size_t n_runs;
};

/* What a scope took in the iterations of one run. */
struct durations {
    int64_t *in_order, *sorted;
    size_t n;
};

static const struct run *nth_run(const struct comparison *c, size_t i)
{
    return i < c->a.n_runs ? c->a.runs[i] : c->b.runs[i - c->a.n_runs];
}

static const struct run *first_run(const struct comparison *c, size_t i)
{
    return i < c->a.n_runs ? c->a.runs[0] : c->b.runs[0];
}

static void scope_ids_release(struct scope_ids *ids)
{
    for (size_t i = 0; ids->of_run && i < ids->n_runs; i++)
        mem_free(ids->of_run[i]);
    mem_free(ids->of_run);
}

/* Parents have lower ids than their children. */
static enum assay_status map_scopes(const struct run *first,
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
    if (!ids->of_run)
        return error_nomem(err, ids->n_runs * sizeof *ids->of_run,
                           "the scopes of a comparison");
    for (size_t i = 0; !st && i < ids->n_runs; i++) {
        const struct run *first = first_run(c, i);

        ids->of_run[i] =
            mem_array(run_scope_count(first), sizeof **ids->of_run);
        if (!ids->of_run[i])
            return error_nomem(err,
                               run_scope_count(first) * sizeof **ids->of_run,
                               "the scopes of a comparison");
        st = map_scopes(first, nth_run(c, i), ids->of_run[i], err);
    }
    return st;
}

/* The scope of a row in a run, RUN_NONE where the run does not have it. */
static uint32_t row_scope(const struct comparison *c,
                          const struct scope_ids *ids, size_t row, size_t run)
{
    uint32_t scope = run < c->a.n_runs ? c->rows[row].a : c->rows[row].b;

    return scope == RUN_NONE ? RUN_NONE : ids->of_run[run][scope];
}

static void durations_release(struct durations *durations)
{
    mem_free(durations->in_order);
    mem_free(durations->sorted);
    *durations = (struct durations){0};
}

static enum assay_status durations_read(struct durations *durations,
                                        const struct run *run, uint32_t scope,
                                        struct error *err)
{
    struct point *points;
    enum assay_status st;
    size_t n;

    st = run_scope_points(run, scope, RUN_ANY, &points, &n, err);
    if (st)
        return st;
    if (n >= COMPARE_MIN_POINTS) {
        durations->in_order = mem_array(n, sizeof *durations->in_order);
        durations->sorted = mem_array(n, sizeof *durations->sorted);
        if (!durations->in_order || !durations->sorted) {
            mem_free(points);
            return error_nomem(err, n * sizeof *durations->in_order,
                               "the iterations of a scope");
        }
        for (size_t i = 0; i < n; i++)
            durations->in_order[i] = durations->sorted[i] = points[i].total_ns;
        location_sort(durations->sorted, n);
        durations->n = n;
    }
    mem_free(points);
    return ASSAY_OK;
}

/* The locations of a row that both sides have. The clock may tick differently
 * in the runs; the coarsest counts. */
static enum assay_status locate_row(struct comparison *c,
                                    const struct scope_ids *ids,
                                    struct durations *durations, size_t row,
                                    struct error *err)
{
    struct location *locations = c->locations + row * ids->n_runs;
    enum assay_status st = ASSAY_OK;
    double tick_ns = 1;

    for (size_t i = 0; !st && i < ids->n_runs; i++) {
        uint32_t scope = row_scope(c, ids, row, i);

        if (scope == RUN_NONE)
            continue;
        st = durations_read(&durations[i], nth_run(c, i), scope, err);
        if (!st && durations[i].n)
            tick_ns = fmax(
                tick_ns, location_tick_ns(durations[i].sorted, durations[i].n));
    }
    for (size_t i = 0; i < ids->n_runs; i++) {
        if (!st && durations[i].n)
            locations[i] =
                location_of(durations[i].sorted, durations[i].in_order,
                            durations[i].n, tick_ns);
        durations_release(&durations[i]);
    }
    return st;
}

static enum assay_status locate(struct comparison *c,
                                const struct scope_ids *ids, struct error *err)
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
    for (size_t i = 0; !st && i < c->n_rows; i++) {
        if (c->rows[i].a != RUN_NONE && c->rows[i].b != RUN_NONE)
            st = locate_row(c, ids, durations, i, err);
    }
    mem_free(durations);
    return st;
}

/* One side of a row. */
struct cost {
    double ns, self_ns; /* an iteration */
    double total_ns;    /* over all iterations of all runs */
};

/* The time of an iteration is the middle that the test saw, so that the
 * numbers shown agree with the verdict; the mean where there was no test. */
static enum assay_status add_cost(const struct run *run, uint32_t scope,
                                  const struct location *location,
                                  struct cost *cost, struct error *err)
{
    struct scope_stats stats;
    enum assay_status st = run_scope_stats(run, scope, RUN_ANY, &stats, err);
    double called = 1;

    if (st)
        return st;
    if (run_has_iterations(run) && !stats.is_outside && stats.calls)
        called = fmin(1, (double)stats.n / (double)run_iteration_count(run));
    cost->ns +=
        log(location->n ? exp(location->center) * called : stats.mean_ns);
    cost->self_ns += stats.mean_self_ns;
    cost->total_ns += stats.total_ns;
    return ASSAY_OK;
}

static enum assay_status cost_of(const struct comparison *c,
                                 const struct scope_ids *ids, size_t row,
                                 size_t first, size_t end, struct cost *cost,
                                 struct error *err)
{
    const struct location *locations = c->locations + row * ids->n_runs;
    double n = 0;

    *cost = (struct cost){0};
    for (size_t i = first; i < end; i++) {
        uint32_t scope = row_scope(c, ids, row, i);
        enum assay_status st;

        if (scope == RUN_NONE || (c->tests[row].is_tested && !locations[i].n))
            continue;
        st = add_cost(nth_run(c, i), scope, &locations[i], cost, err);
        if (st)
            return st;
        n++;
    }
    cost->ns = n > 0 ? exp(cost->ns / n) : NAN;
    cost->self_ns = n > 0 ? cost->self_ns / n : NAN;
    return ASSAY_OK;
}

static double share_of(const struct cost *cost, const struct cost *whole)
{
    return whole->total_ns > 0 ? fmin(1, cost->total_ns / whole->total_ns) : 0;
}

static enum assay_status
fill_costs(struct comparison *c, const struct scope_ids *ids, struct error *err)
{
    struct cost whole_a = {0}, whole_b = {0};

    for (size_t i = 0; i < c->n_rows; i++) {
        struct compare_row *row = &c->rows[i];
        size_t n_a = c->a.n_runs;
        enum assay_status st;
        struct cost a, b;

        st = cost_of(c, ids, i, 0, n_a, &a, err);
        if (!st)
            st = cost_of(c, ids, i, n_a, ids->n_runs, &b, err);
        if (st)
            return st;
        if (i == 0) {
            whole_a = a;
            whole_b = b;
        }
        row->a_ns = a.ns;
        row->b_ns = b.ns;
        row->a_self_ns = a.self_ns;
        row->b_self_ns = b.self_ns;
        row->share = row->a == RUN_NONE ? share_of(&b, &whole_b)
                                        : share_of(&a, &whole_a);
    }
    return ASSAY_OK;
}

static enum assay_status check_request(const struct comparison *c,
                                       struct error *err)
{
    if (c->a.n_runs == 0 || c->b.n_runs == 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a comparison needs at least one run on each side");
    if (!(c->confidence > 0 && c->confidence < 1))
        return error_set(err, ASSAY_BAD_USAGE,
                         "a confidence of %g makes no sense; it lies between 0 "
                         "and 1",
                         c->confidence);
    return ASSAY_OK;
}

static enum assay_status fill(struct comparison *c, struct error *err)
{
    struct scope_ids ids = {0};
    enum assay_status st;

    st = check_request(c, err);
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
        st = locate(c, &ids, err);
    if (!st)
        st = significance_test(c, err);
    if (!st)
        st = fill_costs(c, &ids, err);
    if (!st)
        st = cause_find(c, err);
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
    st = fill(c, err);
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

const struct compare_side *compare_side_a(const struct comparison *comparison)
{
    return &comparison->a;
}

const struct compare_side *compare_side_b(const struct comparison *comparison)
{
    return &comparison->b;
}

static const struct run *row_run(const struct comparison *c,
                                 const struct compare_row *row, uint32_t *scope)
{
    *scope = row->b == RUN_NONE ? row->a : row->b;
    return row->b == RUN_NONE ? c->a.runs[0] : c->b.runs[0];
}

const struct scope *compare_row_scope(const struct comparison *comparison,
                                      size_t i)
{
    uint32_t scope;
    const struct run *run = row_run(comparison, &comparison->rows[i], &scope);

    return run_scope(run, scope);
}

enum assay_status compare_row_path(const struct comparison *comparison,
                                   size_t i, struct str *path)
{
    uint32_t scope;
    const struct run *run = row_run(comparison, &comparison->rows[i], &scope);

    return run_scope_path(run, scope, path);
}
