/* store/cells_in.c - reads the cells and counters of a run. */
#include "store/loader_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>

enum { max_counter_points = 1 << 20 };

/* Cells before they go into the run: they need their points first. */
struct cells {
    struct cell *items;
    size_t n, capacity;
    int64_t total_ns, self_ns; /* of all, so that no sum of some overflows */
    int64_t points_ns, points_self_ns;
};

static void cells_release(struct cells *cells)
{
    for (size_t i = 0; i < cells->n; i++) {
        dist_release(&cells->items[i].calls);
        dist_release(&cells->items[i].iterations);
        mem_free(cells->items[i].points);
    }
    mem_free(cells->items);
}

static void cells_add_time(struct rows *rows, int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        rows_refuse(rows, "the times add up to more than a run can last");
}

/* ---- stat ------------------------------------------------------------- */

/* Six columns: n, mean, m2, min, max, sketch. */
static void cells_read_dist(struct rows *rows, int column, struct dist *dist)
{
    double slack;

    dist->n = (uint64_t)rows_int(rows, column, 0, INT64_MAX);
    dist->mean = rows_real(rows, column + 1);
    dist->m2 = rows_real(rows, column + 2);
    dist->min = rows_int(rows, column + 3, 0, RUN_MAX_NS);
    dist->max = rows_int(rows, column + 4, dist->min, RUN_MAX_NS);
    slack = 1 + 1e-6 * (double)dist->max; /* the mean was rounded many times */
    if (!(dist->mean >= (double)dist->min - slack) ||
        !(dist->mean <= (double)dist->max + slack) || !isfinite(dist->m2) ||
        dist->m2 < 0)
        rows_refuse(rows, "its mean and its extremes contradict each other");
    rows_sketch(rows, column + 5, dist->n, &dist->sketch);
}

static struct cell *cells_append(struct cells *cells, struct error *err)
{
    if (!vec_grow(&cells->items, &cells->capacity, cells->n + 1,
                  sizeof *cells->items)) {
        error_nomem(err, (cells->n + 1) * sizeof *cells->items,
                    "the statistics of a run");
        return NULL;
    }
    cells->items[cells->n] = (struct cell){0};
    return &cells->items[cells->n++];
}

static void cells_read_one(struct rows *rows, struct cell *cell)
{
    const struct run *run = rows->loader->run;

    cell->scope = rows_id(rows, 1, run_scope_count(run));
    cell->phase = rows_id(rows, 2, run_phase_count(run));
    cell->thread = rows_id(rows, 3, run_thread_count(run));
    cell->is_outside = rows_int(rows, 4, 0, 1);
    cell->total_ns = rows_int(rows, 5, 0, RUN_MAX_NS);
    cell->self_ns = rows_int(rows, 6, -RUN_MAX_NS, RUN_MAX_NS);
    cell->bytes = rows_bytes(rows, 7);
    cell->stride = (uint32_t)rows_int(rows, 8, 1, INT64_C(1) << 31);
    cells_read_dist(rows, 9, &cell->calls);
    cells_read_dist(rows, 15, &cell->iterations);
    cell->peak_bytes = rows_bytes(rows, 21);
    if (cell->stride & (cell->stride - 1))
        rows_refuse(rows, "stride %u is not a power of two", cell->stride);
}

static enum assay_status
cells_read_stats(struct loader *loader, struct cells *cells, struct error *err)
{
#define STAT_COLUMNS                                                           \
    "id, scope, phase, thread, outside, total_ns, self_ns, bytes, stride,"     \
    " calls, call_mean_ns, call_m2, call_min_ns, call_max_ns, call_sketch,"    \
    " iterations, iteration_mean_ns, iteration_m2, iteration_min_ns,"          \
    " iteration_max_ns, iteration_sketch, "
    struct rows rows =
        rows_open(loader, "stat",
                  loader->version < 2 ? STAT_COLUMNS "NULL AS peak_bytes"
                                      : STAT_COLUMNS "peak_bytes",
                  err);
#undef STAT_COLUMNS

    while (rows_next(&rows)) {
        struct cell *cell;

        if (rows.id != (int64_t)cells->n) {
            rows_refuse(&rows, "its number should be %zu", cells->n);
            break;
        }
        cell = cells_append(cells, err);
        if (!cell) {
            rows_take(&rows, ASSAY_NOMEM);
            break;
        }
        cells_read_one(&rows, cell);
        cells_add_time(&rows, &cells->total_ns, cell->total_ns);
        cells_add_time(&rows, &cells->self_ns,
                       cell->self_ns < 0 ? -cell->self_ns : cell->self_ns);
    }
    return rows_close(&rows);
}

/* ---- point ------------------------------------------------------------ */

static enum assay_status cells_append_point(struct cell *cell,
                                            const struct point *point,
                                            struct error *err)
{
    if (!vec_grow(&cell->points, &cell->points_capacity, cell->n_points + 1,
                  sizeof *point))
        return error_nomem(err, (cell->n_points + 1) * sizeof *point,
                           "the iterations of a scope");
    cell->points[cell->n_points++] = *point;
    return ASSAY_OK;
}

