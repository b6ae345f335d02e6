/* views/view_tree_plain.c - the tree that other programs read:
 *
 *     . . backbone (BackboneWithFPN) took 132.13ms (self: 0.02ms)
 *
 * One line a module, ". " a level, two decimals; stable, so nothing may be
 * added here. Every module is there; depth alone limits it. */
#include "views/scope_rows.h"
#include "views/views.h"

#include <math.h>
#include <stdio.h>

/* "132.13ms", "-" where it is not known. */
static const char *took(char buffer[32], double ns)
{
    if (isnan(ns))
        snprintf(buffer, 32, "-");
    else
        snprintf(buffer, 32, "%.2fms", ns / 1e6);
    return buffer;
}

static void write_row(const struct rows *rows, const struct row *row,
                      const struct term *term, struct sink *sink)
{
    char total[32], self[32];

    sink_repeat(sink, ". ", row->depth);
    text_put(sink, term, row->name);
    sink_puts(sink, " (");
    text_put(sink, term, row->class_name);
    sink_printf(sink, ") took %s (self: %s)\n",
                took(total, rows_each(rows, row, row->total_ns)),
                took(self, rows_each(rows, row, row->self_ns)));
}

enum assay_status view_tree_plain(const struct run *run,
                                  const struct view_options *options,
                                  struct sink *sink, struct error *err)
{
    struct rows rows = {0};
    enum assay_status st = rows_build(run, &rows, err);

    for (size_t i = 0; !st && i < rows.n; i++) {
        const struct row *row = &rows.items[i];

        if (options->depth < 0 || row->depth <= (uint32_t)options->depth)
            write_row(&rows, row, &options->term, sink);
    }
    rows_release(&rows);
    return st ? st : sink_status(sink, err);
}
