/* cli/train_echo.h - what a training is about to do, before it does it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_TRAIN_ECHO_H
#define CLI_TRAIN_ECHO_H

#include "base/term.h"
#include "train/train.h"

/* Every setting, one section per line; changed ones with their default. */
void train_echo_config(const struct train_config *config,
                       const struct term *term, struct sink *sink);

/* What the settings mean for this dataset and these weights. */
void train_echo_plan(const struct train_plan *plan, const struct term *term,
                     struct sink *sink);

#endif
