/* backend/cuda/kernels/gradient.cu - gradients of convolutions where libraries
 * leave something to do, and of what goes element by element. Maps are
 * [n,h,w,c], weights [o,kh,kw,c].
 *
 * Every sum is taken by one thread or one block, in an order that does not
 * change.
 *
 * SPDX-License-Identifier: MIT */

/* ---- what passes ----------------------------------------------------------- */

/* dx = dy where y lies between low and high (or is no number), and else 0; dx
 * may be dy. */
template <typename T>
__device__ void pass_between_kernel(const T *y, const T *dy, T *dx, float low,
                                    float high, int64_t n)
{
    enum { N = 16 / sizeof(T) };
    int64_t n_packs = n / N;

    for (int64_t i = FIRST; i < n_packs; i += STEP) {
        pack<T, N> of = ((const pack<T, N> *)y)[i];
        pack<T, N> d = ((const pack<T, N> *)dy)[i];

        for (int k = 0; k < N; k++) {
            float v = load(of.items[k]);

            d.items[k] = v <= low || v >= high ? store<T>(0) : d.items[k];
        }
        ((pack<T, N> *)dx)[i] = d;
    }
    for (int64_t i = n_packs * N + FIRST; i < n; i += STEP) {
        float v = load(y[i]);

        dx[i] = v <= low || v >= high ? store<T>(0) : dy[i];
    }
}

FOR_STORED(pass_between,
           (const T *y, const T *dy, T *dx, float low, float high, int64_t n),
           (y, dy, dx, low, high, n))

/* In the order of enum slope in cuda_gradients.c. */
enum { SIGMOID, TANH, HARD_SIGMOID, SILU, HARD_SWISH, LEAKY_RELU };

/* The slope of an activation at v: its output for the first three, its input
 * for the others. */
__device__ inline float slope_at(int which, float v, float alpha)
{
    float s;

    switch (which) {
    case SIGMOID:
        return v * (1 - v);
    case TANH:
        return 1 - v * v;
    case HARD_SIGMOID:
        return v > 0 && v < 1 ? alpha : 0;
    case SILU:
        s = 1 / (1 + expf(-v));
        return s * (1 + v * (1 - s));
    case HARD_SWISH:
        return v <= -3 ? 0 : v >= 3 ? 1 : (2 * v + 3) / 6;
    default:
        return v < 0 ? alpha : 1;
    }
}

template <typename T>
__device__ void pass_slope_kernel(int which, const T *v, const T *dy, T *dx,
                                  float alpha, int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP)
        dx[i] = store<T>(load(dy[i]) * slope_at(which, load(v[i]), alpha));
}

FOR_STORED(pass_slope,
           (int which, const T *v, const T *dy, T *dx, float alpha, int64_t n),
           (which, v, dy, dx, alpha, n))

/* The last step of SplitMix64: see ops/norm/dropout_training.c. */
__device__ inline uint64_t mix(uint64_t key)
{
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ULL;
    key = (key ^ key >> 27) * 0x94d049bb133111ebULL;
    return key ^ key >> 31;
}

/* y = x * scale where it is kept, and else 0; y may be x. */
extern "C" __global__ void drop(const float *x, float *y, uint64_t key,
                                uint64_t limit, float scale, int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP)
        y[i] = mix(key + (uint64_t)i * 0x9e3779b97f4a7c15ULL) >> 11 >= limit
                   ? x[i] * scale
                   : 0;
}

/* ---- weights --------------------------------------------------------------- */

/* [o,places,wide] to [o,c,places], with a factor for each o; scale may be 0.
 * What is between c and wide is left out. */
template <typename T>
__device__ void unpack_weight_kernel(const T *x, const float *scale, float *y,
                                     int64_t c, int64_t wide, int64_t places,
                                     int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t place = i % places, channel = i / places % c;
        int64_t o = i / places / c;
        float w = load(x[(o * places + place) * wide + channel]);

        y[i] = scale ? w * scale[o] : w;
    }
}

FOR_STORED(unpack_weight,
           (const T *x, const float *scale, float *y, int64_t c, int64_t wide,
            int64_t places, int64_t n),
           (x, scale, y, c, wide, places, n))

