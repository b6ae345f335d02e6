/* train/schedule.h - the learning rate of a step.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

/* Everything counts steps, from 0. */
struct schedule {
    double learning_rate;

    /* Grows evenly from warmup_factor times the rate in step 0 to the whole
     * rate in this step, as PyTorch's LinearLR; 0: no warm-up. */
    uint64_t warmup_steps;
    double warmup_factor;

    /* The rate is multiplied by gamma at each of these, and after every so
     * many steps, as by MultiStepLR and StepLR. */
    double gamma;
    uint64_t every; /* 0: never */
    const uint64_t *milestones;
    size_t n_milestones;
};

double schedule_rate(const struct schedule *schedule, uint64_t step);

#endif
