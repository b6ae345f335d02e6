/* backend/cuda/kernels/quantize.cu - numbers of 8 bits and products of them, as
 * ops/product/quantize.h describes them.
 *
 * SPDX-License-Identifier: MIT */

__device__ inline int small_int(const void *x, int64_t i, int type)
{
    return type == I8 ? ((const int8_t *)x)[i] : ((const uint8_t *)x)[i];
}

__device__ inline void store_small(void *y, int64_t i, int type, float value)
{
    float low = type == I8 ? -128 : 0, high = low + 255;

    value = value > low ? value : low; /* low for a NaN */
    value = value < high ? value : high;
    ((uint8_t *)y)[i] = (uint8_t)(int)value;
}

/* ---- QuantizeLinear, DequantizeLinear, Lookup -------------------------------- */

/* Element i has scale i / run % n_scales. */
extern "C" __global__ void quantize(const float *x, const float *scales,
                                    const void *zeros, void *y, int64_t n,
                                    int64_t run, int64_t n_scales, int type)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t at = i / run % n_scales;
        float zero = zeros ? (float)small_int(zeros, at, type) : 0;

        store_small(y, i, type,
                    add(rintf(__fdiv_rn(x[i], scales[at])), zero));
    }
}

/* ---- DynamicQuantizeLinear --------------------------------------------------- */

struct range {
    float low, high; /* 0 is always between them */
};

__device__ inline range range_join(range a, range b)
{
    return {b.low < a.low ? b.low : a.low, b.high > a.high ? b.high : a.high};
}

/* Of all threads of a block of 256, in thread 0. */
__device__ range range_of_block(range mine)
{
    __shared__ range all[256];

    all[threadIdx.x] = mine;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half)
            all[threadIdx.x] =
                range_join(all[threadIdx.x], all[threadIdx.x + half]);
        __syncthreads();
    }
    return all[0];
}

extern "C" __global__ void range_parts(const float *x, range *parts, int64_t n)
{
    range mine = {0, 0};

    for (int64_t i = FIRST; i < n; i += STEP)
        mine = range_join(mine, {x[i], x[i]});
    mine = range_of_block(mine);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = mine;
}

/* One block: the scale and the zero of a range. */
extern "C" __global__ void range_choose(const range *parts, int n_parts,
                                        float *scale, uint8_t *zero)
{
    range all = {0, 0};
    float step, at;

    for (int i = threadIdx.x; i < n_parts; i += blockDim.x)
        all = range_join(all, parts[i]);
    all = range_of_block(all);
    if (threadIdx.x)
        return;
    step = __fdiv_rn(add(all.high, -all.low), 255);
    at = step > 0 ? rintf(__fdiv_rn(-all.low, step)) : 0;
    *scale = step;
    *zero = (uint8_t)(at < 0 ? 0 : at > 255 ? 255 : at);
}

extern "C" __global__ void dequantize(const void *x, const float *scales,
                                      const void *zeros, float *y, int64_t n,
                                      int64_t run, int64_t n_scales, int type)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t at = i / run % n_scales;
        int zero = zeros ? small_int(zeros, at, type) : 0;

        y[i] = mul((float)(small_int(x, i, type) - zero), scales[at]);
    }
}

extern "C" __global__ void lookup(const uint8_t *x, const uint8_t *table,
                                  uint8_t *y, int64_t n, int type)
{
    uint8_t flip = type == I8 ? 0x80 : 0;

    for (int64_t i = FIRST; i < n; i += STEP)
        y[i] = table[x[i] ^ flip];
}

/* ---- QLinearAdd, QLinearMul -------------------------------------------------- */

struct scaled {
    const void *data;
    const float *scale;
    const void *zero;
    int type;
};

__device__ inline float scaled_at(const scaled &x, int64_t i)
{
    return mul((float)(small_int(x.data, i, x.type) -
                       small_int(x.zero, 0, x.type)),
               *x.scale);
}

extern "C" __global__ void qlinear_pair(scaled a, scaled b, scaled y, int64_t n,
                                        int is_product)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        float left = scaled_at(a, i), right = scaled_at(b, i);
        float value = is_product ? mul(left, right) : add(left, right);

        store_small((void *)y.data, i, y.type,
                    add(rintf(__fdiv_rn(value, *y.scale)),
                        (float)small_int(y.zero, 0, y.type)));
    }
}

/* ---- products ------------------------------------------------------------------ */

/* How a sum becomes the result: as it is (no scales), or scaled. */
struct quantized_result {
    const float *a_scale, *b_scale, *y_scale;
    const void *y_zero, *bias;
    int64_t n_scales; /* of b: 1, or one per channel */
    void *y;
    int type; /* of y */
    int bias_is_real, has_relu;
    float limit; /* of the ReLU; 0: none */
};

