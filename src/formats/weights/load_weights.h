/* formats/weights/load_weights.h - loads the tensors of a checkpoint into a
 * graph.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_WEIGHTS_LOAD_WEIGHTS_H
#define FORMATS_WEIGHTS_LOAD_WEIGHTS_H

#include "base/sink.h"
#include "formats/weights/checkpoint.h"
#include "graph/graph.h"

struct weights_report {
    size_t n_loaded;
    size_t n_renamed;   /* of those, from names of older torchvision */
    size_t n_converted; /* of those, from float64 or a 16-bit float */
    size_t n_missing, n_unknown, n_unfit;
    size_t n_renewed; /* left without data: weights_load_to_train() */
};

/* Gets one line per tensor that does not fit. */
struct weights_problems {
    struct sink *sink;
    size_t most; /* lines for each of missing, unknown and unfit ones */
};

/* Gives all parameters and buffers of the graph the tensors of their name.
 *
 * Understands names of torchvision before 0.13, ignores num_batches_tracked and
 * GoogLeNet's aux1 and aux2 if the graph does not have them, and converts other
 * floating point types to float32. If tensors are missing, unknown to the graph
 * or of another shape or type, leaves the graph as it was and returns
 * ASSAY_BAD_INPUT, which names the first of each kind. problems and report may
 * be NULL. */
enum assay_status
weights_load(struct graph *graph, const struct checkpoint *checkpoint,
             struct pool *pool, const struct weights_problems *problems,
             struct weights_report *report, struct error *err);

/* The same from a file, unwrapped. */
enum assay_status weights_load_file(struct graph *graph, const char *path,
                                    struct pool *pool,
                                    const struct weights_problems *problems,
                                    struct weights_report *report,
                                    struct error *err);

/* The same for a model that will learn other classes than those of the file. If
 * only the number of classes does not fit, leaves the whole module that tells
 * classes apart (roi_heads.box_predictor, a classifier's last layer) without
 * data, for model_fill(), and appends its name to *renewed, separated by
 * commas. renewed NULL: all must fit. */
enum assay_status weights_load_to_train(struct graph *graph, const char *path,
                                        struct pool *pool,
                                        const struct weights_problems *problems,
                                        struct weights_report *report,
                                        struct str *renewed, struct error *err);

/* Appends the name that torchvision since 0.13 has for a tensor of an older
 * one: "backbone.fpn.inner_blocks.0.weight" became
 * "backbone.fpn.inner_blocks.0.0.weight". Appends nothing if the name did not
 * change. ASSAY_NOMEM or ASSAY_OK. */
enum assay_status weights_new_name(const char *name, struct str *out);

#endif
