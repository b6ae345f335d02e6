/* store/cells_out.c - writes the cells and counters of a run.
 *
 * Both only gain points, until they are thinned: then the stride changes and
 * their points are written again. */
#include "store/writer_internal.h"

#include "base/vec.h"

#include <string.h>

/* ---- cells ------------------------------------------------------------ */

static void row_dist(struct row *row, const struct dist *dist,
                     struct str *sketch)
{
    row_count(row, dist->n);
    row_real(row, dist->mean);
    row_real(row, dist->m2);
    row_int(row, dist->min);
    row_int(row, dist->max);
    row_blob(row, sketch);
}

static enum assay_status cells_write_stat(struct store_writer *writer,
                                          const struct cell *cell, size_t id,
                                          struct str sketches[2],
                                          struct error *err)
{
    struct row row;

    str_clear(&sketches[0]);
    str_clear(&sketches[1]);
    if (sketch_encode(&cell->calls.sketch, &sketches[0]) ||
        sketch_encode(&cell->iterations.sketch, &sketches[1]))
        return error_nomem(err, sketches[0].n, "a sketch");
    row = writer_row(writer, PUT_STAT, err);
    row_int(&row, (int64_t)id);
    row_int(&row, cell->scope);
    row_int(&row, cell->phase);
    row_int(&row, cell->thread);
    row_int(&row, cell->is_outside);
    row_int(&row, cell->total_ns);
    row_int(&row, cell->self_ns);
    row_bytes(&row, cell->bytes);
    row_bytes(&row, cell->peak_bytes);
    row_dist(&row, &cell->calls, &sketches[0]);
    row_dist(&row, &cell->iterations, &sketches[1]);
    row_int(&row, cell->stride);
    return row_write(&row);
}

static int cells_bind_point(sqlite3_stmt *stmt, int at,
                            const struct bulk_source *source, size_t i)
{
    const struct point *point = (const struct point *)source->items + i;
    struct row row = {.stmt = stmt, .n = at - 1};

    row_int(&row, source->owner);
    row_int(&row, point->iteration);
    row_int(&row, point->calls);
    row_int(&row, point->total_ns);
    row_int(&row, point->self_ns);
    return row.rc;
}

static enum assay_status cells_write_points(struct store_writer *writer,
                                            const struct cell *cell, size_t id,
                                            struct error *err)
{
    const struct written *written = &writer->cells[id];
    struct bulk_source source = {
        .items = cell->points, .owner = (int64_t)id, .bind = cells_bind_point};
    size_t first = written->n_points;

    if (first > 0 && cell->stride != written->stride) {
        enum assay_status st = writer_cut(writer, CUT_POINTS, (int64_t)id, err);

        if (st)
            return st;
        first = 0;
    }
    return bulk_insert(writer, &writer->points, &source, first, cell->n_points,
                       err);
}

static enum assay_status cells_write_one(struct store_writer *writer,
                                         const struct cell *cell, size_t id,
                                         struct str sketches[2],
                                         struct error *err)
{
    struct written *written = &writer->cells[id];
    enum assay_status st;

    if (written->stride && written->calls == cell->calls.n &&
        written->iterations == cell->iterations.n)
        return ASSAY_OK;
    st = cells_write_stat(writer, cell, id, sketches, err);
    if (!st)
        st = cells_write_points(writer, cell, id, err);
    *written = (struct written){.calls = cell->calls.n,
                                .iterations = cell->iterations.n,
                                .n_points = cell->n_points,
                                .stride = cell->stride};
    return st;
}

enum assay_status written_grow(struct written **written, size_t *n,
                               size_t *capacity, size_t n_needed,
                               struct error *err)
{
    if (n_needed <= *n)
        return ASSAY_OK;
    if (!vec_grow(written, capacity, n_needed, sizeof **written))
        return error_nomem(err, n_needed * sizeof **written,
                           "the state of a run file");
    memset(*written + *n, 0, (n_needed - *n) * sizeof **written);
    *n = n_needed;
    return ASSAY_OK;
}

enum assay_status cells_write(struct store_writer *writer,
                              const struct run *run, struct error *err)
{
    struct str sketches[2] = {0};
    size_t n = run_cell_count(run);
    enum assay_status st = written_grow(&writer->cells, &writer->n_cells,
                                        &writer->cells_capacity, n, err);

    for (size_t i = 0; i < n && !st; i++)
        st = cells_write_one(writer, run_cell(run, i), i, sketches, err);
    str_release(&sketches[0]);
    str_release(&sketches[1]);
    return st;
}

/* ---- counters --------------------------------------------------------- */

static enum assay_status counters_put(struct store_writer *writer,
                                      const struct counter *counter, size_t id,
                                      struct error *err)
{
    struct row row = writer_row(writer, PUT_COUNTER, err);

    row_int(&row, (int64_t)id);
    row_text(&row, counter->name);
    row_text(&row, counter->unit);
    row_count(&row, counter->n);
    row_real(&row, counter->mean);
    row_real(&row, counter->min);
    row_real(&row, counter->max);
    row_real(&row, counter->last);
    row_int(&row, counter->stride);
    return row_write(&row);
}

static enum assay_status counters_put_points(struct store_writer *writer,
                                             const struct counter *counter,
                                             size_t id, size_t first,
                                             struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = first; i < counter->n_points && !st; i++) {
        struct row row = writer_row(writer, PUT_COUNTER_POINT, err);

        row_int(&row, (int64_t)id);
        row_int(&row, counter->points[i].time_ns);
        row_real(&row, counter->points[i].value);
        st = row_write(&row);
    }
    return st;
}

static enum assay_status counters_write_one(struct store_writer *writer,
                                            const struct counter *counter,
                                            size_t id, struct error *err)
{
    struct written *written = &writer->counters[id];
    size_t first = written->n_points;
    enum assay_status st;

    if (written->stride && written->calls == counter->n)
        return ASSAY_OK;
    st = counters_put(writer, counter, id, err);
    if (!st && first > 0 && counter->stride != written->stride) {
        st = writer_cut(writer, CUT_COUNTER_POINTS, (int64_t)id, err);
        first = 0;
    }
    if (!st)
        st = counters_put_points(writer, counter, id, first, err);
    *written = (struct written){.calls = counter->n,
                                .n_points = counter->n_points,
                                .stride = counter->stride};
    return st;
}

enum assay_status counters_write(struct store_writer *writer,
                                 const struct run *run, struct error *err)
{
    size_t n = run_counters(run);
    enum assay_status st = written_grow(&writer->counters, &writer->n_counters,
                                        &writer->counters_capacity, n, err);

    for (size_t i = 0; i < n && !st; i++)
        st = counters_write_one(writer, run_counter(run, (uint32_t)i), i, err);
    return st;
}
