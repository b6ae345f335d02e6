/* predict/doubt.h - how sure a physical model is of a prediction.
 *
 * What the rows say little about stays as uncertain as before they were
 * measured: the rate of 3x3 kernels, if no network has any. The covariance of
 * the parameters (the inverse of the normal equations at the optimum, priors
 * included) says how uncertain, and the derivatives of a prediction how much
 * that matters to it. Added to it is the noise of rows that were learned from.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_DOUBT_H
#define PREDICT_DOUBT_H

#include "predict/physical.h"

/* Start from {0}. */
struct doubt {
    bool is_known;
    double covariance[PHYSICAL_MAX_PARAMETERS][PHYSICAL_MAX_PARAMETERS];
    double noise; /* deviation of the rows that were learned from */
};

/* For a model that was fitted to these points, with n_effective rows per
 * network. Leaves it unknown if the model makes no sense of them. */
enum assay_status doubt_find(struct doubt *doubt,
                             const struct physical *physical,
                             const struct data_points *points,
                             double n_effective, struct error *err);

/* The deviation to expect from a prediction of the model, in logarithms; NAN if
 * it is unknown. */
double doubt_at(const struct doubt *doubt, const struct physical *physical,
                const struct description *description, double batch);

#endif
