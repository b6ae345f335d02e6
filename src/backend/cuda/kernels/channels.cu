/* backend/cuda/kernels/channels.cu - sums over all places of a map, one for
 * each channel, and the norms that are made of them. Maps are [rows,c], their
 * channels last. Of a padded map only the first channels, `real` of them, have
 * parameters and statistics; the others become 0.
 *
 * A block of 256 threads has 32 lanes of V channels and 8 lines; blocks go
 * along the channels in x, along the rows in y. What each block found is added
 * up in the order of the blocks.
 *
 * SPDX-License-Identifier: MIT */

enum { LANES = 32, LINES = 8, FINISH_LINES = 32 };

struct rows_of {
    int64_t rows;
    int c, real;
};

/* The rows of a thread: all blocks go along the map side by side. Sums go up,
 * and what is made of them down again: it begins with what the cache still has
 * of the sums, and leaves there what the next op begins with. */
struct share {
    int first; /* channel */
    bool is_inside;
    int64_t row, step;
    int64_t left; /* rows */
};

template <int V> __device__ inline share share_of(const rows_of &m, bool is_down)
{
    share s;
    int64_t first = (int64_t)blockIdx.y * LINES + threadIdx.x / LANES;

    s.first = (int)(blockIdx.x * LANES + threadIdx.x % LANES) * V;
    s.is_inside = s.first < m.c;
    s.step = (int64_t)gridDim.y * LINES;
    s.left = s.is_inside && first < m.rows
                 ? (m.rows - first + s.step - 1) / s.step
                 : 0;
    s.row = is_down ? m.rows - 1 - first : first;
    s.step = is_down ? -s.step : s.step;
    return s;
}

template <int V, typename T>
__device__ inline pack<float, V> at_place(const T *x, int64_t i)
{
    pack<T, V> stored = *(const pack<T, V> *)(x + i);
    pack<float, V> p;

    for (int v = 0; v < V; v++)
        p.items[v] = load(stored.items[v]);
    return p;
}

template <int V, typename T>
__device__ inline void put_place(T *y, int64_t i, const pack<float, V> &p)
{
    pack<T, V> stored;

    for (int v = 0; v < V; v++)
        stored.items[v] = store<T>(p.items[v]);
    *(pack<T, V> *)(y + i) = stored;
}

/* sums[block][2][c] of what the threads of a block have. */
template <int V>
__device__ void put_sums(const rows_of &m, const share &s, const float (&a)[V],
                         const float (&b)[V], float *sums)
{
    __shared__ float parts[2][LINES][LANES * V];
    int lane = threadIdx.x % LANES, line = threadIdx.x / LANES;

    for (int v = 0; v < V; v++) {
        parts[0][line][lane * V + v] = a[v];
        parts[1][line][lane * V + v] = b[v];
    }
    __syncthreads();
    if (line > 1 || !s.is_inside)
        return;
    for (int v = 0; v < V; v++) {
        float sum = 0;

        for (int k = 0; k < LINES; k++)
            sum += parts[line][k][lane * V + v];
        sums[((int64_t)blockIdx.y * 2 + line) * m.c + s.first + v] = sum;
    }
}

/* Of all blocks, for a channel: the first of 32 lines of threads has them. */
__device__ void take_sums(const float *sums, int n_blocks, int c, int channel,
                          double *a, double *b)
{
    __shared__ double parts[2][FINISH_LINES][LANES];
    int lane = threadIdx.x % LANES, line = threadIdx.x / LANES;

    *a = *b = 0;
    for (int i = line; i < n_blocks && channel < c; i += FINISH_LINES) {
        *a += sums[((int64_t)i * 2) * c + channel];
        *b += sums[((int64_t)i * 2 + 1) * c + channel];
    }
    parts[0][line][lane] = *a;
    parts[1][line][lane] = *b;
    __syncthreads();
    for (int k = FINISH_LINES / 2; k; k /= 2) {
        if (line < k) {
            parts[0][line][lane] += parts[0][line + k][lane];
            parts[1][line][lane] += parts[1][line + k][lane];
        }
        __syncthreads();
    }
    *a = parts[0][0][lane];
    *b = parts[1][0][lane];
}

