/* ops/product/quantize.h - numbers quantised to few bits, and products of them.
 *
 * A quantised number q represents (q - zero) * scale. Inputs:
 * QuantizeLinear: x, scale, zero (left out: 0 of uint8); along an axis unless
 *   the scale is a scalar. DequantizeLinear: q, scale, zero.
 * DynamicQuantizeLinear: x; makes q, scale, zero.
 * MatMulInteger: a, b, their zeros (left out: 0); makes int32.
 * QLinearMatMul: a, scale, zero, b, scale, zero, scale and zero of the result.
 * ConvInteger: x, weight, their zeros; makes int32.
 * QLinearConv: x, scale, zero, weight, scale, zero, scale and zero of the
 *   result, bias (int32, or left out).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_QUANTIZE_H
#define OPS_PRODUCT_QUANTIZE_H

#include "ops/convolution/window.h"

struct quantize_attrs {
    int64_t axis;
    int64_t block;    /* so many elements of the axis share a scale; 0: one
                         scale per index, or one for all */
    bool has_dtype;   /* of the result, where no zero has it: */
    enum dtype dtype; /* else uint8, or the scale's after DequantizeLinear */
    bool overflows;   /* what is too large for 8 bits of floating point becomes
                         infinite or NaN, not the largest number */
};

struct quantized_conv_attrs {
    struct window window;
    int64_t groups;
};

/* Stores value, rounded to nearest (ties to even), plus zero, limited to the
 * range of the type. */
void quantized_store(enum dtype dtype, double value, int64_t zero, void *to);

#endif
