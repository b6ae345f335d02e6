/* views/view_tree_plain.c - the tree for other programs:
 *
 *     . . backbone (BackboneWithFPN) took 132.13ms (self: 0.02ms)
 *
 * One line per module, one ". " per level, two decimals; stable, so nothing may
 * be added here. It has every module down to the given depth. A model's run is
 * shown as a pipeline of three parts, whatever its stages are called. */
#include "views/scope_rows.h"
#include "views/stages.h"
#include "views/views.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct plain {
    const struct rows *rows;
    const struct view_options *options;
    struct sink *sink;
};

/* "132.13ms", or "-" if it is not known. */
static const char *tree_plain_time(char buffer[32], double ns)
{
    if (isnan(ns))
        snprintf(buffer, 32, "-");
    else
        snprintf(buffer, 32, "%.2fms", ns / 1e6);
    return buffer;
}

/* Times are per iteration. */
static void tree_plain_write_line(const struct plain *plain, uint32_t depth,
                                  const char *name, const char *class_name,
                                  double total_ns, double self_ns)
{
    const struct term *term = &plain->options->term;
    char total[32], self[32];

    if (plain->options->depth >= 0 && depth > (uint32_t)plain->options->depth)
        return;
    sink_repeat(plain->sink, ". ", depth);
    text_put(plain->sink, term, name);
    sink_puts(plain->sink, " (");
    text_put(plain->sink, term, class_name);
    sink_printf(plain->sink, ") took %s (self: %s)\n",
                tree_plain_time(total, total_ns),
                tree_plain_time(self, self_ns));
}

/* A row with another name and depth. */
static void tree_plain_write_row(const struct plain *plain, size_t at,
                                 uint32_t deeper, const char *name,
                                 const char *class_name)
{
    const struct row *row = &plain->rows->items[at];

    tree_plain_write_line(plain, row->depth + deeper, name, class_name,
                          rows_each(plain->rows, row, row->total_ns),
                          rows_each(plain->rows, row, row->self_ns));
}

/* The rows below a row. Returns the row after them. */
static size_t tree_plain_write_below(const struct plain *plain, size_t at,
                                     uint32_t deeper)
{
    const struct row *items = plain->rows->items;
    uint32_t depth = items[at].depth;

    for (at++; at < plain->rows->n && items[at].depth > depth; at++)
        tree_plain_write_row(plain, at, deeper, items[at].name,
                             items[at].class_name);
    return at;
}

static void tree_plain_write_preprocessing(const struct plain *plain,
                                           const struct stages *stages)
{
    const struct row *items = plain->rows->items;

    tree_plain_write_line(
        plain, 1, "Preprocessing", "PREPROCESSING",
        stages->ns[STAGE_DECODE] + stages->ns[STAGE_PREPROCESS], NAN);
    for (enum stage i = STAGE_DECODE; i <= STAGE_PREPROCESS; i++) {
        size_t at = stages->row[i];

        tree_plain_write_row(plain, at, 1, items[at].name,
                             items[at].class_name);
        tree_plain_write_below(plain, at, 1);
    }
}

/* A stage that may be missing, under the name it has in a pipeline. */
static void tree_plain_write_stage(const struct plain *plain, size_t at,
                                   const char *name, const char *class_name)
{
    if (at == 0)
        return;
    tree_plain_write_row(plain, at, 0, name, class_name);
    tree_plain_write_below(plain, at, 0);
}

/* Rows that are not stages, after them. */
static void tree_plain_write_rest(const struct plain *plain,
                                  const struct stages *stages)
{
    const struct row *items = plain->rows->items;
    size_t at = 1;

    while (at < plain->rows->n) {
        bool is_stage = false;

        for (enum stage i = 0; i < N_STAGES; i++)
            is_stage |= stages->row[i] == at;
        if (!is_stage) {
            tree_plain_write_row(plain, at, 0, items[at].name,
                                 items[at].class_name);
            at = tree_plain_write_below(plain, at, 0);
            continue;
        }
        do
            at++;
        while (at < plain->rows->n && items[at].depth > 1);
    }
}

static void tree_plain_write_pipeline(const struct plain *plain,
                                      const struct stages *stages)
{
    size_t model = stages->row[STAGE_MODEL];

    tree_plain_write_row(plain, 0, 0, "Pipeline", "PIPELINE");
    if (stages->row[STAGE_DECODE])
        tree_plain_write_preprocessing(plain, stages);
    else
        tree_plain_write_stage(plain, stages->row[STAGE_PREPROCESS],
                               "Preprocessing", "PREPROCESSING");
    tree_plain_write_stage(plain, model, "Model",
                           plain->rows->items[model].class_name);
    tree_plain_write_stage(plain, stages->row[STAGE_POSTPROCESS],
                           "Postprocessing", "POSTPROCESSING");
    tree_plain_write_rest(plain, stages);
}

/* A run of `assay run` has all stages. A root of this class says that it is a
 * pipeline whatever it lacks: the Python package records such runs. */
static bool tree_plain_is_pipeline(const struct rows *rows,
                                   struct stages *stages)
{
    bool has_stages = stages_find(rows, stages);

    if (strcmp(rows->items[0].class_name, "PIPELINE") == 0)
        return stages->row[STAGE_MODEL] != 0;
    return has_stages && stages->row[STAGE_DECODE] &&
           stages->row[STAGE_PREPROCESS] && stages->row[STAGE_POSTPROCESS];
}

enum assay_status view_tree_plain(const struct run *run,
                                  const struct view_options *options,
                                  struct sink *sink, struct error *err)
{
    struct rows rows = {0};
    struct plain plain = {.rows = &rows, .options = options, .sink = sink};
    enum assay_status st = rows_build(run, &rows, err);
    struct stages stages;

    if (!st && tree_plain_is_pipeline(&rows, &stages)) {
        tree_plain_write_pipeline(&plain, &stages);
    } else if (!st) {
        tree_plain_write_row(&plain, 0, 0, rows.items[0].name,
                             rows.items[0].class_name);
        tree_plain_write_below(&plain, 0, 0);
    }
    rows_release(&rows);
    return st ? st : sink_status(sink, err);
}
