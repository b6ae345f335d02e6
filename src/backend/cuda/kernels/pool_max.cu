/* backend/cuda/kernels/pool_max.cu - maxima of maps whose channels are last,
 * sixteen bytes of channels a thread: those of kernels/pool.cu, in its order.
 *
 * SPDX-License-Identifier: MIT */

struct max_pool {
    int channels, height, width, to_height, to_width;
    int kernel[2], stride[2], before[2];
    int n; /* packs of channels in y */
};

template <typename T, int N>
__device__ void max_packs(const max_pool &p, const pack<T, N> *x,
                          pack<T, N> *y)
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

        for (int k = 0; k < N; k++)
            found[k] = -INFINITY_F;
        for (int row = max(top, 0); row < bottom; row++) {
            for (int column = max(left, 0); column < right; column++) {
                int64_t from = (int64_t)(image * p.height + row) * p.width +
                               column;
                pack<T, N> read = x[from * row_packs + c];

                for (int k = 0; k < N; k++) {
                    float v = load(read.items[k]);

                    if (v > found[k] || v != v)
                        found[k] = v;
                }
            }
        }
        for (int k = 0; k < N; k++)
            made.items[k] = store<T>(found[k]);
        y[i] = made;
    }
}

template <typename T>
__device__ void max_pool_kernel(const max_pool &p, const T *x, T *y)
{
    enum { together = 16 / sizeof(T) };

    max_packs<T, together>(p, (const pack<T, together> *)x,
                           (pack<T, together> *)y);
}

FOR_STORED(max_pool, (max_pool p, const T *x, T *y), (p, x, y))
