/* tests/backend/op_step.h - one node of a case: forward, then backward, by the
 * portable kernels.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_BACKEND_OP_STEP_H
#define TESTS_BACKEND_OP_STEP_H

#include "op_case.h"

enum { OP_STEP_MAX = 8 }; /* inputs and outputs of a node */

struct op_step {
    const struct node *node;
    const struct tensor *inputs[OP_STEP_MAX]; /* borrowed; NULL: left out */
    struct tensor outputs[OP_STEP_MAX];
    struct tensor saved;
};

/* The float32 inputs: those that may be wanted. */
uint64_t op_step_differentiable(const struct op_step *step);

/* Runs the node; what the step held before is given back. saves: as in
 * training. */
enum assay_status op_step_forward(struct op_step *step,
                                  const struct op_context *context, bool saves,
                                  struct error *err);
/* Runs it once more in the same step, with what was saved. */
enum assay_status op_step_again(struct op_step *step,
                                const struct op_context *context,
                                struct error *err);
/* Makes dx where it is wanted; the kernel sees only the data it asked for. dy:
 * one an output, NULL: zero. dx has OP_STEP_MAX places, the caller's to
 * release. */
enum assay_status op_step_backward(const struct op_step *step,
                                   const struct op_context *context,
                                   const struct tensor *const *dy,
                                   uint64_t wanted, struct tensor *dx,
                                   struct error *err);
void op_step_release(struct op_step *step);

/* Runs the nodes of a case one after the other. visit() sees each after it
 * ran; the walk ends at the first failure. */
enum assay_status
op_steps(const struct op_graph *made, const struct op_context *context,
         enum assay_status (*visit)(struct op_step *step, void *data,
                                    struct error *err),
         void *data, struct error *err);

#endif
