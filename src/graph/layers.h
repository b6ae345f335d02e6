/* graph/layers.h - lists the layers of a graph with their outputs and costs.
 *
 * A layer is a module that computes, or an op of a module. One that is called
 * several times is one layer.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GRAPH_LAYERS_H
#define GRAPH_LAYERS_H

#include "base/arena.h"
#include "graph/survey.h"

struct layer {
    const char *path;       /* "layer1.0.conv1", "layer1.0.add" */
    const char *class_name; /* of the module, or of the op */
    uint32_t scope;         /* GRAPH_NONE: the model itself */
    const char *op_name;    /* in the module; "": its only op */
    size_t calls;
    bool is_known;         /* whether shape and costs are */
    struct shape output;   /* of the last call */
    uint64_t output_bytes; /* of all calls; a view has none */
    uint64_t macs, flops;
    uint64_t parameters, parameter_bytes; /* buffers count as bytes only */
};

/* Start from {0}. */
struct layers {
    struct layer *items; /* in order of their first call */
    size_t n, capacity;
    struct layer total; /* of known layers, but all parameters */
    struct arena arena;
};

/* The survey is that of the graph. */
enum assay_status layers_list(struct layers *layers, const struct graph *graph,
                              const struct survey *survey, struct error *err);
void layers_release(struct layers *layers);

#endif
