/* views/levels.c - see levels_internal.h. */
#include "views/levels_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { deepest = 3 }; /* the root is 0, a stage 1 */

void levels_release(struct levels *levels)
{
    for (size_t i = 0; i < levels->n; i++) {
        str_release(&levels->items[i].item.label);
        str_release(&levels->items[i].item.title);
        str_release(&levels->items[i].path);
    }
    rows_release(&levels->rows);
    *levels = (struct levels){0};
}

static bool levels_takes(const struct row *row)
{
    return row->depth >= 1 && row->depth <= deepest && !row->is_outside &&
           row->total_ns > 0;
}

static int levels_compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a < b) - (a > b);
}

/* The time that a row needs to be among those listed. */
static enum assay_status levels_find_least(struct levels *levels, double *least,
                                           struct error *err)
{
    const struct rows *rows = &levels->rows;
    double *times = mem_array(rows->n, sizeof *times);
    size_t n = 0;

    if (!times)
        return error_nomem(err, rows->n * sizeof *times, "a table");
    for (size_t i = 0; i < rows->n; i++) {
        if (levels_takes(&rows->items[i]))
            times[n++] = rows->items[i].total_ns;
    }
    qsort(times, n, sizeof *times, levels_compare);
    *least = n > LEVELS_MOST ? times[LEVELS_MOST - 1] : 0;
    levels->n_hidden = n > LEVELS_MOST ? n - LEVELS_MOST : 0;
    mem_free(times);
    return ASSAY_OK;
}

/* The stage above a row, or itself. */
static const struct row *levels_stage(const struct rows *rows,
                                      const struct row *row)
{
    while (row->depth > 1)
        row = &rows->items[row->parent];
    return row;
}

static enum assay_status levels_add(const struct run *run,
                                    struct levels *levels,
                                    const struct row *row, struct error *err)
{
    const struct row *stage = levels_stage(&levels->rows, row);
    struct level *level = &levels->items[levels->n++];
    enum assay_status st = ASSAY_OK;

    *level = (struct level){.item = {.row = *row, .n_scopes = 1},
                            .stage = stage->name};
    for (uint32_t i = 1; !st && i < row->depth; i++)
        st = str_append(&level->item.title, "    ");
    if (!st)
        st = str_append(&level->item.title, row->name);
    if (!st && row != stage)
        st = run_scope_path_below(run, stage->scope, row->scope, &level->path);
    if (st)
        return error_nomem(err, level->path.n, "a table");
    return run_scope_stats(run, row->scope, RUN_ANY, &level->item.stats, err);
}

enum assay_status levels_build(const struct run *run, struct levels *levels,
                               struct error *err)
{
    enum assay_status st = rows_build(run, &levels->rows, err);
    double least = 0;

    if (!st)
        st = levels_find_least(levels, &least, err);
    for (size_t i = 0; !st && i < levels->rows.n; i++) {
        const struct row *row = &levels->rows.items[i];

        if (levels_takes(row) && row->total_ns >= least &&
            levels->n < LEVELS_MOST)
            st = levels_add(run, levels, row, err);
    }
    return st;
}
