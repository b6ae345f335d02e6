/* backend/cuda/kernels/norm.cu - norms, as ops/norm has them.
 *
 * SPDX-License-Identifier: MIT */

/* y = x * scale + shift, for each channel, and a ReLU that may follow; the walk
 * goes over [n, c, rest]. */
extern "C" __global__ void batch_norm(walk w, view x, view channel, view y,
                                      const float *weight, const float *bias,
                                      const float *mean, const float *variance,
                                      float eps, int has_relu)
{
    const view *const views[3] = {&x, &channel, &y};

    for (int64_t i = FIRST; i < w.n; i += STEP) {
        int64_t at[3];
        float scale, shift, value;

        walk_to(w, views, i, at);
        scale = __fdiv_rn(weight[at[1]],
                          __fsqrt_rn(add(variance[at[1]], eps)));
        shift = sub(bias[at[1]], mul(mean[at[1]], scale));
        value = load_float(x, at[0]) * scale + shift;
        store_float(y, at[2], has_relu && value < 0 ? 0 : value);
    }
}

__device__ void moments(const float *x, int64_t n, double *mean,
                        double *variance)
{
    double sum = 0, squares = 0;

    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        sum += x[i];
    *mean = n ? sum_block(sum) / (double)n : 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        double off = (double)x[i] - *mean;

        squares += off * off;
    }
    *variance = n ? sum_block(squares) / (double)n : 0;
}

/* A block for each of `lines` lines of n. */
extern "C" __global__ void layer_norm(const float *x, const float *scale,
                                      const float *bias, float *y, float *means,
                                      float *factors, int64_t lines, int64_t n,
                                      float eps)
{
    for (int64_t i = blockIdx.x; i < lines; i += gridDim.x) {
        double mean, variance;
        float factor, middle;

        moments(x + i * n, n, &mean, &variance);
        factor = (float)(1 / sqrt(variance + (double)eps));
        middle = (float)mean;
        for (int64_t k = threadIdx.x; k < n; k += blockDim.x)
            y[i * n + k] = (x[i * n + k] - middle) * factor * scale[k] +
                           (bias ? bias[k] : 0);
        if (!threadIdx.x && means)
            means[i] = middle;
        if (!threadIdx.x && factors)
            factors[i] = factor;
    }
}

/* A block for each plane. */
extern "C" __global__ void instance_norm(const float *x, const float *scale,
                                         const float *bias, float *y,
                                         int64_t planes, int64_t channels,
                                         int64_t n, float eps)
{
    for (int64_t i = blockIdx.x; i < planes; i += gridDim.x) {
        double mean, variance;
        float factor, shift = bias[i % channels];

        moments(x + i * n, n, &mean, &variance);
        factor = (float)((double)scale[i % channels] /
                         sqrt(variance + (double)eps));
        for (int64_t k = threadIdx.x; k < n; k += blockDim.x)
            y[i * n + k] = (x[i * n + k] - (float)mean) * factor + shift;
    }
}

/* A block for each group of `each` channels of n elements. */
extern "C" __global__ void group_norm(const float *x, const float *scale,
                                      const float *bias, float *y, int64_t all,
                                      int64_t groups, int64_t each,
                                      int64_t plane, float eps)
{
    int64_t n = each * plane;

    for (int64_t i = blockIdx.x; i < all; i += gridDim.x) {
        double mean, variance, factor;

        moments(x + i * n, n, &mean, &variance);
        factor = 1 / sqrt(variance + (double)eps);
        for (int64_t k = threadIdx.x; k < n; k += blockDim.x) {
            int64_t c = i % groups * each + k / plane;

            y[i * n + k] =
                (float)(((double)x[i * n + k] - mean) * factor) * scale[c] +
                bias[c];
        }
    }
}

/* x [n, channels, inner]. */
extern "C" __global__ void local_response_norm(const float *x, float *y,
                                               int64_t total, int64_t channels,
                                               int64_t inner, int64_t size,
                                               float alpha, float beta,
                                               float bias)
{
    for (int64_t i = FIRST; i < total; i += STEP) {
        int64_t c = i / inner % channels, first = c - (size - 1) / 2;
        int64_t last = c + size / 2;
        double sum = 0;

        first = first < 0 ? 0 : first;
        last = last > channels - 1 ? channels - 1 : last;
        for (int64_t k = first; k <= last; k++) {
            double v = x[i + (k - c) * inner];

            sum += v * v;
        }
        y[i] = (float)((double)x[i] /
                       pow((double)bias + (double)alpha / (double)size * sum,
                           (double)beta));
    }
}