/* moments_4_f32() for channels in fours, stored as float, and so on. */
#define FOR_WIDTHS(name, parameters, arguments)                                \
    FOR_WIDTH(name, 1, parameters, arguments)                                  \
    FOR_WIDTH(name, 2, parameters, arguments)                                  \
    FOR_WIDTH(name, 4, parameters, arguments)                                  \
    FOR_WIDTH(name, 8, parameters, arguments)
#define FOR_WIDTH(name, width, parameters, arguments)                          \
    FOR_MAP(name, width, f32, float, parameters, arguments)                    \
    FOR_MAP(name, width, f16, half, parameters, arguments)                     \
    FOR_MAP(name, width, bf16, bfloat, parameters, arguments)
#define FOR_MAP(name, width, stored, type, parameters, arguments)              \
    namespace of_##name##_##width##_##stored                                   \
    {                                                                          \
    typedef type T;                                                            \
    extern "C" __global__ void name##_##width##_##stored parameters            \
    {                                                                          \
        name##_kernel<width> arguments;                                        \
    }                                                                          \
    }

/* ---- plain sums ------------------------------------------------------------ */

template <int V, typename T>
__device__ void plain_sums_kernel(const rows_of &m, const T *x, float *sums)
{
    share s = share_of<V>(m, false);
    float a[V] = {0}, b[V] = {0};

    for (; s.left > 0; s.left--, s.row += s.step) {
        pack<float, V> p = at_place<V>(x, s.row * m.c + s.first);

        for (int v = 0; v < V; v++)
            a[v] += p.items[v];
    }
    put_sums<V>(m, s, a, b, sums);
}

FOR_WIDTHS(plain_sums, (rows_of m, const T *x, float *sums), (m, x, sums))

extern "C" __global__ void plain_finish(const float *sums, int n_blocks, int c,
                                        int real, float *y)
{
    int channel = blockIdx.x * LANES + threadIdx.x % LANES;
    double a, b;

    take_sums(sums, n_blocks, c, channel, &a, &b);
    if (threadIdx.x < LANES && channel < real)
        y[channel] = (float)a;
}

/* ---- norms with statistics of the batch ------------------------------------ */

/* Sums of x and of its squares, both less the first row's: a mean far from 0
 * would spoil the variance otherwise. */
template <int V, typename T>
__device__ void moments_kernel(const rows_of &m, const T *x, float *sums)
{
    share s = share_of<V>(m, false);
    float a[V] = {0}, b[V] = {0};
    pack<float, V> zero = s.is_inside ? at_place<V>(x, s.first)
                                      : pack<float, V>();

    for (; s.left > 0; s.left--, s.row += s.step) {
        pack<float, V> p = at_place<V>(x, s.row * m.c + s.first);

        for (int v = 0; v < V; v++) {
            float off = p.items[v] - zero.items[v];

            a[v] += off;
            b[v] += off * off;
        }
    }
    put_sums<V>(m, s, a, b, sums);
}

FOR_WIDTHS(moments, (rows_of m, const T *x, float *sums), (m, x, sums))

/* saved [3,real]: means, 1 / deviations, variances. The running ones may be 0. */
template <typename T>
__device__ void moments_finish_kernel(const float *sums, int n_blocks, int c,
                                      int real, double n, const T *x,
                                      float eps, float *saved)
{
    int channel = blockIdx.x * LANES + threadIdx.x % LANES;
    double a, b, mean, variance;

    take_sums(sums, n_blocks, c, channel, &a, &b);
    if (threadIdx.x >= LANES || channel >= real)
        return;
    mean = a / n;
    variance = b / n - mean * mean;
    variance = variance < 0 ? 0 : variance;
    saved[channel] = (float)(mean + load(x[channel]));
    saved[real + channel] = (float)(1 / sqrt(variance + (double)eps));
    saved[2 * real + channel] = (float)variance;
}

