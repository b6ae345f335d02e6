/* views/view_csv.c - one row per scope as comma-separated values (RFC 4180).
 *
 * Unknown values are empty fields. The columns are named like the members of
 * the rows in view_json.c. */
#include "base/csv_text.h"
#include "base/decimal.h"
#include "views/fields_internal.h"
#include "views/ranking_internal.h"

#include <math.h>

static enum assay_status csv_put_item(struct sink *sink, const struct run *run,
                                      const struct rows *rows,
                                      const struct ranked *item)
{
    struct str doer = {0};
    enum assay_status st = ASSAY_OK;
    char number[DECIMAL_MAX];

    csv_text(sink, str_text(&item->label));
    sink_puts(sink, ",");
    csv_text(sink, item->row.name);
    sink_puts(sink, ",");
    csv_text(sink, item->row.class_name);
    for (enum field i = 0; i < N_FIELDS; i++) {
        double value = field_value(i, rows, &item->row, &item->stats);

        sink_puts(sink, ",");
        if (!isnan(value)) {
            decimal_write(number, value);
            sink_puts(sink, number);
        }
    }
    if (row_is_fused(&item->row))
        st = run_scope_path(run, item->row.work.done_by, &doer);
    sink_puts(sink, ",");
    csv_text(sink, str_text(&doer));
    sink_puts(sink, ",");
    if (item->row.bound.kind != BOUND_UNKNOWN)
        csv_text(sink, bound_kind_text(item->row.bound.kind));
    sink_puts(sink, "\r\n");
    str_release(&doer);
    return st;
}

enum assay_status view_csv(const struct run *run,
                           const struct view_options *options,
                           struct sink *sink, struct error *err)
{
    struct ranking ranking = {0};
    enum assay_status st =
        ranking_build(run, options, SIZE_MAX, true, &ranking, err);

    if (st)
        goto done;
    sink_puts(sink, "path,name,class");
    for (enum field i = 0; i < N_FIELDS; i++)
        sink_printf(sink, ",%s", field_name(i));
    sink_puts(sink, ",done_by,bound\r\n");
    for (size_t i = 0; !st && i < ranking.n; i++)
        st = csv_put_item(sink, run, &ranking.rows, &ranking.items[i]);
    st = st ? error_nomem(err, RUN_MAX_DEPTH, "the path of a scope")
            : sink_status(sink, err);
done:
    ranking_release(&ranking);
    return st;
}
