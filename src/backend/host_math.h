/* backend/host_math.h - the arithmetic that the engine does itself, besides
 * running ops: gradients are added up, parameters change, types are converted.
 *
 * All tensors are dense, in the memory of one device. What is computed is
 * queued, as everything on a device; what gives a number to the host waits for
 * it. Results do not depend on the number of threads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_HOST_MATH_H
#define BACKEND_HOST_MATH_H

#include "graph/op_class.h"

struct backend;

enum { OPTIMIZER_MAX_STATES = 2 }; /* per parameter */

/* A float32 parameter, its gradient, and what is remembered of it. */
struct optimizer_tensors {
    const struct tensor *parameter, *gradient;
    const struct tensor *states[OPTIMIZER_MAX_STATES]; /* NULL: none */
};

struct sgd_factors {
    float learning_rate, momentum, weight_decay;
    bool is_nesterov;
    float unscale; /* what gradients are multiplied with first */
};

struct adamw_factors {
    float keep;             /* of the parameter: 1 - rate * weight decay */
    float beta1, beta2;     /* what is kept of the moments, */
    float rest1, rest2;     /* and what is new */
    float step_size;        /* rate / (1 - beta1^steps) */
    float root_correction2; /* sqrt(1 - beta2^steps) */
    float eps;
    float unscale; /* as above */
};

struct backend_math {
    /* Sets every element of a float32 tensor. */
    enum assay_status (*fill)(struct backend *backend,
                              const struct op_context *context,
                              const struct tensor *tensor, float value,
                              struct error *err);
    /* to = from, by the rules of convert_elements(). */
    enum assay_status (*convert)(struct backend *backend,
                                 const struct op_context *context,
                                 const struct tensor *from,
                                 const struct tensor *to, struct error *err);
    /* Optional (the host does that before): the 8-bit pixels of a picture,
     * [height, width, 3], to float32 planes [3, height, width], each divided by
     * 255. */
    enum assay_status (*spread)(struct backend *backend,
                                const struct op_context *context,
                                const struct tensor *from,
                                const struct tensor *to, struct error *err);
    /* sum += term, in float32. */
    enum assay_status (*add)(struct backend *backend,
                             const struct op_context *context,
                             const struct tensor *sum,
                             const struct tensor *term, struct error *err);
    /* As torch.optim.SGD, with dampening 0. */
    enum assay_status (*sgd)(struct backend *backend,
                             const struct op_context *context,
                             const struct sgd_factors *factors,
                             const struct optimizer_tensors *tensors,
                             struct error *err);
    /* Optional (they are taken one by one): n parameters in few launches. */
    enum assay_status (*sgd_list)(struct backend *backend,
                                  const struct op_context *context,
                                  const struct sgd_factors *factors,
                                  const struct optimizer_tensors *tensors,
                                  size_t n, struct error *err);
    /* As torch.optim.AdamW. */
    enum assay_status (*adamw)(struct backend *backend,
                               const struct op_context *context,
                               const struct adamw_factors *factors,
                               const struct optimizer_tensors *tensors,
                               struct error *err);
    /* The sum of all squares of n float32 tensors. NaN and infinite values
     * stay what they are. */
    enum assay_status (*square_sum)(struct backend *backend,
                                    const struct op_context *context,
                                    const struct tensor *const *tensors,
                                    size_t n, double *sum, struct error *err);
    /* Whether all elements of a float32 tensor are finite. It may be in a
     * layout of the backend: padding counts, and kernels keep it at zero. */
    enum assay_status (*is_finite)(struct backend *backend,
                                   const struct op_context *context,
                                   const struct tensor *tensor, bool *is_finite,
                                   struct error *err);
};

/* For tensors in the host's memory. `backend` is not looked at. */
extern const struct backend_math host_math;

#endif
