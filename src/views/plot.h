/* views/plot.h - a run as a one-page picture, for papers and pull requests.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_PLOT_H
#define VIEWS_PLOT_H

#include "picture/sheet.h"
#include "run/run.h"

/* One list for the kinds, their names and the functions that draw them. */
#define PLOT_KINDS(X)                                                          \
    X(PLOT_ICICLE, "icicle", plot_icicle)                                      \
    X(PLOT_MEMORY, "memory", plot_memory)                                      \
    X(PLOT_LATENCY, "latency", plot_latency)                                   \
    X(PLOT_ROOFLINE, "roofline", plot_roofline)                                \
    X(PLOT_TIMELINE, "timeline", plot_timeline)

enum plot_kind {
#define PLOT_ENUM(kind, text, draw) kind,
    PLOT_KINDS(PLOT_ENUM)
#undef PLOT_ENUM
};

extern const char *const plot_kind_names[]; /* NULL ends it */

/* ASSAY_UNSUPPORTED says what the run lacks for this kind, and how to record
 * it.
 */
enum assay_status view_plot(const struct run *run, enum plot_kind kind,
                            enum sheet_format format, struct sink *sink,
                            struct error *err);

#endif