__device__ inline void store_held(const quantized_result &r, int64_t i,
                                  double value)
{
    double low = r.type == I8 ? -128 : 0;
    double zero = r.y_zero ? (double)small_int(r.y_zero, 0, r.type) : 0;
    double rounded = __dadd_rn(rint(value), zero);

    rounded = rounded < low         ? low
              : rounded > low + 255 ? low + 255
              : rounded == rounded  ? rounded
                                    : zero;
    ((uint8_t *)r.y)[i] = (uint8_t)(int)rounded;
}

__device__ inline double scaled_sum(const quantized_result &r, int64_t sum,
                                    int64_t channel, double factor, double unit)
{
    double real = 0;

    if (r.bias && r.bias_is_real)
        real = (double)((const float *)r.bias)[channel] / unit;
    else if (r.bias)
        sum += ((const int32_t *)r.bias)[channel];
    return __dadd_rn(__dmul_rn(__dmul_rn((double)sum, factor),
                               (double)r.b_scale[channel % r.n_scales]),
                     real);
}

__device__ inline void put_sum(const quantized_result &r, int64_t i,
                               int64_t channel, int sum)
{
    double unit;
    float value;

    if (!r.a_scale) {
        ((int32_t *)r.y)[i] = sum;
        return;
    }
    unit = r.y_scale ? (double)*r.y_scale : 1;
    if (r.y_scale && !r.has_relu) {
        store_held(r, i,
                   scaled_sum(r, sum, channel, (double)*r.a_scale / unit, unit));
        return;
    }
    value = (float)scaled_sum(r, sum, channel, (double)*r.a_scale, 1);
    if (r.has_relu) {
        float high = r.limit > 0 ? r.limit : INFINITY_F;

        value = value > 0 ? value : 0;
        value = value < high ? value : high;
    }
    if (r.y_scale)
        store_held(r, i, (double)value / unit);
    else
        ((float *)r.y)[i] = value;
}

/* Both factors; b has one zero, or one per channel. */
struct quantized_factors {
    const void *a, *a_zero, *b, *b_zero;
    int a_type, b_type;
    int64_t n_zeros;
};

__device__ inline int zero_of_b(const quantized_factors &f, int64_t channel)
{
    return f.b_zero ? small_int(f.b_zero, channel % f.n_zeros, f.b_type) : 0;
}

/* a [rows, k], b [k, columns]. */
extern "C" __global__ void quantized_matmul(quantized_factors f, int64_t rows,
                                            int64_t k, int64_t columns,
                                            quantized_result r)
{
    int a_zero = f.a_zero ? small_int(f.a_zero, 0, f.a_type) : 0;

    for (int64_t i = FIRST; i < rows * columns; i += STEP) {
        int64_t row = i / columns, column = i % columns;
        int b_zero = zero_of_b(f, column), sum = 0;

        for (int64_t at = 0; at < k; at++)
            sum += (small_int(f.a, row * k + at, f.a_type) - a_zero) *
                   (small_int(f.b, at * columns + column, f.b_type) - b_zero);
        put_sum(r, i, column, sum);
    }
}

struct quantized_window {
    int64_t kernel[3], stride[3], dilation[3], before[3], after[3];
    int64_t in[3], out[3];
};

/* x [n, groups * channels, ...], weight [outputs, channels, ...]. */
extern "C" __global__ void quantized_conv(quantized_factors f,
                                          quantized_window w, int64_t n,
                                          int64_t outputs, int64_t channels,
                                          int64_t groups, quantized_result r)
{
    int64_t volume = w.in[0] * w.in[1] * w.in[2];
    int64_t taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
    int64_t places = w.out[0] * w.out[1] * w.out[2];
    int a_zero = f.a_zero ? small_int(f.a_zero, 0, f.a_type) : 0;

    for (int64_t i = FIRST; i < n * outputs * places; i += STEP) {
        int64_t place = i % places, o = i / places % outputs;
        int64_t image = i / places / outputs, group = o / (outputs / groups);
        int64_t at[3] = {place / (w.out[1] * w.out[2]),
                         place / w.out[2] % w.out[1], place % w.out[2]};
        int64_t x = (image * groups + group) * channels * volume;
        int64_t weight = o * channels * taps;
        int b_zero = zero_of_b(f, o), sum = 0;

        for (int64_t t = 0; t < taps; t++) {
            const int64_t tap[3] = {t / (w.kernel[1] * w.kernel[2]),
                                    t / w.kernel[2] % w.kernel[1],
                                    t % w.kernel[2]};
            int64_t from = 0;
            bool is_inside = true;

            for (int d = 0; d < 3; d++) {
                int64_t p = at[d] * w.stride[d] - w.before[d] +
                            tap[d] * w.dilation[d];

                is_inside = is_inside && p >= 0 && p < w.in[d];
                from = from * w.in[d] + p;
            }
            for (int64_t c = 0; is_inside && c < channels; c++)
                sum += (small_int(f.a, x + c * volume + from, f.a_type) -
                        a_zero) *
                       (small_int(f.b, weight + c * taps + t, f.b_type) -
                        b_zero);
        }
        put_sum(r, i, o, sum);
    }
}