/* [places,o,c] to [c,o,places]: those of a transposed convolution. */
template <typename T>
__device__ void unpack_turned_kernel(const T *x, float *y, int64_t c, int64_t o,
                                     int64_t places, int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t place = i % places, out = i / places % o;
        int64_t channel = i / places / o;

        y[i] = load(x[(place * o + out) * c + channel]);
    }
}

FOR_STORED(unpack_turned,
           (const T *x, float *y, int64_t c, int64_t o, int64_t places,
            int64_t n),
           (x, y, c, o, places, n))

/* The other way round than spread() in kernels/convolution.cu: from [n,h kh,w
 * kw,o] to [n,h,w,(kh,kw,o)]. */
template <typename T>
__device__ void collect_kernel(const T *dy, T *y, int64_t h, int64_t w,
                               int64_t kh, int64_t kw, int64_t o, int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t out = i % o, tap = i / o % (kh * kw), place = i / o / (kh * kw);
        int64_t column = place % w * kw + tap % kw;
        int64_t row = place / w % h * kh + tap / kw, image = place / w / h;

        y[i] = dy[((image * h * kh + row) * w * kw + column) * o + out];
    }
}

FOR_STORED(collect,
           (const T *dy, T *y, int64_t h, int64_t w, int64_t kh, int64_t kw,
            int64_t o, int64_t n),
           (dy, y, h, w, kh, kw, o, n))

/* The output that reads input `at` by tap k; -1: there is none. */
__device__ inline int64_t reader_of(const job &j, int side, int64_t at,
                                    int64_t k)
{
    int64_t from = at + j.before[side] - k * j.dilation[side];
    int64_t most = side ? j.ow : j.oh, found = from / j.stride[side];

    if (from < 0 || from % j.stride[side] || found >= most)
        return -1;
    return found;
}

/* One thread for each input: for what no library computes. */
template <typename T>
__device__ void direct_data_kernel(const job &j, const T *dy, const T *w, T *dx)
{
    int64_t n = j.n * j.h * j.w * j.c, part = j.c / j.groups;
    int64_t outs = j.o / j.groups;

    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t c = i % j.c, column = i / j.c % j.w;
        int64_t row = i / j.c / j.w % j.h, image = i / j.c / j.w / j.h;
        int64_t group = c / part;
        float sum = 0;

        for (int64_t kh = 0; kh < j.kh; kh++) {
            int64_t h = reader_of(j, 0, row, kh);

            for (int64_t kw = 0; kw < j.kw && h >= 0; kw++) {
                int64_t v = reader_of(j, 1, column, kw);
                const T *from = dy + ((image * j.oh + h) * j.ow + v) * j.o;

                for (int64_t o = group * outs; v >= 0 && o < (group + 1) * outs;
                     o++)
                    sum += load(from[o]) *
                           load(w[((o * j.kh + kh) * j.kw + kw) * part +
                                  c % part]);
            }
        }
        dx[i] = store<T>(sum);
    }
}

FOR_STORED(direct_data, (job j, const T *dy, const T *w, T *dx), (j, dy, w, dx))

/* One block of 256 threads for each weight. */
template <typename T>
__device__ void direct_weights_kernel(const job &j, const T *dy, const T *x,
                                      T *dw)
{
    __shared__ float parts[256];
    int64_t part = j.c / j.groups, n = j.o * j.kh * j.kw * part;
    int64_t places = j.n * j.oh * j.ow;

    for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
        int64_t c = i % part, kw = i / part % j.kw, kh = i / part / j.kw % j.kh;
        int64_t o = i / part / j.kw / j.kh;
        int64_t from = o / (j.o / j.groups) * part + c;
        float sum = 0;

        for (int64_t p = threadIdx.x; p < places; p += blockDim.x) {
            int64_t column = p % j.ow, row = p / j.ow % j.oh;
            int64_t image = p / j.ow / j.oh;
            int64_t h = row * j.stride[0] - j.before[0] + kh * j.dilation[0];
            int64_t v = column * j.stride[1] - j.before[1] + kw * j.dilation[1];

            if (h >= 0 && h < j.h && v >= 0 && v < j.w)
                sum += load(dy[p * j.o + o]) *
                       load(x[((image * j.h + h) * j.w + v) * j.c + from]);
        }
        __syncthreads();
        parts[threadIdx.x] = sum;
        __syncthreads();
        for (int k = 128; k; k /= 2) {
            if (threadIdx.x < k)
                parts[threadIdx.x] += parts[threadIdx.x + k];
            __syncthreads();
        }
        if (!threadIdx.x)
            dw[i] = store<T>(parts[0]);
    }
}

