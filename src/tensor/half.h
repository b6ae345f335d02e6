/* tensor/half.h - the two 16-bit floating point types, as float.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TENSOR_HALF_H
#define TENSOR_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* IEEE 754 binary16: exact, NaN stays NaN. */
static inline float half_to_float(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float magnitude;

    if (exponent == 31)
        magnitude = fraction ? NAN : INFINITY;
    else if (exponent)
        magnitude = ldexpf((float)(1024 + fraction), exponent - 25);
    else
        magnitude = ldexpf((float)fraction, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

/* The upper half of a float. */
static inline float bfloat_to_float(uint16_t bfloat)
{
    uint32_t bits = (uint32_t)bfloat << 16;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounded to the nearest, ties to even; too large becomes infinite. */
static inline uint16_t half_from_float(float value)
{
    float magnitude = fabsf(value);
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;

    if (isnan(value))
        return sign | 0x7e00;
    if (magnitude >= 65520)
        return sign | 0x7c00;
    if (magnitude < 0x1p-14F) /* a multiple of the smallest one, 2^-24 */
        return (uint16_t)(sign | (uint16_t)lrintf(magnitude * 0x1p24F));
    (void)frexpf(magnitude, &exponent);
    /* The eleven bits of the fraction; a carry raises the exponent. */
    return (uint16_t)(sign +
                      (unsigned)lrintf(ldexpf(magnitude, 11 - exponent)) +
                      ((unsigned)(exponent + 13) << 10));
}

static inline uint16_t bfloat_from_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
