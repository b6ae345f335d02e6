/* tests/engine/picky_op.h - an op that hands on what it gets, and fails on a
 * tensor that begins with 9.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_ENGINE_PICKY_OP_H
#define TESTS_ENGINE_PICKY_OP_H

#include "graph/op_class.h"

#include <string.h>

static inline enum assay_status picky_infer(const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *error)
{
    (void)node, (void)error;
    outputs[0].dtype = DTYPE_F32;
    outputs[0].shape = inputs[0]->shape;
    return ASSAY_OK;
}

/* Fails on what is in the tensor, which nobody knows before it runs. */
static inline enum assay_status
picky_forward(const struct op_context *context, const struct node *node,
              const struct tensor *const *inputs, struct tensor *outputs,
              struct error *error)
{
    (void)context, (void)node;
    memcpy(tensor_data(&outputs[0]), tensor_data(inputs[0]),
           tensor_bytes(inputs[0]));
    return *tensor_f32(inputs[0]) == 9
               ? error_set(error, ASSAY_BAD_INPUT, "nine cannot be")
               : ASSAY_OK;
}

static const struct op_class picky_op = {.name = "Picky",
                                         .min_inputs = 1,
                                         .max_inputs = 1,
                                         .min_outputs = 1,
                                         .max_outputs = 1,
                                         .infer = picky_infer,
                                         .forward = picky_forward};

#endif
