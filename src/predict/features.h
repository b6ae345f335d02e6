/* predict/features.h - a network as a row of numbers that forests learn from.
 *
 * docs/fingerprint.md explains them one by one. All are counted in elements (of
 * 4 bytes) or multiply-adds, per batch. Features of training alone are 0 for
 * inference.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_FEATURES_H
#define PREDICT_FEATURES_H

#include "predict/data_folder.h"

/* Of one convolution or fully connected layer. */
enum layer_feature {
    LAYER_WEIGHTS,
    LAYER_WEIGHT_GRADIENTS,
    LAYER_INPUT_MAP,
    LAYER_INPUT_GRADIENT,
    LAYER_OUTPUT_MAP,
    LAYER_OUTPUT_GRADIENT,
    LAYER_IM2COL, /* from here on: forward, by input, by weights */
    LAYER_GEMM = LAYER_IM2COL + 3,
    LAYER_FFT_SIZE = LAYER_GEMM + 3,
    LAYER_FFT = LAYER_FFT_SIZE + 3,
    LAYER_WINOGRAD_4X3_SIZE = LAYER_FFT + 3,
    LAYER_WINOGRAD_4X3 = LAYER_WINOGRAD_4X3_SIZE + 3,
    LAYER_WINOGRAD_3X2_SIZE = LAYER_WINOGRAD_4X3 + 3,
    LAYER_WINOGRAD_3X2 = LAYER_WINOGRAD_3X2_SIZE + 3,
    N_LAYER_FEATURES = LAYER_WINOGRAD_3X2 + 3
};

/* Of a network: the sums of these over its layers, and more. */
enum network_feature {
    FEATURE_BATCH = N_LAYER_FEATURES,
    FEATURE_LARGEST_IM2COL,
    FEATURE_LARGEST_MAPS,
    FEATURE_MACS_1X1,
    FEATURE_MACS_3X3,
    FEATURE_MACS_OTHER,
    FEATURE_MACS_DEPTHWISE,
    FEATURE_MACS_DENSE,
    FEATURE_N_CONV,
    FEATURE_N_DEPTHWISE,
    FEATURE_N_DENSE,
    FEATURE_N_NORM,
    FEATURE_N_RELU,
    FEATURE_N_ADD,
    FEATURE_N_CONCAT,
    FEATURE_N_MAX_POOL,
    FEATURE_N_AVG_POOL,
    FEATURE_NORM_TRAFFIC,
    FEATURE_RELU_TRAFFIC,
    FEATURE_ADD_TRAFFIC,
    FEATURE_CONCAT_TRAFFIC,
    FEATURE_MAX_POOL_TRAFFIC,
    FEATURE_AVG_POOL_TRAFFIC,
    FEATURE_SAVED_BYTES,
    FEATURE_PARAMETERS,
    FEATURE_PARAMETER_TENSORS,
    N_FEATURES
};

/* "im2col_backward_input"; for both kinds. */
const char *feature_name(size_t feature);

/* The features of layer i for a batch: first the convolutions, then the fully
 * connected layers. */
void features_layer(const struct description *description, size_t i,
                    double batch, enum stage stage,
                    double out[N_LAYER_FEATURES]);
void features_network(const struct description *description, double batch,
                      enum stage stage, double out[N_FEATURES]);

#endif
