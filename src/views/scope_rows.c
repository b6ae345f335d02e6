/* views/scope_rows.c - see scope_rows.h. */
#include "views/scope_rows.h"

#include "base/mem.h"
#include "run/device_balance.h"

#include <math.h>

void rows_release(struct rows *rows)
{
    mem_free(rows->items);
    *rows = (struct rows){0};
}

/* The sibling whose kernel does the work of a scope, or the scope itself. */
static uint32_t scope_rows_doer(const struct run *run, uint32_t scope)
{
    for (;;) {
        const struct scope_work *work = run_work(run, scope);

        if (!work || work->done_by == RUN_NONE ||
            run_scope(run, work->done_by)->parent !=
                run_scope(run, scope)->parent)
            return scope;
        scope = work->done_by;
    }
}

/* From a scope on, the first of its siblings that is done by `doer`;
 * RUN_NONE as `doer`: by itself. */
static uint32_t scope_rows_find(const struct run *run, uint32_t scope,
                                uint32_t doer)
{
    while (scope != RUN_NONE) {
        uint32_t by = scope_rows_doer(run, scope);

        if (doer == RUN_NONE ? by == scope : by == doer && scope != doer)
            break;
        scope = run_scope(run, scope)->next_sibling;
    }
    return scope;
}

static uint32_t scope_rows_first(const struct run *run, uint32_t parent)
{
    return scope_rows_find(run, run_scope(run, parent)->first_child, RUN_NONE);
}

/* Scopes that were fused into a sibling follow it. */
static uint32_t scope_rows_next(const struct run *run, uint32_t scope,
                                bool has_fused)
{
    uint32_t doer, next;

    if (!has_fused || run_scope(run, scope)->parent == RUN_NONE)
        return run_scope(run, scope)->next_sibling;
    doer = scope_rows_doer(run, scope);
    next = doer == scope
               ? run_scope(run, run_scope(run, scope)->parent)->first_child
               : run_scope(run, scope)->next_sibling;
    next = scope_rows_find(run, next, doer);
    if (next != RUN_NONE)
        return next;
    return scope_rows_find(run, run_scope(run, doer)->next_sibling, RUN_NONE);
}

static bool scope_rows_has_fused(const struct run *run)
{
    for (uint32_t i = 0; i < run_scope_count(run); i++) {
        const struct scope_work *work = run_work(run, i);

        if (work && work->done_by != RUN_NONE)
            return true;
    }
    return false;
}

/* Walks the tree: down, along, and up by the parent. */
static void scope_rows_place(const struct run *run, struct rows *rows,
                             size_t *row_of_scope)
{
    bool has_fused = scope_rows_has_fused(run);
    uint32_t at = RUN_ROOT;

    while (at != RUN_NONE) {
        const struct scope *scope = run_scope(run, at);
        uint32_t next;

        row_of_scope[at] = rows->n;
        rows->items[rows->n] = (struct row){
            .scope = at,
            .parent =
                scope->parent == RUN_NONE ? 0 : row_of_scope[scope->parent],
            .depth = scope->depth,
            .name = scope->name,
            .class_name = scope->class_name,
            .bytes = RUN_UNKNOWN,
            .peak_bytes = RUN_UNKNOWN};
        rows->has_classes |= scope->class_name[0] != '\0';
        rows->n++;
        if (scope->first_child != RUN_NONE) {
            at = scope_rows_first(run, at);
            continue;
        }
        next = scope_rows_next(run, at, has_fused);
        while (next == RUN_NONE && at != RUN_NONE) {
            at = run_scope(run, at)->parent;
            next =
                at == RUN_NONE ? RUN_NONE : scope_rows_next(run, at, has_fused);
        }
        at = next;
    }
}

static void rows_add_cell(const struct run *run, struct row *row,
                          const struct cell *cell)
{
    struct cell_sums sums = run_cell_sums(run, cell);

    row->is_called |= cell->calls.n > 0;
    row->calls += sums.calls;
    row->total_ns += sums.total_ns;
    row->self_ns += sums.self_ns;
    if (cell->bytes > row->bytes)
        row->bytes = cell->bytes;
    if (cell->peak_bytes > row->peak_bytes)
        row->peak_bytes = cell->peak_bytes;
}

/* Adds the cells inside the iterations, or all if none are marked. */
static void rows_add_inside(const struct run *run, struct rows *rows,
                            const size_t *row_of_scope)
{
    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (run_cell_is_scope_time(run, cell) &&
            (!cell->is_outside || rows->n_iterations == 0))
            rows_add_cell(run, &rows->items[row_of_scope[cell->scope]], cell);
    }
}

/* Adds the cells outside them to the rows that have nothing inside. */
static void scope_rows_add_outside(const struct run *run, struct rows *rows,
                                   const size_t *row_of_scope)
{
    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);
        struct row *row = &rows->items[row_of_scope[cell->scope]];

        if (run_cell_is_scope_time(run, cell) && cell->is_outside &&
            row->is_outside)
            rows_add_cell(run, row, cell);
    }
}

/* A row is outside if neither it nor any row below it is inside. */
static void rows_mark_outside(struct rows *rows)
{
    for (size_t i = 1; i < rows->n; i++)
        rows->items[i].is_outside = !rows->items[i].is_called;
    for (size_t i = rows->n; i-- > 1;) {
        if (!rows->items[i].is_outside)
            rows->items[rows->items[i].parent].is_outside = false;
    }
}

/* Rows that only group last as long as the rows below them that are inside or
 * outside like themselves, and have their peak. */
