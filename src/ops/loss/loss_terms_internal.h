/* ops/loss/loss_terms_internal.h - the terms of detection losses and their
 * slopes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_LOSS_LOSS_TERMS_INTERNAL_H
#define OPS_LOSS_LOSS_TERMS_INTERNAL_H

#include <math.h>

/* Binary cross entropy of a logit, in the form that never overflows. */
static inline double bce_term(double logit, double target)
{
    return (logit > 0 ? logit : 0) - logit * target + log1p(exp(-fabs(logit)));
}

static inline double bce_slope(double logit, double target)
{
    return 1 / (1 + exp(-logit)) - target;
}

/* Half the square of small differences, then straight on. */
static inline double smooth_l1_term(double difference, double beta)
{
    double size = fabs(difference);

    return size < beta ? 0.5 * size * size / beta : size - 0.5 * beta;
}

static inline double smooth_l1_slope(double difference, double beta)
{
    if (fabs(difference) < beta)
        return difference / beta;
    return difference > 0 ? 1 : -1;
}

#endif
