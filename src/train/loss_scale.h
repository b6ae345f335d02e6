/* train/loss_scale.h - what losses are multiplied with before the backward pass
 * in float16, so that small gradients do not vanish: halved after a step whose
 * gradients are not finite, doubled after many that were.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_LOSS_SCALE_H
#define TRAIN_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

enum { LOSS_SCALE_PATIENCE = 2000 }; /* good steps before it is doubled */

/* Powers of two, so that scaling is exact. */
#define LOSS_SCALE_FIRST 65536.0
#define LOSS_SCALE_MOST  16777216.0

struct loss_scale {
    double factor;       /* 0: off */
    uint64_t good_steps; /* since it changed */
    uint64_t n_skipped;  /* steps of this process that changed no weights */
};

/* What losses are multiplied with. */
static inline double loss_scale_factor(const struct loss_scale *scale)
{
    return scale->factor > 0 ? scale->factor : 1;
}

/* After a step; `is_finite` says whether its gradients were. False: they were
 * not, and no smaller factor is left to try. */
bool loss_scale_learn(struct loss_scale *scale, bool is_finite);

#endif
