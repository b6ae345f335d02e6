/* ops/math/unary_onnx_internal.h - activations as ONNX has them, for their
 * classes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_UNARY_ONNX_INTERNAL_H
#define OPS_MATH_UNARY_ONNX_INTERNAL_H

#include "ops/onnx_sink.h"

/* Those with numbers of their own: Elu, Selu, LeakyRelu and their kin. */
void unary_to_onnx(struct onnx_sink *to);

/* Those that opset 13 has no op for, made of several. */
void gelu_to_onnx(struct onnx_sink *to);
void hard_swish_to_onnx(struct onnx_sink *to);
void mish_to_onnx(struct onnx_sink *to);
void silu_to_onnx(struct onnx_sink *to);

#endif
