/* views/plot_internal.h - what the kinds of plots share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_PLOT_INTERNAL_H
#define VIEWS_PLOT_INTERNAL_H

#include "picture/axis.h"
#include "views/plot.h"

enum { N_PLOT_KINDS = 11 }; /* of what modules do */

struct plot {
    const struct run *run;
    struct sheet *sheet;
    struct area area; /* below the title, inside the margins */
    double legend_y;  /* 0: it has no legend */
    bool is_drawn[N_PLOT_KINDS];
};

/* A kind of plot draws itself below the head of the page. */
typedef enum assay_status plot_function(struct plot *plot, struct error *err);

#define PLOT_DECLARE(kind, text, draw) plot_function draw;
PLOT_KINDS(PLOT_DECLARE)
#undef PLOT_DECLARE

extern const struct ink plot_ink, plot_faint_ink, plot_grid_ink;
extern const struct ink plot_main_ink, plot_accent_ink;

enum { PLOT_TEXT = 9 }; /* points */

/* The colour of a module by what it does, which the legend lists then. */
struct ink plot_scope_ink(struct plot *plot, uint32_t scope);

/* Makes room for a legend at the bottom of the area, which is smaller then.
 * Call it after plot_head(). The end draws what the colours mean that are in
 * the picture; view_plot() calls it. */
void plot_legend_begin(struct plot *plot);
void plot_legend_end(struct plot *plot);

/* Appends the name of a scope on a plot: "layer3.0" if its own name is only a
 * number. It is shorter if there is no memory. */
void plot_name(const struct run *run, uint32_t scope, struct str *out);

/* The title, and below it what was measured and where. */
void plot_head(struct plot *plot, const char *title);

/* An axis along the bottom or the left of an area, with grid lines, numbers and
 * a caption. Sets the places of the axis. */
void plot_axis_below(struct plot *plot, struct area area, struct axis *axis,
                     const char *caption);
void plot_axis_left(struct plot *plot, struct area area, struct axis *axis,
                    const char *caption);

/* A dashed line through the area at a place on its horizontal axis, with words
 * at the top. */
void plot_mark(struct plot *plot, struct area area, double x, struct ink ink,
               const char *words);

#endif