FOR_STORED(moments_finish,
           (const float *sums, int n_blocks, int c, int real, double n,
            const T *x, float eps, float *saved),
           (sums, n_blocks, c, real, n, x, eps, saved))

/* The new running mean and variance; where they are not asked for, 0. */
extern "C" __global__ void run_on(const float *saved, int c, float keep,
                                  float unbiased, const float *old_mean,
                                  const float *old_variance, float *mean,
                                  float *variance)
{
    for (int64_t i = FIRST; i < c; i += STEP) {
        if (mean)
            mean[i] = old_mean[i] * keep + saved[i] * (1 - keep);
        if (variance)
            variance[i] = old_variance[i] * keep +
                          saved[2 * c + i] * unbiased * (1 - keep);
    }
}

/* What a norm with given statistics would have saved. */
extern "C" __global__ void save_given(const float *mean, const float *variance,
                                      float eps, int c, float *saved)
{
    for (int64_t i = FIRST; i < c; i += STEP) {
        saved[i] = mean ? mean[i] : 0;
        saved[c + i] = (float)(1 / sqrt((double)variance[i] + (double)eps));
        saved[2 * c + i] = variance[i];
    }
}

/* y = (x - mean) * scale + shift */
template <int V> struct affine {
    float mean[V], scale[V], shift[V];

    __device__ affine(const share &s, int real, const float *saved,
                      const float *weight, const float *bias)
    {
        for (int v = 0; v < V; v++) {
            int at = s.first + v;
            bool is_real = at < real;

            mean[v] = is_real ? saved[at] : 0;
            scale[v] = is_real ? saved[real + at] * (weight ? weight[at] : 1.0f)
                               : 0;
            shift[v] = is_real && bias ? bias[at] : 0;
        }
    }

    __device__ float at(float x, int v) const
    {
        return (x - mean[v]) * scale[v] + shift[v];
    }
};

template <int V, typename T>
__device__ void norm_kernel(const rows_of &m, const T *x, const T *residual,
                            T *y, const float *saved,
                            const float *weight, const float *bias,
                            int has_relu, float limit)
{
    share s = share_of<V>(m, true);
    affine<V> by(s, m.real, saved, weight, bias);

    for (; s.left > 0; s.left--, s.row += s.step) {
        int64_t at = s.row * m.c + s.first;
        pack<float, V> p = at_place<V>(x, at), q;

        if (residual)
            q = at_place<V>(residual, at);
        for (int v = 0; v < V; v++) {
            float z = by.at(p.items[v], v);

            if (residual)
                z += q.items[v];
            if (has_relu)
                z = z < 0 ? 0 : z > limit ? limit : z; /* NaNs stay */
            p.items[v] = z;
        }
        put_place<V>(y, at, p);
    }
}

FOR_WIDTHS(norm,
           (rows_of m, const T *x, const T *residual, T *y,
            const float *saved, const float *weight, const float *bias,
            int has_relu, float limit),
           (m, x, residual, y, saved, weight, bias, has_relu, limit))

/* ---- their gradients ------------------------------------------------------- */

/* What passes the ReLU: all, what y says, or what x says. */
enum { GATE_NONE, GATE_BY_Y, GATE_BY_X };

struct gate {
    int by;
    float limit;
};

__device__ inline float passed(const gate &g, float y, float dy)
{
    return g.by == GATE_NONE || (y > 0 && y < g.limit) ? dy : 0.0f;
}

/* Sums of dy and of dy times x less its mean. `gated`: 0, or where what passes
 * the ReLU goes, which may be dy. */
