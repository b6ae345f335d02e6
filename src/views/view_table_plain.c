/* views/view_table_plain.c - the table for other programs: six columns
 * separated by spaces, means per call, the largest self time first; stable, so
 * nothing may be added here. */
#include "views/ranking_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_ROWS = 20, GAP = 2 };

static const char *const titles[] = {"total_mean_time[ms]",
                                     "child_mean_time[ms]",
                                     "self_mean_time[ms]", "times_run"};

enum { N_TITLES = sizeof titles / sizeof *titles };

static double table_plain_self_of_call(const struct ranked *item)
{
    return item->row.self_ns / item->row.calls;
}

static int table_plain_compare_self(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    double x = table_plain_self_of_call(a), y = table_plain_self_of_call(b);
    int order = (x < y) - (x > y);

    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static const char *table_plain_or_dash(const char *text)
{
    return text[0] ? text : "-";
}

static void table_plain_put_item(const struct ranked *item,
                                 const struct term *term, struct sink *sink,
                                 size_t name, size_t class_name)
{
    const struct row *row = &item->row;
    char cells[N_TITLES][64];

    snprintf(cells[0], sizeof cells[0], "%.3f", row_call_ns(row) / 1e6);
    snprintf(cells[1], sizeof cells[1], "%.3f",
             (row_call_ns(row) - table_plain_self_of_call(item)) / 1e6);
    snprintf(cells[2], sizeof cells[2], "%.3f",
             table_plain_self_of_call(item) / 1e6);
    snprintf(cells[3], sizeof cells[3], "%.0f", row->calls);
    text_fit(sink, term, table_plain_or_dash(str_text(&item->label)), name,
             ALIGN_LEFT);
    sink_repeat(sink, " ", GAP);
    text_fit(sink, term, table_plain_or_dash(row->class_name), class_name,
             ALIGN_LEFT);
    for (size_t i = 0; i < N_TITLES; i++) {
        sink_repeat(sink, " ", GAP);
        text_fit(sink, term, cells[i], text_columns(titles[i]), ALIGN_RIGHT);
    }
    sink_puts(sink, "\n");
}

static void table_plain_put_head(const struct term *term, struct sink *sink,
                                 size_t name, size_t class_name)
{
    text_fit(sink, term, "name", name, ALIGN_LEFT);
    sink_repeat(sink, " ", GAP);
    text_fit(sink, term, "class", class_name, ALIGN_LEFT);
    for (size_t i = 0; i < N_TITLES; i++) {
        sink_repeat(sink, " ", GAP);
        sink_puts(sink, titles[i]);
    }
    sink_puts(sink, "\n");
}

static size_t table_plain_wider(size_t columns, const char *text)
{
    size_t needed = text_columns(text);

    return needed > columns ? needed : columns;
}

enum assay_status view_table_plain(const struct run *run,
                                   const struct view_options *options,
                                   struct sink *sink, struct error *err)
{
    struct view_options every = *options;
    struct ranking ranking = {0};
    size_t limit = options->limit ? options->limit : DEFAULT_ROWS;
    size_t name = 4, class_name = 5;
    enum assay_status st;

    every.all = true;
    st = ranking_build(run, &every, 0, false, &ranking, err);
    if (st)
        goto done;
    if (options->sort == SORT_SELF)
        qsort(ranking.items, ranking.n, sizeof *ranking.items,
              table_plain_compare_self);
    if (options->all || limit > ranking.n)
        limit = ranking.n;
    for (size_t i = 0; i < limit; i++) {
        name = table_plain_wider(name, str_text(&ranking.items[i].label));
        class_name =
            table_plain_wider(class_name, ranking.items[i].row.class_name);
    }
    table_plain_put_head(&options->term, sink, name, class_name);
    for (size_t i = 0; i < limit; i++)
        table_plain_put_item(&ranking.items[i], &options->term, sink, name,
                             class_name);
    st = sink_status(sink, err);
done:
    ranking_release(&ranking);
    return st;
}
