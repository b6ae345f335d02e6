/* ops/product/quantize.h - numbers of 8 bits that stand for others, and
 * products of them.
 *
 * A number q stands for (q - zero) * scale.
 * QuantizeLinear: x, scale, zero (left out: 0 of uint8), along an axis where
 *   the scale is no scalar. DequantizeLinear: the way back.
 * DynamicQuantizeLinear: x; makes q, scale, zero.
 * MatMulInteger: a, b, their zeros (left out: 0); makes int32.
 * QLinearMatMul: a, scale, zero, b, scale, zero, scale and zero of the result.
 * ConvInteger: x, weight, their zeros; makes int32.
 * QLinearConv: x, scale, zero, weight, scale, zero, scale and zero of the
 *   result, bias (of int32, or left out).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_QUANTIZE_H
#define OPS_PRODUCT_QUANTIZE_H

#include "ops/convolution/window.h"

struct quantize_attrs {
    int64_t axis;
};

struct quantized_conv_attrs {
    struct window window;
    int64_t groups;
};

#endif
