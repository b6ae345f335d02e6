/* backend/cuda/kernels/rows.cu - ops along one axis of [outer, n, inner], and
 * sums over any axes. Partial results are joined in an order that depends on
 * the shape alone.
 *
 * SPDX-License-Identifier: MIT */

/* ---- Softmax, LogSoftmax, Hardmax ------------------------------------------- */

enum { SOFTMAX, LOG_SOFTMAX, HARDMAX };

template <typename C> __device__ inline C larger(C a, C b)
{
    return b > a ? b : a;
}

/* Of all threads of a block of 256. */
template <typename C, typename F> __device__ C join(C own, F with)
{
    __shared__ C parts[256];

    __syncthreads();
    parts[threadIdx.x] = own;
    __syncthreads();
    for (int k = 128; k; k /= 2) {
        if (threadIdx.x < k)
            parts[threadIdx.x] =
                with(parts[threadIdx.x], parts[threadIdx.x + k]);
        __syncthreads();
    }
    return parts[0];
}

/* A line with `lanes` threads: 1, or a block of 256. */
template <typename C>
__device__ void soft_line(int op, const C *x, C *y, int64_t n, int64_t step,
                          int lane, int lanes)
{
    C most = x[0], sum = 0;

    for (int64_t i = lane; i < n; i += lanes)
        most = larger(most, x[i * step]);
    if (lanes > 1)
        most = join(most, [](C a, C b) { return larger(a, b); });
    if (op == HARDMAX) {
        int64_t best = 0;

        for (int64_t i = 0; i < n && !(x[i * step] == most); i++)
            best = i + 1;
        for (int64_t i = lane; i < n; i += lanes)
            y[i * step] = i == (best < n ? best : 0);
        return;
    }
    for (int64_t i = lane; i < n; i += lanes)
        sum += exp(x[i * step] - most);
    if (lanes > 1)
        sum = join(sum, [](C a, C b) { return a + b; });
    if (op == LOG_SOFTMAX)
        sum = log(sum);
    for (int64_t i = lane; i < n; i += lanes)
        y[i * step] = op == SOFTMAX ? exp(x[i * step] - most) / sum
                                    : x[i * step] - most - sum;
}

template <typename C>
__device__ void softmax(int op, const C *x, C *y, int64_t outer, int64_t n,
                        int64_t inner, int by_block)
{
    int64_t lines = outer * inner;

    if (by_block) {
        for (int64_t i = blockIdx.x; i < lines; i += gridDim.x) {
            int64_t at = i / inner * n * inner + i % inner;

            soft_line(op, x + at, y + at, n, inner, threadIdx.x, blockDim.x);
        }
        return;
    }
    for (int64_t i = FIRST; i < lines; i += STEP) {
        int64_t at = i / inner * n * inner + i % inner;

        soft_line(op, x + at, y + at, n, inner, 0, 1);
    }
}

extern "C" __global__ void softmax_float(int op, const float *x, float *y,
                                         int64_t outer, int64_t n,
                                         int64_t inner, int by_block)
{
    softmax(op, x, y, outer, n, inner, by_block);
}

extern "C" __global__ void softmax_double(int op, const double *x, double *y,
                                          int64_t outer, int64_t n,
                                          int64_t inner, int by_block)
{
    softmax(op, x, y, outer, n, inner, by_block);
}

/* ---- ArgMax, ArgMin ---------------------------------------------------------- */

template <typename C> struct best_of {
    C value;
    int64_t at; /* -1: none */
};

template <typename C>
__device__ inline bool is_better(C a, C b, bool is_max)
{
    return is_max ? a > b : a < b;
}

/* What is not a number is never better, and stays where it came first. */
template <typename C>
__device__ void arg_best(view x, int64_t *y, int64_t outer, int64_t n,
                         int64_t inner, bool is_max, bool takes_last)
{
    for (int64_t i = FIRST; i < outer * inner; i += STEP) {
        int64_t first = i / inner * n * inner + i % inner, best = 0;
        C most = load_as<C>(x, first);

        for (int64_t k = 1; k < n; k++) {
            C v = load_as<C>(x, first + k * inner);

            if (is_better(v, most, is_max) || (takes_last && v == most)) {
                best = k;
                most = v;
            }
        }
        y[i] = best;
    }
}

#define ARG_BEST(name, C)                                                      \
    extern "C" __global__ void arg_best_##name(                                \
        view x, int64_t *y, int64_t outer, int64_t n, int64_t inner,           \
        int is_max, int takes_last)                                            \
    {                                                                          \
        arg_best<C>(x, y, outer, n, inner, is_max, takes_last);                \
    }
ARG_BEST(float, float)
ARG_BEST(double, double)
ARG_BEST(int64, int64_t)
ARG_BEST(uint64, uint64_t)

/* Long lines of float32, a block each: the same, in parts. */
extern "C" __global__ void arg_best_long(const float *x, int64_t *y, int64_t n,
                                         int is_max, int takes_last)
{
    const float *line = x + blockIdx.x * n;
    best_of<float> own = {0, -1};

    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        float v = line[i];

        if (own.at < 0 || is_better(v, own.value, is_max) ||
            (takes_last && v == own.value)) {
            own.value = v;
            own.at = i;
        }
    }
    own = join(own, [=](best_of<float> a, best_of<float> b) {
        bool is_b;

        if (b.at < 0 || a.at < 0)
            return b.at < 0 ? a : b;
        is_b = is_better(b.value, a.value, is_max);
        if (a.value == b.value)
            is_b = takes_last ? b.at > a.at : b.at < a.at;
        return is_b ? b : a;
    });
    if (!threadIdx.x)
        y[blockIdx.x] = own.at;
}

