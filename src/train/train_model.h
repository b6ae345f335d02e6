/* train/train_model.h - the model of a training with its first weights.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_MODEL_H
#define TRAIN_TRAIN_MODEL_H

#include "train/train.h"

/* Which weights to begin with, and with that how the model is built for so
 * many classes; all goes into the plan. *path is empty for random ones. */
enum assay_status train_model_plan(const struct train_config *config,
                                   int64_t n_classes, struct train_plan *plan,
                                   struct str *path, struct error *err);

/* The model, without data; the caller's. *out is a file's graph, which
 * becomes one for training. */
enum assay_status train_model_build(struct train_plan *plan, struct graph **out,
                                    struct error *err);

/* Gives it the weights of the file; random ones where that has none. */
enum assay_status train_model_fill(struct train_plan *plan, const char *path,
                                   struct pool *pool, struct sink *warnings,
                                   struct graph *graph, struct error *err);

#endif
