/* views/training.c - see training_internal.h. */
#include "views/training_internal.h"

#include "base/mem.h"
#include "views/stages.h"

#include <math.h>
#include <string.h>

const char *part_name(enum part part)
{
    static const char *const names[] = {
#define VIEW_PART_NAME(name, text) text,
        VIEW_PARTS(VIEW_PART_NAME)
#undef VIEW_PART_NAME
    };

    return names[part];
}

static bool training_is_loss(const struct row *row)
{
    static const char ending[] = "Loss";
    size_t n = strlen(row->class_name), n_ending = sizeof ending - 1;

    return n >= n_ending && strcmp(row->class_name + n - n_ending, ending) == 0;
}

/* The ops of losses are among the modules of the forward pass. */
static void training_take_losses_out(const struct rows *rows,
                                     struct training *training)
{
    size_t top = training->row[PART_FORWARD];

    for (size_t i = top + 1;
         top && i < rows->n && rows->items[i].depth > rows->items[top].depth;
         i++) {
        const struct row *row = &rows->items[i];
        double ns =
            training_is_loss(row) ? rows_each(rows, row, row->total_ns) : NAN;

        if (isnan(ns))
            continue;
        training->ns[PART_FORWARD] -= ns;
        training->ns[PART_LOSS] += ns;
    }
}

bool training_find(const struct rows *rows, struct training *training)
{
    *training = (struct training){
        .whole_ns = rows_each(rows, &rows->items[0], rows->whole_ns)};
    training->other_ns = training->whole_ns;
    for (enum part i = 0; i < N_PARTS; i++) {
        size_t at = stage_row(rows, part_name(i));
        const struct row *row = &rows->items[at];

        training->row[i] = at;
        if (at)
            training->ns[i] = rows_each(rows, row, row->total_ns);
        training->other_ns -= training->ns[i];
    }
    if (training->row[PART_LOSS])
        training_take_losses_out(rows, training);
    return training->row[PART_FORWARD] && training->row[PART_BACKWARD];
}

/* ---- one row per module ------------------------------------------------- */

static const enum part part_of_pass[N_PASSES] = {
    [PASS_FORWARD] = PART_FORWARD,
    [PASS_BACKWARD] = PART_BACKWARD,
    [PASS_OPTIMIZER] = PART_OPTIMIZER,
};

static struct row *training_append(struct rows *joined, const struct row *from,
                                   size_t parent)
{
    struct row *row = &joined->items[joined->n++];

    *row = *from;
    row->parent = parent;
    row->depth = joined->n == 1 ? 0 : joined->items[parent].depth + 1;
    row->calls = row->self_ns = NAN;
    for (enum pass i = 0; i < N_PASSES; i++)
        row->pass_ns[i] = row->pass_device_ns[i] = NAN;
    return row;
}

/* The row directly below another one with this name, or 0. */
static size_t training_find_child(const struct rows *rows, size_t parent,
                                  const char *name)
{
    for (size_t i = parent + 1;
         i < rows->n && rows->items[i].depth > rows->items[parent].depth; i++) {
        if (rows->items[i].parent == parent &&
            strcmp(rows->items[i].name, name) == 0)
            return i;
    }
    return 0;
}

static void training_add_pass(struct row *row, enum pass pass,
                              const struct row *from)
{
    row->pass_ns[pass] = from->total_ns;
    row->pass_device_ns[pass] = from->device_ns;
    if (pass == PASS_FORWARD)
        return;
    row->total_ns = add_known(row->total_ns, from->total_ns);
    row->device_ns += from->device_ns;
    work_add(&row->work, &from->work);
    bound_add(&row->bound, &from->bound);
    if (from->peak_bytes > row->peak_bytes)
        row->peak_bytes = from->peak_bytes;
}

/* Appends the rows of the forward pass, with the model on top. Returns their
 * number. */
static size_t training_join_forward(const struct rows *rows, size_t top,
                                    struct rows *joined)
{
    size_t first = joined->n, end = top + 1;

    while (end < rows->n && rows->items[end].depth > rows->items[top].depth)
        end++;
    for (size_t i = top; i < end; i++) {
        const struct row *row = &rows->items[i];
        size_t parent = i == top ? 0 : first + (row->parent - top);

        training_add_pass(training_append(joined, row, parent), PASS_FORWARD,
                          row);
    }
    joined->items[first].name = "model";
    return end - top;
}

/* Adds what another pass has for those rows. twins gets the row of the other
 * pass for each row of the forward pass. */
static void training_join_pass(const struct rows *rows, const size_t tops[2],
                               enum pass pass, struct row *first, size_t n,
                               size_t *twins)
{
    const struct row *forward = &rows->items[tops[0]];

    twins[0] = tops[1];
    for (size_t i = 0; i < n; i++) {
        size_t above = i ? twins[forward[i].parent - tops[0]] : 0;

        if (i)
            twins[i] =
                above ? training_find_child(rows, above, forward[i].name) : 0;
        if (twins[i])
            training_add_pass(&first[i], pass, &rows->items[twins[i]]);
    }
}

static void training_join_modules(const struct rows *rows,
                                  const struct training *training,
                                  struct rows *joined, size_t *twins)
{
    size_t first = joined->n, forward = training->row[PART_FORWARD];
    size_t n = training_join_forward(rows, forward, joined);

    for (enum pass pass = PASS_BACKWARD; pass < N_PASSES; pass++) {
        size_t tops[2] = {forward, training->row[part_of_pass[pass]]};

        training_join_pass(rows, tops, pass, &joined->items[first], n, twins);
    }
}

static void training_share_whole(struct rows *joined)
{
    for (size_t i = 0; i < joined->n; i++) {
        struct row *row = &joined->items[i];

        if (!row->is_outside)
            row->share = row_longer_ns(joined, row) / joined->whole_ns;
    }
}

static bool training_is_pass(const struct training *training, size_t row)
{
    return row == training->row[PART_BACKWARD] ||
           row == training->row[PART_OPTIMIZER];
}

static enum assay_status training_join(const struct rows *rows,
                                       const struct training *training,
                                       struct rows *joined, struct error *err)
{
    size_t *twins = mem_array(rows->n, sizeof *twins);

    *joined = *rows;
    joined->n = 0;
    joined->items = mem_array(rows->n, sizeof *joined->items);
    if (!twins || !joined->items) {
        mem_free(twins);
        return error_nomem(err, rows->n * sizeof *joined->items,
                           "the rows of a view");
    }
    joined->has_passes = true;
    training_append(joined, &rows->items[0], 0);
    for (size_t i = 1; i < rows->n; i++) {
        if (rows->items[i].depth != 1 || training_is_pass(training, i))
            continue;
        if (i == training->row[PART_FORWARD])
            training_join_modules(rows, training, joined, twins);
        else
            training_append(joined, &rows->items[i], 0);
    }
    training_share_whole(joined);
    mem_free(twins);
    return ASSAY_OK;
}

enum assay_status training_rows_build(const struct run *run, struct rows *rows,
                                      struct error *err)
{
    struct rows joined = {0};
    struct training training;
    enum assay_status st = rows_build(run, rows, err);

    if (st || !training_find(rows, &training))
        return st;
    st = training_join(rows, &training, &joined, err);
    if (st)
        return st;
    rows_release(rows);
    *rows = joined;
    return ASSAY_OK;
}
