/* backend/cuda/kernels/prelude.cuh - stands before every file of kernels.
 *
 * NVRTC compiles them without any header of CUDA. Tensors of float32 are stored
 * as float, half or bfloat (see struct layout in cuda_internal.h); arithmetic is
 * in float.
 *
 * SPDX-License-Identifier: MIT */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

#define INFINITY_F __int_as_float(0x7f800000)

struct half {
    uint16_t bits;
};

struct bfloat {
    uint16_t bits;
};

__device__ inline float load(float x)
{
    return x;
}

__device__ inline float load(half x)
{
    float y;

    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}

__device__ inline float load(bfloat x)
{
    return __uint_as_float((uint32_t)x.bits << 16);
}

template <typename T> __device__ inline T store(float x);

template <> __device__ inline float store<float>(float x)
{
    return x;
}

template <> __device__ inline half store<half>(float x)
{
    half y;

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}

/* To the nearest, halves to even; what is not a number stays none. */
template <> __device__ inline bfloat store<bfloat>(float x)
{
    uint32_t bits = __float_as_uint(x);
    bfloat y;

    if (x != x)
        y.bits = (uint16_t)(bits >> 16 | 64);
    else
        y.bits = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    return y;
}

/* Several elements that are loaded and stored at once. */
template <typename T, int N> struct alignas(sizeof(T) * N) pack {
    T items[N];
};

/* for (int64_t i = FIRST; i < n; i += STEP): all elements, whatever the grid. */
#define FIRST ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP  ((int64_t)gridDim.x * blockDim.x)

/* FOR_STORED(relu, (const T *x, T *y, int64_t n), (x, y, n)) makes relu_f32(),
 * relu_f16() and relu_bf16() of the template relu_kernel<T>(). */
