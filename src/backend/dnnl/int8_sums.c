/* backend/dnnl/int8_sums.c - see int8_internal.h: what becomes of sums where
 * oneDNN makes no more than these (WAY_SUMS, WAY_FLOAT). */
#include "backend/dnnl/int8_internal.h"

#include "base/variants.h"

#include <math.h>

/* n channels of a pixel. */
VARIANTS(void, finish_sums,
         (const int32_t *sums, const float *moves, float all,
          const float *scale, const float *bias, float *y, int64_t n),
         (sums, moves, all, scale, bias, y, n))
{
    for (int64_t c = 0; c < n; c++)
        y[c] = ((float)sums[c] + moves[c] * all) * scale[c] + bias[c];
}

VARIANTS(void, finish_floats,
         (const float *sums, const float *scale, const float *bias, float *y,
          int64_t n),
         (sums, scale, bias, y, n))
{
    for (int64_t c = 0; c < n; c++)
        y[c] = sums[c] * scale[c] + bias[c];
}

/* Pixels [first, end) of the sums, as float32 numbers. */
static void finish_pixels(const struct integer_job *job,
                          const struct tensor *sums, int64_t first, int64_t end,
                          float *to)
{
    const struct integer_numbers *numbers = job->numbers;
    int64_t n = numbers->channels, step = n + numbers->has_ones;
    struct op_context alone = *job->job.context;

    for (int64_t i = first; i < end; i++) {
        float *y = to + (i - first) * n;

        if (numbers->way == WAY_FLOAT) {
            finish_floats(tensor_f32(sums) + i * step, numbers->scales,
                          numbers->bias, y, n);
        } else {
            const int32_t *from = (const int32_t *)tensor_data(sums) + i * step;

            finish_sums(from, numbers->moves,
                        numbers->has_ones ? (float)from[n] : 0, numbers->scales,
                        numbers->bias, y, n);
        }
    }
    alone.n_threads = 1;
    quantized_activate(&alone, &job->finish, to, (size_t)((end - first) * n));
}

/* How sums become bytes where nothing but a ReLU is between. */
struct integer_steps {
    const float *scale; /* of the sums, in steps */
    const float *bias;  /* in the unit of the sums, where it is an integer */
    float low, high;    /* the range, minus the zero */
    int32_t zero;
};

/* n channels of a pixel, rounded and within the range. */
#define FINISH_STEPS(name, type)                                               \
    VARIANTS(void, name,                                                       \
             (const type *sums, const float *moves, float all,                 \
              const struct integer_steps *to, uint8_t *y, int64_t n),          \
             (sums, moves, all, to, y, n))                                     \
    {                                                                          \
        const float *scale = to->scale, *bias = to->bias;                      \
        float low = to->low, high = to->high;                                  \
        int32_t zero = to->zero;                                               \
                                                                               \
        for (int64_t c = 0; c < n; c++) {                                      \
            float value =                                                      \
                ((float)sums[c] + moves[c] * all + bias[c]) * scale[c];        \
                                                                               \
            value = value > low ? value : low; /* low for a NaN */             \
            value = value < high ? value : high;                               \
            y[c] = (uint8_t)((int32_t)rintf(value) + zero);                    \
        }                                                                      \
    }
FINISH_STEPS(finish_sums_steps, int32_t)
FINISH_STEPS(finish_floats_steps, float)

/* Sums and biases are added as integers, so that one rounding is left. */
static void finish_take_steps(struct integer_job *job, double step)
{
    const double least = 1e-30; /* a channel whose weights are all 0 */
    struct integer_numbers *numbers = job->numbers;

    for (int64_t c = 0; c < numbers->channels; c++) {
        double scale = fmax(integer_scale(job, c), least);

        numbers->scales[c] = (float)(scale / step);
        numbers->bias[c] = (float)(integer_bias_at(job, c) / scale);
    }
}

static void finish_to_bytes(struct integer_job *job, const struct tensor *sums,
                            const struct tensor *y)
{
    const struct integer_numbers *numbers = job->numbers;
    const struct quantized_finish *finish = &job->finish;
    double step = (double)*tensor_f32(job->inputs[QLINEAR_Y_SCALE]);
    int zero = integer_byte(job->inputs[QLINEAR_Y_ZERO], 0);
    int64_t n = numbers->channels, each = n + numbers->has_ones;
    int64_t pixels = (int64_t)tensor_elements(y) / n;
    struct integer_steps to = {
        .scale = numbers->scales, .bias = numbers->bias, .zero = zero};

    finish_take_steps(job, step);
    to.low = (float)((y->dtype == DTYPE_I8 ? -128 : 0) - zero);
    to.high = to.low + 255;
    if (finish->has_relu)
        to.low = fmaxf(to.low, 0);
    if (finish->has_relu && finish->relu_limit > 0)
        to.high = fminf(to.high, (float)((double)finish->relu_limit / step));
#pragma omp parallel for
    for (int64_t i = 0; i < pixels; i++) {
        uint8_t *bytes = (uint8_t *)tensor_data(y) + i * n;

        if (numbers->way == WAY_FLOAT) {
            finish_floats_steps(tensor_f32(sums) + i * each, numbers->moves, 0,
                                &to, bytes, n);
        } else {
            const int32_t *from = (const int32_t *)tensor_data(sums) + i * each;

            finish_sums_steps(from, numbers->moves,
                              numbers->has_ones ? (float)from[n] : 0, &to,
                              bytes, n);
        }
    }
}

void integer_finish(struct integer_job *job, const struct tensor *sums,
                    const struct tensor *y)
{
    struct integer_numbers *numbers = job->numbers;
    const struct tensor *y_scale = job->inputs[QLINEAR_Y_SCALE];
    int64_t n = numbers->channels,
            each = n < INTEGER_PIECE ? INTEGER_PIECE / n : 1;
    int64_t pixels = (int64_t)tensor_elements(y) / n;

    if (y_scale && !job->finish.activation) {
        finish_to_bytes(job, sums, y);
        return;
    }
    for (int64_t c = 0; c < n; c++) {
        numbers->scales[c] = (float)integer_scale(job, c);
        numbers->bias[c] = (float)integer_bias_at(job, c);
    }
#pragma omp parallel for
    for (int64_t first = 0; first < pixels; first += each) {
        int64_t end = first + each < pixels ? first + each : pixels;
        float rows[INTEGER_PIECE];

        if (!y_scale) {
            finish_pixels(job, sums, first, end, tensor_f32(y) + first * n);
        } else {
            finish_pixels(job, sums, first, end, rows);
            quantize_row(y->dtype, rows, (uint8_t *)tensor_data(y) + first * n,
                         (size_t)((end - first) * n), *tensor_f32(y_scale),
                         integer_byte(job->inputs[QLINEAR_Y_ZERO], 0));
        }
    }
}
