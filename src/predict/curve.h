/* predict/curve.h - one network and its pruned levels, as lines in the batch
 * size whose slope follows a polynomial.
 *
 * Does not look at layers: it fits a network some of whose levels were
 * measured, and no other.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CURVE_H
#define PREDICT_CURVE_H

#include "predict/points.h"

/* The variable of the polynomial. */
enum curve_axis {
    CURVE_MACS,  /* a straight line in the logarithm of the multiply-adds */
    CURVE_LEVEL, /* of the third degree in the pruned percent */
    N_CURVE_AXES
};

enum { CURVE_MAX_PARAMETERS = 12 };

struct curve {
    enum target target;
    enum curve_axis axis;
    double reference_macs; /* of the largest level */
    double value[CURVE_MAX_PARAMETERS];
};

/* The points are of one network; bounds among them are ignored. */
enum assay_status curve_fit(struct curve *curve,
                            const struct data_points *points,
                            enum curve_axis axis, struct error *err);
double curve_predict(const struct curve *curve, double macs, double level,
                     double batch);
size_t curve_count(enum target target, enum curve_axis axis); /* parameters */

/* ---- what is left over, by batch size ------------------------------------ */

enum { BATCH_BIAS_MAX = 64 };

/* Start from {0}. */
struct batch_bias {
    size_t n;
    double log2_batch[BATCH_BIAS_MAX];
    double sum[BATCH_BIAS_MAX], count[BATCH_BIAS_MAX];
};

/* Adds a row of that batch which exceeded the prediction by `miss`, a
 * logarithm. */
void batch_bias_add(struct batch_bias *bias, double batch, double miss);
/* The mean of rows of about that batch, shrunk if there are few. */
double batch_bias_at(const struct batch_bias *bias, double batch);

#endif