static enum assay_status
cells_read_points(struct loader *loader, struct cells *cells, struct error *err)
{
    struct rows rows = rows_open(loader, "point",
                                 "stat << 32 | iteration, stat, iteration,"
                                 " calls, total_ns, self_ns",
                                 err);

    while (rows_next(&rows)) {
        uint32_t id = rows_id(&rows, 1, cells->n);
        struct point point = {
            .iteration = rows_id(&rows, 2, RUN_NONE),
            .calls = (uint32_t)rows_int(&rows, 3, 1, UINT32_MAX),
            .total_ns = rows_int(&rows, 4, 0, RUN_MAX_NS),
            .self_ns = rows_int(&rows, 5, -RUN_MAX_NS, RUN_MAX_NS),
        };
        struct cell *cell;

        if (rows.status)
            break;
        cell = &cells->items[id];
        if (cell->n_points == RUN_MAX_POINTS ||
            cell->n_points == cell->iterations.n)
            rows_refuse(&rows, "stat %u has more points than iterations", id);
        cells_add_time(&rows, &cells->points_ns, point.total_ns);
        cells_add_time(&rows, &cells->points_self_ns,
                       point.self_ns < 0 ? -point.self_ns : point.self_ns);
        if (!rows.status)
            rows_take(&rows, cells_append_point(cell, &point, err));
    }
    return rows_close(&rows);
}

enum assay_status cells_read(struct loader *loader, struct error *err)
{
    struct cells cells = {0};
    enum assay_status st = cells_read_stats(loader, &cells, err);

    if (!st)
        st = cells_read_points(loader, &cells, err);
    for (size_t i = 0; i < cells.n && !st; i++) {
        struct cell cell = cells.items[i];

        /* The run owns it now, even if it refuses it. */
        cells.items[i] = (struct cell){0};
        st = run_cell_take(loader->run, &cell, err);
        if (st)
            error_context(err, "%s is damaged", loader->db.path);
    }
    cells_release(&cells);
    return st;
}

/* ---- counters --------------------------------------------------------- */

struct counters {
    struct counter *items; /* with copies of the names */
    size_t n, capacity;
};

static void counters_release(struct counters *counters)
{
    for (size_t i = 0; i < counters->n; i++) {
        mem_free((char *)counters->items[i].name);
        mem_free((char *)counters->items[i].unit);
        mem_free(counters->items[i].points);
    }
    mem_free(counters->items);
}

static enum assay_status counters_append(struct counters *counters,
                                         const struct counter *counter,
                                         struct error *err)
{
    struct counter *copy;

    if (!vec_grow(&counters->items, &counters->capacity, counters->n + 1,
                  sizeof *counter))
        return error_nomem(err, (counters->n + 1) * sizeof *counter,
                           "the counters of a run");
    copy = &counters->items[counters->n++];
    *copy = *counter;
    copy->name = mem_strdup(counter->name);
    copy->unit = mem_strdup(counter->unit);
    if (!copy->name || !copy->unit)
        return error_nomem(err, 1, "the name of a counter");
    return ASSAY_OK;
}

static enum assay_status counters_read_rows(struct loader *loader,
                                            struct counters *counters,
                                            struct error *err)
{
    struct rows rows =
        rows_open(loader, "counter",
                  "id, name, unit, n, mean, min, max, last, stride", err);

    while (rows_next(&rows)) {
        struct counter counter = {
            .name = rows_text(&rows, 1),
            .unit = rows_text(&rows, 2),
            .n = (uint64_t)rows_int(&rows, 3, 0, INT64_MAX),
            .mean = rows_real(&rows, 4),
            .min = rows_real(&rows, 5),
            .max = rows_real(&rows, 6),
            .last = rows_real(&rows, 7),
            .stride = (uint32_t)rows_int(&rows, 8, 1, UINT32_MAX),
        };

        if (rows.id != (int64_t)counters->n)
            rows_refuse(&rows, "its number should be %zu", counters->n);
        if (!rows.status)
            rows_take(&rows, counters_append(counters, &counter, err));
    }
    return rows_close(&rows);
}

static enum assay_status
counters_append_point(struct counter *counter,
                      const struct counter_point *point, struct error *err)
{
    if (!vec_grow(&counter->points, &counter->points_capacity,
                  counter->n_points + 1, sizeof *point))
        return error_nomem(err, (counter->n_points + 1) * sizeof *point,
                           "the points of a counter");
    counter->points[counter->n_points++] = *point;
    return ASSAY_OK;
}

static enum assay_status counters_read_points(struct loader *loader,
                                              struct counters *counters,
                                              struct error *err)
{
    struct rows rows = rows_open(loader, "counter_point",
                                 "rowid, counter, time_ns, value", err);

    while (rows_next(&rows)) {
        uint32_t id = rows_id(&rows, 1, counters->n);
        struct counter_point point = {
            .time_ns = rows_int(&rows, 2, -RUN_MAX_NS, RUN_MAX_NS),
            .value = rows_real(&rows, 3),
        };
        struct counter *counter;

        if (rows.status)
            break;
        counter = &counters->items[id];
        if (counter->n_points == max_counter_points ||
            counter->n_points == counter->n)
            rows_refuse(&rows, "counter %u has more points than values", id);
        if (!rows.status)
            rows_take(&rows, counters_append_point(counter, &point, err));
    }
    return rows_close(&rows);
}

enum assay_status counters_read(struct loader *loader, struct error *err)
{
    struct counters counters = {0};
    enum assay_status st = counters_read_rows(loader, &counters, err);

    if (!st)
        st = counters_read_points(loader, &counters, err);
    for (size_t i = 0; i < counters.n && !st; i++) {
        struct counter counter = counters.items[i];

        counters.items[i].points = NULL; /* now the run's */
        st = run_counter_restore(loader->run, &counter, err);
    }
    counters_release(&counters);
    return st;
}
