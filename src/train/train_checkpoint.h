/* train/train_checkpoint.h - all that a training needs to go on as if it had
 * never stopped, in a safetensors file.
 *
 * Tensors: "model.NAME" for every parameter and buffer, "optimizer.NAME.STATE"
 * for what the optimizer remembers of a parameter. Notes: the position in the
 * data, the seed, the number of threads and the kernels that were chosen; sums
 * of floats depend on those two. docs/train.md lists them. The file also loads
 * as weights.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_CHECKPOINT_H
#define TRAIN_TRAIN_CHECKPOINT_H

#include "base/str.h"
#include "data/batch.h"
#include "engine/optimizer.h"

/* The note that tells a checkpoint of a training, with its version. */
#define TRAIN_FORMAT_NOTE "assay.training"
#define TRAIN_FORMAT_TEXT "1"
/* Of a tensor: the parameter and the state. */
#define TRAIN_STATE_NAME "optimizer.%s.%s"

/* Where a training is, beside its tensors. */
struct train_position {
    uint64_t step; /* steps that were made */
    uint64_t seed;
    int n_threads;
    struct batch_place place; /* of the next batch */
    enum optimizer_kind optimizer;
    struct str model;   /* its name */
    struct str choices; /* of kernels, as the backend's file has them */
};

void train_position_release(struct train_position *position);

/* Appears under its name when it is whole, and replaces an older one then. */
enum assay_status train_checkpoint_save(const char *path,
                                        const struct graph *graph,
                                        const struct optimizer *optimizer,
                                        const struct train_position *position,
                                        struct error *err);

/* What a file says about itself: how to be ready for it. ASSAY_BAD_INPUT where
 * it is no checkpoint of a training. Released by the caller. */
enum assay_status train_checkpoint_look(const char *path,
                                        struct train_position *out,
                                        struct error *err);

/* What the optimizer remembered; the weights come with weights_load_file().
 * Copies the tensors. */
enum assay_status train_checkpoint_restore(const char *path,
                                           const struct graph *graph,
                                           struct pool *pool,
                                           struct optimizer *optimizer,
                                           struct error *err);

/* The same two of a file that is open: what it says may be anything. */
struct checkpoint;
enum assay_status train_position_read(const struct checkpoint *checkpoint,
                                      struct train_position *out,
                                      struct error *err);
enum assay_status train_states_restore(const struct checkpoint *checkpoint,
                                       const struct graph *graph,
                                       struct pool *pool,
                                       struct optimizer *optimizer,
                                       struct error *err);

/* The parameters and buffers alone, for torch.load(). */
enum assay_status train_checkpoint_export(const char *path,
                                          const struct graph *graph,
                                          struct error *err);

#endif