#define FOR_STORED(name, parameters, arguments)                                \
    FOR_TYPE(name##_f32, name##_kernel, float, parameters, arguments)          \
    FOR_TYPE(name##_f16, name##_kernel, half, parameters, arguments)           \
    FOR_TYPE(name##_bf16, name##_kernel, bfloat, parameters, arguments)
#define FOR_TYPE(function, kernel, type, parameters, arguments)                \
    namespace of_##function                                                    \
    {                                                                          \
    typedef type T;                                                            \
    extern "C" __global__ void function parameters                             \
    {                                                                          \
        kernel<T> arguments;                                                   \
    }                                                                          \
    }

/* ---- types ---------------------------------------------------------------- */

/* In the order of enum dtype. */
enum { F32, F64, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64, BOOL };

/* A value of any type: floating point ones as a double, the rest as bits. */
struct number {
    double real;
    int64_t bits;
    bool is_real, is_signed;
};

__device__ inline number real_number(double x)
{
    number y = {x, 0, true, true};

    return y;
}

__device__ inline number whole_number(int64_t x, bool is_signed)
{
    number y = {0, x, false, is_signed};

    return y;
}

__device__ inline number load_any(const void *x, int64_t i, int type)
{
    switch (type) {
    case F32:
        return real_number(((const float *)x)[i]);
    case F64:
        return real_number(((const double *)x)[i]);
    case F16:
        return real_number(load(((const half *)x)[i]));
    case BF16:
        return real_number(load(((const bfloat *)x)[i]));
    case I8:
        return whole_number(((const int8_t *)x)[i], true);
    case U8:
        return whole_number(((const uint8_t *)x)[i], false);
    case I16:
        return whole_number(((const int16_t *)x)[i], true);
    case U16:
        return whole_number(((const uint16_t *)x)[i], false);
    case I32:
        return whole_number(((const int32_t *)x)[i], true);
    case U32:
        return whole_number(((const uint32_t *)x)[i], false);
    case I64:
        return whole_number(((const int64_t *)x)[i], true);
    case U64:
        return whole_number(((const int64_t *)x)[i], false);
    default:
        return whole_number(((const uint8_t *)x)[i] != 0, false);
    }
}

__device__ inline double as_double(number x)
{
    if (x.is_real)
        return x.real;
    return x.is_signed ? (double)x.bits : (double)(uint64_t)x.bits;
}

/* Cut towards zero, and held within 64 bits. */
__device__ inline int64_t as_bits(number x, bool is_signed)
{
    double r = x.real;

    if (!x.is_real)
        return x.bits;
    if (r != r)
        return 0;
    if (!is_signed && r >= 9223372036854775808.0)
        return r >= 18446744073709551616.0
                   ? -1
                   : (int64_t)(uint64_t)r;
    if (r >= 9223372036854775808.0)
        return 0x7fffffffffffffffLL;
    return r <= -9223372036854775808.0 ? (int64_t)0x8000000000000000ULL
                                       : (int64_t)r;
}

__device__ inline float as_float(number x)
{
    if (x.is_real)
        return (float)x.real;
    return x.is_signed ? (float)x.bits : (float)(uint64_t)x.bits;
}

__device__ inline void store_any(void *y, int64_t i, int type, number x)
{
    switch (type) {
    case F32:
        ((float *)y)[i] = as_float(x);
        break;
    case F64:
        ((double *)y)[i] = as_double(x);
        break;
    case F16:
        ((half *)y)[i] = store<half>(as_float(x));
        break;
    case BF16:
        ((bfloat *)y)[i] = store<bfloat>(as_float(x));
        break;
    case I8:
    case U8:
        ((uint8_t *)y)[i] = (uint8_t)as_bits(x, type == I8);
        break;
    case I16:
    case U16:
        ((uint16_t *)y)[i] = (uint16_t)as_bits(x, type == I16);
        break;
    case I32:
    case U32:
        ((uint32_t *)y)[i] = (uint32_t)as_bits(x, type == I32);
        break;
    case I64:
    case U64:
        ((int64_t *)y)[i] = as_bits(x, type == I64);
        break;
    default:
        ((uint8_t *)y)[i] = x.is_real ? x.real != 0 : x.bits != 0;
        break;
    }
}

/* ---- arrays of any strides ------------------------------------------------ */

/* As struct cuda_view and struct cuda_walk in cuda_walk.h. */
enum { WALK_RANK = 10 };

struct view {
    char *data;
    int type; /* of the elements in memory */
    int64_t strides[WALK_RANK];
};

struct walk {
    int64_t n;
    int rank;
    int64_t dims[WALK_RANK];
};

/* Where element i lies in each of the views. */
template <int N>
__device__ inline void walk_to(const walk &w, const view *const (&views)[N],
                               int64_t i, int64_t (&at)[N])
{
    for (int k = 0; k < N; k++)
        at[k] = 0;
    if (w.n >> 31 == 0) {
        uint32_t left = (uint32_t)i;

        for (int r = w.rank - 1; r >= 0; r--) {
            uint32_t size = (uint32_t)w.dims[r], next = left / size;
            int64_t index = left - next * size;

            for (int k = 0; k < N; k++)
                at[k] += index * views[k]->strides[r];
            left = next;
        }
    } else {
        for (int r = w.rank - 1; r >= 0; r--) {
            int64_t next = i / w.dims[r], index = i - next * w.dims[r];

            for (int k = 0; k < N; k++)
                at[k] += index * views[k]->strides[r];
            i = next;
        }
    }
}

/* Of types that are computed in float. */
__device__ inline float load_float(const view &v, int64_t at)
{
    if (v.type == F32)
        return ((const float *)v.data)[at];
    return v.type == F16 ? load(((const half *)v.data)[at])
                         : load(((const bfloat *)v.data)[at]);
}

__device__ inline void store_float(const view &v, int64_t at, float x)
{
    if (v.type == F32)
        ((float *)v.data)[at] = x;
    else if (v.type == F16)
        ((half *)v.data)[at] = store<half>(x);
    else
        ((bfloat *)v.data)[at] = store<bfloat>(x);
}

/* Any type as the one that it is computed in: float, double, int64_t, uint64_t,
 * or uint8_t for bool. */
template <typename C> __device__ inline C load_as(const view &v, int64_t at);

template <> __device__ inline float load_as<float>(const view &v, int64_t at)
{
    return load_float(v, at);
}

template <> __device__ inline double load_as<double>(const view &v, int64_t at)
{
    return as_double(load_any(v.data, at, v.type));
}

template <> __device__ inline int64_t load_as<int64_t>(const view &v,
                                                       int64_t at)
{
    return as_bits(load_any(v.data, at, v.type), true);
}

template <> __device__ inline uint64_t load_as<uint64_t>(const view &v,
                                                         int64_t at)
{
    return (uint64_t)as_bits(load_any(v.data, at, v.type), false);
}

template <> __device__ inline uint8_t load_as<uint8_t>(const view &v,
                                                       int64_t at)
{
    return ((const uint8_t *)v.data)[at] != 0;
}

__device__ inline void store_as(const view &v, int64_t at, float x)
{
    store_float(v, at, x);
}

__device__ inline void store_as(const view &v, int64_t at, double x)
{
    store_any(v.data, at, v.type, real_number(x));
}

__device__ inline void store_as(const view &v, int64_t at, int64_t x)
{
    store_any(v.data, at, v.type, whole_number(x, true));
}

__device__ inline void store_as(const view &v, int64_t at, uint64_t x)
{
    store_any(v.data, at, v.type, whole_number((int64_t)x, false));
}

__device__ inline void store_as(const view &v, int64_t at, uint8_t x)
{
    ((uint8_t *)v.data)[at] = x;
}

/* ---- convolutions ---------------------------------------------------------- */

/* What follows the sums: has_relu to slope of struct cuda_job. */
struct finish {
    /* In the order of enum conv2d_activation. */
    enum { NO_ACTIVATION, SILU, SIGMOID, HARD_SWISH, MISH, LEAKY_RELU };

    int32_t has_relu;
    float limit; /* of the ReLU; 0: none */
    int32_t activation;
    float slope;

    /* One exponential and one division, whichever it is. */
    __device__ float smooth(float x) const
    {
        float e = __expf(activation == MISH ? (x < 20 ? x : 20) : -x);
        float top = activation == SIGMOID ? 1 : x, bottom = 1 + e;

        if (activation == MISH) { /* tanh(log(1 + e)) */
            top *= e * (e + 2);
            bottom = e * (e + 2) + 2;
        }
        return __fdividef(top, bottom);
    }

    __device__ float of(float x) const
    {
        if (has_relu && x < 0)
            x = 0;
        if (limit > 0 && x > limit)
            x = limit;
        if (activation == HARD_SWISH) {
            float part = x + 3;

            return x * (part < 0 ? 0 : part > 6 ? 6 : part) * (1 / 6.0f);
        }
        if (activation == LEAKY_RELU)
            return x < 0 ? slope * x : x;
        return activation ? smooth(x) : x;
    }
};

/* As struct cuda_job has it. */
struct job {
    int64_t n, c, h, w;
    int64_t o, kh, kw, oh, ow;
    int64_t stride[2], before[2], after[2], dilation[2], groups;
    int32_t stored, precision;
    int32_t has_bias, has_residual;
    finish last;
    int64_t way, made;
};

/* For kernels whose results decide about others: products and sums that are
 * rounded one by one, as the host's are, and exp() to the nearest. */
__device__ inline float mul(float a, float b)
{
    return __fmul_rn(a, b);
}

__device__ inline float add(float a, float b)
{
    return __fadd_rn(a, b);
}

__device__ inline float sub(float a, float b)
{
    return __fsub_rn(a, b);
}

__device__ inline float near_exp(float x)
{
    return (float)exp((double)x);
}

/* ---- ranks: see ops/math/score_rank_internal.h ----------------------------- */

/* The smaller key is the higher score; what is not a number comes last. */
__device__ inline uint32_t rank_key(float score)
{
    uint32_t bits = __float_as_uint(score + 0.0f);

    if (!(bits >> 31))
        bits ^= 0x7fffffff;
    return score == score ? bits : 0xffffffff;
}

/* Sorts n ranks, a power of two, with a whole block. */
__device__ inline void sort_ranks(uint64_t *ranks, int n)
{
    for (int size = 2; size <= n; size *= 2) {
        for (int step = size / 2; step; step /= 2) {
            __syncthreads();
            for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
                int a = 2 * i - (i & (step - 1)), b = a + step;
                bool is_up = (a & size) == 0;
                uint64_t low = ranks[a], high = ranks[b];

                if ((low > high) == is_up) {
                    ranks[a] = high;
                    ranks[b] = low;
                }
            }
        }
    }
    __syncthreads();
}

/* The sum over all threads of a block of 256, in an order that does not
 * change. */
__device__ inline double sum_block(double own)
{
    __shared__ double parts[256];

    __syncthreads();
    parts[threadIdx.x] = own;
    __syncthreads();
    for (int k = 128; k; k /= 2) {
        if (threadIdx.x < k)
            parts[threadIdx.x] += parts[threadIdx.x + k];
        __syncthreads();
    }
    return parts[0];
}
