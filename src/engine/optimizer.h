/* engine/optimizer.h - changes parameters by their gradients: SGD and AdamW,
 * with PyTorch's arithmetic.
 *
 * What it remembers of a parameter is made with the first gradient that
 * reaches it, and belongs to OWNER_OPTIMIZER in the pool. The result does not
 * depend on the number of threads.
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
    int n_threads;
    enum engine_detail detail; /* of the spans, as the engine's */
};

/* PyTorch's defaults: momentum 0; betas 0.9 and 0.999, eps 1e-8, weight decay
 * 0.01 for AdamW and 0 for SGD. */
struct optimizer_options optimizer_defaults(enum optimizer_kind kind);

/* For the parameters of the graph that are not frozen; they must be float32
 * and have data, which is changed in place. The graph must outlive it. */
enum assay_status optimizer_new(const struct graph *graph, struct pool *pool,
                                const struct optimizer_options *options,
                                struct optimizer **out, struct error *err);
void optimizer_free(struct optimizer *optimizer); /* accepts NULL */

/* All parameters that a gradient reached in the last engine_backward(), with
 * spans that have the names of the modules; tells the engine. */
enum assay_status optimizer_step(struct optimizer *optimizer,
                                 struct engine *engine, double learning_rate,
                                 struct error *err);

/* Of the gradients of all parameters as one vector; NaN or infinite where one
 * of them is. */
double optimizer_gradient_norm(const struct optimizer *optimizer,
                               const struct engine *engine);

/* One parameter, a value of the graph; the gradient is dense and float32. */
enum assay_status optimizer_change(struct optimizer *optimizer, uint32_t value,
                                   const struct tensor *gradient,
                                   double learning_rate, struct error *err);

/* ---- its state, for checkpoints ---------------------------------------- */

enum { OPTIMIZER_MAX_STATES = 2 }; /* of a parameter */

/* How PyTorch calls the i-th thing that is remembered of a parameter:
 * "momentum_buffer"; "exp_avg", "exp_avg_sq". NULL: there are no more. */
const char *optimizer_state_name(const struct optimizer *optimizer, size_t i);
/* Borrowed; NULL until a gradient reached the parameter. */
const struct tensor *optimizer_state(const struct optimizer *optimizer,
                                     uint32_t value, size_t i);
/* Steps that changed the parameter. */
uint64_t optimizer_steps(const struct optimizer *optimizer, uint32_t value);
/* Puts back what came from a checkpoint: copies of as many tensors as there
 * are states. Types and shapes must be those of the parameter. */
enum assay_status optimizer_restore(struct optimizer *optimizer, uint32_t value,
                                    uint64_t steps,
                                    const struct tensor *const *states,
                                    struct error *err);

#endif
