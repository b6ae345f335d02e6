/* backend/cuda/kernels/depthwise.cu - depthwise convolutions, and the gradients
 * of their inputs. Maps are [n,h,w,c], weights [c,kh,kw].
 *
 * A thread has V neighbouring channels, which it loads at once, of a tile of
 * TH x TW places. A block has `lanes` threads side by side along the channels
 * (blocks in y go on there) for each of its tiles; neighbours among these lie
 * below each other, so that they share lines of the cache. The weights of a
 * block's channels lie in shared memory as [kh,kw,channel].
 *
 * Compiled for one stored type at a time: see CMakeLists.txt.
 *
 * SPDX-License-Identifier: MIT */

extern __shared__ float shared_weights[];

/* What a thread works on. */
struct place {
    int channel, image, row, column; /* of the tile's first place */
    int width;                       /* the block's channels */
    const float *weights;            /* of this thread's channels */
    bool is_there;
};

/* [c,places] to [places,channel of the block], the other way round if it is
 * flipped. */
template <typename T>
__device__ inline void bring_weights(const T *w, int c, int places, int width,
                                     int is_flipped)
{
    int first = blockIdx.y * width;

    for (int i = threadIdx.x; i < width * places; i += blockDim.x) {
        int channel = i / places, at = i - channel * places;

        if (is_flipped)
            at = places - 1 - at;
        shared_weights[at * width + channel] =
            first + channel < c ? load(w[first * places + i]) : 0;
    }
    __syncthreads();
}

template <int V, int TH, int TW>
__device__ inline place place_of(int lanes, int n, int c, int tiles_h,
                                 int tiles_w)
{
    int above = threadIdx.x / lanes, lane = threadIdx.x - above * lanes;
    int tile = blockIdx.x * (blockDim.x / lanes) + above;
    int strip = tile / tiles_h;
    place p;

    p.row = (tile - strip * tiles_h) * TH;
    p.image = strip / tiles_w;
    p.column = (strip - p.image * tiles_w) * TW;
    p.width = lanes * V;
    p.channel = blockIdx.y * p.width + lane * V;
    p.weights = shared_weights + lane * V;
    p.is_there = p.image < n && p.channel < c;
    return p;
}

template <typename T, int V>
__device__ inline pack<T, V> load_if(bool is_there, const T *at)
{
    pack<T, V> none = {};

    return is_there ? *(const pack<T, V> *)at : none;
}

/* sum += x w for each channel; w is of shared memory. */
template <typename T, int V>
__device__ inline void add_products(float (&sum)[V], const pack<T, V> &x,
                                    const float (&w)[V])
{
#pragma unroll
    for (int v = 0; v < V; v++)
        sum[v] += load(x.items[v]) * w[v];
}

template <int V>
__device__ inline void take_weights(const float *from, float (&w)[V])
{
    enum { N = V < 4 ? V : 4 };

#pragma unroll
    for (int v = 0; v < V; v += N) {
        pack<float, N> some = *(const pack<float, N> *)(from + v);

#pragma unroll
        for (int i = 0; i < N; i++)
            w[v + i] = some.items[i];
    }
}

/* Sums begin with the bias of their channels, or 0. */
template <typename T, int TH, int TW, int V>
__device__ inline void begin(float (&sums)[TH][TW][V], const T *bias,
                             int channel)
{
    pack<T, V> of = load_if<T, V>(bias, bias + channel);

#pragma unroll
    for (int a = 0; a < TH; a++) {
#pragma unroll
        for (int b = 0; b < TW; b++) {
#pragma unroll
            for (int v = 0; v < V; v++)
                sums[a][b][v] = load(of.items[v]);
        }
    }
}

/* What becomes of the sums of one place, at element i of y. */
template <typename T, int V>
__device__ inline void put(const finish &last, const float (&sum)[V],
                           const T *residual, T *y, int64_t i)
{
    pack<T, V> also = load_if<T, V>(residual, residual + i), out;

#pragma unroll
    for (int v = 0; v < V; v++)
        out.items[v] = store<T>(last.of(sum[v] + load(also.items[v])));
    *(pack<T, V> *)(y + i) = out;
}

/* A kernel of K x K without dilation, the same stride S in both directions. The
 * gradient of x with stride 1 is the same with flipped weights, of dy. */
