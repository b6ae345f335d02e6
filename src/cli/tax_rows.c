/* cli/tax_rows.c - see tax_rows.h. */
#include "cli/tax_rows.h"

#include "base/mem.h"
#include "base/vec.h"
#include "run/device_balance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void tax_rows_release(struct tax_rows *rows)
{
    mem_free(rows->items);
    *rows = (struct tax_rows){0};
}

/* Per call of the model. A device may have been timed in some of the iterations
 * only: these stand for all. */
static double tax_time(const struct tax_run *side, uint32_t scope)
{
    double scale = side->is_device ? run_device_scale(side->run) : 1;
    struct scope_stats top, own;

    if (scope == RUN_NONE ||
        run_scope_stats(side->run, side->top, RUN_ANY, &top, NULL) ||
        (side->is_device
             ? run_scope_device_stats(side->run, scope, RUN_ANY, &own, NULL)
             : run_scope_stats(side->run, scope, RUN_ANY, &own, NULL)) ||
        !top.calls)
        return NAN;
    return own.total_ns > 0 ? scale * own.total_ns / (double)top.calls : NAN;
}

/* The child of that name, whatever its class. */
static uint32_t tax_child(const struct tax_run *side, uint32_t parent,
                          const char *name)
{
    uint32_t id = parent == RUN_NONE
                      ? RUN_NONE
                      : run_scope(side->run, parent)->first_child;

    while (id != RUN_NONE && strcmp(run_scope(side->run, id)->name, name) != 0)
        id = run_scope(side->run, id)->next_sibling;
    return id;
}

static const char *tax_done_by(const struct run *run, uint32_t scope)
{
    const struct scope_work *work =
        scope == RUN_NONE ? NULL : run_work(run, scope);

    return work && work->done_by != RUN_NONE
               ? run_scope(run, work->done_by)->name
               : NULL;
}

static void tax_count_alone(struct tax_alone *alone, const struct run *run,
                            uint32_t scope, double ns)
{
    struct str path = {0};

    alone->n++;
    alone->ns += isnan(ns) ? 0 : ns;
    if (!(ns > alone->longest_ns))
        return;
    alone->longest_ns = ns;
    if (!run_scope_path(run, scope, &path))
        snprintf(alone->longest, sizeof alone->longest, "%s", str_text(&path));
    str_release(&path);
}

static enum assay_status tax_add(struct tax_rows *rows,
                                 const struct tax_run *sides,
                                 const uint32_t scope[N_TAX_SIDES],
                                 size_t depth, struct error *err)
{
    const struct scope *live =
        run_scope(sides[TAX_TORCH].run, scope[TAX_TORCH]);
    struct tax_row row = {.name = live->name,
                          .class_name = live->class_name,
                          .depth = depth,
                          .is_last = live->next_sibling == RUN_NONE};

    for (int i = 0; i < N_TAX_SIDES; i++) {
        row.scope[i] = scope[i];
        row.ns[i] = tax_time(&sides[i], scope[i]);
    }
    row.done_by = tax_done_by(sides[TAX_FUSED].run, scope[TAX_FUSED]);
    if (!vec_grow(&rows->items, &rows->capacity, rows->n + 1, sizeof row))
        return error_nomem(err, sizeof row, "a row");
    rows->items[rows->n++] = row;
    return ASSAY_OK;
}

/* Rows of the scopes directly below a row; *end is one after the last. They are
 * put after all rows, in order, so that the walk needs no stack. */
static enum assay_status tax_add_children(struct tax_rows *rows, size_t parent,
                                          const struct tax_run *sides,
                                          struct error *err)
{
    const struct run *run = sides[TAX_TORCH].run;
    enum assay_status st = ASSAY_OK;
    uint32_t id =
        run_scope(run, rows->items[parent].scope[TAX_TORCH])->first_child;

