/* ops/product/quantized.c - products of 8-bit numbers, see quantize.h.
 *
 * The zeros are subtracted first; the sums are int64 and cannot overflow. */
#include "ops/product/quantize.h"

#include "base/variants.h"
#include "ops/convolution/conv_internal.h"
#include "ops/int_list_internal.h"
#include "ops/math/unary_math.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/product/matrix_internal.h"
#include "ops/shape_rules.h"
#include "tensor/convert.h"

#include <math.h>

/* Stores value, rounded to nearest (ties to even), plus zero, limited to the
 * range of the type. */
static void quantized_store(enum dtype dtype, double value, int64_t zero,
                            void *to)
{
    double low = dtype == DTYPE_I8 ? -128 : 0;
    double rounded = rint(value) + (double)zero;
    int64_t held;

    rounded = rounded < low         ? low
              : rounded > low + 255 ? low + 255
              : rounded == rounded  ? rounded
                                    : (double)zero;
    held = (int64_t)rounded;
    convert_elements(DTYPE_I64, &held, dtype, to, 1);
}

/* x as int64, minus its zero, or minus one zero per index of an axis. */
static enum assay_status
quantized_subtract_zero(const struct op_context *context,
                        const struct tensor *x, const struct tensor *zero,
                        int axis, struct tensor *out, struct error *err)
{
    size_t n = tensor_elements(x), zeros = zero ? tensor_elements(zero) : 1;
    size_t run = 1;
    enum assay_status st =
        tensor_convert(context->pool, x, DTYPE_I64, out, err);

    if (st || !zero)
        return st;
    if (zeros > 1) {
        if (axis < 0 || axis >= x->shape.rank ||
            x->shape.dims[axis] != (int64_t)zeros)
            return error_set(err, ASSAY_BAD_INPUT, "%zu zeros do not fit",
                             zeros);
        run = (size_t)shape_span(&x->shape, axis + 1, x->shape.rank);
    }
    for (size_t i = 0; zeros && i < n; i++)
        tensor_i64(out)[i] -= int_at(zero, i / run % zeros);
    return ASSAY_OK;
}

/* ---- results ------------------------------------------------------------- */

/* How sums become the result: as int32 (no scales), or scaled. */
struct rescale {
    const struct tensor *a_scale, *b_scale, *y_scale, *y_zero; /* or NULL */
    const struct tensor *bias;
    const struct quantized_finish *finish; /* or NULL */
    size_t run;       /* neighbours that share an element of b_scale and bias */
    int64_t channels; /* that many biases */
};

VARIANTS(void, quantized_relu, (float *y, size_t n, float high), (y, n, high))
{
    for (size_t i = 0; i < n; i++) {
        float value = y[i] > 0 ? y[i] : 0;

        y[i] = value < high ? value : high;
    }
}

void quantized_activate(const struct op_context *context,
                        const struct quantized_finish *finish, float *y,
                        size_t n)
{
    struct unary_attrs attrs = {.alpha = (double)finish->slope};
    struct node node = {.attrs = &attrs};
    float high = finish->relu_limit > 0 ? finish->relu_limit : INFINITY;

    if (finish->has_relu)
        quantized_relu(y, n, high);
    if (finish->activation) {
        node.op = conv2d_activation_op(finish->activation);
        unary_run_f32(context, &node, y, y, n);
    }
}

static enum assay_status rescale_check(const struct rescale *rescale,
                                       struct error *err)
{
    const struct tensor *const scales[] = {rescale->a_scale, rescale->b_scale,
                                           rescale->y_scale};

    if (rescale->bias &&
        (int64_t)tensor_elements(rescale->bias) != rescale->channels)
        return error_set(err, ASSAY_BAD_INPUT, "%zu biases for %lld channels",
                         tensor_elements(rescale->bias),
                         (long long)rescale->channels);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        if (scales[i] &&
            (!dtype_is_float(scales[i]->dtype) || !tensor_elements(scales[i])))
            return error_set(err, ASSAY_BAD_INPUT,
                             "scales must be floating point numbers");
    }
    return ASSAY_OK;
}