template <typename T, int V, int K, int S, int TH, int TW>
__device__ void depthwise_kernel(const job &j, int lanes, int tiles_h,
                                 int tiles_w, int is_flipped,
                                 const T *__restrict__ x, const T *w,
                                 const T *bias, const T *residual, T *y)
{
    enum { ROWS = (TH - 1) * S + K, COLUMNS = (TW - 1) * S + K };
    int c = j.c, height = j.h, wide = j.w, oh = j.oh, ow = j.ow;
    place p = place_of<V, TH, TW>(lanes, j.n, c, tiles_h, tiles_w);
    int top = p.row * S - (int)j.before[0];
    int left = p.column * S - (int)j.before[1];
    float sums[TH][TW][V];
    const T *from =
        x + ((int64_t)p.image * height + top) * wide * c + left * c + p.channel;

    bring_weights(w, c, K * K, p.width, is_flipped);
    if (!p.is_there)
        return;
    begin(sums, bias, p.channel);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        bool is_row = (unsigned)(top + r) < (unsigned)height;
        pack<T, V> in[COLUMNS];

#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
            in[k] = load_if<T, V>(
                is_row && (unsigned)(left + k) < (unsigned)wide,
                from + (r * wide + k) * c);
#pragma unroll
        for (int a = 0; a < TH; a++) {
            if (r < a * S || r - a * S >= K)
                continue;
#pragma unroll
            for (int k = 0; k < K; k++) {
                float by[V];

                take_weights(p.weights + ((r - a * S) * K + k) * p.width, by);
#pragma unroll
                for (int b = 0; b < TW; b++)
                    add_products(sums[a][b], in[b * S + k], by);
            }
        }
    }
#pragma unroll
    for (int a = 0; a < TH; a++) {
#pragma unroll
        for (int b = 0; b < TW; b++) {
            int row = p.row + a, column = p.column + b;

            if (row < oh && column < ow)
                put(j.last, sums[a][b], residual, y,
                    (((int64_t)p.image * oh + row) * ow + column) * c +
                        p.channel);
        }
    }
}

/* Any kernel, stride and dilation: TW places of a row. */
template <typename T, int V, int TW>
__device__ void any_depthwise_kernel(const job &j, int lanes, int tiles_h,
                                     int tiles_w, int is_flipped,
                                     const T *__restrict__ x, const T *w,
                                     const T *bias, const T *residual, T *y)
{
    int c = j.c, height = j.h, wide = j.w, oh = j.oh, ow = j.ow;
    int kh = j.kh, kw = j.kw, stride = j.stride[1], step = j.dilation[1];
    place p = place_of<V, 1, TW>(lanes, j.n, c, tiles_h, tiles_w);
    int top = p.row * (int)j.stride[0] - (int)j.before[0];
    int left = p.column * stride - (int)j.before[1];
    float sums[1][TW][V];

    bring_weights(w, c, kh * kw, p.width, is_flipped);
    if (!p.is_there)
        return;
    begin(sums, bias, p.channel);
    for (int r = 0; r < kh; r++) {
        int row = top + r * (int)j.dilation[0];
        const T *from =
            x + ((int64_t)p.image * height + row) * wide * c + p.channel;

        for (int k = 0; k < kw && (unsigned)row < (unsigned)height; k++) {
            float by[V];

            take_weights(p.weights + (r * kw + k) * p.width, by);
#pragma unroll
            for (int b = 0; b < TW; b++) {
                int column = left + b * stride + k * step;

                add_products(sums[0][b],
                             load_if<T, V>((unsigned)column < (unsigned)wide,
                                           from + (int64_t)column * c),
                             by);
            }
        }
    }
#pragma unroll
    for (int b = 0; b < TW; b++) {
        if (p.column + b < ow)
            put(j.last, sums[0][b], residual, y,
                (((int64_t)p.image * oh + p.row) * ow + p.column + b) * c +
                    p.channel);
    }
}

/* The gradient of x with stride 2. Tiles of dx begin where a window does: then
 * it does not depend on the place which taps have written it. */
template <typename T, int V, int K, int TH, int TW>
__device__ void depthwise_data_kernel(const job &j, int lanes, int tiles_h,
                                      int tiles_w, const T *__restrict__ dy,
                                      const T *w, T *dx)
{
    enum { S = 2, BACK = (K - 1) / S };
    enum { ROWS = (TH - 1) / S + BACK + 1, COLUMNS = (TW - 1) / S + BACK + 1 };
    int c = j.c, height = j.h, wide = j.w, oh = j.oh, ow = j.ow;
    place p = place_of<V, TH, TW>(lanes, j.n, c, tiles_h, tiles_w);
    int above = (int)j.before[0] & 1, before = (int)j.before[1] & 1;
    int top = (p.row + ((int)j.before[0] - above)) / S - BACK;
    int left = (p.column + ((int)j.before[1] - before)) / S - BACK;
    float sums[TH][TW][V] = {};
    const T *from =
        dy + ((int64_t)p.image * oh + top) * ow * c + left * c + p.channel;

    bring_weights(w, c, K * K, p.width, 0);
    if (!p.is_there)
        return;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        bool is_row = (unsigned)(top + r) < (unsigned)oh;
        pack<T, V> in[COLUMNS];

#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
            in[k] = load_if<T, V>(is_row &&
                                      (unsigned)(left + k) < (unsigned)ow,
                                  from + (r * ow + k) * c);
#pragma unroll
        for (int a = 0; a < TH; a++) {
            int tap = a - (r - BACK) * S; /* that row r was read by */

            if (tap < 0 || tap >= K)
                continue;
#pragma unroll
            for (int k = 0; k < K; k++) {
                float by[V];

                take_weights(p.weights + (tap * K + k) * p.width, by);
#pragma unroll
                for (int b = 0; b < TW; b++) {
                    if ((b - k) % S == 0)
                        add_products(sums[a][b], in[(b - k) / S + BACK], by);
                }
            }
        }
    }