    for (; !st && id != RUN_NONE; id = run_scope(run, id)->next_sibling) {
        uint32_t scope[N_TAX_SIDES] = {id};
        bool has_partner = rows->items[parent].scope[TAX_PLAIN] != RUN_NONE;

        for (int i = TAX_PLAIN; i < N_TAX_SIDES; i++)
            scope[i] = tax_child(&sides[i], rows->items[parent].scope[i],
                                 run_scope(run, id)->name);
        if (has_partner && scope[TAX_PLAIN] == RUN_NONE)
            tax_count_alone(&rows->torch_alone, run, id,
                            tax_time(&sides[TAX_TORCH], id));
        st = tax_add(rows, sides, scope, rows->items[parent].depth + 1, err);
    }
    return st;
}

/* What the engine ran in a module that is no module of PyTorch's. */
static void tax_count_engine(struct tax_rows *rows, size_t at,
                             const struct tax_run *sides)
{
    const struct tax_run *engine = &sides[TAX_PLAIN];
    const struct tax_row *row = &rows->items[at];
    uint32_t id =
        row->scope[TAX_PLAIN] == RUN_NONE
            ? RUN_NONE
            : run_scope(engine->run, row->scope[TAX_PLAIN])->first_child;

    if (run_scope(sides[TAX_TORCH].run, row->scope[TAX_TORCH])->first_child ==
        RUN_NONE)
        return; /* a leaf: what is in it are its own ops */
    for (; id != RUN_NONE; id = run_scope(engine->run, id)->next_sibling) {
        if (tax_child(&sides[TAX_TORCH], row->scope[TAX_TORCH],
                      run_scope(engine->run, id)->name) == RUN_NONE)
            tax_count_alone(&rows->engine_alone, engine->run, id,
                            tax_time(engine, id));
    }
}

/* Puts the rows, which are level by level, in the order of a tree. */
static enum assay_status tax_sort(struct tax_rows *rows, const struct run *run,
                                  struct error *err)
{
    struct tax_row *sorted = mem_array(rows->n, sizeof *sorted);
    size_t *row_of = mem_array(run_scope_count(run), sizeof *row_of);
    uint32_t top = rows->items[0].scope[TAX_TORCH], id = top;
    size_t n = 0;

    if (!sorted || !row_of) {
        mem_free(sorted);
        mem_free(row_of);
        return error_nomem(err, rows->n * sizeof *sorted, "rows");
    }
    for (size_t i = 0; i < rows->n; i++)
        row_of[rows->items[i].scope[TAX_TORCH]] = i;
    for (;;) { /* down, else to the right, else up until there is a right */
        sorted[n++] = rows->items[row_of[id]];
        if (run_scope(run, id)->first_child != RUN_NONE) {
            id = run_scope(run, id)->first_child;
            continue;
        }
        while (id != top && run_scope(run, id)->next_sibling == RUN_NONE)
            id = run_scope(run, id)->parent;
        if (id == top)
            break;
        id = run_scope(run, id)->next_sibling;
    }
    mem_free(rows->items);
    mem_free(row_of);
    rows->items = sorted;
    rows->capacity = rows->n;
    return ASSAY_OK;
}

enum assay_status tax_rows_build(struct tax_rows *rows,
                                 const struct tax_run sides[N_TAX_SIDES],
                                 struct error *err)
{
    const uint32_t top[N_TAX_SIDES] = {
        sides[TAX_TORCH].top, sides[TAX_PLAIN].top, sides[TAX_FUSED].top};
    enum assay_status st = tax_add(rows, sides, top, 0, err);

    for (int i = 0; i < N_TAX_SIDES; i++) {
        const struct tax_run host = {sides[i].run, sides[i].top, false};

        rows->host_ns[i] = tax_time(&host, top[i]);
    }
    for (size_t i = 0; !st && i < rows->n; i++) {
        st = tax_add_children(rows, i, sides, err);
        if (!st)
            tax_count_engine(rows, i, sides);
    }
    return st ? st : tax_sort(rows, sides[TAX_TORCH].run, err);
}
