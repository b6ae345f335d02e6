/* views/row_work.c - the arithmetic of rows, and which scope does it. */
#include "views/scope_rows.h"

#include <math.h>

double add_known(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

void work_add(struct scope_work *into, const struct scope_work *from)
{
    into->macs = add_known(into->macs, from->macs);
    into->flops = add_known(into->flops, from->flops);
    into->read_bytes = add_known(into->read_bytes, from->read_bytes);
    into->write_bytes = add_known(into->write_bytes, from->write_bytes);
    into->parameters = add_known(into->parameters, from->parameters);
    into->done_flops = add_known(into->done_flops, from->done_flops);
    into->done_bytes = add_known(into->done_bytes, from->done_bytes);
    into->kept_bytes = add_known(into->kept_bytes, from->kept_bytes);
}

/* The work of each row itself. */
static void row_work_set_own(const struct run *run, struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct row *row = &rows->items[i];
        const struct scope_work *work = run_work(run, row->scope);

        row->work = work ? *work : scope_work_unknown();
        row->self_macs = row->work.macs;
        row->is_leaf = true; /* until something below it turns up */
        if (row->is_called)
            row->work.done_by = RUN_NONE;
    }
}

/* A row that only groups is not a leaf, and passes on whether anything below it
 * was called. */
static void row_work_sum_up(struct rows *rows)
{
    for (size_t i = rows->n; i-- > 0;) {
        struct row *row = &rows->items[i];
        struct row *parent = &rows->items[row->parent];
        bool is_called_below = !row->is_leaf;

        row->is_leaf &= row->is_called;
        if (i == 0)
            break;
        work_add(&parent->work, &row->work);
        if (row->is_called || is_called_below)
            parent->is_leaf = false;
    }
}

static void row_work_find_cover(struct rows *rows)
{
    double covered = 0, whole = 0;

    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->items[i];
        double ns = rows->has_device ? row->device_ns : row->self_ns;

        rows->has_macs |= row->work.macs > 0;
        if (!row->is_leaf || row->is_outside)
            continue;
        whole += ns;
        if (row->work.macs > 0)
            covered += ns;
    }
    rows->macs_cover = rows->has_macs && whole > 0 ? covered / whole : NAN;
}

void rows_add_work(const struct run *run, struct rows *rows)
{
    row_work_set_own(run, rows);
    row_work_sum_up(rows);
    row_work_find_cover(rows);
}

enum assay_status rows_add_bounds(const struct run *run, struct rows *rows,
                                  struct error *err)
{
    struct bounds bounds = {0};
    enum assay_status st = bounds_build(run, &bounds, err);

    for (size_t i = 0; !st && i < rows->n; i++)
        rows->items[i].bound = bounds.items[rows->items[i].scope];
    rows->has_bounds = bounds.is_known;
    rows->peaks = bounds.peaks;
    bounds_release(&bounds);
    return st;
}

double row_gflops(const struct rows *rows, const struct row *row)
{
    double device_ns = row_device_ns(rows, row);
    double ns = device_ns > 0 ? device_ns : rows_each(rows, row, row->total_ns);

    /* Without iterations nobody knows how often the work was done. */
    if (rows->n_iterations == 0 || rows->is_part || row->is_outside ||
        !(row->work.macs > 0) || !(ns > 0))
        return NAN;
    return 2 * row->work.macs / ns;
}

bool row_is_fused(const struct row *row)
{
    return row->work.done_by != RUN_NONE;
}

enum assay_status row_doer(const struct run *run, const struct row *row,
                           struct str *text)
{
    uint32_t doer = row->work.done_by;
    const struct scope *scope = run_scope(run, doer);

    if (str_append(text, "   fused into "))
        return ASSAY_NOMEM;
    if (scope->parent == run_scope(run, row->scope)->parent)
        return str_append(text, scope->name);
    return run_scope_path(run, doer, text);
}