#pragma unroll
    for (int a = 0; a < TH; a++) {
#pragma unroll
        for (int b = 0; b < TW; b++) {
            int row = p.row + a - above, column = p.column + b - before;

            if ((unsigned)row < (unsigned)height &&
                (unsigned)column < (unsigned)wide)
                put<T, V>(j.last, sums[a][b], 0, dx,
                          (((int64_t)p.image * height + row) * wide + column) *
                                  c +
                              p.channel);
        }
    }
}

/* The gradient of x for any kernel, stride and dilation: one place. */
template <typename T, int V>
__device__ void any_depthwise_data_kernel(const job &j, int lanes, int tiles_h,
                                          int tiles_w,
                                          const T *__restrict__ dy, const T *w,
                                          T *dx)
{
    int c = j.c, oh = j.oh, ow = j.ow, kh = j.kh, kw = j.kw;
    int stride[2] = {(int)j.stride[0], (int)j.stride[1]};
    place p = place_of<V, 1, 1>(lanes, j.n, c, tiles_h, tiles_w);
    const T *from = dy + (int64_t)p.image * oh * ow * c + p.channel;
    float sums[V] = {};

    bring_weights(w, c, kh * kw, p.width, 0);
    if (!p.is_there)
        return;
    for (int r = 0; r < kh; r++) {
        int row = p.row + (int)j.before[0] - r * (int)j.dilation[0];
        bool is_row = row >= 0 && row % stride[0] == 0 && row / stride[0] < oh;

        for (int k = 0; k < kw && is_row; k++) {
            int column = p.column + (int)j.before[1] - k * (int)j.dilation[1];
            int at = column / stride[1];
            float by[V];

            if (column < 0 || column % stride[1] || at >= ow)
                continue;
            take_weights(p.weights + (r * kw + k) * p.width, by);
            add_products(sums,
                         load_if<T, V>(true, from + ((int64_t)row / stride[0] *
                                                         ow +
                                                     at) * c),
                         by);
        }
    }
    put<T, V>(j.last, sums, 0, dx,
              (((int64_t)p.image * j.h + p.row) * j.w + p.column) * c +
                  p.channel);
}

/* depthwise_k3s1_wide_f32() and so on, with four channels per thread (wide
 * ones) or one. Small ones have small tiles, for few places. */
#define DEPTHWISE(name, ...)                                                   \
    extern "C" __global__ void __launch_bounds__(256)                          \
        STORED_NAME(depthwise_##name)(                                         \
            job j, int lanes, int tiles_h, int tiles_w, int is_flipped,        \
            const STORED *x, const STORED *w, const STORED *bias,              \
            const STORED *residual, STORED *y)                                 \
    {                                                                          \
        __VA_ARGS__(j, lanes, tiles_h, tiles_w, is_flipped, x, w, bias,        \
                    residual, y);                                              \
    }
#define DEPTHWISE_DATA(name, ...)                                              \
    extern "C" __global__ void __launch_bounds__(256)                          \
        STORED_NAME(depthwise_data_##name)(job j, int lanes, int tiles_h,      \
                                           int tiles_w, const STORED *dy,      \
                                           const STORED *w, STORED *dx)        \
    {                                                                          \
        __VA_ARGS__(j, lanes, tiles_h, tiles_w, dy, w, dx);                    \
    }
#define DEPTHWISE_WIDTH(width, V)                                              \
    DEPTHWISE(k3s1_##width, depthwise_kernel<STORED, V, 3, 1, 2, 4>)           \
    DEPTHWISE(k3s2_##width, depthwise_kernel<STORED, V, 3, 2, 2, 2>)           \
    DEPTHWISE(k5s1_##width, depthwise_kernel<STORED, V, 5, 1, 2, 4>)           \
    DEPTHWISE(k5s2_##width, depthwise_kernel<STORED, V, 5, 2, 2, 2>)           \
    DEPTHWISE(any_##width, any_depthwise_kernel<STORED, V, 4>)                 \
    DEPTHWISE_DATA(k3s2_##width, depthwise_data_kernel<STORED, V, 3, 2, 4>)    \
    DEPTHWISE_DATA(k5s2_##width, depthwise_data_kernel<STORED, V, 5, 2, 4>)    \
    DEPTHWISE_DATA(any_##width, any_depthwise_data_kernel<STORED, V>)

DEPTHWISE_WIDTH(wide, 4)
DEPTHWISE_WIDTH(one, 1)
DEPTHWISE(k3s1_small, depthwise_kernel<STORED, 4, 3, 1, 1, 2>)
DEPTHWISE(k3s2_small, depthwise_kernel<STORED, 4, 3, 2, 1, 1>)
DEPTHWISE(k5s1_small, depthwise_kernel<STORED, 4, 5, 1, 1, 2>)
DEPTHWISE(k5s2_small, depthwise_kernel<STORED, 4, 5, 2, 1, 1>)
