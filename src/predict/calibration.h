/* predict/calibration.h - how wrong predictions are, found by holding rows
 * back.
 *
 * Two cases. Levels of a network that was trained on: some of its inner levels
 * are left out, predicted from the rest. Networks that were not: each network
 * is left out in turn. Both choose the method and give the width of intervals
 * (split conformal prediction on the logarithms).
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CALIBRATION_H
#define PREDICT_CALIBRATION_H

#include "predict/predictor.h"

enum sight {
    SIGHT_LEVELS,   /* of networks that were trained on */
    SIGHT_NETWORKS, /* that were not */
    N_SIGHTS
};

extern const char *const sight_names[]; /* NULL at the end */

struct calibration {
    enum method method; /* the one that is used */
    bool is_known;      /* false: too few levels or networks to hold back */
    double error[N_METHODS]; /* mean relative error on rows held back; NAN */
    double width;    /* of 90 % intervals, as a logarithm; NAN: not known */
    double distance; /* SIGHT_LEVELS: percent from a held-back level to the
                        nearest other, on average */
    size_t n;        /* rows that were held back */
};

/* Fills one calibration a sight. wanted N_METHODS: the method with the least
 * error; another one is used for the networks it is for. */
enum assay_status calibrate(const struct data_points *points,
                            const struct predictor_options *options,
                            enum method wanted,
                            struct calibration out[N_SIGHTS],
                            struct error *err);

/* The width for a network whose level is that far from those trained on:
 * somewhat less than what was found where it is nearer than the levels held
 * back were. */
double calibration_width(const struct calibration *calibration,
                         double distance);

#endif
