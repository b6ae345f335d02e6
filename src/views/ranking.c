/* views/ranking.c - see ranking_internal.h. */
#include "views/ranking_internal.h"

#include "base/map.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ranking_release(struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->n; i++) {
        str_release(&ranking->items[i].label);
        str_release(&ranking->items[i].title);
    }
    mem_free(ranking->items);
    rows_release(&ranking->rows);
    *ranking = (struct ranking){0};
}

double row_call_ns(const struct row *row)
{
    return row->calls > 0 ? row->total_ns / row->calls : NAN;
}

/* ---- joining ---------------------------------------------------------- */

static const char *ranking_group_key(const struct row *row,
                                     enum view_group group)
{
    return group == GROUP_CLASS ? row->class_name : row->name;
}

/* The total of a row above it in its own group already includes it, if both are
 * inside the iterations or both outside. */
static bool ranking_is_nested(const struct rows *rows, size_t at,
                              enum view_group group)
{
    const char *key = ranking_group_key(&rows->items[at], group);
    bool is_outside = rows->items[at].is_outside;

    while (at != 0) {
        at = rows->items[at].parent;
        if (rows->items[at].is_called &&
            rows->items[at].is_outside == is_outside &&
            strcmp(ranking_group_key(&rows->items[at], group), key) == 0)
            return true;
    }
    return false;
}

static void ranking_join(struct ranked *into, const struct row *row,
                         bool nested)
{
    struct row *sum = &into->row;

    into->n_scopes++;
    sum->scope = RUN_NONE;
    sum->is_called |= row->is_called;
    sum->calls = add_known(sum->calls, row->calls);
    sum->self_ns = add_known(sum->self_ns, row->self_ns);
    if (!nested) {
        sum->total_ns = add_known(sum->total_ns, row->total_ns);
        sum->device_ns += row->device_ns;
        sum->share = add_known(sum->share, row->share);
        work_add(&sum->work, &row->work);
        bound_add(&sum->bound, &row->bound);
    }
    sum->self_macs = add_known(sum->self_macs, row->self_macs);
    if (row->bytes > sum->bytes)
        sum->bytes = row->bytes;
    if (row->peak_bytes > sum->peak_bytes)
        sum->peak_bytes = row->peak_bytes;
    if (strcmp(sum->class_name, row->class_name) != 0)
        sum->class_name = "";
}

/* The item that a row joins, or UINT64_MAX. Rows outside the iterations stay
 * apart from those inside. */
static uint64_t ranking_find_group(const struct map groups[2],
                                   const struct row *row, enum view_group group)
{
    uint64_t at = UINT64_MAX;

    if (group != GROUP_SCOPE)
        map_find_text(&groups[row->is_outside], ranking_group_key(row, group),
                      &at);
    return at;
}

/* Fills in the items, without labels; *n is their number. Rows that were never
 * called only group others and are left out, except for those that were fused
 * into another. */
static enum assay_status ranking_join_rows(const struct rows *rows,
                                           enum view_group group,
                                           bool with_fused,
                                           struct ranked *items, size_t *n)
{
    enum assay_status st = ASSAY_OK;
    struct map groups[2] = {{0}, {0}}; /* inside, outside */

    *n = 0;
    for (size_t i = 0; !st && i < rows->n; i++) {
        const struct row *row = &rows->items[i];
        uint64_t at = ranking_find_group(groups, row, group);

        if (!row->is_called && !(with_fused && row_is_fused(row)))
            continue;
        if (at != UINT64_MAX) {
            ranking_join(&items[at], row, ranking_is_nested(rows, i, group));
            continue;
        }
        items[*n] = (struct ranked){.row = *row,
                                    .order = i,
                                    .n_scopes = 1,
                                    .stats = scope_stats_unknown()};
        if (group != GROUP_SCOPE)
            st = map_put_text(&groups[row->is_outside],
                              ranking_group_key(row, group), *n);
        (*n)++;
    }
    map_release(&groups[0]);
    map_release(&groups[1]);
    return st;
}

/* ---- sorting ---------------------------------------------------------- */

static double ranking_sort_value(const struct ranked *item, enum view_sort sort)
{
    switch (sort) {
    case SORT_SELF:
        return item->row.self_ns;
    case SORT_TOTAL:
        return item->row.total_ns;
    case SORT_CALLS:
        return item->row.calls;
    case SORT_MEAN:
        return row_call_ns(&item->row);
    case SORT_BYTES:
        return item->row.peak_bytes == RUN_UNKNOWN
                   ? NAN
                   : (double)item->row.peak_bytes;
    case SORT_NAME:
    case SORT_ORDER:
        break;
    }
    return 0;
}

/* Rows outside the iterations come last; large before small before unknown,
 * then by first appearance. */
static int ranking_compare_ranked(const void *left, const void *right,
                                  void *context)
{
    const struct ranked *a = left, *b = right;
    const enum view_sort *sort = context;
    double x = ranking_sort_value(a, *sort), y = ranking_sort_value(b, *sort);
    int order = a->row.is_outside - b->row.is_outside;

    if (order)
        return order;
    if (*sort == SORT_NAME)
        order = strcmp(a->row.name, b->row.name);
    else if (isnan(x) || isnan(y))
        order = isnan(x) - isnan(y);
    else
        order = (x < y) - (x > y);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* ---- naming ----------------------------------------------------------- */

static enum assay_status ranking_describe_fused(const struct run *run,
                                                struct ranked *item)
{
    if (str_append(&item->title, str_text(&item->label)))
        return ASSAY_NOMEM;
    return row_doer(run, &item->row, &item->title);
}

static enum assay_status ranking_describe(const struct run *run,
                                          const struct view_options *options,
                                          struct ranked *item,
                                          struct error *err)
{
    enum assay_status st;

    if (options->group == GROUP_SCOPE)
        st = run_scope_path(run, item->row.scope, &item->label);
    else
        st = str_append(&item->label,
                        ranking_group_key(&item->row, options->group));
    if (!st && row_is_fused(&item->row))
        st = ranking_describe_fused(run, item);
    if (st)
        return error_nomem(err, item->label.n + 1, "the name of a row");
    if (item->row.scope == RUN_NONE || !item->row.is_called)
        return ASSAY_OK;
    return run_scope_stats(run, item->row.scope, RUN_ANY, &item->stats, err);
}

const char *ranked_title(const struct ranked *item)
{
    if (item->title.n)
        return str_text(&item->title);
    return item->label.n ? str_text(&item->label) : "(no class)";
}

enum assay_status ranking_build(const struct run *run,
                                const struct view_options *options,
                                size_t default_limit, bool with_fused,
                                struct ranking *ranking, struct error *err)
{
    const struct rows *rows = &ranking->rows;
    enum view_sort sort = options->sort;
    size_t limit = options->limit ? options->limit : default_limit, n;
    enum assay_status st = rows_build(run, &ranking->rows, err);

    if (st)
        return st;
    ranking->items = mem_array(rows->n, sizeof *ranking->items);
    if (!ranking->items ||
        ranking_join_rows(rows, options->group,
                          with_fused && options->group == GROUP_SCOPE,
                          ranking->items, &n) != ASSAY_OK)
        return error_nomem(err, rows->n * sizeof *ranking->items,
                           "the rows of a table");
    qsort_r(ranking->items, n, sizeof *ranking->items, ranking_compare_ranked,
            &sort);
    ranking->n = options->all || limit > n ? n : limit;
    ranking->n_hidden = n - ranking->n;
    for (size_t i = 0; !st && i < ranking->n; i++)
        st = ranking_describe(run, options, &ranking->items[i], err);
    return st;
}
