/* metrics/layer_times.h - what the layers of a model took in a run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_LAYER_TIMES_H
#define METRICS_LAYER_TIMES_H

#include "graph/layers.h"

struct run;

/* What a run measured of one layer. */
struct layer_time {
    double ns;           /* of an iteration, mean; NaN: nothing */
    const char *done_by; /* the layer that it was fused into; NULL: none */
};

/* One a layer; the texts are the run's. For mem_free(). */
enum assay_status layer_times_read(const struct run *run,
                                   const struct graph *graph,
                                   const struct layers *layers,
                                   struct layer_time **out, struct error *err);

#endif
