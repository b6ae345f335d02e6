/* train/train_file.h - a classifier of a file (.net, .onnx) as the model of a
 * training.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_FILE_H
#define TRAIN_TRAIN_FILE_H

#include "train/train.h"

/* Whether the name of a model is that of a file. */
bool train_file_is(const char *name);

/* Reads the file plan->model, with the weights it has unless the settings want
 * others. How many classes it tells apart, and how large its images are, goes
 * into plan->build. ASSAY_UNSUPPORTED where it is no classifier. */
enum assay_status train_file_read(const struct train_config *config,
                                  struct train_plan *plan, struct pool *pool,
                                  struct graph **out, struct error *err);

/* Fails where the labels of the dataset are more than the model's classes. */
enum assay_status train_file_check_classes(const struct train_plan *plan,
                                           int64_t n_labels, struct error *err);

#endif
