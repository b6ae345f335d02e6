/* backend/cuda/kernels/elementwise.cu - one element at a time, eight or four of
 * them loaded together where the memory allows it.
 *
 * SPDX-License-Identifier: MIT */

struct relu_of {
    __device__ static float at(float x)
    {
        return x < 0 ? 0.0f : x; /* what is not a number stays */
    }
};

template <typename T>
__device__ void add_kernel(const T *a, const T *b, T *y, int64_t n,
                           int has_relu)
{
    enum { N = 16 / sizeof(T) };
    int64_t n_packs = n / N;

    for (int64_t i = FIRST; i < n_packs; i += STEP) {
        pack<T, N> p = ((const pack<T, N> *)a)[i];
        pack<T, N> q = ((const pack<T, N> *)b)[i];

        for (int k = 0; k < N; k++) {
            float sum = load(p.items[k]) + load(q.items[k]);

            p.items[k] = store<T>(has_relu ? relu_of::at(sum) : sum);
        }
        ((pack<T, N> *)y)[i] = p;
    }
    for (int64_t i = n_packs * N + FIRST; i < n; i += STEP) {
        float sum = load(a[i]) + load(b[i]);

        y[i] = store<T>(has_relu ? relu_of::at(sum) : sum);
    }
}

FOR_STORED(add, (const T *a, const T *b, T *y, int64_t n, int has_relu),
           (a, b, y, n, has_relu))