/* A sum with its bias, in units of 1 / factor. */
static double rescale_sum(const struct rescale *rescale, int64_t sum, size_t at,
                          double factor, double unit)
{
    size_t scales = tensor_elements(rescale->b_scale), biases = 0;
    bool is_real = false;

    if (rescale->bias) {
        biases = tensor_elements(rescale->bias);
        is_real = dtype_is_float(rescale->bias->dtype);
    }
    if (rescale->bias && !is_real)
        sum += int_at(rescale->bias, at % biases);
    return (double)sum * factor * number_at(rescale->b_scale, at % scales) +
           (is_real ? number_at(rescale->bias, at % biases) / unit : 0);
}

/* By way of float32 numbers, which may be the result. */
static enum assay_status quantized_write_real(const struct op_context *context,
                                              const struct rescale *rescale,
                                              const struct tensor *sums,
                                              const struct tensor *y,
                                              struct error *err)
{
    size_t n = tensor_elements(y), bytes = dtype_bytes(y->dtype);
    double factor = number_at(rescale->a_scale, 0);
    struct tensor real = {0};
    float *numbers = y->dtype == DTYPE_F32 ? tensor_f32(y) : NULL;

    if (!numbers) {
        enum assay_status st =
            tensor_new(context->pool, DTYPE_F32, &y->shape, &real, err);

        if (st)
            return st;
        numbers = tensor_f32(&real);
    }
    for (size_t i = 0; i < n; i++)
        numbers[i] = (float)rescale_sum(rescale, tensor_i64(sums)[i],
                                        i / rescale->run, factor, 1);
    if (rescale->finish)
        quantized_activate(context, rescale->finish, numbers, n);
    for (size_t i = 0; real.buffer && i < n; i++)
        quantized_store(y->dtype,
                        (double)numbers[i] / number_at(rescale->y_scale, 0),
                        rescale->y_zero ? int_at(rescale->y_zero, 0) : 0,
                        (char *)tensor_data(y) + i * bytes);
    tensor_release(&real);
    return ASSAY_OK;
}

static enum assay_status quantized_write(const struct op_context *context,
                                         const struct rescale *rescale,
                                         const struct tensor *sums,
                                         const struct tensor *y,
                                         struct error *err)
{
    size_t n = tensor_elements(y), bytes = dtype_bytes(y->dtype);
    const struct quantized_finish *finish = rescale->finish;
    const int64_t *from = tensor_i64(sums);
    char *to = tensor_data(y);
    double factor, unit;
    int64_t zero;
    enum assay_status st;

    if (!rescale->a_scale) {
        convert_elements(DTYPE_I64, from, y->dtype, to, n);
        return ASSAY_OK;
    }
    st = rescale_check(rescale, err);
    if (st)
        return st;
    if (!rescale->y_scale ||
        (finish && (finish->has_relu || finish->activation)))
        return quantized_write_real(context, rescale, sums, y, err);
    unit = number_at(rescale->y_scale, 0);
    factor = number_at(rescale->a_scale, 0) / unit;
    zero = rescale->y_zero ? int_at(rescale->y_zero, 0) : 0;
    for (size_t i = 0; i < n; i++)
        quantized_store(
            y->dtype,
            rescale_sum(rescale, from[i], i / rescale->run, factor, unit), zero,
            to + i * bytes);
    return ASSAY_OK;
}

/* ---- products of matrices ---------------------------------------------- */

/* The indices of the inputs. */
struct factors {
    size_t a, a_zero, b, b_zero;
};

static const struct factors plain_factors = {0, 2, 1, 3};
static const struct factors scaled_factors = {0, 2, 3, 5};

static const struct factors *quantized_factors_of(const struct node *node)
{
    bool is_plain =
        node->op == &op_matmul_integer || node->op == &op_conv_integer;

    return is_plain ? &plain_factors : &scaled_factors;
}

/* int32, or the type of the result's zero. */
static enum dtype quantized_result_dtype(const struct node *node,
                                         const struct tensor *const *inputs)
{
    if (quantized_factors_of(node) == &plain_factors)
        return DTYPE_I32;
    return inputs[QLINEAR_Y_ZERO] ? inputs[QLINEAR_Y_ZERO]->dtype : DTYPE_F32;
}

static enum assay_status
quantized_matmul_infer(const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    const struct factors *at = quantized_factors_of(node);
    struct matmul_plan plan;
    enum assay_status st =
        matmul_plan(&inputs[at->a]->shape, &inputs[at->b]->shape, &plan, err);

    if (!st)
        rule_set(&outputs[0], quantized_result_dtype(node, inputs), &plan.y);
    return st;
}

