/* views/view_summary.c - all of it: what, where, how long, how steady. */
#include "views/class_rows_internal.h"
#include "views/stages.h"
#include "views/summary_internal.h"
#include "views/tree_internal.h"

/* Rows of the tree, for which levels are left out. */
enum { TREE_ROWS = 24 };

/* The parts of an iteration. */
static void summary_write_parts(const struct summary *summary,
                                const struct rows *rows)
{
    struct training training;

    if (training_find(rows, &training)) {
        summary_step(summary, &training);
        summary_rate(summary, &training);
        summary_loader(summary, &training);
        summary_recomputed(summary, &training);
        summary_loss(summary);
    } else {
        summary_stages(summary, rows);
        summary_balance(summary, rows);
    }
}

static enum assay_status summary_write_head(const struct summary *summary,
                                            const struct rows *rows,
                                            struct error *err)
{
    enum assay_status st;

    if (!summary_model(summary))
        summary_run(summary);
    summary_machine(summary, rows);
    summary_settings(summary);
    summary_import(summary);
    summary_input(summary);
    summary_threads(summary);
    summary_runs(summary);
    sink_puts(summary->sink, "\n");
    st = summary_latency(summary, err);
    if (st)
        return st;
    summary_photos(summary);
    summary_write_parts(summary, rows);
    st = summary_device(summary, err);
    summary_stream(summary);
    if (!st)
        st = summary_drawing(summary, err);
    if (!st)
        st = summary_steadiness(summary, err);
    summary_load(summary);
    if (!st)
        st = summary_memory(summary, err);
    return st;
}

/* The ops by class, if as many rows of modules say little. */
static enum assay_status summary_write_classes(const struct summary *summary,
                                               const struct rows *rows,
                                               struct error *err)
{
    size_t top = rows->has_passes ? 0 : stage_row(rows, "model");
    struct class_rows classes = {0};
    struct tree_choice choice = {0};
    enum assay_status st;

    if (!top)
        return ASSAY_OK;
    st = tree_choose_costly(rows, top, summary->options, TREE_ROWS / 2, &choice,
                            err);
    if (!st && tree_is_flat(rows, top, &choice))
        st = class_rows_build(rows, top, &classes, err);
    if (!st && classes.n > 1) {
        sink_puts(summary->sink, "\n");
        class_rows_write(rows, &classes, TREE_ROWS, summary->options,
                         summary->sink);
    }
    class_rows_release(&classes);
    tree_release(&choice);
    return st;
}

static enum assay_status summary_write_tree(const struct summary *summary,
                                            struct error *err)
{
    struct tree_choice choice = {0};
    struct rows rows = {0};
    enum assay_status st = training_rows_build(summary->run, &rows, err);

    if (!st)
        st = tree_choose(&rows, summary->options, TREE_ROWS, &choice, err);
    if (!st)
        st = tree_write(summary->run, &rows, &choice, summary->options,
                        summary->sink, err);
    if (!st)
        st = summary_write_classes(summary, &rows, err);
    tree_release(&choice);
    rows_release(&rows);
    return st;
}

enum assay_status view_summary(const struct run *run,
                               const struct view_options *options,
                               struct sink *sink, struct error *err)
{
    struct summary summary = {.run = run, .options = options, .sink = sink};
    struct rows rows = {0};
    enum assay_status st = rows_build(run, &rows, err);

    if (!st)
        st = summary_write_head(&summary, &rows, err);
    if (st)
        goto done;
    sink_puts(sink, "\n");
    st = summary_write_tree(&summary, err);
    if (st)
        goto done;
    sink_puts(sink, "\n");
    st = summary_content(&summary, err);
    if (st)
        goto done;
    summary_counters(&summary);
    st = summary_findings(&summary, err);
    if (st)
        goto done;
    summary_health(&summary);
    summary_missing(&summary);
    summary_wrote(&summary);
    summary_next(&summary);
    st = sink_status(sink, err);
done:
    rows_release(&rows);
    return st;
}
