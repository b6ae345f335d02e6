/* backend/cuda/kernels/arithmetic.cu - what the engine computes itself: see
 * backend/host_math.h. The sums are taken in an order that does not change.
 *
 * SPDX-License-Identifier: MIT */

extern "C" __global__ void fill(float *x, float value, int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP)
        x[i] = value;
}

extern "C" __global__ void add_to(float *sum, const float *term, int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP)
        sum[i] += term[i];
}

/* ---- types ---------------------------------------------------------------- */

extern "C" __global__ void convert(const void *x, int from, void *y, int to,
                                   int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP)
        store_any(y, i, to, load_any(x, i, from));
}

/* ---- optimizers ----------------------------------------------------------- */

extern "C" __global__ void sgd(float *parameter, const float *gradient,
                               float *velocity, float rate, float momentum,
                               float decay, int is_nesterov, float unscale,
                               int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        float slope = unscale * gradient[i] + decay * parameter[i];

        if (velocity) {
            velocity[i] = momentum * velocity[i] + slope;
            slope = is_nesterov ? slope + momentum * velocity[i] : velocity[i];
        }
        parameter[i] -= rate * slope;
    }
}

enum { MOST_PARAMETERS = 96 };

struct sgd_items {
    float *parameter[MOST_PARAMETERS], *velocity[MOST_PARAMETERS];
    const float *gradient[MOST_PARAMETERS];
    int64_t n[MOST_PARAMETERS];
};

struct sgd_by {
    float rate, momentum, decay, unscale;
    int is_nesterov;
};

__device__ inline void sgd_at(const sgd_by &by, float gradient,
                              float *parameter, float *velocity)
{
    float slope = by.unscale * gradient + by.decay * *parameter;

    if (velocity) {
        *velocity = by.momentum * *velocity + slope;
        slope = by.is_nesterov ? slope + by.momentum * *velocity : *velocity;
    }
    *parameter -= by.rate * slope;
}

/* The same for several parameters, one for each y; four elements at a time. */
extern "C" __global__ void sgd_list(sgd_items items, sgd_by by)
{
    typedef pack<float, 4> four;
    int64_t n = items.n[blockIdx.y], packs = n / 4;
    float *parameter = items.parameter[blockIdx.y];
    float *velocity = items.velocity[blockIdx.y];
    const float *gradient = items.gradient[blockIdx.y];

    for (int64_t i = FIRST; i < packs; i += STEP) {
        four p = ((four *)parameter)[i], g = ((const four *)gradient)[i], v;

        if (velocity)
            v = ((four *)velocity)[i];
        for (int k = 0; k < 4; k++)
            sgd_at(by, g.items[k], &p.items[k], velocity ? &v.items[k] : 0);
        ((four *)parameter)[i] = p;
        if (velocity)
            ((four *)velocity)[i] = v;
    }
    for (int64_t i = packs * 4 + FIRST; i < n; i += STEP)
        sgd_at(by, gradient[i], parameter + i, velocity ? velocity + i : 0);
}

extern "C" __global__ void adamw(float *parameter, const float *gradient,
                                 float *first, float *second, float keep,
                                 float beta1, float beta2, float rest1,
                                 float rest2, float step_size,
                                 float root_correction2, float eps,
                                 float unscale, int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        float slope = unscale * gradient[i];
        float m = beta1 * first[i] + rest1 * slope;
        float v = beta2 * second[i] + rest2 * slope * slope;

        first[i] = m;
        second[i] = v;
        parameter[i] = keep * parameter[i] -
                       step_size * m / (sqrtf(v) / root_correction2 + eps);
    }
}

/* ---- sums ----------------------------------------------------------------- */

enum { MOST_TENSORS = 128 };

struct square_list {
    const float *x[MOST_TENSORS];
    int64_t n[MOST_TENSORS];
};

/* One partial sum of squares for each block of 256 threads; y is the tensor. */
extern "C" __global__ void square_sums(square_list list, double *sums)
{
    __shared__ double parts[256];
    const float *x = list.x[blockIdx.y];
    int64_t n = list.n[blockIdx.y];
    double sum = 0;

    for (int64_t i = FIRST; i < n; i += STEP)
        sum += (double)x[i] * x[i];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int k = 128; k; k /= 2) {
        if (threadIdx.x < k)
            parts[threadIdx.x] += parts[threadIdx.x + k];
        __syncthreads();
    }
    if (!threadIdx.x)
        sums[(int64_t)blockIdx.y * gridDim.x + blockIdx.x] = parts[0];
}

/* One block. */
extern "C" __global__ void add_sums(const double *sums, int64_t n, double *y)
{
    __shared__ double parts[256];
    double sum = 0;

    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        sum += sums[i];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int k = 128; k; k /= 2) {
        if (threadIdx.x < k)
            parts[threadIdx.x] += parts[threadIdx.x + k];
        __syncthreads();
    }
    if (!threadIdx.x)
        *y = parts[0];
}

/* *is_not becomes 1 where one of them is not finite; it starts at 0. */
extern "C" __global__ void find_not_finite(const float *x, int64_t n,
                                           int *is_not)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        if (!(fabsf(x[i]) < INFINITY_F))
            *is_not = 1;
    }
}

extern "C" __global__ void find_not_finite_f16(const half *x, int64_t n,
                                               int *is_not)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        if (!(fabsf(load(x[i])) < INFINITY_F))
            *is_not = 1;
    }
}

extern "C" __global__ void find_not_finite_bf16(const bfloat *x, int64_t n,
                                                int *is_not)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        if (!(fabsf(load(x[i])) < INFINITY_F))
            *is_not = 1;
    }
}
