/* formats/onnx/onnx_steps_internal.h - short ways to add nodes, for mappings
 * that expand an op into several.
 *
 * Each returns the value that the new node makes, GRAPH_NONE after a failure.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_STEPS_INTERNAL_H
#define FORMATS_ONNX_ONNX_STEPS_INTERNAL_H

#include "formats/onnx/onnx_import_internal.h"

uint32_t onnx_step_one(struct onnx_call *call, const struct op_class *op,
                       uint32_t x);
uint32_t onnx_step_pair(struct onnx_call *call, const struct op_class *op,
                        uint32_t a, uint32_t b);
/* The type of b is made that of a: the scalar is a constant. */
uint32_t onnx_step_scalar(struct onnx_call *call, const struct op_class *op,
                          uint32_t a, double b);
uint32_t onnx_step_where(struct onnx_call *call, uint32_t condition, uint32_t a,
                         uint32_t b);
uint32_t onnx_step_cast(struct onnx_call *call, uint32_t x, enum dtype dtype);
/* 0 keeps a size, -1 takes the rest. */
uint32_t onnx_step_reshape(struct onnx_call *call, uint32_t x,
                           const int64_t *dims, size_t n);
uint32_t onnx_step_transpose(struct onnx_call *call, uint32_t x,
                             const int64_t *order, size_t n);
uint32_t onnx_step_unsqueeze(struct onnx_call *call, uint32_t x, int64_t axis);
/* Elements from `first` up to `end`, every step-th. */
uint32_t onnx_step_slice(struct onnx_call *call, uint32_t x, int64_t axis,
                         int64_t first, int64_t end, int64_t step);
uint32_t onnx_step_concat(struct onnx_call *call, uint32_t a, uint32_t b,
                          int axis);
uint32_t onnx_step_reduce(struct onnx_call *call, const struct op_class *op,
                          uint32_t x, int64_t axis);

/* The type of a value; float32 if it is not known. */
enum dtype onnx_step_type(const struct onnx_call *call, uint32_t value);
/* A size of a value, if it is known and fixed; -1 otherwise. */
int64_t onnx_step_size(const struct onnx_call *call, uint32_t value, int axis);

#endif
