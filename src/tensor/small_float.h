/* tensor/small_float.h - floating point types of 8 bits and less, as float.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TENSOR_SMALL_FLOAT_H
#define TENSOR_SMALL_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

/* A sign, an exponent and a fraction. */
struct small_float {
    int n_exponent, n_fraction; /* bits */
    int bias;
    uint8_t largest;       /* the code of the largest finite number */
    uint8_t infinite;      /* the code of infinity; 0: there is none */
    uint8_t nan;           /* ... of NaN; 0: there is none */
    bool is_unsigned_zero; /* the code of -0 is NaN's */
};

extern const struct small_float small_float_e4m3fn, small_float_e4m3fnuz,
    small_float_e5m2, small_float_e5m2fnuz, small_float_e2m1;

float small_float_read(const struct small_float *type, uint8_t code);
/* Rounded to the nearest, ties to even. Saturates: what is too large becomes
 * the largest number instead of infinity or NaN. */
uint8_t small_float_write(const struct small_float *type, float value,
                          bool saturates);

/* Powers of two in 8 bits, for scales (E8M0): no sign, no zero. */
enum scale_rounding { SCALE_UP, SCALE_DOWN, SCALE_NEAREST };
float scale_float_read(uint8_t code);
uint8_t scale_float_write(float value, bool saturates,
                          enum scale_rounding rounding);

#endif
