/* views/class_rows.c - see class_rows_internal.h. */
#include "views/class_rows_internal.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "views/columns_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NODES_COLUMNS = 7,
    TIME_COLUMNS = 10,
    SHARE_COLUMNS = 7,
    GMAC_COLUMNS = 8,
    GFLOPS_COLUMNS = 9,
    BOUND_COLUMNS = 9,
    LEAST_NAME = 12,
    MOST_NAME = 40,
    BAR_COLUMNS = 10,
    ROOMY = 72 /* columns from which there is more than times */
};

void class_rows_release(struct class_rows *classes)
{
    mem_free(classes->items);
    *classes = (struct class_rows){0};
}

static void class_rows_add(struct class_row *into, const struct row *row)
{
    into->n_nodes++;
    into->row.total_ns += row->self_ns;
    into->row.device_ns += row->device_ns;
    into->row.share = add_known(into->row.share, row->share);
    work_add(&into->row.work, &row->work);
    bound_add(&into->row.bound, &row->bound);
}

static int class_rows_compare(const void *left, const void *right)
{
    const struct class_row *a = left, *b = right;

    return (a->row.total_ns < b->row.total_ns) -
           (a->row.total_ns > b->row.total_ns);
}

static enum assay_status class_rows_join(const struct rows *rows, size_t top,
                                         struct map *map,
                                         struct class_rows *classes)
{
    for (size_t i = top + 1;
         i < rows->n && rows->items[i].depth > rows->items[top].depth; i++) {
        const struct row *row = &rows->items[i];
        const char *name = row->class_name[0] ? row->class_name : "(no class)";
        uint64_t at;

        if (!row->is_leaf || row->is_outside)
            continue;
        if (map_find_text(map, name, &at)) {
            class_rows_add(&classes->items[at], row);
            continue;
        }
        if (map_put_text(map, name, classes->n))
            return ASSAY_NOMEM;
        classes->items[classes->n++] =
            (struct class_row){.row = *row, .n_nodes = 1};
        classes->items[classes->n - 1].row.name = name;
    }
    return ASSAY_OK;
}

enum assay_status class_rows_build(const struct rows *rows, size_t top,
                                   struct class_rows *classes,
                                   struct error *err)
{
    struct map map = {0};
    enum assay_status st = ASSAY_NOMEM;

    classes->items = mem_array(rows->n, sizeof *classes->items);
    if (classes->items)
        st = class_rows_join(rows, top, &map, classes);
    map_release(&map);
    if (st)
        return error_nomem(err, rows->n * sizeof *classes->items,
                           "the classes of a model");
    qsort(classes->items, classes->n, sizeof *classes->items,
          class_rows_compare);
    return ASSAY_OK;
}

/* ---- on the screen ------------------------------------------------------ */

struct class_layout {
    const struct rows *rows;
    const struct term *term;
    struct sink *sink;
    struct time_unit unit;
    size_t name, bar;
    bool has_work, has_bounds;
};

static struct class_layout class_rows_layout(const struct rows *rows,
                                             const struct term *term,
                                             struct sink *sink)
{
    struct class_layout layout = {
        .rows = rows, .term = term, .sink = sink, .unit = rows_unit(rows)};
    size_t width = (size_t)term->width;
    size_t taken = NODES_COLUMNS + TIME_COLUMNS + SHARE_COLUMNS;

    if (width >= ROOMY) {
        layout.bar = BAR_COLUMNS;
        layout.has_work = rows->has_macs;
        layout.has_bounds = rows->has_bounds;
        taken += BAR_COLUMNS + 1;
    }
    taken += layout.has_work ? GMAC_COLUMNS + GFLOPS_COLUMNS : 0;
    taken += layout.has_bounds ? BOUND_COLUMNS : 0;
    layout.name = width > taken + LEAST_NAME ? width - taken : LEAST_NAME;
    if (layout.name > MOST_NAME)
        layout.name = MOST_NAME;
    return layout;
}

static void class_rows_put(const struct class_layout *layout, const char *text,
                           size_t columns)
{
    text_fit(layout->sink, layout->term, text, columns, ALIGN_RIGHT);
}

static void class_rows_put_head(const struct class_layout *layout)
{
    char title[32];

    sink_puts(layout->sink, term_style(layout->term, STYLE_BOLD));
    text_fit(layout->sink, layout->term, "class", layout->name, ALIGN_LEFT);
    class_rows_put(layout, "nodes", NODES_COLUMNS);
    snprintf(title, sizeof title, "total %s", layout->unit.name);
    class_rows_put(layout, title, TIME_COLUMNS);
    class_rows_put(layout, "share", SHARE_COLUMNS);
    if (layout->bar)
        sink_repeat(layout->sink, " ", layout->bar + 1);
    if (layout->has_work) {
        class_rows_put(layout, "GMAC", GMAC_COLUMNS);
        class_rows_put(layout, rows_rate(layout->rows).name, GFLOPS_COLUMNS);
    }
    if (layout->has_bounds)
        sink_puts(layout->sink, "  bound");
    sink_puts(layout->sink, term_style(layout->term, STYLE_NONE));
    sink_puts(layout->sink, "\n");
}

static void class_rows_put_row(const struct class_layout *layout,
                               const struct class_row *item)
{
    const struct row *row = &item->row;
    double ns = rows_each(layout->rows, row, row->total_ns);
    char text[UNITS_MAX];

    text_fit(layout->sink, layout->term, row->name, layout->name, ALIGN_LEFT);
    snprintf(text, sizeof text, "%zu", item->n_nodes);
    class_rows_put(layout, text, NODES_COLUMNS);
    /* units_ms() shows a millionth of what it is given. */
    class_rows_put(layout, units_ms(text, ns / layout->unit.ns * 1e6),
                   TIME_COLUMNS);
    class_rows_put(layout, units_percent(text, row->share, 0), SHARE_COLUMNS);
    if (layout->bar) {
        sink_puts(layout->sink, " ");
        sink_puts(layout->sink, term_style(layout->term, STYLE_CYAN));
        text_bar(layout->sink, layout->term, row->share, layout->bar);
        sink_puts(layout->sink, term_style(layout->term, STYLE_NONE));
    }
    if (layout->has_work) {
        class_rows_put(layout, column_gmac(text, row), GMAC_COLUMNS);
        class_rows_put(layout, column_gflops(text, layout->rows, row),
                       GFLOPS_COLUMNS);
    }
    if (layout->has_bounds)
        sink_printf(layout->sink, "  %s", column_bound(row));
    sink_puts(layout->sink, "\n");
}

void class_rows_write(const struct rows *rows, const struct class_rows *classes,
                      size_t max_rows, const struct view_options *options,
                      struct sink *sink)
{
    struct class_layout layout = class_rows_layout(rows, &options->term, sink);

    class_rows_put_head(&layout);
    for (size_t i = 0; i < classes->n && i < max_rows; i++)
        class_rows_put_row(&layout, &classes->items[i]);
}
