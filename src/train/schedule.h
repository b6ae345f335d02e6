/* train/schedule.h - the learning rate of a step.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include <stdint.h>

/* Steps count from 0. */
struct schedule {
    double learning_rate;

    /* Rises linearly from warmup_factor times the rate in step 0 to the full
     * rate in this step, like PyTorch's LinearLR; 0: no warm-up. */
    uint64_t warmup_steps;
    double warmup_factor;

    /* The rate is multiplied by gamma after every so many steps, like StepLR.
     */
    double gamma;
    uint64_t every; /* 0: never */
};

double schedule_rate(const struct schedule *schedule, uint64_t step);

#endif