static enum assay_status
quantized_matmul_forward(const struct op_context *context,
                         const struct node *node,
                         const struct tensor *const *inputs,
                         struct tensor *outputs, struct error *err)
{
    const struct factors *at = quantized_factors_of(node);
    struct rescale rescale = {.run = 1};
    struct tensor a = {0}, b = {0}, sums = {0};
    struct matmul_plan plan;
    enum assay_status st =
        matmul_plan(&inputs[at->a]->shape, &inputs[at->b]->shape, &plan, err);

    if (!st)
        st = quantized_subtract_zero(context, inputs[at->a],
                                     op_input(node, inputs, at->a_zero),
                                     inputs[at->a]->shape.rank - 2, &a, err);
    if (!st)
        st = quantized_subtract_zero(context, inputs[at->b],
                                     op_input(node, inputs, at->b_zero),
                                     inputs[at->b]->shape.rank - 1, &b, err);
    if (!st)
        st = tensor_new(context->pool, DTYPE_I64, &plan.y, &sums, err);
    if (at == &scaled_factors)
        rescale = (struct rescale){
            .a_scale = inputs[QLINEAR_X_SCALE],
            .b_scale = inputs[QLINEAR_W_SCALE],
            .y_scale = inputs[QLINEAR_Y_SCALE],
            .y_zero = inputs[QLINEAR_Y_ZERO],
            .bias = op_input(node, inputs, QLINEAR_BIAS),
            .run = 1,
            .channels = plan.y.rank ? plan.y.dims[plan.y.rank - 1] : 1};
    if (!st) {
        matmul_run(context, &plan, DTYPE_I64, tensor_data(&a), tensor_data(&b),
                   tensor_data(&sums));
        st = quantized_write(context, &rescale, &sums, &outputs[0], err);
    }
    tensor_release(&a);
    tensor_release(&b);
    tensor_release(&sums);
    return st;
}

static void quantized_matmul_cost(const struct node *node,
                                  const struct tensor *const *inputs,
                                  const struct tensor *outputs,
                                  struct cost *cost)
{
    const struct shape *a = &inputs[quantized_factors_of(node)->a]->shape;

    cost->macs += tensor_elements(&outputs[0]) * (uint64_t)a->dims[a->rank - 1];
}

/* ---- convolutions ------------------------------------------------------ */

static enum assay_status quantized_fit(const struct node *node,
                                       const struct shape *x,
                                       const struct shape *w,
                                       struct fitted_window *fitted,
                                       struct shape *y, struct error *err)
{
    const struct quantized_conv_attrs *attrs = node->attrs;
    struct window window = attrs->window;
    enum assay_status st = conv_check(x, w, attrs->groups, false, err);

    if (st)
        return st;
    for (int i = 0; i < window.rank && 2 + i < w->rank; i++)
        window.kernel[i] = w->dims[2 + i];
    st = window_fit(&window, x, fitted, err);
    *y = *x;
    y->dims[1] = w->dims[0];
    if (!st)
        window_shape(&window, fitted, y);
    return st;
}

static enum assay_status
quantized_conv_infer(const struct node *node,
                     const struct tensor *const *inputs, struct tensor *outputs,
                     struct error *err)
{
    const struct factors *at = quantized_factors_of(node);
    struct fitted_window fitted;
    struct shape y;
    enum assay_status st = quantized_fit(
        node, &inputs[at->a]->shape, &inputs[at->b]->shape, &fitted, &y, err);

    if (!st)
        rule_set(&outputs[0], quantized_result_dtype(node, inputs), &y);
    return st;
}

/* One channel of x under one channel of the kernel, at one position. */
static int64_t quantized_window_sum(const struct fitted_window *window,
                                    const int64_t *x, const int64_t *w,
                                    const int64_t at[WINDOW_MAX_RANK])
{
    struct window_place place = window_place(window, at);
    int64_t sum = 0;

    for (int64_t i = place.first[0]; i < place.end[0]; i++) {
        for (int64_t j = place.first[1]; j < place.end[1]; j++) {
            int64_t row = window_row(window, &place, i, j);
            int64_t of_kernel = (i * window->kernel[1] + j) * window->kernel[2];

            for (int64_t k = place.first[2]; k < place.end[2]; k++)
                sum += x[row + k * window->dilation[2]] * w[of_kernel + k];
        }
    }
    return sum;
}

