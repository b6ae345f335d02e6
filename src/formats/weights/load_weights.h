/* formats/weights/load_weights.h - from the tensors of a checkpoint to those of
 * a graph.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_WEIGHTS_LOAD_WEIGHTS_H
#define FORMATS_WEIGHTS_LOAD_WEIGHTS_H

#include "base/sink.h"
#include "formats/weights/checkpoint.h"
#include "graph/graph.h"

struct weights_report {
    size_t n_loaded;
    size_t n_renamed;   /* of those, from names of older torchvisions */
    size_t n_converted; /* of those, from float64 or a 16-bit float */
    size_t n_missing, n_unknown, n_unfit;
    size_t n_renewed; /* left without data: weights_load_to_train() */
};

/* Where tensors that do not fit are told of, one a line. */
struct weights_problems {
    struct sink *sink;
    size_t most; /* lines about missing, about unknown, about unfit ones */
};

/* Gives all parameters and buffers of the graph the tensors of their name.
 *
 * Names of torchvision before 0.13 are understood; num_batches_tracked and
 * GoogLeNet's aux1 and aux2 are passed over where the graph has none; other
 * floating point types become float32. Where tensors are missing, unknown to
 * the graph, or of another shape or type, the graph stays as it was and the
 * answer is ASSAY_BAD_INPUT, naming the first of each kind. problems and report
 * may be NULL. */
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

/* The same for a model that is to learn other classes than those of the file.
 * Where the number of classes is what does not fit, the whole module that
 * tells them apart (roi_heads.box_predictor, a classifier's last layer) is left
 * without data, for model_fill(), and its name is appended to *renewed, with a
 * comma between two. NULL: all has to fit. */
enum assay_status weights_load_to_train(struct graph *graph, const char *path,
                                        struct pool *pool,
                                        const struct weights_problems *problems,
                                        struct weights_report *report,
                                        struct str *renewed, struct error *err);

/* Appends what torchvision since 0.13 calls a tensor that an older one named
 * so: "backbone.fpn.inner_blocks.0.weight" is
 * "backbone.fpn.inner_blocks.0.0.weight". Nothing where it has no other name.
 * ASSAY_NOMEM or ASSAY_OK. */
enum assay_status weights_new_name(const char *name, struct str *out);

#endif
