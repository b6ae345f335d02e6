/* predict/physical_internal.h - shared by the two physical models.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_PHYSICAL_INTERNAL_H
#define PREDICT_PHYSICAL_INTERNAL_H

#include "predict/physical.h"

/* Which devices have a parameter: those that compute channels in lanes keep
 * different things in memory. */
enum devices { ON_ALL, IN_LANES, NOT_IN_LANES };

/* What is expected of a parameter before anything is measured: its logarithm is
 * normally distributed around that of `centre`. */
struct prior {
    const char *name, *unit;
    double centre, deviation;
    enum devices of;
};

/* How much narrower priors are around a model of the same device. */
static const double about_share = 0.5;

extern const struct prior latency_priors[];
extern const struct prior memory_priors[];
extern const size_t n_latency_priors, n_memory_priors;

/* Uses the lane that the model has. */
enum assay_status latency_fit(struct physical *physical,
                              const struct data_points *points,
                              double n_effective, const struct physical *about,
                              struct error *err);
enum assay_status memory_fit(struct physical *physical,
                             const struct data_points *points,
                             double n_effective, const struct physical *about,
                             struct error *err);
/* Of a parameter's prior, in logarithms; and of a row that is predicted well.
 */
double latency_prior_deviation(const struct physical *physical, size_t i);
double memory_prior_deviation(const struct physical *physical, size_t i);
double latency_row_deviation(void);
double memory_row_deviation(void);
double latency_predict(const struct physical *physical,
                       const struct description *description, double batch);
double memory_predict(const struct physical *physical,
                      const struct description *description, double batch);
double memory_demand(const struct physical *physical,
                     const struct description *description, double batch);
double memory_limit(const struct physical *physical);

/* A width in channels, rounded up to whole lanes; the channels of an image are
 * not rounded. */
double widened(double channels, double lane);
double widened_input(const struct conv_row *conv, bool is_first, double lane);

/* The larger (smaller) of two positive numbers, with the corner rounded. */
double soft_max(double a, double b, double sharpness);
double soft_min(double a, double b, double sharpness);

/* One weight per point, for the residuals of logarithms: the points of a
 * network count as n_effective rows of that deviation. The caller frees it;
 * NULL if out of memory. */
double *point_weights(const struct data_points *points, double n_effective,
                      double deviation);

/* ---- levenberg.c: least squares by Levenberg and Marquardt --------------- */

enum { LEVENBERG_MAX_PARAMETERS = 32 };

struct least_squares {
    size_t n_parameters, n_residuals;
    /* Writes n_residuals finite numbers for a vector of parameters. */
    void (*residuals)(const void *context, const double *parameters,
                      double *out);
    const void *context;
    int max_iterations; /* 0: 100 */
};

/* Moves the parameters to a local minimum of the sum of squares, which goes to
 * *cost (may be NULL). Derivatives are differences. */
enum assay_status least_squares_solve(const struct least_squares *problem,
                                      double *parameters, double *cost,
                                      struct error *err);

/* r for small r, growing like a root beyond c: its square is a smooth version
 * of Huber's loss, so that outliers pull less. */
double least_squares_huber(double r, double c);

#endif
