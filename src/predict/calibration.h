/* predict/calibration.h - how wrong predictions are, found by holding rows
 * back.
 *
 * There are two cases. Levels of a network that was trained on: some of its
 * inner levels are held back and predicted from the rest. Networks that were
 * not: each network is held back in turn. Both choose the method and the width
 * of the intervals: a quantile of the errors on rows held back (conformal
 * prediction on the logarithms), in units of the spread that is expected of
 * each: for levels it grows with their distance from others, for networks it is
 * the doubt of the model that was fitted without them (doubt.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CALIBRATION_H
#define PREDICT_CALIBRATION_H

#include "predict/predictor.h"

enum sight {
    SIGHT_LEVELS,   /* of networks that were trained on */
    SIGHT_NETWORKS, /* networks that were not */
    N_SIGHTS
};

extern const char *const sight_names[]; /* ends with NULL */

struct calibration {
    enum method method; /* the one that is used */
    bool is_known;      /* false: too few levels or networks to hold any back */
    double error[N_METHODS]; /* mean relative error on rows held back, or NAN */
    /* SIGHT_NETWORKS: the mean error of networks held back, each by the method
     * that the others choose, and what 9 of 10 further networks stay below
     * (Student's distribution, as few were held back); NAN: unknown. */
    double announced, most;
    double width;    /* of 90 % intervals, as a logarithm, or for networks as a
                        multiple of the doubt; NAN: unknown */
    double distance; /* SIGHT_LEVELS: mean distance in percent from a held-back
                        level to the nearest other */
    size_t n;        /* rows held back */
};

/* Fills one calibration per sight. wanted N_METHODS: choose the method with the
 * least error; any other one is used for the networks it can handle. */
enum assay_status calibrate(const struct data_points *points,
                            const struct predictor_options *options,
                            enum method wanted,
                            struct calibration out[N_SIGHTS],
                            struct error *err);

/* Whether intervals of other levels go by the doubt of the model. Levels of a
 * GPU's networks differ in what kernels they get: those with odd numbers of
 * channels cannot have the fast ones. How far levels are apart says little
 * about that, the doubt does. */
bool calibration_is_doubted(enum target target, double multiprocessors);
/* SIGHT_LEVELS: the width for a network whose level is that far from those
 * trained on: somewhat smaller if it is nearer than the held-back levels were.
 */
double calibration_width(const struct calibration *calibration,
                         double distance);

#endif
