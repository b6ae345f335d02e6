/* passes/train_pass.h - the pass that prepares a graph for training.
 *
 * - a BatchNorm becomes a BatchNormTraining; its new running statistics become
 *   outputs of the graph, named after the buffers that they will replace;
 * - a Dropout becomes a DropoutTraining that reads the seed;
 * - a SoftmaxCrossEntropyLoss, the mean over all images, follows output 0.
 *
 * The graph must not be fused. Scopes, names and parameters stay, so that
 * checkpoints still fit.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_TRAIN_PASS_H
#define PASSES_TRAIN_PASS_H

#include "graph/graph.h"

struct train_pass_options {
    bool keeps_statistics; /* BatchNorm keeps its statistics */
    bool drops_nothing;    /* Dropout still passes everything */
};

/* For a classifier. Appends the inputs "labels" int64 [n] and "seed" int64 [1];
 * the outputs become "loss", a scalar, "logits" [n,classes], and the
 * statistics. A Softmax at the end is removed, and so are all outputs but the
 * first. options may be NULL. ASSAY_UNSUPPORTED if a parameter cannot be
 * trained; the error names the node that blocks the gradient. After a failure
 * the graph can only be freed. */
enum assay_status graph_make_training(struct graph *graph,
                                      const struct train_pass_options *options,
                                      struct error *err);

/* Prepares only the norms. A norm whose weight is a buffer is frozen and stays.
 */
enum assay_status graph_train_norms(struct graph *graph, struct error *err);

#endif
