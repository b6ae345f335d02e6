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
 *   result, bias (int32 in steps of both scales, or left out).
 * QLinearAdd, QLinearMul: a, scale, zero, b, scale, zero, scale and zero of the
 *   result; shapes are broadcast.
 * Lookup: x of 8 bits, and a table of what its 256 values become.
 *
 * The pass that makes integer nodes (passes/integers.h) also makes these: a
 * QLinearConv or QLinearMatMul that leaves out scale and zero of the result
 * makes float32; its bias may be float32; the activation that follows may be
 * fused into a QLinearConv. A QLinearMatMul may have a bias, too.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_QUANTIZE_H
#define OPS_PRODUCT_QUANTIZE_H

#include "ops/convolution/conv2d.h"
#include "ops/convolution/window.h"

enum qlinear_input {
    QLINEAR_X,
    QLINEAR_X_SCALE,
    QLINEAR_X_ZERO,
    QLINEAR_W,
    QLINEAR_W_SCALE,
    QLINEAR_W_ZERO,
    QLINEAR_Y_SCALE,
    QLINEAR_Y_ZERO,
    QLINEAR_BIAS,
    QLINEAR_INPUTS
};

struct quantize_attrs {
    int64_t axis;
    int64_t block;    /* so many elements of the axis share a scale; 0: one
                         scale per index, or one for all */
    bool has_dtype;   /* of the result, where no zero has it: */
    enum dtype dtype; /* else uint8, or the scale's after DequantizeLinear */
    bool overflows;   /* what is too large for 8 bits of floating point becomes
                         infinite or NaN, not the largest number */
};

/* What is applied to a sum before it is rounded. */
struct quantized_finish {
    bool has_relu;
    float relu_limit;                  /* 0: none */
    enum conv2d_activation activation; /* instead of a ReLU */
    float slope;                       /* of a LeakyReLU */
};

struct quantized_conv_attrs {
    struct window window;
    int64_t groups;
    struct quantized_finish finish;
};

/* Applies it to n numbers. */
void quantized_activate(const struct op_context *context,
                        const struct quantized_finish *finish, float *y,
                        size_t n);

/* The range of float32 numbers, widened to include 0, as 0 to 255. */
void quantized_range(const float *x, size_t n, float *low, float *high);
void quantized_choose(float low, float high, float *scale, uint8_t *zero);

/* n neighbours that share scale and zero; dtype is an integer of 8 or 16
 * bits. */
void quantize_row(enum dtype dtype, const float *x, void *y, size_t n,
                  float scale, int zero);
void dequantize_row(enum dtype dtype, const void *x, float *y, size_t n,
                    float scale, int zero);

/* y = table[x] for n numbers of 8 bits; the table begins with what the
 * smallest becomes. */
void lookup_row(enum dtype dtype, const void *x, const uint8_t *table,
                uint8_t *y, size_t n);

/* A sum or product of two rows of 8-bit numbers. */
struct qlinear_row {
    enum dtype a_dtype, b_dtype, y_dtype;
    const void *a, *b;
    void *y;
    size_t n;
    float a_scale, b_scale, y_scale;
    int a_zero, b_zero, y_zero;
    bool is_product;
};
void qlinear_row(const struct qlinear_row *row);
/* Scales and zeros of a QLinearAdd or QLinearMul; false where they are not
 * single numbers, or the types are not of 8 bits. */
bool qlinear_row_find(const struct node *node,
                      const struct tensor *const *inputs,
                      struct qlinear_row *row);

#endif
