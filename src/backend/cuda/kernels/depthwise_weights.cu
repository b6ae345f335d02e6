/* backend/cuda/kernels/depthwise_weights.cu - gradients of the weights of
 * depthwise convolutions: [c,kh,kw], of maps [n,h,w,c].
 *
 * Threads and channels are as in kernels/depthwise.cu. A thread adds up some of
 * the places, its block what its threads have, and depthwise_finish() what the
 * blocks have: always in the same order.
 *
 * SPDX-License-Identifier: MIT */

extern __shared__ float parts[];

template <typename T, int V>
__device__ inline pack<T, V> load_if(bool is_there, const T *at)
{
    pack<T, V> none = {};

    return is_there ? *(const pack<T, V> *)at : none;
}

/* The sums of N taps from `first` on, of all threads for a channel, as
 * sums[block][c][tap]. */
template <int V, int N>
__device__ inline void put_sums(const float (&own)[N][V], int lanes, int c,
                                int first, int taps, float *sums)
{
    int width = lanes * V, above = threadIdx.x / lanes;
    int lane = threadIdx.x - above * lanes, rows = blockDim.x / lanes;

    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++) {
#pragma unroll
        for (int v = 0; v < V; v++)
            parts[(above * N + k) * width + lane * V + v] = own[k][v];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < N * width; i += blockDim.x) {
        int k = i / width, channel = blockIdx.y * width + i - k * width;
        float sum = 0;

#pragma unroll 8
        for (int r = 0; r < rows; r++)
            sum += parts[r * N * width + i];
        if (channel < c)
            sums[((int64_t)blockIdx.x * c + channel) * taps + first + k] = sum;
    }
}

/* A kernel of K x K without dilation, the same stride S in both directions; TW
 * places of a row at a time. */
template <typename T, int V, int K, int S, int TW>
__device__ void depthwise_weights_kernel(const job &j, int lanes, int tiles_w,
                                         int n_tiles, const T *__restrict__ x,
                                         const T *__restrict__ dy, float *sums)
{
    enum { COLUMNS = (TW - 1) * S + K };
    int c = j.c, height = j.h, wide = j.w, oh = j.oh, ow = j.ow;
    int above = threadIdx.x / lanes, rows = blockDim.x / lanes;
    int channel = (blockIdx.y * lanes + threadIdx.x - above * lanes) * V;
    float own[K][K][V] = {};

    for (int tile = blockIdx.x * rows + above; tile < n_tiles && channel < c;
         tile += gridDim.x * rows) {
        int line = tile / tiles_w, image = line / oh, row = line - image * oh;
        int column = (tile - line * tiles_w) * TW;
        int top = row * S - (int)j.before[0];
        int left = column * S - (int)j.before[1];
        const T *from =
            x + ((int64_t)image * height + top) * wide * c + left * c + channel;
        const T *at = dy + ((int64_t)line * ow + column) * c + channel;
        pack<T, V> d[TW];

#pragma unroll
        for (int b = 0; b < TW; b++)
            d[b] = load_if<T, V>(column + b < ow, at + b * c);
#pragma unroll
        for (int r = 0; r < K; r++) {
            bool is_row = (unsigned)(top + r) < (unsigned)height;
            pack<T, V> in[COLUMNS];

#pragma unroll
            for (int k = 0; k < COLUMNS; k++)
                in[k] = load_if<T, V>(
                    is_row && (unsigned)(left + k) < (unsigned)wide,
                    from + (r * wide + k) * c);
#pragma unroll
            for (int k = 0; k < K; k++) {
#pragma unroll
                for (int b = 0; b < TW; b++) {
#pragma unroll
                    for (int v = 0; v < V; v++)
                        own[r][k][v] += load(d[b].items[v]) *
                                        load(in[b * S + k].items[v]);
                }
            }
        }
    }
#pragma unroll
    for (int r = 0; r < K; r++)
        put_sums<V, K>(own[r], lanes, c, r * K, K * K, sums);
}

