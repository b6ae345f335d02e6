/* views/report_run.c - a run in the HTML report, see report_data_internal.h. */
#include "views/report_data_internal.h"

#include "base/mem.h"
#include "views/columns_internal.h"
#include "views/fields_internal.h"
#include "views/json_parts_internal.h"
#include "views/model_title.h"

#include <math.h>
#include <string.h>

/* Enough to show up to a gigabyte to the byte. */
enum { BYTE_DIGITS = 10 };

void report_rows_release(struct report_rows *rows)
{
    rows_release(&rows->rows);
    mem_free(rows->row_of);
    mem_free(rows->values);
    *rows = (struct report_rows){0};
}

enum assay_status report_rows_build(const struct run *run,
                                    struct report_rows *rows, struct error *err)
{
    enum assay_status st = rows_build(run, &rows->rows, err);

    if (st)
        return st;
    rows->run = run;
    rows->row_of = mem_array(run_scope_count(run), sizeof *rows->row_of);
    rows->values = mem_array(rows->rows.n, sizeof *rows->values);
    if (!rows->row_of || !rows->values)
        return error_nomem(err, run_scope_count(run) * sizeof *rows->values,
                           "the rows of a report");
    for (size_t i = 0; i < rows->rows.n; i++)
        rows->row_of[rows->rows.items[i].scope] = (uint32_t)i;
    return ASSAY_OK;
}

void report_column(struct json_writer *json, const char *key)
{
    json_key(json, key);
    json_inline_array_begin(json);
}

void report_number(struct json_writer *json, double value)
{
    json_write_rounded(json, value, REPORT_DIGITS);
}

/* rows->values as a column; left out if none of them is known. */
static void report_values(struct json_writer *json,
                          const struct report_rows *rows, const char *key)
{
    size_t n = rows->rows.n, n_unknown = 0;

    while (n_unknown < n && isnan(rows->values[n_unknown]))
        n_unknown++;
    if (n_unknown == n)
        return;
    report_column(json, key);
    for (size_t i = 0; i < n; i++)
        report_number(json, rows->values[i]);
    json_array_end(json);
}

void report_row(struct json_writer *json, uint32_t row)
{
    if (row == RUN_NONE)
        json_write_null(json);
    else
        json_write_uint(json, row);
}

/* ---- the tree --------------------------------------------------------- */

static void report_write_text(struct json_writer *json, const char *text)
{
    json_write_string(json, text && *text ? text : NULL);
}

/* The shapes that a scope computed with, and its kernel. */
static void report_run_write_texts(struct json_writer *json,
                                   const struct report_rows *all)
{
    const struct row *items = all->rows.items;

    if (!run_has_text(all->run))
        return;
    report_column(json, "shapes");
    for (size_t i = 0; i < all->rows.n; i++) {
        const struct scope_text *text = run_text(all->run, items[i].scope);

        report_write_text(json, text ? text->shapes : NULL);
    }
    json_array_end(json);
    report_column(json, "kernel");
    for (size_t i = 0; i < all->rows.n; i++) {
        const struct scope_text *text = run_text(all->run, items[i].scope);

        report_write_text(json, text ? text->kernel : NULL);
    }
    json_array_end(json);
}

static void report_run_write_names(struct json_writer *json,
                                   const struct report_rows *all)
{
    const struct row *items = all->rows.items;
    size_t n = all->rows.n;

    report_column(json, "parent");
    for (size_t i = 0; i < n; i++)
        report_row(json, i == 0 ? RUN_NONE : (uint32_t)items[i].parent);
    json_array_end(json);
    report_column(json, "name");
    for (size_t i = 0; i < n; i++)
        json_write_string(json, items[i].name);
    json_array_end(json);
    report_column(json, "class");
    for (size_t i = 0; i < n; i++)
        json_write_string(json, items[i].class_name);
    json_array_end(json);
    report_column(json, "done_by");
    for (size_t i = 0; i < n; i++)
        report_row(json, row_is_fused(&items[i])
                             ? all->row_of[items[i].work.done_by]
                             : RUN_NONE);
    json_array_end(json);
    report_column(json, "bound");
    for (size_t i = 0; i < n; i++)
        json_write_string(json, items[i].bound.kind == BOUND_UNKNOWN
                                    ? NULL
                                    : column_bound(&items[i]));
    json_array_end(json);
    report_run_write_texts(json, all);
    report_column(json, "is_outside");
    for (size_t i = 0; i < n; i++)
        json_write_int(json, items[i].is_outside);
    json_array_end(json);
}

/* What each scope did itself, without those below it. */
static void report_run_write_work(struct json_writer *json,
                                  const struct report_rows *all,
                                  const char *key, size_t offset)
{
    for (size_t i = 0; i < all->rows.n; i++) {
        const struct scope_work *work =
            run_work(all->run, all->rows.items[i].scope);

        all->values[i] = NAN;
        if (work)
            memcpy(&all->values[i], (const char *)work + offset,
                   sizeof all->values[i]);
    }
    report_values(json, all, key);
}

