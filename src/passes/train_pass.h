/* passes/train_pass.h - the pass that makes a graph for use one for training.
 *
 * - a BatchNorm becomes a BatchNormTraining; its new running statistics become
 *   outputs of the graph, named as the buffers that they are to replace;
 * - a Dropout becomes a DropoutTraining that reads the seed;
 * - a SoftmaxCrossEntropyLoss, the mean over all images, follows output 0.
 *
 * The graph must be as it was built or imported, not optimised. Scopes, names
 * and parameters stay, so that checkpoints fit as before.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_TRAIN_PASS_H
#define PASSES_TRAIN_PASS_H

#include "graph/graph.h"

struct train_pass_options {
    bool keeps_statistics; /* BatchNorm goes on with the statistics it has */
    bool drops_nothing;    /* Dropout goes on letting all pass */
};

/* Of a classifier. Behind the inputs it has come "labels" int64 [n] and "seed"
 * int64 [1]; its outputs are "loss", a scalar, "logits" [n,classes], and the
 * statistics. Logits are what a Softmax at the end was made of; other outputs
 * than the first go. options may be NULL. ASSAY_UNSUPPORTED where a parameter
 * cannot be trained, with the node that lets no gradient pass. After a failure
 * the graph is good for nothing but being freed. */
enum assay_status graph_make_training(struct graph *graph,
                                      const struct train_pass_options *options,
                                      struct error *err);

/* The norms alone. One whose weight is a buffer is frozen and stays. */
enum assay_status graph_train_norms(struct graph *graph, struct error *err);

/* That a gradient of the value reaches every parameter that is trained and
 * that it depends on; ASSAY_UNSUPPORTED names the first node in between that
 * lets none pass. */
enum assay_status graph_check_gradients(const struct graph *graph,
                                        uint32_t value, struct error *err);

#endif
