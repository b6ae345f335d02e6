/* tensor/small_float.c - see small_float.h. */
#include "tensor/small_float.h"

#include <math.h>
#include <string.h>

const struct small_float small_float_e4m3fn = {
    .n_exponent = 4, .n_fraction = 3, .bias = 7, .largest = 0x7e, .nan = 0x7f};
const struct small_float small_float_e4m3fnuz = {.n_exponent = 4,
                                                 .n_fraction = 3,
                                                 .bias = 8,
                                                 .largest = 0x7f,
                                                 .nan = 0x80,
                                                 .is_unsigned_zero = true};
const struct small_float small_float_e5m2 = {.n_exponent = 5,
                                             .n_fraction = 2,
                                             .bias = 15,
                                             .largest = 0x7b,
                                             .infinite = 0x7c,
                                             .nan = 0x7f};
const struct small_float small_float_e5m2fnuz = {.n_exponent = 5,
                                                 .n_fraction = 2,
                                                 .bias = 16,
                                                 .largest = 0x7f,
                                                 .nan = 0x80,
                                                 .is_unsigned_zero = true};
const struct small_float small_float_e2m1 = {
    .n_exponent = 2, .n_fraction = 1, .bias = 1, .largest = 0x7};

static uint8_t sign_bit(const struct small_float *type)
{
    return (uint8_t)(1 << (type->n_exponent + type->n_fraction));
}

float small_float_read(const struct small_float *type, uint8_t code)
{
    uint8_t sign = sign_bit(type), magnitude = code & (uint8_t)(sign - 1);
    int exponent = magnitude >> type->n_fraction;
    int fraction = magnitude & ((1 << type->n_fraction) - 1);
    float value;

    if (type->is_unsigned_zero && code == type->nan)
        return NAN;
    if (type->infinite && magnitude == type->infinite)
        value = INFINITY;
    else if (magnitude > type->largest)
        value = NAN;
    else if (exponent)
        value = ldexpf((float)(fraction + (1 << type->n_fraction)),
                       exponent - type->bias - type->n_fraction);
    else
        value = ldexpf((float)fraction, 1 - type->bias - type->n_fraction);
    return code & sign ? -value : value;
}

/* The code of a finite number, which may be beyond the largest one. */
static int64_t small_float_round(const struct small_float *type,
                                 float magnitude)
{
    int exponent;

    if (magnitude < ldexpf(1, 1 - type->bias))
        return lrintf(ldexpf(magnitude, type->bias + type->n_fraction - 1));
    (void)frexpf(magnitude, &exponent);
    /* The fraction with its leading bit; a carry raises the exponent. */
    return lrintf(ldexpf(magnitude, type->n_fraction + 1 - exponent)) +
           ((int64_t)(exponent - 2 + type->bias) << type->n_fraction);
}

uint8_t small_float_write(const struct small_float *type, float value,
                          bool saturates)
{
    uint8_t sign = signbit(value) ? sign_bit(type) : 0;
    int64_t code = type->largest + 1;

    if (isnan(value)) /* where there is none, it becomes -0 */
        return type->is_unsigned_zero ? type->nan
               : type->nan            ? type->nan | sign
                                      : sign_bit(type);
    if (!isinf(value))
        code = small_float_round(type, fabsf(value));
    if (code <= type->largest)
        return code == 0 && type->is_unsigned_zero ? 0 : (uint8_t)code | sign;
    if (saturates || !type->nan)
        return type->largest | sign;
    if (type->is_unsigned_zero)
        return type->nan;
    return (type->infinite ? type->infinite : type->nan) | sign;
}

enum { scale_nan = 0xff, scale_largest = 0xfe };

float scale_float_read(uint8_t code)
{
    return code == scale_nan ? NAN : ldexpf(1, (int)code - 127);
}

uint8_t scale_float_write(float value, bool saturates,
                          enum scale_rounding rounding)
{
    const uint32_t half = UINT32_C(1) << 22;
    uint32_t bits, exponent, fraction;

    memcpy(&bits, &value, sizeof bits);
    exponent = bits >> 23 & 0xff;
    fraction = bits & 0x7fffff;
    if (isnan(value) || (isinf(value) && !saturates) ||
        (value == 0 && !saturates))
        return scale_nan;
    if (isinf(value))
        return scale_largest;
    if ((rounding == SCALE_UP && fraction) ||
        (rounding == SCALE_NEAREST &&
         (exponent ? fraction >= half : fraction > half)))
        exponent++;
    return saturates && exponent > scale_largest ? scale_largest
                                                 : (uint8_t)exponent;
}
