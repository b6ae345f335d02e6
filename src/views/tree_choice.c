/* views/tree_choice.c - which rows of a tree are shown. */
#include "views/tree_internal.h"

#include "base/mem.h"

#include <math.h>

void tree_release(struct tree_choice *choice)
{
    mem_free(choice->is_shown);
    mem_free(choice->has_next);
    *choice = (struct tree_choice){0};
}

/* The time of all rows outside the iterations. */
static double tree_outside_ns(const struct rows *rows)
{
    double sum = 0;

    for (size_t i = 1; i < rows->n; i++) {
        if (rows->items[i].is_outside &&
            !rows->items[rows->items[i].parent].is_outside)
            sum += rows->items[i].total_ns;
    }
    return sum;
}

static bool tree_is_small(const struct row *row,
                          const struct view_options *options,
                          double whole_outside)
{
    double share = row->is_outside ? row->total_ns / whole_outside : row->share;

    return !options->all && !(share >= options->hide_below);
}

/* Marks large rows below large parents. */
static void tree_show_large(const struct rows *rows,
                            const struct view_options *options,
                            struct tree_choice *choice)
{
    double outside = tree_outside_ns(rows);

    choice->is_shown[0] = true;
    for (size_t i = 1; i < rows->n; i++) {
        const struct row *row = &rows->items[i];
        bool parent_is_shown = choice->is_shown[row->parent];

        choice->is_shown[i] =
            parent_is_shown && !tree_is_small(row, options, outside);
    }
}

/* Next to a sibling that is shown and does their work. */
static void tree_show_fused(const struct rows *rows, struct tree_choice *choice)
{
    for (size_t i = 1; i < rows->n; i++) {
        const struct row *row = &rows->items[i];
        size_t doer = i;

        if (!row_is_fused(row) || !choice->is_shown[row->parent])
            continue;
        while (--doer > row->parent &&
               (rows->items[doer].parent != row->parent ||
                row_is_fused(&rows->items[doer])))
            ;
        choice->is_shown[i] |= choice->is_shown[doer] &&
                               rows->items[doer].scope == row->work.done_by;
    }
}

/* The deepest level down to which at most max_rows rows are shown; at least 1.
 */
static enum assay_status tree_fit_depth(const struct rows *rows,
                                        size_t max_rows,
                                        struct tree_choice *choice,
                                        struct error *err)
{
    size_t *shown_at = mem_array(RUN_MAX_DEPTH + 1, sizeof *shown_at);
    size_t shown = 0;

    if (!shown_at)
        return error_nomem(err, (RUN_MAX_DEPTH + 1) * sizeof *shown_at,
                           "the levels of a tree");
    for (size_t i = 0; i < rows->n; i++)
        shown_at[rows->items[i].depth] += choice->is_shown[i];
    choice->depth = 0;
    for (uint32_t depth = 0; depth <= RUN_MAX_DEPTH; depth++) {
        shown += shown_at[depth];
        if (shown > max_rows && depth > 1)
            break;
        choice->depth = depth;
    }
    mem_free(shown_at);
    return ASSAY_OK;
}

static void tree_hide_deep(const struct rows *rows, struct tree_choice *choice)
{
    for (size_t i = 1; i < rows->n; i++) {
        const struct row *row = &rows->items[i];

        if (row->depth > choice->depth) {
            choice->is_shown[i] = false;
            choice->n_deep++;
        } else if (!choice->is_shown[i] && row_is_fused(row)) {
            choice->n_fused++;
        } else if (!choice->is_shown[i]) {
            choice->n_small++;
            if (choice->is_shown[row->parent] && row->share > 0)
                choice->small_share += row->share;
        }
    }
}

/* Siblings inside and outside the iterations are drawn separately. */
static enum assay_status tree_link_siblings(const struct rows *rows,
                                            struct tree_choice *choice,
                                            struct error *err)
{
    bool *has_child = mem_array(rows->n, sizeof *has_child);

