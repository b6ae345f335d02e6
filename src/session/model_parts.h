/* session/model_parts.h - a model of the public interface, for our own views.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_MODEL_PARTS_H
#define SESSION_MODEL_PARTS_H

#include "graph/layers.h"
#include "observe/layer_times.h"

#include <assay/model.h>

/* Owned by the model, until it is measured again or freed. */
struct model_parts {
    const struct graph *graph;
    const struct layers *layers;
    const struct layer_time *times; /* one per layer; NULL: not measured */
    const char *input;              /* "images 1x3x224x224" */
    const char *weights;            /* "random (seed 0)", a file, or "none" */
};

struct model_parts model_parts(const struct assay_model *model);

#endif
