/* store/series_out.c - the series of a run, and who owned its memory, going
 * into its file. */
#include "store/writer_internal.h"

#include "base/map.h"

#include <string.h>

/* ---- series ------------------------------------------------------------ */

static enum assay_status put_series(struct store_writer *writer,
                                    const struct series *series, size_t id,
                                    struct error *err)
{
    struct row row;
    enum assay_status st = writer_put(writer, PUT_SERIES, &row, err);

    if (st)
        return st;
    row_int(&row, (int64_t)id);
    row_text(&row, series->name);
    row_text(&row, series->unit);
    row_int(&row, series->stride);
    return row_write(&row, &writer->db, err);
}

static enum assay_status put_labels(struct store_writer *writer,
                                    const struct series *series, size_t id,
                                    size_t first, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    struct row row;

    for (size_t i = first; i < series->n_labels && !st; i++) {
        st = writer_put(writer, PUT_LABEL, &row, err);
        if (st)
            break;
        row_int(&row, (int64_t)id);
        row_int(&row, (int64_t)i);
        row_text(&row, series->labels[i]);
        st = row_write(&row, &writer->db, err);
    }
    return st;
}

static enum assay_status put_points(struct store_writer *writer,
                                    const struct series *series, size_t id,
                                    size_t first, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    struct row row;

    for (size_t i = first; i < series->n_points && !st; i++) {
        st = writer_put(writer, PUT_SERIES_POINT, &row, err);
        if (st)
            break;
        row_int(&row, (int64_t)id);
        row_int(&row, series->points[i].iteration);
        row_real(&row, series->points[i].value);
        st = row_write(&row, &writer->db, err);
    }
    return st;
}

/* Like a cell it only gains points until it is thinned. */
static enum assay_status write_series(struct store_writer *writer,
                                      const struct series *series, size_t id,
                                      struct error *err)
{
    struct written *written = &writer->series[id];
    size_t first = written->n_points;
    enum assay_status st = ASSAY_OK;

    if (written->stride != series->stride) {
        st = put_series(writer, series, id, err);
        if (!st && first > 0)
            st = writer_cut(writer, CUT_SERIES_POINTS, (int64_t)id, err);
        first = 0;
    }
    if (!st)
        st = put_labels(writer, series, id, (size_t)written->calls, err);
    if (!st)
        st = put_points(writer, series, id, first, err);
    *written = (struct written){.calls = series->n_labels,
                                .n_points = series->n_points,
                                .stride = series->stride};
    return st;
}

enum assay_status series_write(struct store_writer *writer,
                               const struct run *run, struct error *err)
{
    size_t n = run_series_count(run);
    enum assay_status st = written_grow(&writer->series, &writer->n_series,
                                        &writer->series_capacity, n, err);

    for (size_t i = 0; i < n && !st; i++)
        st = write_series(writer, run_series(run, (uint32_t)i), i, err);
    return st;
}

/* ---- ledger ------------------------------------------------------------ */

static uint64_t hash_ledger(const struct run *run)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < run_ledger_count(run); i++) {
        const struct ledger_row *row = run_ledger(run, i);
        const int64_t values[] = {row->kind, row->scope, row->bytes};

        hash = hash * 31 + map_hash(values, sizeof values);
        hash = hash * 31 + map_hash(row->what, strlen(row->what));
    }
    return hash;
}

static enum assay_status put_owner(struct store_writer *writer,
                                   const struct ledger_row *owner, size_t id,
                                   struct error *err)
{
    struct row row;
    enum assay_status st = writer_put(writer, PUT_OWNER, &row, err);

    if (st)
        return st;
    row_int(&row, (int64_t)id);
    row_text(&row, ledger_kind_text(owner->kind));
    row_id(&row, owner->scope);
    row_int(&row, owner->bytes);
    row_text(&row, owner->what);
    return row_write(&row, &writer->db, err);
}

/* It comes at the end as a rule, all at once. */
enum assay_status ledger_write(struct store_writer *writer,
                               const struct run *run, struct error *err)
{
    uint64_t hash = hash_ledger(run);
    enum assay_status st;

    if (hash == writer->ledger_hash)
        return ASSAY_OK;
    st = writer_cut(writer, CUT_LEDGER, 0, err);
    for (size_t i = 0; i < run_ledger_count(run) && !st; i++)
        st = put_owner(writer, run_ledger(run, i), i, err);
    writer->ledger_hash = hash;
    return st;
}

/* ---- memory by space --------------------------------------------------- */

static enum assay_status put_space(struct store_writer *writer,
                                   const struct space_row *space, size_t id,
                                   struct error *err)
{
    struct row row;
    enum assay_status st = writer_put(writer, PUT_SPACE, &row, err);

    if (st)
        return st;
    row_int(&row, (int64_t)id);
    row_text(&row, space->space);
    row_text(&row, space->category);
    row_int(&row, space->live_bytes);
    row_int(&row, space->peak_bytes);
    row_int(&row, space->at_peak_bytes);
    return row_write(&row, &writer->db, err);
}

/* A handful of rows, which change all the time. */
enum assay_status spaces_write(struct store_writer *writer,
                               const struct run *run, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (run_space_count(run))
        st = writer_extend(writer, err);
    for (size_t i = 0; i < run_space_count(run) && !st; i++)
        st = put_space(writer, run_space(run, i), i, err);
    return st;
}
