/* tensor/convert.c - see convert.h.
 *
 * Every conversion goes through the wide types, a block at a time: one
 * function to read each type, one to write it, and one for each pair of wide
 * ones. */
#include "tensor/convert.h"

#include "tensor/half.h"
#include "tensor/small_float.h"

#include <assert.h>
#include <string.h>

enum { block = 512 };

/* One block of values of a wide type. */
union wide {
    float f32[block];
    double f64[block];
    int64_t i64[block];
    uint64_t u64[block];
};

/* X(dtype, C type, wide type, from C to wide, from wide to C) */
#define AS_IS(x)   (x)
#define IS_TRUE(x) ((x) != 0)
#define TO_I4(x)   (int8_t)((int)(((uint64_t)(x) + 8) & 15) - 8)
#define TO_U4(x)   (uint8_t)((x)&15)
#define TO_I2(x)   (int8_t)((int)(((uint64_t)(x) + 2) & 3) - 2)
#define TO_U2(x)   (uint8_t)((x)&3)
#define SMALL(name)                                                            \
    static float name##_read(uint8_t code)                                     \
    {                                                                          \
        return small_float_read(&small_float_##name, code);                    \
    }                                                                          \
                                                                               \
    static uint8_t name##_write(float value)                                   \
    {                                                                          \
        return small_float_write(&small_float_##name, value, true);            \
    }
SMALL(e4m3fn)
SMALL(e4m3fnuz)
SMALL(e5m2)
SMALL(e5m2fnuz)
SMALL(e2m1)
#undef SMALL

static uint8_t scale_write(float value)
{
    return scale_float_write(value, true, SCALE_UP);
}

#define CONVERT_LIST(X)                                                        \
    X(DTYPE_F32, float, f32, AS_IS, AS_IS)                                     \
    X(DTYPE_F64, double, f64, AS_IS, AS_IS)                                    \
    X(DTYPE_F16, uint16_t, f32, half_to_float, half_from_float)                \
    X(DTYPE_BF16, uint16_t, f32, bfloat_to_float, bfloat_from_float)           \
    X(DTYPE_I8, int8_t, i64, AS_IS, (int8_t))                                  \
    X(DTYPE_U8, uint8_t, u64, AS_IS, (uint8_t))                                \
    X(DTYPE_I16, int16_t, i64, AS_IS, (int16_t))                               \
    X(DTYPE_U16, uint16_t, u64, AS_IS, (uint16_t))                             \
    X(DTYPE_I32, int32_t, i64, AS_IS, (int32_t))                               \
    X(DTYPE_U32, uint32_t, u64, AS_IS, (uint32_t))                             \
    X(DTYPE_I64, int64_t, i64, AS_IS, AS_IS)                                   \
    X(DTYPE_U64, uint64_t, u64, AS_IS, AS_IS)                                  \
    X(DTYPE_BOOL, uint8_t, u64, IS_TRUE, (uint8_t))                            \
    X(DTYPE_F8E4M3FN, uint8_t, f32, e4m3fn_read, e4m3fn_write)                 \
    X(DTYPE_F8E4M3FNUZ, uint8_t, f32, e4m3fnuz_read, e4m3fnuz_write)           \
    X(DTYPE_F8E5M2, uint8_t, f32, e5m2_read, e5m2_write)                       \
    X(DTYPE_F8E5M2FNUZ, uint8_t, f32, e5m2fnuz_read, e5m2fnuz_write)           \
    X(DTYPE_F8E8M0, uint8_t, f32, scale_float_read, scale_write)               \
    X(DTYPE_F4E2M1, uint8_t, f32, e2m1_read, e2m1_write)                       \
    X(DTYPE_I4, int8_t, i64, AS_IS, TO_I4)                                     \
    X(DTYPE_U4, uint8_t, u64, AS_IS, TO_U4)                                    \
    X(DTYPE_I2, int8_t, i64, AS_IS, TO_I2)                                     \
    X(DTYPE_U2, uint8_t, u64, AS_IS, TO_U2)                                    \
    X(DTYPE_SEQUENCE, uint8_t, u64, AS_IS, (uint8_t))

#define READ_WRITE(dtype, type, wide_type, to_wide, from_wide)                 \
    static void read_##dtype(const void *from, union wide *to, size_t n)       \
    {                                                                          \
        const type *values = from;                                             \
                                                                               \
        for (size_t i = 0; i < n; i++)                                         \
            to->wide_type[i] = to_wide(values[i]);                             \
    }                                                                          \
                                                                               \
    static void write_##dtype(const union wide *from, void *to, size_t n)      \
    {                                                                          \
        type *values = to;                                                     \
                                                                               \
        for (size_t i = 0; i < n; i++)                                         \
            values[i] = from_wide(from->wide_type[i]);                         \
    }
CONVERT_LIST(READ_WRITE)
#undef READ_WRITE

static const struct {
    void (*read)(const void *from, union wide *to, size_t n);
    void (*write)(const union wide *from, void *to, size_t n);
} conversions[] = {
#define ENTRY(dtype, type, wide_type, to_wide, from_wide)                      \
    [dtype] = {read_##dtype, write_##dtype},
    CONVERT_LIST(ENTRY)
#undef ENTRY
};

/* C leaves it open what a value becomes that does not fit. */
static int64_t to_signed(double value)
{
    if (isnan(value))
        return 0;
    if (value >= 0x1p63)
        return INT64_MAX;
    return value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

static uint64_t to_unsigned(double value)
{
    if (value >= 0x1p64)
        return UINT64_MAX;
    return value >= 0 ? (uint64_t)value : (uint64_t)to_signed(value);
}

#define EACH(to_type, from_type, how)                                          \
    for (size_t i = 0; i < n; i++)                                             \
        to->to_type[i] = how(from->from_type[i]);

static void to_f32(enum dtype wide, const union wide *from, union wide *to,
                   size_t n)
{
    if (wide == DTYPE_F64)
        EACH(f32, f64, (float))
    else if (wide == DTYPE_I64)
        EACH(f32, i64, (float))
    else
        EACH(f32, u64, (float))
}

static void to_f64(enum dtype wide, const union wide *from, union wide *to,
                   size_t n)
{
    if (wide == DTYPE_F32)
        EACH(f64, f32, AS_IS)
    else if (wide == DTYPE_I64)
        EACH(f64, i64, (double))
    else
        EACH(f64, u64, (double))
}

static void to_i64(enum dtype wide, const union wide *from, union wide *to,
                   size_t n)
{
    if (wide == DTYPE_F32)
        EACH(i64, f32, to_signed)
    else if (wide == DTYPE_F64)
        EACH(i64, f64, to_signed)
    else
        EACH(i64, u64, (int64_t))
}

static void to_u64(enum dtype wide, const union wide *from, union wide *to,
                   size_t n)
{
    if (wide == DTYPE_F32)
        EACH(u64, f32, to_unsigned)
    else if (wide == DTYPE_F64)
        EACH(u64, f64, to_unsigned)
    else
        EACH(u64, i64, (uint64_t))
}

/* Between two wide types that differ. */
static void convert_wide(enum dtype from_wide, const union wide *from,
                         enum dtype to_wide, union wide *to, size_t n)
{
    if (to_wide == DTYPE_F32)
        to_f32(from_wide, from, to, n);
    else if (to_wide == DTYPE_F64)
        to_f64(from_wide, from, to, n);
    else if (to_wide == DTYPE_I64)
        to_i64(from_wide, from, to, n);
    else
        to_u64(from_wide, from, to, n);
}

bool dtype_is_float(enum dtype dtype)
{
    return dtype <= DTYPE_BF16 ||
           (dtype >= DTYPE_F8E4M3FN && dtype <= DTYPE_F4E2M1);
}

bool dtype_is_signed(enum dtype dtype)
{
    return (dtype_is_float(dtype) && dtype != DTYPE_F8E8M0) ||
           dtype == DTYPE_I8 || dtype == DTYPE_I16 || dtype == DTYPE_I32 ||
           dtype == DTYPE_I64 || dtype == DTYPE_I4 || dtype == DTYPE_I2;
}

const struct small_float *dtype_small_float(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F8E4M3FN:
        return &small_float_e4m3fn;
    case DTYPE_F8E4M3FNUZ:
        return &small_float_e4m3fnuz;
    case DTYPE_F8E5M2:
        return &small_float_e5m2;
    case DTYPE_F8E5M2FNUZ:
        return &small_float_e5m2fnuz;
    case DTYPE_F4E2M1:
        return &small_float_e2m1;
    default:
        return NULL;
    }
}

enum dtype dtype_wide(enum dtype dtype)
{
    if (dtype == DTYPE_F64)
        return DTYPE_F64;
    if (dtype_is_float(dtype))
        return DTYPE_F32;
    return dtype_is_signed(dtype) ? DTYPE_I64 : DTYPE_U64;
}

/* A truth value is 0 or 1, not the lowest bits of something. */
static void make_truths(enum dtype wide, const union wide *from, union wide *to,
                        size_t n)
{
    if (wide == DTYPE_F32)
        EACH(u64, f32, IS_TRUE)
    else if (wide == DTYPE_F64)
        EACH(u64, f64, IS_TRUE)
    else
        EACH(u64, u64, IS_TRUE)
}

void convert_elements(enum dtype from_dtype, const void *from,
                      enum dtype to_dtype, void *to, size_t n)
{
    enum dtype from_wide = dtype_wide(from_dtype);
    enum dtype to_wide = dtype_wide(to_dtype);
    const char *read = from;
    char *write = to;

    if (from_dtype == to_dtype) {
        memcpy(to, from, n * dtype_bytes(to_dtype));
        return;
    }
    for (size_t done = 0; done < n; done += block) {
        size_t now = n - done < block ? n - done : block;
        union wide values, converted;
        const union wide *last = &values;

        conversions[from_dtype].read(read + done * dtype_bytes(from_dtype),
                                     &values, now);
        if (to_dtype == DTYPE_BOOL)
            make_truths(from_wide, &values, &converted, now);
        else if (from_wide != to_wide)
            convert_wide(from_wide, &values, to_wide, &converted, now);
        if (to_dtype == DTYPE_BOOL || from_wide != to_wide)
            last = &converted;
        conversions[to_dtype].write(last, write + done * dtype_bytes(to_dtype),
                                    now);
    }
}

enum assay_status tensor_convert(struct pool *pool, const struct tensor *from,
                                 enum dtype dtype, struct tensor *out,
                                 struct error *err)
{
    enum assay_status st = tensor_new(pool, dtype, &from->shape, out, err);

    assert(!from->layout);
    if (!st)
        convert_elements(from->dtype, tensor_data(from), dtype,
                         tensor_data(out), tensor_elements(from));
    return st;
}
