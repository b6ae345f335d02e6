/* backend/cuda/kernels/convolution.cu - what libraries leave to do: weights in
 * their order, what follows the sums, and convolutions that no library does.
 * Maps are [n,h,w,c], weights [o,kh,kw,c].
 *
 * SPDX-License-Identifier: MIT */

/* [rows,c,places] to [more rows,places,wide] with zeros, and a factor for each
 * row; scale may be 0. */
template <typename T>
__device__ void pack_weight_kernel(const float *x, const float *scale, T *y,
                                   int64_t rows, int64_t c, int64_t wide,
                                   int64_t places, int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t channel = i % wide, place = i / wide % places;
        int64_t o = i / wide / places;
        bool is_there = channel < c && o < rows;
        float w = is_there ? x[(o * c + channel) * places + place] : 0;

        y[i] = store<T>(scale && is_there ? w * scale[o] : w);
    }
}

FOR_STORED(pack_weight,
           (const float *x, const float *scale, T *y, int64_t rows, int64_t c,
            int64_t wide, int64_t places, int64_t n),
           (x, scale, y, rows, c, wide, places, n))

/* [c,o,places] of a transposed convolution to [places,o,c]. */
template <typename T>
__device__ void pack_turned_kernel(const float *x, T *y, int64_t c, int64_t o,
                                   int64_t places, int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t channel = i % c, out = i / c % o, place = i / c / o;

        y[i] = store<T>(x[(channel * o + out) * places + place]);
    }
}

FOR_STORED(pack_turned,
           (const float *x, T *y, int64_t c, int64_t o, int64_t places,
            int64_t n),
           (x, y, c, o, places, n))

/* V elements of y, of one place, and the bias of their channels. */
template <typename T, int V>
__device__ inline void epilogue_at(T *y, const T *bias, const T *residual,
                                   int64_t i, int64_t channel, const finish &f)
{
    pack<T, V> out = *(const pack<T, V> *)(y + i), also, of;

    if (residual)
        also = *(const pack<T, V> *)(residual + i);
    if (bias)
        of = *(const pack<T, V> *)(bias + channel);
#pragma unroll
    for (int v = 0; v < V; v++) {
        float x = load(out.items[v]);

        if (residual)
            x += load(also.items[v]);
        if (bias)
            x += load(of.items[v]);
        out.items[v] = store<T>(f.of(x));
    }
    *(pack<T, V> *)(y + i) = out;
}

template <typename T, int V>
__device__ inline void epilogue_all(T *y, const T *bias, const T *residual,
                                    int64_t c, int64_t n, const finish &f)
{
    uint32_t packs = (uint32_t)(c / V);

    for (int64_t i = FIRST; i < n / V; i += STEP) {
        int64_t channel = i >> 32 ? i % packs : (uint32_t)i % packs;

        epilogue_at<T, V>(y, bias, residual, i * V, channel * V, f);
    }
}

/* y += bias + residual, then what follows the sums; in place. c is the number
 * of channels. */
template <typename T>
__device__ void epilogue_kernel(T *y, const T *bias, const T *residual,
                                int64_t c, int64_t n, finish f)
{
    enum { V = 16 / sizeof(T) };
    uint64_t at = (uint64_t)y | (uint64_t)bias | (uint64_t)residual;

    if (c % V == 0 && at % 16 == 0)
        epilogue_all<T, V>(y, bias, residual, c, n, f);
    else
        epilogue_all<T, 1>(y, bias, residual, c, n, f);
}

FOR_STORED(epilogue,
           (T *y, const T *bias, const T *residual, int64_t c, int64_t n,
            finish f),
           (y, bias, residual, c, n, f))

/* One thread for each output: for what no library computes. */
template <typename T, typename Y>
__device__ void direct_any(job j, const T *x, const T *w, const Y *bias,
                           const Y *residual, Y *y)
{
    int64_t n = j.n * j.oh * j.ow * j.o, part = j.c / j.groups;

    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t o = i % j.o, column = i / j.o % j.ow;
        int64_t row = i / j.o / j.ow % j.oh, image = i / j.o / j.ow / j.oh;
        int64_t first = o / (j.o / j.groups) * part;
        float sum = 0;

        for (int64_t kh = 0; kh < j.kh; kh++) {
            int64_t h = row * j.stride[0] - j.before[0] + kh * j.dilation[0];

            for (int64_t kw = 0; kw < j.kw && h >= 0 && h < j.h; kw++) {
                int64_t v = column * j.stride[1] - j.before[1] +
                            kw * j.dilation[1];
                const T *from = x + ((image * j.h + h) * j.w + v) * j.c + first;
                const T *by = w + ((o * j.kh + kh) * j.kw + kw) * part;

                for (int64_t c = 0; c < part && v >= 0 && v < j.w; c++)
                    sum += load(from[c]) * load(by[c]);
            }
        }
        if (residual)
            sum += load(residual[i]);
        if (bias)
            sum += load(bias[o]);
        y[i] = store<Y>(j.last.of(sum));
    }
}

template <typename T>
__device__ void direct_kernel(job j, const T *x, const T *w, const T *bias,
                              const T *residual, T *y)
{
    direct_any<T, T>(j, x, w, bias, residual, y);
}

FOR_STORED(direct,
           (job j, const T *x, const T *w, const T *bias, const T *residual,
            T *y),
           (j, x, w, bias, residual, y))

/* The same with sums as they are. */
template <typename T>
__device__ void direct_wide_kernel(job j, const T *x, const T *w,
                                   const float *bias, const float *residual,
                                   float *y)
{
    direct_any<T, float>(j, x, w, bias, residual, y);
}

FOR_STORED(direct_wide,
           (job j, const T *x, const T *w, const float *bias,
            const float *residual, float *y),
           (j, x, w, bias, residual, y))

/* What a product made, [n,h,w,(kh,kw,o)], at its places in [n,h kh,w kw,o]:
 * a transposed convolution whose windows do not overlap. */
template <typename T>
__device__ void spread_kernel(const T *x, const T *bias, T *y, int64_t h,
                              int64_t w, int64_t kh, int64_t kw, int64_t o,
                              int64_t n, int has_relu)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t out = i % o, column = i / o % (w * kw);
        int64_t row = i / o / (w * kw) % (h * kh);
        int64_t image = i / o / (w * kw) / (h * kh);
        int64_t place = (image * h + row / kh) * w + column / kw;
        int64_t tap = row % kh * kw + column % kw;
        float v = load(x[(place * kh * kw + tap) * o + out]);

        if (bias)
            v += load(bias[out]);
        y[i] = store<T>(has_relu && v < 0 ? 0 : v);
    }
}

FOR_STORED(spread,
           (const T *x, const T *bias, T *y, int64_t h, int64_t w, int64_t kh,
            int64_t kw, int64_t o, int64_t n, int has_relu),
           (x, bias, y, h, w, kh, kw, o, n, has_relu))
