/* predict/curve.h - one network and its pruned levels, as lines in the batch
 * size whose slope follows a polynomial.
 *
 * Knows nothing of layers: it fits a network of which some levels were
 * measured, and no other.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CURVE_H
#define PREDICT_CURVE_H

#include "predict/points.h"

/* What the polynomial is in. */
enum curve_axis {
    CURVE_MACS,  /* a straight line in the logarithm of the multiply-adds */
    CURVE_LEVEL, /* of the third degree in the percent that were pruned */
    N_CURVE_AXES
};

enum { CURVE_MAX_PARAMETERS = 12 };

struct curve {
    enum target target;
    enum curve_axis axis;
    double reference_macs; /* of the largest level */
    double value[CURVE_MAX_PARAMETERS];
};

/* The points are of one network; the bounds among them are not used. */
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

/* A row of that batch was so much more than predicted, as a logarithm. */
void batch_bias_add(struct batch_bias *bias, double batch, double miss);
/* The mean of the rows of about that batch, shrunk where there are few. */
double batch_bias_at(const struct batch_bias *bias, double batch);

#endif
