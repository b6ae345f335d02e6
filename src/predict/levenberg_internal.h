/* predict/levenberg_internal.h - least squares by Levenberg and Marquardt.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_LEVENBERG_INTERNAL_H
#define PREDICT_LEVENBERG_INTERNAL_H

#include "base/error.h"

#include <stddef.h>

enum { LEVENBERG_MAX_PARAMETERS = 32 };

struct least_squares {
    size_t n_parameters, n_residuals;
    /* Writes n_residuals numbers for a vector of parameters; finite ones. */
    void (*residuals)(const void *context, const double *parameters,
                      double *out);
    const void *context;
    int max_iterations; /* 0: 100 */
};

/* Moves the parameters from where they are to a local minimum of the sum of
 * squares, which goes to *cost (may be NULL). Derivatives are differences. */
enum assay_status least_squares_solve(const struct least_squares *problem,
                                      double *parameters, double *cost,
                                      struct error *err);

/* r for small r, growing like a root beyond c: squared it is a smooth version
 * of Huber's loss, so that outliers pull less. */
double least_squares_huber(double r, double c);

#endif