static const struct {
    const char *key;
    size_t offset;
} own_work[] = {
    {"own_macs", offsetof(struct scope_work, macs)},
    {"own_flops", offsetof(struct scope_work, flops)},
    {"own_read_bytes", offsetof(struct scope_work, read_bytes)},
    {"own_write_bytes", offsetof(struct scope_work, write_bytes)},
    {"own_done_flops", offsetof(struct scope_work, done_flops)},
    {"own_done_bytes", offsetof(struct scope_work, done_bytes)},
    {"own_kept_bytes", offsetof(struct scope_work, kept_bytes)},
};

/* The page counts levels and calls of the whole run itself. */
static bool report_has_field(enum field field)
{
    return field != FIELD_DEPTH && field != FIELD_ALL_CALLS &&
           field != FIELD_ALL_TOTAL && field != FIELD_ALL_SELF;
}

static void report_write_field(struct json_writer *json,
                               const struct report_rows *all,
                               const struct scope_stats *stats,
                               enum field field)
{
    const struct rows *rows = &all->rows;

    for (size_t i = 0; i < rows->n; i++)
        all->values[i] = field_value(field, rows, &rows->items[i], &stats[i]);
    report_values(json, all, field_name(field));
}

static enum assay_status report_run_write_tree(struct json_writer *json,
                                               const struct report_rows *all,
                                               struct error *err)
{
    const struct rows *rows = &all->rows;
    struct scope_stats *stats = mem_array(rows->n, sizeof *stats);
    enum assay_status st = ASSAY_OK;

    if (!stats)
        return error_nomem(err, rows->n * sizeof *stats, "the statistics");
    for (size_t i = 0; !st && i < rows->n; i++) {
        stats[i] = scope_stats_unknown();
        if (rows->items[i].is_called)
            st = run_scope_stats(all->run, rows->items[i].scope, RUN_ANY,
                                 &stats[i], err);
    }
    json_member_bool(json, "threads_add_up", rows->adds_up);
    json_member_double(json, "macs_cover", rows->macs_cover);
    json_peaks(json, &rows->peaks);
    json_key(json, "tree");
    json_object_begin(json);
    report_run_write_names(json, all);
    for (enum field i = 0; i < N_FIELDS; i++) {
        if (report_has_field(i))
            report_write_field(json, all, stats, i);
    }
    for (size_t i = 0; i < sizeof own_work / sizeof *own_work; i++)
        report_run_write_work(json, all, own_work[i].key, own_work[i].offset);
    json_object_end(json);
    mem_free(stats);
    return st;
}

/* Which row computes with what another computed; null: the model's inputs and
 * outputs. */
static void report_run_write_edges(struct json_writer *json,
                                   const struct report_rows *all)
{
    size_t n = run_edge_count(all->run);

    report_column(json, "edges");
    for (size_t i = 0; i < n; i++) {
        const struct run_edge *edge = run_edge(all->run, i);

        report_row(json,
                   edge->from == RUN_NONE ? RUN_NONE : all->row_of[edge->from]);
        report_row(json,
                   edge->to == RUN_NONE ? RUN_NONE : all->row_of[edge->to]);
    }
    json_array_end(json);
}

/* ---- the rest ---------------------------------------------------------- */

static void report_run_write_iterations(struct json_writer *json,
                                        const struct run *run)
{
    size_t n = run_iterations_kept(run);

    json_key(json, "iterations");
    json_object_begin(json);
    report_column(json, "index");
    for (size_t i = 0; i < n; i++)
        json_write_uint(json, run_iteration(run, i)->index);
    json_array_end(json);
    report_column(json, "ms");
    for (size_t i = 0; i < n; i++)
        report_number(json, (double)run_iteration(run, i)->duration_ns / 1e6);
    json_array_end(json);
    json_object_end(json);
}

static void report_run_write_counter(struct json_writer *json,
                                     const struct counter *counter)
{
    json_object_begin(json);
    json_member_string(json, "name", counter->name);
    json_member_string(json, "unit", counter->unit);
    report_column(json, "ms");
    for (size_t i = 0; i < counter->n_points; i++)
        json_write_rounded(json, (double)counter->points[i].time_ns / 1e6,
                           BYTE_DIGITS);
    json_array_end(json);
    report_column(json, "value");
    for (size_t i = 0; i < counter->n_points; i++)
        json_write_rounded(json, counter->points[i].value, BYTE_DIGITS);
    json_array_end(json);
    json_object_end(json);
}

enum assay_status report_write_run(struct json_writer *json,
                                   const struct report_rows *rows,
                                   const char *source, struct error *err)
{
    const struct run *run = rows->run;
    enum assay_status st;

    json_object_begin(json);
    st = json_head(json, run, &rows->rows, source, err);
    if (!st)
        st = report_run_write_tree(json, rows, err);
    if (st)
        return st;
    json_member_string(json, "title", model_run_title(run));
    report_run_write_edges(json, rows);
    report_run_write_iterations(json, run);
    report_column(json, "counters");
    for (uint32_t i = 0; i < run_counters(run); i++)
        report_run_write_counter(json, run_counter(run, i));
    json_array_end(json);
    json_series(json, run);
    st = report_write_slices(json, rows, err);
    json_object_end(json);
    return st;
}