static void rows_sum_groups(struct rows *rows)
{
    for (size_t i = rows->n; i-- > 0;) {
        struct row *row = &rows->items[i];
        struct row *parent = &rows->items[row->parent];

        if (!row->is_called) {
            row->calls = row->self_ns = NAN;
            if (row->total_ns == 0)
                row->total_ns = NAN;
        }
        row->is_outside &= !isnan(row->total_ns);
        if (i == 0 || parent->is_called || isnan(row->total_ns) ||
            row->is_outside != parent->is_outside)
            continue;
        parent->total_ns += row->total_ns;
        if (row->peak_bytes > parent->peak_bytes)
            parent->peak_bytes = row->peak_bytes;
    }
}

/* If devices were timed in some iterations only, their times stand for all. */
static void scope_rows_scale_device(const struct run *run, struct rows *rows)
{
    double scale = run_device_scale(run);

    for (size_t i = 0; i < rows->n; i++) {
        if (!rows->items[i].is_outside)
            rows->items[i].device_ns *= scale;
    }
}

/* Adds what devices did, from the leaves up. Rows of the host are those that
 * have other cells too. */
static void scope_rows_add_device(const struct run *run, struct rows *rows,
                                  const size_t *row_of_scope)
{
    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);
        struct row *row = &rows->items[row_of_scope[cell->scope]];
        struct cell_sums sums;

        if (run_thread(run, cell->thread)->kind != THREAD_DEVICE ||
            (rows->n_iterations > 0 && cell->is_outside != row->is_outside))
            continue;
        sums = run_cell_sums(run, cell);
        row->device_ns += sums.self_ns;
        row->device_calls += sums.calls;
    }
    scope_rows_scale_device(run, rows);
    for (size_t i = rows->n; i-- > 1;)
        rows->items[rows->items[i].parent].device_ns +=
            rows->items[i].device_ns;
    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        rows->has_device |=
            cell->scope != RUN_ROOT &&
            run_thread(run, cell->thread)->kind == THREAD_CPU &&
            rows->items[row_of_scope[cell->scope]].device_ns > 0;
    }
}

/* Children of one thread never exceed their parent, apart from rounding. */
static enum assay_status rows_find_overlap(struct rows *rows, struct error *err)
{
    double *below = mem_array(rows->n, sizeof *below);

    if (!below)
        return error_nomem(err, rows->n * sizeof *below, "the rows of a view");
    for (size_t i = 1; i < rows->n; i++) {
        const struct row *row = &rows->items[i];

        if (!row->is_outside && !isnan(row->total_ns))
            below[row->parent] += row->total_ns;
    }
    for (size_t i = 0; i < rows->n; i++)
        rows->adds_up |= below[i] > rows->items[i].total_ns * 1.001;
    mem_free(below);
    return ASSAY_OK;
}

double row_longer_ns(const struct rows *rows, const struct row *row)
{
    return rows->has_device ? fmax(row->total_ns, row->device_ns)
                            : row->total_ns;
}

/* Without iterations the root lasts as long as the run, if that is known:
 * otherwise what threads did at the same time would count twice. */
static void scope_rows_share_whole(const struct run *run, struct rows *rows)
{
    struct row *root = &rows->items[0];

    if (!run_has_iterations(run) && run_duration_ns(run) > 0)
        root->total_ns = (double)run_duration_ns(run);
    rows->whole_ns = root->total_ns;
    for (size_t i = 0; i < rows->n; i++) {
        struct row *row = &rows->items[i];

        row->share = row->is_outside || !(rows->whole_ns > 0)
                         ? NAN
                         : row_longer_ns(rows, row) / rows->whole_ns;
    }
}

enum assay_status rows_build(const struct run *run, struct rows *rows,
                             struct error *err)
{
    size_t n = run_scope_count(run);
    size_t *row_of_scope = mem_array(n, sizeof *row_of_scope);
    enum assay_status st;

    rows->items = mem_array(n, sizeof *rows->items);
    if (!row_of_scope || !rows->items) {
        st = error_nomem(err, n * sizeof *rows->items, "the rows of a view");
        goto done;
    }
    rows->n_iterations = run_counted(run).n;
    rows->n_disturbed = run_counted(run).n_disturbed;
    rows->is_part = run_is_part(run);
    scope_rows_place(run, rows, row_of_scope);
    rows_add_inside(run, rows, row_of_scope);
    if (rows->n_iterations > 0) {
        rows_mark_outside(rows);
        scope_rows_add_outside(run, rows, row_of_scope);
    }
    rows_sum_groups(rows);
    scope_rows_add_device(run, rows, row_of_scope);
    scope_rows_share_whole(run, rows);
    rows_add_work(run, rows);
    st = rows_add_bounds(run, rows, err);
    if (!st)
        st = rows_find_overlap(rows, err);
done:
    mem_free(row_of_scope);
    return st;
}

double rows_each(const struct rows *rows, const struct row *row, double value)
{
    if (row->is_outside || rows->n_iterations == 0)
        return value;
    return value / (double)rows->n_iterations;
}

double row_device_ns(const struct rows *rows, const struct row *row)
{
    return rows->has_device && row->device_ns > 0
               ? rows_each(rows, row, row->device_ns)
               : NAN;
}

double row_pass_device_ns(const struct rows *rows, const struct row *row,
                          enum pass pass)
{
    double ns = row->pass_device_ns[pass];

    return ns > 0 ? rows_each(rows, row, ns) : NAN;
}

struct time_unit rows_unit(const struct rows *rows)
{
    double whole = rows_each(rows, &rows->items[0], rows->whole_ns);

    if (whole < 1e6)
        return (struct time_unit){.name = "us", .ns = 1e3};
    return (struct time_unit){.name = "ms", .ns = 1e6};
}

struct rate_unit rows_rate(const struct rows *rows)
{
    return units_flops(rows->peaks.gflops);
}
