/* observe/layer_times.h - the time of each layer of a model in a run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_LAYER_TIMES_H
#define OBSERVE_LAYER_TIMES_H

#include "graph/layers.h"

struct run;

/* What a run measured of one layer. */
struct layer_time {
    double ns;           /* mean per iteration; NaN: not measured */
    const char *done_by; /* the layer that it was fused into, or NULL */
};

/* One per layer; the texts are the run's. Free it with mem_free(). */
enum assay_status layer_times_read(const struct run *run,
                                   const struct graph *graph,
                                   const struct layers *layers,
                                   struct layer_time **out, struct error *err);

#endif