/* ---- CumSum ------------------------------------------------------------------ */

template <typename C>
__device__ void cum_sum(view x, view y, int64_t outer, int64_t n, int64_t inner,
                        bool is_exclusive, bool is_reverse)
{
    for (int64_t i = FIRST; i < outer * inner; i += STEP) {
        int64_t first = i / inner * n * inner + i % inner;
        C sum = 0;

        for (int64_t k = 0; k < n; k++) {
            int64_t at = first + (is_reverse ? n - 1 - k : k) * inner;
            C before = sum;

            sum = sum + load_as<C>(x, at);
            store_as(y, at, is_exclusive ? before : sum);
        }
    }
}

#define CUM_SUM(name, C)                                                       \
    extern "C" __global__ void cum_sum_##name(                                 \
        view x, view y, int64_t outer, int64_t n, int64_t inner,               \
        int is_exclusive, int is_reverse)                                      \
    {                                                                          \
        cum_sum<C>(x, y, outer, n, inner, is_exclusive, is_reverse);           \
    }
CUM_SUM(float, float)
CUM_SUM(double, double)
CUM_SUM(int64, int64_t)
CUM_SUM(uint64, uint64_t)

/* ---- reductions -------------------------------------------------------------- */

/* In the order of cuda_rows.c. */
enum {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_LOG_SUM,
    REDUCE_SUM_SQUARE,
    REDUCE_LOG_SUM_EXP
};

template <typename P> __device__ inline P start_of(int op, P lowest, P highest)
{
    return op == REDUCE_MAX   ? lowest
           : op == REDUCE_MIN ? highest
                              : (P)(op == REDUCE_PROD ? 1 : 0);
}

template <typename P> __device__ inline P joined(int op, P p, P v)
{
    switch (op) {
    case REDUCE_MAX:
        return p > v || p != p ? p : v;
    case REDUCE_MIN:
        return p < v || p != p ? p : v;
    case REDUCE_PROD:
        return p * v;
    default:
        return p + v;
    }
}

template <typename P> __device__ inline P taken(int op, P v)
{
    if (op == REDUCE_L1)
        return v > 0 ? v : -v;
    return op == REDUCE_L2 || op == REDUCE_SUM_SQUARE ? v * v : v;
}

template <typename P> __device__ inline P finished(int op, P p, P n)
{
    switch (op) {
    case REDUCE_MEAN:
        return p / (n > 0 ? n : 1);
    case REDUCE_L2:
        return (P)sqrt((double)p);
    case REDUCE_LOG_SUM:
        return (P)log((double)p);
    default:
        return p;
    }
}

/* kept: the places that are left, with the strides of x and y; reduced: what
 * comes together, with those of x. lanes: threads for each, 1 or 256. C: what
 * x is loaded as, P: what is summed. */
template <typename C, typename P>
__device__ P reduce_part(int op, const view &x, int64_t base,
                         const walk &reduced, const view &inside, int lane,
                         int lanes, P start, P largest)
{
    const view *const views[1] = {&inside};
    P p = start;

    for (int64_t i = lane; i < reduced.n; i += lanes) {
        int64_t at[1];

        walk_to(reduced, views, i, at);
        P v = (P)load_as<C>(x, base + at[0]);

        if (op == REDUCE_LOG_SUM_EXP)
            p += (P)exp((double)v - (double)largest);
        else
            p = joined(op, p, taken(op, v));
    }
    return lanes > 1 ? join(p, [=](P a, P b) { return joined(op, a, b); }) : p;
}

template <typename C, typename P>
__device__ void reduce(int op, const view &x, const view &y, const walk &kept,
                       const walk &reduced, const view &inside, int lanes,
                       P lowest, P highest)
{
    const view *const views[2] = {&x, &y};
    int64_t step = lanes > 1 ? gridDim.x : STEP;

    for (int64_t i = lanes > 1 ? blockIdx.x : FIRST; i < kept.n; i += step) {
        int lane = lanes > 1 ? threadIdx.x : 0;
        int64_t at[2];
        P p, largest = 0;

        walk_to(kept, views, i, at);
        if (op == REDUCE_LOG_SUM_EXP)
            largest = reduce_part<C, P>(REDUCE_MAX, x, at[0], reduced, inside,
                                        lane, lanes, lowest, 0);
        p = reduce_part<C, P>(op, x, at[0], reduced, inside, lane, lanes,
                              start_of(op, lowest, highest), largest);
        if (op == REDUCE_LOG_SUM_EXP)
            p = largest - largest == 0 ? (P)(log((double)p) + (double)largest)
                                       : largest;
        else
            p = finished(op, p, (P)reduced.n);
        if (!lane)
            store_as(y, at[1], (C)p);
    }
}

#define REDUCE(name, C, P, lowest, highest)                                    \
    extern "C" __global__ void reduce_##name(int op, view x, view y,           \
                                             walk kept, walk reduced,          \
                                             view inside, int lanes)           \
    {                                                                          \
        reduce<C, P>(op, x, y, kept, reduced, inside, lanes, lowest, highest); \
    }
REDUCE(float, float, double, -(double)INFINITY_F, (double)INFINITY_F)
REDUCE(double, double, double, -(double)INFINITY_F, (double)INFINITY_F)
REDUCE(int64, int64_t, int64_t, (int64_t)0x8000000000000000ULL,
       0x7fffffffffffffffLL)
REDUCE(uint64, uint64_t, uint64_t, 0, ~0ULL)
