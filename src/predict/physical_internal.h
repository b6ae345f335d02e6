/* predict/physical_internal.h - what the two physical models share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_PHYSICAL_INTERNAL_H
#define PREDICT_PHYSICAL_INTERNAL_H

#include "predict/physical.h"

/* Devices that have a parameter: those that compute channels in lanes keep
 * other things in memory than others. */
enum devices { ON_ALL, IN_LANES, NOT_IN_LANES };

/* What is thought of a parameter before anything is measured: the logarithm is
 * normal about that of `centre`. */
struct prior {
    const char *name, *unit;
    double centre, deviation;
    enum devices of;
};

/* How much closer priors are about a model of the same device. */
static const double about_share = 0.5;

extern const struct prior latency_priors[];
extern const struct prior memory_priors[];
extern const size_t n_latency_priors, n_memory_priors;

/* With the lane that the model has. */
enum assay_status latency_fit(struct physical *physical,
                              const struct data_points *points,
                              double n_effective, const struct physical *about,
                              struct error *err);
enum assay_status memory_fit(struct physical *physical,
                             const struct data_points *points,
                             double n_effective, const struct physical *about,
                             struct error *err);
double latency_predict(const struct physical *physical,
                       const struct description *description, double batch);
double memory_predict(const struct physical *physical,
                      const struct description *description, double batch);
double memory_demand(const struct physical *physical,
                     const struct description *description, double batch);
double memory_limit(const struct physical *physical);

/* A width in channels as a device with such lanes has it; those of an image
 * are as they are. */
double widened(double channels, double lane);
double widened_input(const struct conv_row *conv, bool is_first, double lane);

/* The larger (smaller) of two positive numbers, with the corner rounded. */
double soft_max(double a, double b, double sharpness);
double soft_min(double a, double b, double sharpness);

/* One weight a point, for the residuals of logarithms: those of a network
 * count as n_effective rows of that deviation. The caller frees it; NULL
 * without memory. */
double *point_weights(const struct data_points *points, double n_effective,
                      double deviation);

#endif
