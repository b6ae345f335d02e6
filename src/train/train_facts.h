/* train/train_facts.h - what the settings of a training came to, as facts of
 * its run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_FACTS_H
#define TRAIN_TRAIN_FACTS_H

#include "data/loader.h"
#include "train/train.h"

/* The weights it began with, the dataset, whether the loader kept up, and
 * every setting as "config.training.batch_size". recompute: modules, or NULL.
 */
enum assay_status
train_facts_state(struct run *run, const struct train_config *config,
                  const struct train_plan *plan, const struct loader *loader,
                  const char *const *recompute, struct error *err);

#endif
