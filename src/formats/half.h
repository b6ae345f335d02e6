/* formats/half.h - the two 16-bit floating point types, as float.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_HALF_H
#define FORMATS_HALF_H

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

#endif
