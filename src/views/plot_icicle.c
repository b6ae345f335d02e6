/* views/plot_icicle.c - the tree of a run: rows as wide as their time, children
 * below. */
#include "base/mem.h"
#include "base/units.h"
#include "views/plot_internal.h"
#include "views/scope_rows.h"

#include <math.h>

enum { max_levels = 16 };

static const double narrowest = 0.4; /* what cannot be seen is not drawn */

/* The places of the rows; one element per row. */
struct icicle {
    const struct rows *rows;
    double *x, *width;
    double *next;  /* where the next child begins */
    double *below; /* the sum of the children's times */
    uint32_t levels;
    double height; /* of a level */
};

static bool icicle_has_place(const struct row *row)
{
    return !row->is_outside && row->total_ns > 0;
}

static enum assay_status icicle_init(struct icicle *icicle,
                                     const struct rows *rows, struct error *err)
{
    *icicle = (struct icicle){.rows = rows, .levels = 1};
    icicle->x = mem_array(rows->n * 4, sizeof *icicle->x);
    if (!icicle->x)
        return error_nomem(err, rows->n * 4 * sizeof *icicle->x, "a plot");
    icicle->width = icicle->x + rows->n;
    icicle->next = icicle->width + rows->n;
    icicle->below = icicle->next + rows->n;
    for (size_t i = 1; i < rows->n; i++) {
        if (icicle_has_place(&rows->items[i]))
            icicle->below[rows->items[i].parent] += rows->items[i].total_ns;
    }
    return ASSAY_OK;
}

/* Children that ran in parallel may add up to more than their parent: they then
 * share its width. */
static void icicle_place_row(struct icicle *icicle, size_t i)
{
    const struct row *row = &icicle->rows->items[i];
    const struct row *parent = &icicle->rows->items[row->parent];
    double whole = fmax(parent->total_ns, icicle->below[row->parent]);
    uint32_t level = row->depth + 1;

    icicle->x[i] = icicle->next[row->parent];
    icicle->width[i] = icicle->width[row->parent] * row->total_ns / whole;
    icicle->next[row->parent] += icicle->width[i];
    icicle->next[i] = icicle->x[i];
    if (icicle->width[i] >= narrowest && level > icicle->levels)
        icicle->levels = level < max_levels ? level : max_levels;
}

static void plot_icicle_place_rows(struct icicle *icicle, struct area area)
{
    icicle->x[0] = icicle->next[0] = area.x;
    icicle->width[0] = area.width;
    for (size_t i = 1; i < icicle->rows->n; i++) {
        if (icicle_has_place(&icicle->rows->items[i]))
            icicle_place_row(icicle, i);
    }
    icicle->height = fmin(area.height / icicle->levels, 40);
}

static void plot_icicle_draw_row(struct plot *plot, const struct icicle *icicle,
                                 size_t i)
{
    const struct row *row = &icicle->rows->items[i];
    struct area box = {icicle->x[i], plot->area.y + row->depth * icicle->height,
                       icicle->width[i], icicle->height};
    struct area text = {box.x + 4, box.y, box.width - 6, box.height};
    double ns = rows_each(icicle->rows, row, row->total_ns);
    struct str label = {0};
    char time[UNITS_MAX];

    if (box.width < narrowest || row->depth >= max_levels)
        return;
    sheet_rectangle(plot->sheet, box, plot_scope_ink(plot, row->scope));
    sheet_frame(plot->sheet, box, (struct ink){1, 1, 1, 1},
                fmin(0.8, box.width / 4));
    plot_name(plot->run, row->scope, &label);
    /* Without memory the time is missing. */
    if (text.width > 90)
        (void)str_printf(&label, "  %s", units_time(time, ns));
    sheet_text_in(plot->sheet, text, PLOT_TEXT, plot_ink, str_text(&label));
    str_release(&label);
}

enum assay_status plot_icicle(struct plot *plot, struct error *err)
{
    struct rows rows = {0};
    struct icicle icicle = {0};
    enum assay_status st = rows_build(plot->run, &rows, err);

    if (!st && !icicle_has_place(&rows.items[0]))
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "the run has no times, so there is no icicle to draw");
    if (!st)
        st = icicle_init(&icicle, &rows, err);
    if (!st) {
        plot_head(plot, rows.n_iterations ? "Time of an iteration, by module"
                                          : "Time of the run, by scope");
        plot_legend_begin(plot);
        plot_icicle_place_rows(&icicle, plot->area);
        for (size_t i = 0; i < rows.n; i++)
            plot_icicle_draw_row(plot, &icicle, i);
    }
    mem_free(icicle.x);
    rows_release(&rows);
    return st;
}
