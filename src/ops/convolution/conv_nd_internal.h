/* ops/convolution/conv_nd_internal.h - what ConvNd and ConvTransposeNd have in
 * common.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_CONV_ND_INTERNAL_H
#define OPS_CONVOLUTION_CONV_ND_INTERNAL_H

#include "ops/convolution/conv_nd.h"

struct conv_nd_rule {
    int rank; /* of the window */
    int64_t groups;
    bool is_transposed;
};

/* Whether x, the weight and the bias fit one another. */
enum assay_status conv_nd_check(const struct tensor *const *inputs,
                                const struct conv_nd_rule *rule,
                                struct error *err);

/* A kernel for each of so many elements. */
void conv_nd_count(const struct tensor *weight, size_t elements,
                   struct cost *cost);

#endif