template <int V, typename T>
__device__ void slopes_kernel(const rows_of &m, const gate &g, const T *x,
                              const T *y, const T *dy,
                              const float *saved, const float *weight,
                              const float *bias, float *sums, T *gated)
{
    share s = share_of<V>(m, false);
    affine<V> by(s, m.real, saved, weight, bias);
    float a[V] = {0}, b[V] = {0};

    for (; s.left > 0; s.left--, s.row += s.step) {
        int64_t at = s.row * m.c + s.first;
        pack<float, V> d = at_place<V>(dy, at), p, q;

        if (x)
            p = at_place<V>(x, at);
        if (g.by == GATE_BY_Y)
            q = at_place<V>(y, at);
        for (int v = 0; v < V; v++) {
            float of = g.by == GATE_BY_Y   ? q.items[v]
                       : g.by == GATE_BY_X ? by.at(p.items[v], v)
                                           : 0;
            float slope = passed(g, of, d.items[v]);

            a[v] += slope;
            if (x)
                b[v] += slope * (p.items[v] - by.mean[v]);
            d.items[v] = slope;
        }
        if (gated)
            put_place<V>(gated, at, d);
    }
    put_sums<V>(m, s, a, b, sums);
}

FOR_WIDTHS(slopes,
           (rows_of m, gate g, const T *x, const T *y, const T *dy,
            const float *saved, const float *weight, const float *bias,
            float *sums, T *gated),
           (m, g, x, y, dy, saved, weight, bias, sums, gated))

/* Gradients of weight and bias, where asked for, and in means [2,real] what is
 * taken off each slope: the mean, and what goes along with x. */
extern "C" __global__ void slopes_finish(const float *sums, int n_blocks, int c,
                                         int real, double n,
                                         const float *saved, float *of_weight,
                                         float *of_bias, float *means)
{
    int channel = blockIdx.x * LANES + threadIdx.x % LANES;
    double a, b, factor;

    take_sums(sums, n_blocks, c, channel, &a, &b);
    if (threadIdx.x >= LANES || channel >= real)
        return;
    factor = saved[real + channel];
    b *= factor;
    if (of_weight)
        of_weight[channel] = (float)b;
    if (of_bias)
        of_bias[channel] = (float)a;
    means[channel] = (float)(a / n);
    means[real + channel] = (float)(b / n) * (float)factor;
}

/* means 0: the statistics were given. dx may be dy. */
template <int V, typename T>
__device__ void norm_back_kernel(const rows_of &m, const gate &g,
                                 const T *x, const T *y, const T *dy,
                                 const float *saved, const float *weight,
                                 const float *bias, const float *means, T *dx)
{
    share s = share_of<V>(m, true);
    affine<V> by(s, m.real, saved, weight, bias);
    float of_mean[V] = {0}, of_x[V] = {0};

    for (int v = 0; v < V && s.first + v < m.real && means; v++) {
        of_mean[v] = means[s.first + v];
        of_x[v] = means[m.real + s.first + v];
    }
    for (; s.left > 0; s.left--, s.row += s.step) {
        int64_t at = s.row * m.c + s.first;
        pack<float, V> d = at_place<V>(dy, at), p, q;

        if (x)
            p = at_place<V>(x, at);
        if (g.by == GATE_BY_Y)
            q = at_place<V>(y, at);
        for (int v = 0; v < V; v++) {
            float of = g.by == GATE_BY_Y   ? q.items[v]
                       : g.by == GATE_BY_X ? by.at(p.items[v], v)
                                           : 0;
            float slope = passed(g, of, d.items[v]), off = slope;

            if (means)
                off -= of_mean[v] + (p.items[v] - by.mean[v]) * of_x[v];
            d.items[v] = off * by.scale[v];
        }
        put_place<V>(dx, at, d);
    }
}

FOR_WIDTHS(norm_back,
           (rows_of m, gate g, const T *x, const T *y, const T *dy,
            const float *saved, const float *weight, const float *bias,
            const float *means, T *dx),
           (m, g, x, y, dy, saved, weight, bias, means, dx))
