/* ops/math/vector_math_internal.h - exp, tanh, the logistic function, exp - 1
 * and erf in a form that compilers vectorise.
 *
 * Accurate to 2 units in the last place, exp - 1 and erf to 4; NaNs are kept.
 * The polynomials are those of the Cephes library, those of erf Eigen's.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_VECTOR_MATH_INTERNAL_H
#define OPS_MATH_VECTOR_MATH_INTERNAL_H

#include "base/variants.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

VARIANT_PART float vector_from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

VARIANT_PART uint32_t vector_to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 2^n for -126 <= n <= 127. */
VARIANT_PART float vector_power_of_2(int32_t n)
{
    return vector_from_bits((uint32_t)(n + 127) << 23);
}

VARIANT_PART float vector_exp(float x)
{
    /* Adding 1.5 * 2^23 leaves an integer in the lowest bits. */
    static const float whole = 12582912;
    static const uint32_t whole_bits = 0x4b400000;
    float held = x > 89 ? 89 : x < -104 ? -104 : x;
    float shifted = held * 1.44269504F + whole, n = shifted - whole;
    float r = held - n * 0.693359375F + n * 2.12194440e-4F;
    float p = 1.9875691500e-4F;
    int32_t power = (int32_t)(vector_to_bits(shifted) - whole_bits);
    /* In two steps, because 2^128 and denormals do not fit one factor. */
    int32_t first = power >> 1, second = power - first;

    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * r * r + r + 1;
    return p * vector_power_of_2(first) * vector_power_of_2(second);
}

VARIANT_PART float vector_sigmoid(float x)
{
    return 1 / (1 + vector_exp(-x));
}

VARIANT_PART float vector_tanh(float x)
{
    float size = fabsf(x), square = x * x;
    float far = copysignf(1 - 2 / (vector_exp(2 * size) + 1), x);
    float p = -5.70498872745e-3F;

    p = p * square + 2.06390887954e-2F;
    p = p * square - 5.37397155531e-2F;
    p = p * square + 1.33314422036e-1F;
    p = p * square - 3.33332819422e-1F;
    p = p * square * x + x;
    return size < 0.625F ? p : far;
}

VARIANT_PART float vector_expm1(float x)
{
    return vector_tanh(x / 2) * (vector_exp(x) + 1);
}

/* It is 1 from 3.92 on. */
VARIANT_PART float vector_erf(float x)
{
    float held = x > 4 ? 4 : x < -4 ? -4 : x, square = held * held;
    float p = -2.72614225801306e-10F, q = -1.45660718464996e-05F;

    p = p * square + 2.77068142495902e-08F;
    p = p * square - 2.10102402082508e-06F;
    p = p * square - 5.69250639462346e-05F;
    p = p * square - 7.34990630326855e-04F;
    p = p * square - 2.95459980854025e-03F;
    p = p * square - 1.60960333262415e-02F;
    q = q * square - 2.13374055278905e-04F;
    q = q * square - 1.68282697438203e-03F;
    q = q * square - 7.37332916720468e-03F;
    q = q * square - 1.42647390514189e-02F;
    return held * p / q;
}

#endif
