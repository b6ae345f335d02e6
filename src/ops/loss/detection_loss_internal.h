/* ops/loss/detection_loss_internal.h - what the losses of detectors share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_LOSS_DETECTION_LOSS_INTERNAL_H
#define OPS_LOSS_DETECTION_LOSS_INTERNAL_H

#include "graph/graph.h"

#include <math.h>

/* Checks that labels are classes: "class 92 is not one of 91". */
enum assay_status loss_check_labels(const struct tensor *labels,
                                    int64_t n_classes, struct error *err);

/* backward_reads(): all inputs, if any gradient is wanted. */
struct op_reads loss_reads(const struct node *node, uint64_t wanted);

/* So many operations per target. The answers have values for every class, but
 * only as many are read as there are targets. */
void loss_count_cost(const struct tensor *answers, const struct tensor *targets,
                     uint64_t operations, struct cost *cost);

/* ---- terms and their slopes ---------------------------------------------- */

/* Binary cross entropy of a logit, in a form that does not overflow. */
static inline double bce_term(double logit, double target)
{
    return (logit > 0 ? logit : 0) - logit * target + log1p(exp(-fabs(logit)));
}

static inline double bce_slope(double logit, double target)
{
    return 1 / (1 + exp(-logit)) - target;
}

/* Quadratic for differences below beta, linear above. */
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
