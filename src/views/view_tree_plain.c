/* views/view_tree_plain.c - the tree that other programs read:
 *
 *     . . backbone (BackboneWithFPN) took 132.13ms (self: 0.02ms)
 *
 * One line a module, ". " a level, two decimals; stable, so nothing may be
 * added here. Every module is there; depth alone limits it. A model's run is
 * told as a pipeline of three parts, whatever its stages are called. */
#include "views/scope_rows.h"
#include "views/stages.h"
#include "views/views.h"

#include <math.h>
#include <stdio.h>

struct plain {
    const struct rows *rows;
    const struct view_options *options;
    struct sink *sink;
};

/* "132.13ms", "-" where it is not known. */
static const char *took(char buffer[32], double ns)
{
    if (isnan(ns))
        snprintf(buffer, 32, "-");
    else
        snprintf(buffer, 32, "%.2fms", ns / 1e6);
    return buffer;
}

/* Times are of an iteration. */
static void view_tree_plain_write_line(const struct plain *plain,
                                       uint32_t depth, const char *name,
                                       const char *class_name, double total_ns,
                                       double self_ns)
{
    const struct term *term = &plain->options->term;
    char total[32], self[32];

    if (plain->options->depth >= 0 && depth > (uint32_t)plain->options->depth)
        return;
    sink_repeat(plain->sink, ". ", depth);
    text_put(plain->sink, term, name);
    sink_puts(plain->sink, " (");
    text_put(plain->sink, term, class_name);
    sink_printf(plain->sink, ") took %s (self: %s)\n", took(total, total_ns),
                took(self, self_ns));
}

/* A row under another name, and deeper than it is. */
static void view_tree_plain_write_row(const struct plain *plain, size_t at,
                                      uint32_t deeper, const char *name,
                                      const char *class_name)
{
    const struct row *row = &plain->rows->items[at];

    view_tree_plain_write_line(plain, row->depth + deeper, name, class_name,
                               rows_each(plain->rows, row, row->total_ns),
                               rows_each(plain->rows, row, row->self_ns));
}

/* What is below a row. Gives back the row that follows it. */
static size_t write_below(const struct plain *plain, size_t at, uint32_t deeper)
{
    const struct row *items = plain->rows->items;
    uint32_t depth = items[at].depth;

    for (at++; at < plain->rows->n && items[at].depth > depth; at++)
        view_tree_plain_write_row(plain, at, deeper, items[at].name,
                                  items[at].class_name);
    return at;
}

static void write_preprocessing(const struct plain *plain,
                                const struct stages *stages)
{
    const struct row *items = plain->rows->items;

    view_tree_plain_write_line(
        plain, 1, "Preprocessing", "PREPROCESSING",
        stages->ns[STAGE_DECODE] + stages->ns[STAGE_PREPROCESS], NAN);
    for (enum stage i = STAGE_DECODE; i <= STAGE_PREPROCESS; i++) {
        size_t at = stages->row[i];

        view_tree_plain_write_row(plain, at, 1, items[at].name,
                                  items[at].class_name);
        write_below(plain, at, 1);
    }
}

/* What is no stage, in its place behind them. */
static void write_rest(const struct plain *plain, const struct stages *stages)
{
    const struct row *items = plain->rows->items;
    size_t at = 1;

    while (at < plain->rows->n) {
        bool is_stage = false;

        for (enum stage i = 0; i < N_STAGES; i++)
            is_stage |= stages->row[i] == at;
        if (!is_stage) {
            view_tree_plain_write_row(plain, at, 0, items[at].name,
                                      items[at].class_name);
            at = write_below(plain, at, 0);
            continue;
        }
        do
            at++;
        while (at < plain->rows->n && items[at].depth > 1);
    }
}

static void write_pipeline(const struct plain *plain,
                           const struct stages *stages)
{
    size_t model = stages->row[STAGE_MODEL];
    size_t post = stages->row[STAGE_POSTPROCESS];

    view_tree_plain_write_row(plain, 0, 0, "Pipeline", "PIPELINE");
    write_preprocessing(plain, stages);
    view_tree_plain_write_row(plain, model, 0, "Model",
                              plain->rows->items[model].class_name);
    write_below(plain, model, 0);
    view_tree_plain_write_row(plain, post, 0, "Postprocessing",
                              "POSTPROCESSING");
    write_below(plain, post, 0);
    write_rest(plain, stages);
}

static bool is_pipeline(const struct rows *rows, struct stages *stages)
{
    return stages_find(rows, stages) && stages->row[STAGE_DECODE] &&
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

    if (!st && is_pipeline(&rows, &stages)) {
        write_pipeline(&plain, &stages);
    } else if (!st) {
        view_tree_plain_write_row(&plain, 0, 0, rows.items[0].name,
                                  rows.items[0].class_name);
        write_below(&plain, 0, 0);
    }
    rows_release(&rows);
    return st ? st : sink_status(sink, err);
}
