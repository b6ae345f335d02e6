/* backend/cuda/kernels/unary.cu - ops of one input, as ops/math/unary_math.c has
 * them; eight or four elements are loaded together.
 *
 * SPDX-License-Identifier: MIT */

template <typename C> __device__ inline C held(C x, C low, C high)
{
    return x < low ? low : x > high ? high : x;
}

template <typename C> __device__ inline C softplus_of(C x)
{
    return (x > 0 ? x : (C)0) + log1p(exp(-(x < 0 ? -x : x)));
}

template <typename C> __device__ inline C sigmoid_of(C x)
{
    return 1 / (1 + exp(-x));
}

/* X(op, expression of x, a and b), in the order of cuda_unary.c. */
#define UNARY_LIST(X)                                                          \
    X(0, x < 0 ? (C)0 : x)                  /* relu: NaN stays */              \
    X(1, sigmoid_of(x))                                                        \
    X(2, x * sigmoid_of(x))                 /* silu */                         \
    X(3, x < a ? (a > b ? b : a) : x > b ? b : x) /* clip */                   \
    X(4, acos(x))                                                              \
    X(5, acosh(x))                                                             \
    X(6, asin(x))                                                              \
    X(7, asinh(x))                                                             \
    X(8, atan(x))                                                              \
    X(9, atanh(x))                                                             \
    X(10, ceil(x))                                                             \
    X(11, x > 0 ? x : a * expm1(x / a))     /* celu */                         \
    X(12, cos(x))                                                              \
    X(13, cosh(x))                                                             \
    X(14, x > 0 ? x : a * expm1(x))         /* elu */                          \
    X(15, erf(x))                                                              \
    X(16, exp(x))                                                              \
    X(17, floor(x))                                                            \
    X(18, x * (1 + erf(x * (C)0.70710678118654752440)) / 2) /* gelu */         \
    X(19, held(a * x + b, (C)0, (C)1))      /* hard sigmoid */                 \
    X(20, x * held(x + 3, (C)0, (C)6) / 6)  /* hard swish */                   \
    X(21, x < 0 ? a * x : x)                /* leaky relu */                   \
    X(22, log(x))                                                              \
    X(23, x * tanh(softplus_of(x)))         /* mish */                         \
    X(24, 1 / x)                                                               \
    X(25, rint(x))                                                             \
    X(26, b * (x > 0 ? x : a * expm1(x)))   /* selu */                         \
    X(27, sin(x))                                                              \
    X(28, sinh(x))                                                             \
    X(29, softplus_of(x))                                                      \
    X(30, x / (1 + (x < 0 ? -x : x)))       /* softsign */                     \
    X(31, sqrt(x))                                                             \
    X(32, tan(x))                                                              \
    X(33, tanh(x))                                                             \
    X(34, x > a ? x : (C)0)                 /* thresholded relu */             \
    X(35, x < 0 ? -x : x)                   /* abs */                          \
    X(36, -x)                                                                  \
    X(37, x < -a ? x + b : x > a ? x - b : (C)0) /* shrink */                  \
    X(38, x > 0 ? (C)1 : x < 0 ? (C)-1 : x == 0 ? (C)0 : x) /* sign */

/* All of one pack: the choice of the op is made once. */
template <typename C, int N>
__device__ inline void unary_apply(int op, C (&values)[N], C a, C b)
{
    switch (op) {
#define CASE(number, expression)                                               \
    case number:                                                               \
        for (int k = 0; k < N; k++) {                                          \
            const C x = values[k];                                             \
                                                                               \
            values[k] = (expression);                                          \
        }                                                                      \
        break;
        UNARY_LIST(CASE)
    }
}

/* y may be x. */
template <typename T>
__device__ void unary_kernel(int op, const T *x, T *y, int64_t n, float a,
                             float b)
{
    enum { N = 16 / sizeof(T) };
    bool is_aligned = ((uint64_t)x | (uint64_t)y) % 16 == 0;
    int64_t n_packs = is_aligned ? n / N : 0;

    for (int64_t i = FIRST; i < n_packs; i += STEP) {
        pack<T, N> p = ((const pack<T, N> *)x)[i];
        float values[N];

        for (int k = 0; k < N; k++)
            values[k] = load(p.items[k]);
        unary_apply<float, N>(op, values, a, b);
        for (int k = 0; k < N; k++)
            p.items[k] = store<T>(values[k]);
        ((pack<T, N> *)y)[i] = p;
    }
    for (int64_t i = n_packs * N + FIRST; i < n; i += STEP) {
        float value[1] = {load(x[i])};

        unary_apply<float, 1>(op, value, a, b);
        y[i] = store<T>(value[0]);
    }
}

FOR_STORED(unary, (int op, const T *x, T *y, int64_t n, float a, float b),
           (op, x, y, n, a, b))

/* Of other types, one element at a time. */
extern "C" __global__ void unary_double(int op, view x, view y, int64_t n,
                                        double a, double b)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        double value[1] = {load_as<double>(x, i)};

        unary_apply<double, 1>(op, value, a, b);
        store_as(y, i, value[0]);
    }
}

extern "C" __global__ void unary_int64(int op, view x, view y, int64_t n,
                                       double alpha, double beta)
{
    int64_t a = (int64_t)alpha, b = (int64_t)beta;

    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t v = load_as<int64_t>(x, i);

        if (op == 35)
            v = v < 0 ? -v : v;
        else if (op == 36)
            v = -v;
        else if (op == 37)
            v = v < -a ? v + b : v > a ? v - b : 0;
        else
            v = v > 0 ? 1 : v < 0 ? -1 : 0;
        store_as(y, i, v);
    }
}

/* IsNaN, IsInf and Not: to bool. */
extern "C" __global__ void unary_test(int op, view x, uint8_t *y, int64_t n,
                                      double a, double b)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        double v = as_double(load_any(x.data, i, x.type));

        if (op == 0)
            y[i] = v != v;
        else if (op == 1)
            y[i] = fabs(v) == (double)INFINITY_F && (v < 0 ? a : b) != 0;
        else
            y[i] = v == 0;
    }
}
