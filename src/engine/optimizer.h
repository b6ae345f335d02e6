/* engine/optimizer.h - changes parameters by their gradients: SGD and AdamW,
 * with PyTorch's arithmetic.
 *
 * It works on the device of its engine. What it remembers of a parameter is
 * made with the first gradient that reaches it, and belongs to OWNER_OPTIMIZER
 * in the engine's pool. The result does not depend on the number of threads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ENGINE_OPTIMIZER_H
#define ENGINE_OPTIMIZER_H

#include "engine/engine.h"

struct optimizer;

enum optimizer_kind { OPTIMIZER_SGD, OPTIMIZER_ADAMW };

/* "sgd", "adamw". */
const char *optimizer_kind_name(enum optimizer_kind kind);

struct optimizer_options {
    enum optimizer_kind kind;
    double weight_decay;
    double momentum; /* of SGD; 0: none, nothing is remembered */
    bool is_nesterov;
    double beta1, beta2, eps; /* of AdamW */
};

/* PyTorch's defaults: momentum 0; betas 0.9 and 0.999, eps 1e-8, weight decay
 * 0.01 for AdamW and 0 for SGD. */
struct optimizer_options optimizer_defaults(enum optimizer_kind kind);

/* For the parameters of the engine's graph that are not frozen; they must be
 * float32 and have data. The engine must outlive it. */
enum assay_status optimizer_new(struct engine *engine,
                                const struct optimizer_options *options,
                                struct optimizer **out, struct error *err);
void optimizer_free(struct optimizer *optimizer); /* accepts NULL */

/* From now on gradients are multiplied with this before anything else. */
void optimizer_shrink_gradients(struct optimizer *optimizer, double factor);
/* All parameters that a gradient reached in the last engine_backward(), with
 * spans that have the names of the modules. */
enum assay_status optimizer_step(struct optimizer *optimizer,
                                 double learning_rate, struct error *err);

/* Of the gradients of all parameters as one vector, without the scale of the
 * losses; NaN or infinite where one
 * of them is. */
enum assay_status optimizer_gradient_norm(const struct optimizer *optimizer,
                                          double *norm, struct error *err);

/* One parameter, a value of the graph; the gradient is dense and float32, in
 * the device's memory. */
enum assay_status optimizer_change(struct optimizer *optimizer, uint32_t value,
                                   const struct tensor *gradient,
                                   double learning_rate, struct error *err);

/* ---- its state, for checkpoints ---------------------------------------- */

/* How PyTorch calls the i-th thing that is remembered of a parameter:
 * "momentum_buffer"; "exp_avg", "exp_avg_sq". NULL: there are no more. */
const char *optimizer_state_name(const struct optimizer *optimizer, size_t i);
/* On the host, to be released; without data until a gradient reached the
 * parameter. */
enum assay_status optimizer_read_state(const struct optimizer *optimizer,
                                       uint32_t value, size_t i,
                                       struct tensor *out, struct error *err);
/* Steps that changed the parameter. */
uint64_t optimizer_steps(const struct optimizer *optimizer, uint32_t value);
/* Puts back what came from a checkpoint: copies of as many tensors as there
 * are states. Types and shapes must be those of the parameter. */
enum assay_status optimizer_restore(struct optimizer *optimizer, uint32_t value,
                                    uint64_t steps,
                                    const struct tensor *const *states,
                                    struct error *err);

#endif