FOR_STORED(direct_weights, (job j, const T *dy, const T *x, T *dw),
           (j, dy, x, dw))

/* ---- maps that were made larger -------------------------------------------- */

/* As resize_nearest_source() in ops/movement/resize_nearest.c. */
__device__ inline int64_t source_of(int64_t i, int64_t from, int64_t to)
{
    int64_t at = (int64_t)mul((float)i, __fdiv_rn((float)from, (float)to));

    return at < from ? at : from - 1;
}

/* The first of the outputs that may show input r, and one behind the last. */
__device__ inline void shown_by(int64_t r, int64_t from, int64_t to,
                                int64_t *first, int64_t *end)
{
    *first = r * to / from - 1;
    *end = (r + 1) * to / from + 2;
    *first = *first < 0 ? 0 : *first;
    *end = *end > to ? to : *end;
}

template <typename T>
__device__ void resize_nearest_back_kernel(const T *dy, T *dx, int64_t n,
                                           int64_t h, int64_t w, int64_t c,
                                           int64_t to_h, int64_t to_w)
{
    for (int64_t i = FIRST; i < n * h * w * c; i += STEP) {
        int64_t channel = i % c, column = i / c % w, row = i / c / w % h;
        int64_t image = i / c / w / h, top, bottom, left, right;
        float sum = 0;

        shown_by(row, h, to_h, &top, &bottom);
        shown_by(column, w, to_w, &left, &right);
        for (int64_t r = top; r < bottom; r++) {
            for (int64_t k = left; source_of(r, h, to_h) == row && k < right;
                 k++) {
                if (source_of(k, w, to_w) == column)
                    sum += load(
                        dy[((image * to_h + r) * to_w + k) * c + channel]);
            }
        }
        dx[i] = store<T>(sum);
    }
}

FOR_STORED(resize_nearest_back,
           (const T *dy, T *dx, int64_t n, int64_t h, int64_t w, int64_t c,
            int64_t to_h, int64_t to_w),
           (dy, dx, n, h, w, c, to_h, to_w))

/* ---- products with few columns ---------------------------------------------- */

enum { MOST_THIN = 16 };

/* sums[block][o][c] of the products of dy [rows,o] and x [rows,c]: a thread for
 * each c, blocks along the rows in y. Libraries add up all rows in one place
 * where o is small. */
template <typename T>
__device__ void thin_weights_kernel(const T *x, const T *dy, int64_t rows,
                                    int64_t each, int c, int n_out, float *sums)
{
    int channel = blockIdx.x * blockDim.x + threadIdx.x;
    int64_t begin = blockIdx.y * each;
    int64_t end = begin + each < rows ? begin + each : rows;
    float own[MOST_THIN] = {0};

    if (channel >= c)
        return;
#pragma unroll 4
    for (int64_t r = begin; r < end; r++) {
        float v = load(x[r * c + channel]);

#pragma unroll
        for (int o = 0; o < MOST_THIN; o++) {
            if (o < n_out)
                own[o] += v * load(dy[r * n_out + o]);
        }
    }
#pragma unroll
    for (int o = 0; o < MOST_THIN; o++) {
        if (o < n_out)
            sums[((int64_t)blockIdx.y * n_out + o) * c + channel] = own[o];
    }
}

FOR_STORED(thin_weights,
           (const T *x, const T *dy, int64_t rows, int64_t each, int c,
            int n_out, float *sums),
           (x, dy, rows, each, c, n_out, sums))

/* n sums of each block. */
template <typename T>
__device__ void thin_finish_kernel(const float *sums, int n_blocks, int64_t n,
                                   T *y)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        double sum = 0;

#pragma unroll 8
        for (int k = 0; k < n_blocks; k++)
            sum += sums[k * n + i];
        y[i] = store<T>((float)sum);
    }
}

FOR_STORED(thin_finish, (const float *sums, int n_blocks, int64_t n, T *y),
           (sums, n_blocks, n, y))
