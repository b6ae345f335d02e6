/* train/train_checkpoint.h - all that a training needs to continue as if it had
 * never stopped, in a safetensors file.
 *
 * Tensors: "model.NAME" for every parameter and buffer, "optimizer.NAME.STATE"
 * for the optimizer's state of a parameter. Notes: the position in the data,
 * the seed, the number of threads and the chosen kernels; sums of floats depend
 * on the last two. docs/train.md lists them. The file also loads as weights.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_CHECKPOINT_H
#define TRAIN_TRAIN_CHECKPOINT_H

#include "base/str.h"
#include "data/batch.h"
#include "engine/optimizer.h"
#include "train/loss_scale.h"

/* Where a training is, apart from its tensors. */
struct train_position {
    uint64_t step; /* steps made so far */
    uint64_t seed;
    int n_threads;
    struct batch_place place; /* of the next batch */
    enum optimizer_kind optimizer;
    struct loss_scale scale; /* off where the file has none */
    struct str model;        /* its name */
    struct str choices; /* of kernels, in the format of the backend's file */
};

void train_position_release(struct train_position *position);

/* The file appears, or replaces an older one, only when it is complete. */
enum assay_status train_checkpoint_save(const char *path,
                                        const struct graph *graph,
                                        const struct optimizer *optimizer,
                                        const struct train_position *position,
                                        struct error *err);

/* Reads what a file says about itself, to prepare for it. ASSAY_BAD_INPUT if it
 * is not a training checkpoint. The caller releases *out. */
enum assay_status train_checkpoint_look(const char *path,
                                        struct train_position *out,
                                        struct error *err);

/* Restores the optimizer's state by copying the tensors; the weights come with
 * weights_load_file(). */
enum assay_status train_checkpoint_restore(const char *path,
                                           const struct graph *graph,
                                           struct pool *pool,
                                           struct optimizer *optimizer,
                                           struct error *err);

/* The same two for an open file, whose contents are not trusted. */
struct checkpoint;
enum assay_status train_position_read(const struct checkpoint *checkpoint,
                                      struct train_position *out,
                                      struct error *err);
enum assay_status train_states_restore(const struct checkpoint *checkpoint,
                                       const struct graph *graph,
                                       struct pool *pool,
                                       struct optimizer *optimizer,
                                       struct error *err);

/* Writes only parameters and buffers, for torch.load(). */
enum assay_status train_checkpoint_export(const char *path,
                                          const struct graph *graph,
                                          struct error *err);

#endif
