/* store/series_in.c - the series of a run, and who owned its memory, coming
 * out of its file. */
#include "store/loader_internal.h"

#include <string.h>

/* ---- series ------------------------------------------------------------ */

static enum assay_status read_series(struct loader *loader, struct error *err)
{
    struct rows rows =
        rows_open(loader, "series", "id, name, unit, stride", err);

    while (rows_next(&rows)) {
        const char *name = rows_text(&rows, 1);
        const char *unit = rows_text(&rows, 2);
        uint32_t stride = (uint32_t)rows_int(&rows, 3, 1, INT64_C(1) << 31);
        uint32_t id = 0;

        if (rows.status)
            break;
        rows_take(&rows, run_series_add(loader->run, name, unit, &id, err));
        if (!rows.status && rows.id != (int64_t)id)
            rows_refuse(&rows, "its number should be %u, or it is there twice",
                        id);
        if (!rows.status)
            rows_take(&rows, run_series_restore(loader->run, id, stride, err));
    }
    return rows_close(&rows);
}

static enum assay_status read_labels(struct loader *loader, struct error *err)
{
    struct rows rows = rows_open(loader, "series_label",
                                 "series << 32 | i, series, i, label", err);
    struct run *run = loader->run;

    while (rows_next(&rows)) {
        uint32_t id = rows_id(&rows, 1, run_series_count(run));
        uint32_t i = rows_id(&rows, 2, RUN_NONE);
        const char *label = rows_text(&rows, 3);

        if (rows.status)
            break;
        if (i != run_series(run, id)->n_labels)
            rows_refuse(&rows, "label %u of series %u has number %u",
                        (unsigned)run_series(run, id)->n_labels, id, i);
        else
            rows_take(&rows, run_series_label(run, id, label, err));
    }
    return rows_close(&rows);
}

static enum assay_status read_points(struct loader *loader, struct error *err)
{
    struct rows rows =
        rows_open(loader, "series_point",
                  "series << 32 | iteration, series, iteration, value", err);
    struct run *run = loader->run;

    while (rows_next(&rows)) {
        uint32_t id = rows_id(&rows, 1, run_series_count(run));
        uint32_t iteration = rows_id(&rows, 2, RUN_NONE);
        double value = rows_real(&rows, 3);
        const struct series *series;

        if (rows.status)
            break;
        series = run_series(run, id);
        if (series->n_points == RUN_MAX_POINTS)
            rows_refuse(&rows, "series %u has more than %d", id,
                        RUN_MAX_POINTS);
        else if (!run_is_kept(iteration, series->stride))
            rows_refuse(&rows, "iteration %u is not one of a stride of %u",
                        iteration, series->stride);
        else
            rows_take(&rows, run_series_put(run, id, iteration, value, err));
    }
    return rows_close(&rows);
}

enum assay_status series_read(struct loader *loader, struct error *err)
{
    enum assay_status st = read_series(loader, err);

    if (!st)
        st = read_labels(loader, err);
    if (!st)
        st = read_points(loader, err);
    if (!st)
        run_series_number_steps(loader->run);
    return st;
}

/* ---- ledger ------------------------------------------------------------ */

static enum ledger_kind read_kind(struct rows *rows, int column)
{
    static const enum ledger_kind kinds[] = {
#define KIND(name, text) name,
        RUN_LEDGER_KINDS(KIND)
#undef KIND
    };
    const char *text = rows_text(rows, column);

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(text, ledger_kind_text(kinds[i])) == 0)
            return kinds[i];
    }
    rows_refuse(rows, "no kind of memory is called '%.40s'", text);
    return kinds[0];
}

enum assay_status ledger_read(struct loader *loader, struct error *err)
{
    struct rows rows =
        rows_open(loader, "ledger", "id, kind, scope, bytes, what", err);
    size_t n_scopes = run_scope_count(loader->run);
    int64_t sum = 0;

    while (rows_next(&rows)) {
        struct ledger_row row = {
            .kind = read_kind(&rows, 1),
            .scope = rows_id_or_none(&rows, 2, n_scopes),
            .bytes = rows_int(&rows, 3, 0, INT64_MAX),
            .what = rows_text(&rows, 4),
        };

        if (__builtin_add_overflow(sum, row.bytes, &sum))
            rows_refuse(&rows, "the bytes add up to more than there can be");
        if (!rows.status)
            rows_take(&rows, run_ledger_add(loader->run, &row, err));
    }
    return rows_close(&rows);
}

/* ---- memory by space --------------------------------------------------- */

enum assay_status spaces_read(struct loader *loader, struct error *err)
{
    struct rows rows = rows_open(
        loader, "memory_space",
        "id, space, category, live_bytes, peak_bytes, at_peak_bytes", err);

    while (rows_next(&rows)) {
        struct space_row row = {
            .space = rows_text(&rows, 1),
            .category = rows_text(&rows, 2),
            .live_bytes = rows_int(&rows, 3, INT64_MIN + 1, INT64_MAX),
            .peak_bytes = rows_int(&rows, 4, 0, INT64_MAX),
            .at_peak_bytes = rows_int(&rows, 5, INT64_MIN + 1, INT64_MAX),
        };

        if (!rows.status)
            rows_take(&rows, run_space_restore(loader->run, &row, err));
    }
    return rows_close(&rows);
}
