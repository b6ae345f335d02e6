/* train/train_data.h - the dataset of a training, and its batches.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_DATA_H
#define TRAIN_TRAIN_DATA_H

#include "data/loader.h"
#include "detect/recipe.h"
#include "train/train.h"

struct train_data {
    struct dataset *dataset;
    struct loader *loader;
    struct recipe recipe; /* of classifiers */
    struct sample_fit fit;
    struct sink *warnings;
};

/* Opens the dataset of the settings and says in the plan what it is. Start
 * from {0}; closed by the caller, also on failure. */
enum assay_status train_data_open(struct train_data *data,
                                  const struct train_config *config,
                                  struct train_plan *plan, struct error *err);
void train_data_close(struct train_data *data);

/* Classes of a model that is to learn this dataset: of a detector the
 * background included; all of COCO's numbers for COCO. */
int64_t train_data_classes(const struct train_data *data,
                           const struct train_config *config,
                           const struct train_plan *plan);

/* Starts the workers, and fills in what the plan has to say about steps. The
 * model's options are in the plan. */
enum assay_status train_data_start(struct train_data *data,
                                   const struct train_config *config,
                                   struct pool *pool, struct train_plan *plan,
                                   struct error *err);

#endif
