/* engine/optimizer_kernels.h - the loops of the optimizers over the elements
 * of one parameter.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ENGINE_OPTIMIZER_KERNELS_H
#define ENGINE_OPTIMIZER_KERNELS_H

#include "graph/op_class.h"

struct optimizer_arrays {
    float *parameter;
    const float *gradient;
    float *first, *second; /* what is remembered; NULL where it is nothing */
    size_t n;
};

struct sgd_factors {
    float learning_rate, momentum, weight_decay;
    bool is_nesterov;
};

/* As torch.optim.SGD, with dampening 0. */
void optimizer_sgd(const struct sgd_factors *factors,
                   const struct optimizer_arrays *arrays,
                   const struct op_context *context);

struct adamw_factors {
    float keep;             /* of the parameter: 1 - rate * weight decay */
    float beta1, beta2;     /* what is kept of the moments, */
    float rest1, rest2;     /* and what is new */
    float step_size;        /* rate / (1 - beta1^steps) */
    float root_correction2; /* sqrt(1 - beta2^steps) */
    float eps;
};

/* As torch.optim.AdamW. */
void optimizer_adamw(const struct adamw_factors *factors,
                     const struct optimizer_arrays *arrays,
                     const struct op_context *context);

/* The sum of squares. NaN and infinite values stay what they are. */
double optimizer_square_sum(const float *values, size_t n,
                            const struct op_context *context);

#endif
