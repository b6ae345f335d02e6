/* backend/activation.h - what kernels apply to their results before they leave
 * the registers.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_ACTIVATION_H
#define BACKEND_ACTIVATION_H

#include "ops/convolution/conv2d.h"

#include <stdbool.h>

struct activation {
    bool has_relu;
    float relu_limit;            /* cuts a ReLU off; 0: not */
    enum conv2d_activation kind; /* instead of a ReLU */
    float slope;                 /* of a LeakyReLU */
};

#endif
