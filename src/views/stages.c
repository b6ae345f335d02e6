/* views/stages.c - see stages.h. */
#include "views/stages.h"

#include "run/device_balance.h"

#include <math.h>
#include <string.h>

const char *stage_name(enum stage stage)
{
    static const char *const names[] = {
#define VIEW_STAGE_NAME(name, text) text,
        VIEW_STAGES(VIEW_STAGE_NAME)
#undef VIEW_STAGE_NAME
    };

    return names[stage];
}

size_t stage_row(const struct rows *rows, const char *name)
{
    for (size_t i = 1; i < rows->n; i++) {
        const struct row *row = &rows->items[i];

        if (row->depth == 1 && !row->is_outside && !isnan(row->total_ns) &&
            strcmp(row->name, name) == 0)
            return i;
    }
    return 0;
}

bool stages_find(const struct rows *rows, struct stages *stages)
{
    size_t n = 0;

    stages->whole_ns = rows_each(rows, &rows->items[0], rows->whole_ns);
    stages->residual_ns = stages->whole_ns;
    for (enum stage i = 0; i < N_STAGES; i++) {
        const struct row *row = &rows->items[stage_row(rows, stage_name(i))];

        stages->row[i] = (size_t)(row - rows->items);
        stages->ns[i] = NAN;
        if (stages->row[i] == 0)
            continue;
        stages->ns[i] = rows_each(rows, row, row->total_ns);
        stages->residual_ns -= stages->ns[i];
        n++;
    }
    return stages->row[STAGE_MODEL] && n > 1;
}

static bool balance_is(const struct row *row, const char *class_name)
{
    return row->class_name && strcmp(row->class_name, class_name) == 0;
}

static bool balance_is_kernel(const struct row *row)
{
    return balance_is(row, RUN_KERNEL_CLASS);
}

/* Called, and nothing below it was but kernels. */
static bool balance_is_op(const struct rows *rows, size_t at)
{
    size_t i = at + 1;

    while (i < rows->n && rows->items[i].depth > rows->items[at].depth &&
           (balance_is_kernel(&rows->items[i]) || !rows->items[i].is_called))
        i++;
    return i == rows->n || rows->items[i].depth <= rows->items[at].depth;
}

bool balance_find(const struct rows *rows, struct balance *balance)
{
    size_t at = stage_row(rows, stage_name(STAGE_MODEL));
    const struct row *model = &rows->items[at];
    double ops = 0, gaps = 0, results = 0;

    if (at == 0 || !model->is_called || balance_is_op(rows, at))
        return false;
    for (size_t i = at + 1; i < rows->n && rows->items[i].depth > model->depth;
         i++) {
        const struct row *row = &rows->items[i];

        if (!row->is_called || row->is_outside || balance_is_kernel(row))
            continue;
        *(balance_is(row, RUN_RESULTS_CLASS) ? &results
          : balance_is_op(rows, i)           ? &ops
                                             : &gaps) += row->self_ns;
    }
    *balance = (struct balance){
        .ops_ns = rows_each(rows, model, ops),
        .gaps_ns = rows_each(rows, model, gaps),
        .results_ns = rows_each(rows, model, results),
        .residual_ns =
            rows_each(rows, model, model->total_ns - ops - gaps - results),
        .model_ns = rows_each(rows, model, model->total_ns)};
    return true;
}