    if (!has_child)
        return error_nomem(err, rows->n, "the rows of a tree");
    for (size_t i = rows->n; i-- > 1;) {
        const struct row *row = &rows->items[i];

        if (!choice->is_shown[i] ||
            row->is_outside != rows->items[row->parent].is_outside)
            continue;
        choice->has_next[i] = has_child[row->parent];
        has_child[row->parent] = true;
    }
    mem_free(has_child);
    return ASSAY_OK;
}

static enum assay_status tree_allocate(const struct rows *rows,
                                       struct tree_choice *choice,
                                       struct error *err)
{
    choice->is_shown = mem_array(rows->n, sizeof *choice->is_shown);
    choice->has_next = mem_array(rows->n, sizeof *choice->has_next);
    if (!choice->is_shown || !choice->has_next)
        return error_nomem(err, rows->n, "the rows of a tree");
    return ASSAY_OK;
}

/* How much a row is worth showing: its time, or a quarter of it if it only
 * repeats its parent's. */
static double tree_worth(const struct rows *rows, const struct row *row)
{
    static const double nearly_all = 0.95;
    double above = rows->items[row->parent].total_ns;

    return row->total_ns > nearly_all * above ? row->total_ns / 4
                                              : row->total_ns;
}

/* The row to show next, or 0. */
static size_t tree_costliest(const struct rows *rows,
                             const struct view_options *options,
                             const struct tree_choice *choice)
{
    size_t best = 0;

    for (size_t i = 1; i < rows->n; i++) {
        const struct row *row = &rows->items[i];

        if (!choice->is_shown[i] && choice->is_shown[row->parent] &&
            !row->is_outside && row->share >= options->hide_below &&
            (best == 0 ||
             tree_worth(rows, row) > tree_worth(rows, &rows->items[best])))
            best = i;
    }
    return best;
}

enum assay_status tree_choose_costly(const struct rows *rows, size_t top,
                                     const struct view_options *options,
                                     size_t max_rows,
                                     struct tree_choice *choice,
                                     struct error *err)
{
    enum assay_status st = tree_allocate(rows, choice, err);
    size_t n = 1, next;

    if (st)
        return st;
    choice->is_shown[top] = true;
    for (; n < max_rows; n++) {
        next = tree_costliest(rows, options, choice);
        if (!next)
            break;
        choice->is_shown[next] = true;
    }
    for (size_t i = top + 1;
         i < rows->n && rows->items[i].depth > rows->items[top].depth; i++)
        choice->n_small += !choice->is_shown[i];
    return tree_link_siblings(rows, choice, err);
}

/* Below `top`, the row that first has more than one called row below it, and
 * how many. */
static size_t tree_first_fork(const struct rows *rows, size_t top, size_t *n)
{
    for (;;) {
        size_t only = 0;

        *n = 0;
        for (size_t i = top + 1; i < rows->n; i++) {
            if (rows->items[i].parent != top || rows->items[i].is_outside ||
                !(rows->items[i].total_ns > 0))
                continue;
            only = i;
            (*n)++;
        }
        if (*n != 1)
            return top;
        top = only;
    }
}

bool tree_is_flat(const struct rows *rows, size_t top,
                  const struct tree_choice *choice)
{
    static const size_t crowded = 20;
    size_t n, fork = tree_first_fork(rows, top, &n);
    double told = 0;

    for (size_t i = fork + 1; i < rows->n; i++) {
        if (rows->items[i].parent == fork && choice->is_shown[i])
            told += rows->items[i].total_ns;
    }
    return n > crowded || told < rows->items[fork].total_ns / 2;
}

enum assay_status tree_choose(const struct rows *rows,
                              const struct view_options *options,
                              size_t max_rows, struct tree_choice *choice,
                              struct error *err)
{
    enum assay_status st = tree_allocate(rows, choice, err);

    if (st)
        return st;
    tree_show_large(rows, options, choice);
    choice->depth = RUN_MAX_DEPTH;
    if (options->depth >= 0)
        choice->depth = (uint32_t)options->depth;
    else if (max_rows > 0 && !options->all)
        st = tree_fit_depth(rows, max_rows, choice, err);
    if (st)
        return st;
    if (max_rows == 0)
        tree_show_fused(rows, choice);
    tree_hide_deep(rows, choice);
    return tree_link_siblings(rows, choice, err);
}