/* Any kernel, stride and dilation: a tap for each of the blocks in z. */
template <typename T, int V>
__device__ void any_depthwise_weights_kernel(const job &j, int lanes,
                                             int tiles_w, int n_tiles,
                                             const T *__restrict__ x,
                                             const T *__restrict__ dy,
                                             float *sums)
{
    int c = j.c, height = j.h, wide = j.w, oh = j.oh, ow = j.ow, kw = j.kw;
    int above = threadIdx.x / lanes, rows = blockDim.x / lanes;
    int channel = (blockIdx.y * lanes + threadIdx.x - above * lanes) * V;
    int tap = blockIdx.z, tap_row = tap / kw, tap_column = tap - tap_row * kw;
    float own[1][V] = {};

    for (int place = blockIdx.x * rows + above; place < n_tiles && channel < c;
         place += gridDim.x * rows) {
        int line = place / ow, image = line / oh;
        int row = (line - image * oh) * (int)j.stride[0] - (int)j.before[0] +
                  tap_row * (int)j.dilation[0];
        int column = (place - line * ow) * (int)j.stride[1] -
                     (int)j.before[1] + tap_column * (int)j.dilation[1];
        bool is_there = (unsigned)row < (unsigned)height &&
                        (unsigned)column < (unsigned)wide;
        const T *from = x +
                        (((int64_t)image * height + row) * wide + column) * c +
                        channel;
        pack<T, V> in = load_if<T, V>(is_there, from);
        pack<T, V> d =
            load_if<T, V>(is_there, dy + (int64_t)place * c + channel);

#pragma unroll
        for (int v = 0; v < V; v++)
            own[0][v] += load(d.items[v]) * load(in.items[v]);
    }
    (void)tiles_w;
    put_sums<V, 1>(own, lanes, c, tap, j.kh * kw, sums);
}

/* depthwise_weights_k3s1_wide_f32() and so on: see kernels/depthwise.cu. Of 5x5
 * taps a thread can hold the sums of two channels. */
#define DEPTHWISE_WEIGHTS(name, ...)                                           \
    extern "C" __global__ void __launch_bounds__(256)                          \
        STORED_NAME(depthwise_weights_##name)(job j, int lanes, int tiles_w,   \
                                              int n_tiles, const STORED *x,    \
                                              const STORED *dy, float *sums)   \
    {                                                                          \
        __VA_ARGS__(j, lanes, tiles_w, n_tiles, x, dy, sums);                  \
    }

DEPTHWISE_WEIGHTS(k3s1_wide, depthwise_weights_kernel<STORED, 4, 3, 1, 4>)
DEPTHWISE_WEIGHTS(k3s2_wide, depthwise_weights_kernel<STORED, 4, 3, 2, 2>)
DEPTHWISE_WEIGHTS(k5s1_wide, depthwise_weights_kernel<STORED, 2, 5, 1, 4>)
DEPTHWISE_WEIGHTS(k5s2_wide, depthwise_weights_kernel<STORED, 2, 5, 2, 2>)
DEPTHWISE_WEIGHTS(any_wide, any_depthwise_weights_kernel<STORED, 4>)
DEPTHWISE_WEIGHTS(k3s1_one, depthwise_weights_kernel<STORED, 1, 3, 1, 4>)
DEPTHWISE_WEIGHTS(k3s2_one, depthwise_weights_kernel<STORED, 1, 3, 2, 2>)
DEPTHWISE_WEIGHTS(k5s1_one, depthwise_weights_kernel<STORED, 1, 5, 1, 4>)
DEPTHWISE_WEIGHTS(k5s2_one, depthwise_weights_kernel<STORED, 1, 5, 2, 2>)
DEPTHWISE_WEIGHTS(any_one, any_depthwise_weights_kernel<STORED, 1>)

/* n sums of each block, 32 of them in a block of 8 x 32 threads. */
extern "C" __global__ void STORED_NAME(depthwise_finish)(const float *sums,
                                                         int n_blocks,
                                                         int64_t n, STORED *y)
{
    __shared__ float of_rows[8][32];
    int column = threadIdx.x & 31, row = threadIdx.x >> 5;
    int64_t i = (int64_t)blockIdx.x * 32 + column;
    float sum = 0;

#pragma unroll 4
    for (int k = row; k < n_blocks && i < n; k += 8)
        sum += sums[k * n + i];
    of_rows[row][column] = sum;
    __syncthreads();
    if (row || i >= n)
        return;
    for (int k = 1; k < 8; k++)
        sum += of_rows[k][column];
    y[i] = store<STORED>(sum);
}