/* One output channel of an image; x starts at the channels of its group. */
static void quantized_convolve_channel(const struct fitted_window *window,
                                       int64_t channels, const int64_t *x,
                                       const int64_t *w, int64_t *y)
{
    int64_t at[WINDOW_MAX_RANK];

    for (at[0] = 0; at[0] < window->out[0]; at[0]++) {
        for (at[1] = 0; at[1] < window->out[1]; at[1]++) {
            for (at[2] = 0; at[2] < window->out[2]; at[2]++, y++) {
                *y = 0;
                for (int64_t c = 0; c < channels; c++)
                    *y += quantized_window_sum(
                        window, x + c * window_volume(window->in),
                        w + c * window_volume(window->kernel), at);
            }
        }
    }
}

static enum assay_status
quantized_convolve(const struct op_context *context, const struct node *node,
                   const struct tensor *x, const struct tensor *w,
                   struct tensor *sums, struct error *err)
{
    const struct quantized_conv_attrs *attrs = node->attrs;
    int64_t outputs = w->shape.dims[0], channels = w->shape.dims[1];
    struct fitted_window window;
    struct shape y;
    enum assay_status st =
        quantized_fit(node, &x->shape, &w->shape, &window, &y, err);

    if (!st)
        st = tensor_new(context->pool, DTYPE_I64, &y, sums, err);
    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < y.dims[0] * outputs; i++) {
        int64_t o = i % outputs, group = o / (outputs / attrs->groups);

        quantized_convolve_channel(
            &window, channels,
            tensor_i64(x) +
                (i / outputs * x->shape.dims[1] + group * channels) *
                    window_volume(window.in),
            tensor_i64(w) + o * channels * window_volume(window.kernel),
            tensor_i64(sums) + i * window_volume(window.out));
    }
    return ASSAY_OK;
}

static enum assay_status
quantized_conv_forward(const struct op_context *context,
                       const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    const struct factors *at = quantized_factors_of(node);
    const struct shape *y = &outputs[0].shape;
    struct rescale rescale = {.run = 1};
    struct tensor x = {0}, w = {0}, sums = {0};
    enum assay_status st = quantized_subtract_zero(
        context, inputs[at->a], op_input(node, inputs, at->a_zero), 1, &x, err);

    if (!st)
        st = quantized_subtract_zero(context, inputs[at->b],
                                     op_input(node, inputs, at->b_zero), 0, &w,
                                     err);
    if (!st)
        st = quantized_convolve(context, node, &x, &w, &sums, err);
    if (at == &scaled_factors)
        rescale = (struct rescale){
            .a_scale = inputs[QLINEAR_X_SCALE],
            .b_scale = inputs[QLINEAR_W_SCALE],
            .y_scale = inputs[QLINEAR_Y_SCALE],
            .y_zero = inputs[QLINEAR_Y_ZERO],
            .bias = op_input(node, inputs, QLINEAR_BIAS),
            .finish =
                &((const struct quantized_conv_attrs *)node->attrs)->finish,
            .run = (size_t)shape_span(y, 2, y->rank),
            .channels = y->dims[1]};
    if (!st)
        st = quantized_write(context, &rescale, &sums, &outputs[0], err);
    tensor_release(&x);
    tensor_release(&w);
    tensor_release(&sums);
    return st;
}

static void quantized_conv_cost(const struct node *node,
                                const struct tensor *const *inputs,
                                const struct tensor *outputs, struct cost *cost)
{
    const struct tensor *w = inputs[quantized_factors_of(node)->b];

    if (w->shape.dims[0] > 0)
        cost->macs += tensor_elements(&outputs[0]) *
                      (tensor_elements(w) / (uint64_t)w->shape.dims[0]);
}

#define CLASS(symbol, text, kind, bytes, least, most)                          \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = bytes,                                                  \
        OP_TAKES(least, most),                                                 \
        OP_MAKES(1, 1),                                                        \
        .infer = quantized_##kind##_infer,                                     \
        .forward = quantized_##kind##_forward,                                 \
        .cost = quantized_##kind##_cost,                                       \
    };
CLASS(matmul_integer, "MatMulInteger", matmul, 0, 2, 4)
CLASS(qlinear_matmul, "QLinearMatMul", matmul, 0, 8, QLINEAR_INPUTS)
CLASS(conv_integer, "ConvInteger", conv, sizeof(struct quantized_conv_attrs), 2,
      4)
CLASS(qlinear_conv, "QLinearConv", conv, sizeof(struct quantized_conv_attrs), 8,
      QLINEAR_INPUTS)
