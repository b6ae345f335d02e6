/* train/train_pictures.h - images of the dataset with what the model finds on
 * them after a training.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_PICTURES_H
#define TRAIN_TRAIN_PICTURES_H

#include "data/dataset.h"
#include "train/train.h"

struct train_pictures {
    const struct train_plan *plan;
    const struct graph *graph; /* as it was trained */
    const struct dataset *dataset;
    struct pool *pool;
    const char *choices_path;
    const char *folder; /* made where it is missing */
};

/* Writes FOLDER/NAME_targets.jpg for the first few images, with the surest
 * boxes of each, and tells how many of both. Nothing for a classifier. */
enum assay_status train_pictures_write(const struct train_pictures *pictures,
                                       struct train_report *report,
                                       struct error *err);

#endif
