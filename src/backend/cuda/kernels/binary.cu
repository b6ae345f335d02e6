/* backend/cuda/kernels/binary.cu - elementwise ops of several inputs that are
 * broadcast to one shape, as ops/math/binary_math.c has them, and Where.
 *
 * SPDX-License-Identifier: MIT */

/* In the order of cuda_binary.c. */
enum {
    SUM,
    SUB,
    MUL,
    DIV,
    POW,
    MOD,
    FMOD,
    MIN,
    MAX,
    PRELU,
    EQUAL,
    GREATER,
    GREATER_OR_EQUAL,
    LESS,
    LESS_OR_EQUAL,
    AND,
    OR,
    XOR,
    SHIFT_LEFT,
    SHIFT_RIGHT
};

template <typename C> __device__ inline C modulo(C a, C b, bool is_fmod)
{
    C rest = fmod(a, b);

    return !is_fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <> __device__ inline int64_t modulo<int64_t>(int64_t a, int64_t b,
                                                      bool is_fmod)
{
    int64_t rest = b && b != -1 ? a % b : 0;

    return !is_fmod && rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <> __device__ inline uint64_t modulo<uint64_t>(uint64_t a, uint64_t b,
                                                        bool is_fmod)
{
    return b ? a % b : 0;
}

template <typename C> __device__ inline C quotient(C a, C b)
{
    return a / b;
}

template <> __device__ inline int64_t quotient<int64_t>(int64_t a, int64_t b)
{
    if (b == -1)
        return -a;
    return b ? a / b : 0;
}

template <> __device__ inline uint64_t quotient<uint64_t>(uint64_t a,
                                                          uint64_t b)
{
    return b ? a / b : 0;
}

__device__ inline uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t made = 1;

    for (; exponent; exponent >>= 1, base *= base) {
        if (exponent & 1)
            made *= base;
    }
    return made;
}

__device__ inline int64_t power(int64_t base, int64_t exponent)
{
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    return (int64_t)power((uint64_t)base, (uint64_t)exponent);
}

__device__ inline float power(float a, float b)
{
    return b == 2 ? a * a : powf(a, b);
}

__device__ inline double power(double a, double b)
{
    return pow(a, b);
}

template <typename C> __device__ inline C made_of(int op, C a, C b)
{
    switch (op) {
    case SUM:
        return a + b;
    case SUB:
        return a - b;
    case MUL:
        return a * b;
    case DIV:
        return quotient(a, b);
    case POW:
        return power(a, b);
    case MOD:
    case FMOD:
        return modulo(a, b, op == FMOD);
    case MIN:
        return a < b || a != a ? a : b;
    case MAX:
        return a > b || a != a ? a : b;
    default:
        return a < 0 ? a * b : a; /* PRELU */
    }
}

template <typename C> __device__ inline uint8_t compared(int op, C a, C b)
{
    switch (op) {
    case EQUAL:
        return a == b;
    case GREATER:
        return a > b;
    case GREATER_OR_EQUAL:
        return a >= b;
    case LESS:
        return a < b;
    default:
        return a <= b;
    }
}

/* y may be a. */
template <typename C>
__device__ void binary(int op, const walk &w, const view &a, const view &b,
                       const view &y)
{
    const view *const views[3] = {&a, &b, &y};

    for (int64_t i = FIRST; i < w.n; i += STEP) {
        int64_t at[3];

        walk_to(w, views, i, at);
        C p = load_as<C>(a, at[0]), q = load_as<C>(b, at[1]);

        if (op >= EQUAL)
            ((uint8_t *)y.data)[at[2]] = compared(op, p, q);
        else
            store_as(y, at[2], made_of(op, p, q));
    }
}

extern "C" __global__ void binary_float(int op, walk w, view a, view b, view y)
{
    binary<float>(op, w, a, b, y);
}

extern "C" __global__ void binary_double(int op, walk w, view a, view b, view y)
{
    binary<double>(op, w, a, b, y);
}

extern "C" __global__ void binary_int64(int op, walk w, view a, view b, view y)
{
    binary<int64_t>(op, w, a, b, y);
}

extern "C" __global__ void binary_uint64(int op, walk w, view a, view b, view y)
{
    if (op < SHIFT_LEFT) {
        binary<uint64_t>(op, w, a, b, y);
        return;
    }
    const view *const views[3] = {&a, &b, &y};

    for (int64_t i = FIRST; i < w.n; i += STEP) {
        int64_t at[3];

        walk_to(w, views, i, at);
        uint64_t p = load_as<uint64_t>(a, at[0]), q = load_as<uint64_t>(b, at[1]);
        uint64_t made = op == SHIFT_LEFT ? p << q : p >> q;

        store_as(y, at[2], q >= 64 ? (uint64_t)0 : made);
    }
}

extern "C" __global__ void binary_bool(int op, walk w, view a, view b, view y)
{
    const view *const views[3] = {&a, &b, &y};

    for (int64_t i = FIRST; i < w.n; i += STEP) {
        int64_t at[3];

        walk_to(w, views, i, at);
        uint8_t p = load_as<uint8_t>(a, at[0]), q = load_as<uint8_t>(b, at[1]);

        store_as(y, at[2],
                 op == AND   ? (uint8_t)(p && q)
                 : op == OR  ? (uint8_t)(p || q)
                 : op == XOR ? (uint8_t)(!p != !q)
                             : compared(op, p, q));
    }
}

/* Floats of one shape, order and stored type. */
template <typename T>
__device__ void same_kernel(int op, const T *a, const T *b, T *y, int64_t n)
{
    enum { N = 16 / sizeof(T) };
    bool is_aligned = ((uint64_t)a | (uint64_t)b | (uint64_t)y) % 16 == 0;
    int64_t n_packs = is_aligned ? n / N : 0;

    for (int64_t i = FIRST; i < n_packs; i += STEP) {
        pack<T, N> p = ((const pack<T, N> *)a)[i];
        pack<T, N> q = ((const pack<T, N> *)b)[i];

        for (int k = 0; k < N; k++)
            p.items[k] =
                store<T>(made_of(op, load(p.items[k]), load(q.items[k])));
        ((pack<T, N> *)y)[i] = p;
    }
    for (int64_t i = n_packs * N + FIRST; i < n; i += STEP)
        y[i] = store<T>(made_of(op, load(a[i]), load(b[i])));
}

FOR_STORED(same, (int op, const T *a, const T *b, T *y, int64_t n),
           (op, a, b, y, n))

/* Mean: the sum of so many. */
extern "C" __global__ void divide_all(view y, int64_t n, double by)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        if (y.type == F64)
            ((double *)y.data)[i] /= by;
        else
            store_float(y, i, load_float(y, i) / (float)by);
    }
}

/* Elements of 1, 2, 4 or 8 bytes. */
extern "C" __global__ void where(walk w, view condition, view a, view b, view y,
                                 int bytes)
{
    const view *const views[4] = {&condition, &a, &b, &y};

    for (int64_t i = FIRST; i < w.n; i += STEP) {
        int64_t at[4];

        walk_to(w, views, i, at);
        bool is_a = condition.data[at[0]] != 0;
        const char *from = is_a ? a.data + at[1] * bytes
                                : b.data + at[2] * bytes;
        char *to = y.data + at[3] * bytes;

        if (bytes == 4)
            *(uint32_t *)to = *(const uint32_t *)from;
        else if (bytes == 8)
            *(uint64_t *)to = *(const uint64_t *)from;
        else if (bytes == 2)
            *(uint16_t *)to = *(const uint16_t *)from;
        else
            *to = *from;
    }
}
