/* views/view_summary.c - one screen: what, where, how long, how steady. */
#include "views/summary_internal.h"
#include "views/tree_internal.h"

/* Rows of the tree that leave room for the other lines on one screen. */
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
    if (!st)
        st = summary_drawing(summary, err);
    if (!st)
        st = summary_steadiness(summary, err);
    summary_load(summary);
    if (!st)
        st = summary_memory(summary, err);
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
