/* views/plot_memory_internal.h - the curve of live bytes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_PLOT_MEMORY_INTERNAL_H
#define VIEWS_PLOT_MEMORY_INTERNAL_H

#include "views/plot_internal.h"

struct memory_curve {
    const struct counter *live; /* all live bytes */
    struct area area;
    struct axis across, up; /* ms and MiB */
};

/* The colour of a kind of bytes: that of the ledger and of the curve. */
struct ink memory_plot_ink(const char *kind);

/* Whether the run says whose the bytes are. */
bool memory_plot_has_layers(const struct run *run);

/* The bytes by whose they are, with a legend at the bottom of the plot; one
 * area if the run does not say that. */
enum assay_status memory_plot_draw_layers(struct plot *plot,
                                          const struct memory_curve *curve,
                                          struct error *err);

#endif
