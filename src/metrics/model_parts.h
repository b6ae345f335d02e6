/* metrics/model_parts.h - a model of the public interface, for our own views.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_MODEL_PARTS_H
#define METRICS_MODEL_PARTS_H

#include "graph/layers.h"
#include "metrics/layer_times.h"

#include <assay/model.h>

/* All of it is the model's, until it is measured again or freed. */
struct model_parts {
    const struct graph *graph;
    const struct layers *layers;
    const struct layer_time *times; /* one a layer; NULL: not measured */
    const char *input;              /* "images 1x3x224x224" */
    const char *weights;            /* "random (seed 0)", a file; "none" */
};

struct model_parts model_parts(const struct assay_model *model);

#endif
