/* backend/cuda/kernels/pool_max.cu - maxima of maps whose channels are last,
 * sixteen bytes of channels a thread: those of kernels/pool.cu, in its order,
 * and their gradients.
 *
 * SPDX-License-Identifier: MIT */

struct max_pool {
    int channels, height, width, to_height, to_width;
    int kernel[2], stride[2], before[2];
    int n; /* packs of channels in y; for gradients, in x */
};

/* places: which of its window's values each maximum is; 0: not asked for. */
template <typename T, int N>
__device__ void max_packs(const max_pool &p, const pack<T, N> *x, pack<T, N> *y,
                          pack<uint8_t, N> *places)
{
    int row_packs = p.channels / N;

    for (int64_t i = FIRST; i < p.n; i += STEP) {
        int at = (int)i / row_packs, c = (int)i - at * row_packs;
        int line = at / p.to_width, image = line / p.to_height;
        int top = (line - image * p.to_height) * p.stride[0] - p.before[0];
        int left = (at - line * p.to_width) * p.stride[1] - p.before[1];
        int bottom = min(top + p.kernel[0], p.height);
        int right = min(left + p.kernel[1], p.width);
        float found[N];
        pack<T, N> made;
        pack<uint8_t, N> where = {{0}};

        for (int k = 0; k < N; k++)
            found[k] = -INFINITY_F;
        for (int row = max(top, 0); row < bottom; row++) {
            for (int column = max(left, 0); column < right; column++) {
                int64_t from = (int64_t)(image * p.height + row) * p.width +
                               column;
                pack<T, N> read = x[from * row_packs + c];
                int place = (row - top) * p.kernel[1] + column - left;

                for (int k = 0; k < N; k++) {
                    float v = load(read.items[k]);

                    if (v > found[k] || v != v) {
                        found[k] = v;
                        where.items[k] = (uint8_t)place;
                    }
                }
            }
        }
        for (int k = 0; k < N; k++)
            made.items[k] = store<T>(found[k]);
        y[i] = made;
        if (places)
            places[i] = where;
    }
}

template <typename T>
__device__ void max_pool_kernel(const max_pool &p, const T *x, T *y,
                                uint8_t *places)
{
    enum { N = 16 / sizeof(T) };

    max_packs<T, N>(p, (const pack<T, N> *)x, (pack<T, N> *)y,
                    (pack<uint8_t, N> *)places);
}

FOR_STORED(max_pool, (max_pool p, const T *x, T *y, uint8_t *places),
           (p, x, y, places))

/* ---- its gradients ---------------------------------------------------------- */

/* The windows that value r is in, along one side: from first to before end. */
__device__ inline void max_windows(const max_pool &p, int side, int r,
                                   int *first, int *end)
{
    int from = r + p.before[side] - p.kernel[side] + p.stride[side];
    int n = side ? p.to_width : p.to_height;

    *first = from < 0 ? 0 : from / p.stride[side];
    *end = min((r + p.before[side]) / p.stride[side] + 1, n);
}

template <typename T, int N>
__device__ void max_back_packs(const max_pool &p, const pack<T, N> *dy,
                               const pack<uint8_t, N> *places, pack<T, N> *dx)
{
    int row_packs = p.channels / N;

    for (int64_t i = FIRST; i < p.n; i += STEP) {
        int at = (int)i / row_packs, c = (int)i - at * row_packs;
        int line = at / p.width, column = at - line * p.width;
        int image = line / p.height, row = line - image * p.height;
        int top, bottom, left, right;
        float sums[N] = {0};
        pack<T, N> made;

        max_windows(p, 0, row, &top, &bottom);
        max_windows(p, 1, column, &left, &right);
        for (int r = top; r < bottom; r++) {
            for (int k = left; k < right; k++) {
                int64_t from = ((int64_t)(image * p.to_height + r) *
                                    p.to_width + k) * row_packs + c;
                int place = (row + p.before[0] - r * p.stride[0]) *
                                p.kernel[1] +
                            column + p.before[1] - k * p.stride[1];
                pack<T, N> slopes = dy[from];
                pack<uint8_t, N> where = places[from];

                for (int v = 0; v < N; v++)
                    sums[v] += where.items[v] == place ? load(slopes.items[v])
                                                       : 0;
            }
        }
        for (int v = 0; v < N; v++)
            made.items[v] = store<T>(sums[v]);
        dx[i] = made;
    }
}

template <typename T>
__device__ void max_pool_back_kernel(const max_pool &p, const T *dy,
                                     const uint8_t *places, T *dx)
{
    enum { N = 16 / sizeof(T) };

    max_back_packs<T, N>(p, (const pack<T, N> *)dy,
                         (const pack<uint8_t, N> *)places, (pack<T, N> *)dx);
}

FOR_STORED(max_pool_back,
           (max_pool p, const T *dy, const uint8_t *places, T *dx),
           (p, dy, places, dx))
