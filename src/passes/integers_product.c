/* passes/integers_product.c - see integers_internal.h: convolutions and
 * products of matrices. */
#include "ops/convolution/conv2d.h"
#include "ops/math/cast.h"
#include "ops/math/unary_math.h"
#include "ops/ops.h"
#include "ops/product/linear.h"
#include "ops/product/quantize.h"
#include "passes/integers_internal.h"

#include <math.h>

/* Weights of 8 bits: ids of constants, zero GRAPH_NONE: 0. */
struct weights {
    uint32_t q, scale, zero;
    struct shape shape;
};

/* Whether a value is constant weights that were quantised with one scale or
 * one per index of that axis. */
static bool weights_find(const struct graph *graph, uint32_t value, int axis,
                         struct weights *out)
{
    const struct value *held;
    const struct tensor *q, *scale;
    int64_t along;

    if (value == GRAPH_NONE)
        return false;
    held = graph_value(graph, value);
    if (!held->is_dequantised)
        return false;
    *out = (struct weights){.q = held->from.quantised,
                            .scale = held->from.scale,
                            .zero = held->from.zero};
    q = integers_data(graph, out->q, DTYPE_I8);
    if (!q)
        q = integers_data(graph, out->q, DTYPE_U8);
    scale = integers_data(graph, out->scale, DTYPE_F32);
    if (!q || !scale)
        return false;
    out->shape = q->shape;
    along =
        held->from.axis < 0 ? held->from.axis + q->shape.rank : held->from.axis;
    return tensor_elements(scale) == 1 ||
           (along == axis &&
            (int64_t)tensor_elements(scale) == q->shape.dims[axis]);
}

/* A bias that is left out or constant. */
static bool bias_fits(const struct graph *graph, uint32_t bias)
{
    return bias == GRAPH_NONE || integers_data(graph, bias, DTYPE_F32);
}

/* The int32 numbers that a bias was computed from, if their steps are those of
 * the sums: adding them rounds nothing. Otherwise the bias. */
static uint32_t bias_of_sums(const struct graph *graph, uint32_t bias,
                             const struct step *x, const struct weights *w)
{
    const struct tensor *of_w = integers_data(graph, w->scale, DTYPE_F32);
    const struct tensor *q, *scales, *zeros;
    const struct value *held;

    if (bias == GRAPH_NONE || !graph_value(graph, bias)->is_dequantised)
        return bias;
    held = graph_value(graph, bias);
    q = integers_data(graph, held->from.quantised, DTYPE_I32);
    scales = integers_data(graph, held->from.scale, DTYPE_F32);
    zeros = integers_data(graph, held->from.zero, DTYPE_I32);
    if (!q || !scales || tensor_elements(scales) != tensor_elements(of_w) ||
        (held->from.zero != GRAPH_NONE && !zeros))
        return bias;
    for (size_t i = 0; zeros && i < tensor_elements(zeros); i++) {
        if (((const int32_t *)tensor_data(zeros))[i])
            return bias;
    }
    for (size_t i = 0; i < tensor_elements(scales); i++) {
        float product = x->scale * tensor_f32(of_w)[i];

        if (fabsf(tensor_f32(scales)[i] - product) > 1e-6F * product)
            return bias;
    }
    return held->from.quantised;
}

static void product_inputs(const struct step *x, const struct weights *weights,
                           const struct step *to, uint32_t bias,
                           uint32_t inputs[QLINEAR_INPUTS])
{
    inputs[QLINEAR_X] = x->q;
    inputs[QLINEAR_X_SCALE] = x->scale_value;
    inputs[QLINEAR_X_ZERO] = x->zero_value;
    inputs[QLINEAR_W] = weights->q;
    inputs[QLINEAR_W_SCALE] = weights->scale;
    inputs[QLINEAR_W_ZERO] = weights->zero;
    inputs[QLINEAR_Y_SCALE] = to ? to->scale_value : GRAPH_NONE;
    inputs[QLINEAR_Y_ZERO] = to ? to->zero_value : GRAPH_NONE;
    inputs[QLINEAR_BIAS] = bias;
}

static struct quantized_conv_attrs
conv_attrs_of(const struct conv2d_attrs *attrs, const struct shape *w)
{
    struct quantized_conv_attrs out = {
        .window = {.rank = 2},
        .groups = attrs->groups,
        .finish = {.has_relu = attrs->has_relu,
                   .relu_limit = attrs->relu_limit,
                   .activation = attrs->activation,
                   .slope = attrs->slope}};

    for (int i = 0; i < 2; i++) {
        out.window.kernel[i] = w->dims[2 + i];
        out.window.stride[i] = attrs->stride[i];
        out.window.dilation[i] = attrs->dilation[i];
        out.window.before[i] = attrs->before[i];
        out.window.after[i] = attrs->after[i];
    }
    return out;
}

static enum assay_status product_conv(struct integers *pass,
                                      const struct node *conv,
                                      const struct step *to, uint32_t *out)
{
    struct quantized_conv_attrs attrs;
    uint32_t inputs[QLINEAR_INPUTS];
    struct weights weights;
    struct step x;

    if (conv->inputs[CONV2D_RESIDUAL] != GRAPH_NONE ||
        conv->n_inputs > CONV2D_SCALE ||
        !integers_dequantised(pass->graph, conv->inputs[CONV2D_X], &x) ||
        !weights_find(pass->graph, conv->inputs[CONV2D_WEIGHT], 0, &weights) ||
        weights.shape.rank != 4 ||
        !bias_fits(pass->graph, conv->inputs[CONV2D_BIAS]))
        return ASSAY_OK;
    attrs = conv_attrs_of(conv->attrs, &weights.shape);
    product_inputs(
        &x, &weights, to,
        bias_of_sums(pass->graph, conv->inputs[CONV2D_BIAS], &x, &weights),
        inputs);
    return integers_add(pass, conv, &op_qlinear_conv, &attrs, inputs,
                        QLINEAR_INPUTS, 1, out);
}

/* Weights [n,k] of a Linear as a MatMul reads them, [k,n]. */
static enum assay_status transpose_weights(struct integers *pass,
                                           struct weights *weights)
{
    const struct tensor *from = &graph_value(pass->graph, weights->q)->data;
    int64_t n = from->shape.dims[0], k = from->shape.dims[1];
    struct shape shape = shape_of(2, k, n);
    struct tensor to;
    enum assay_status st =
        tensor_new(pass->pool, from->dtype, &shape, &to, pass->err);

    if (st)
        return st;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < k; j++)
            ((uint8_t *)tensor_data(&to))[j * n + i] =
                ((const uint8_t *)tensor_data(from))[i * k + j];
    }
    return graph_constant(pass->graph, "", to, &weights->q, pass->err);
}

static enum assay_status product_linear(struct integers *pass,
                                        const struct node *linear,
                                        const struct step *to, uint32_t *out)
{
    uint32_t inputs[QLINEAR_INPUTS];
    struct weights weights;
    struct step x;
    enum assay_status st;

    if (linear_attrs(linear)->has_relu ||
        !integers_dequantised(pass->graph, linear->inputs[LINEAR_X], &x) ||
        !weights_find(pass->graph, linear->inputs[LINEAR_WEIGHT], 0,
                      &weights) ||
        weights.shape.rank != 2 ||
        !bias_fits(pass->graph, linear->inputs[LINEAR_BIAS]))
        return ASSAY_OK;
    st = transpose_weights(pass, &weights);
    if (st)
        return st;
    product_inputs(
        &x, &weights, to,
        bias_of_sums(pass->graph, linear->inputs[LINEAR_BIAS], &x, &weights),
        inputs);
    return integers_add(pass, linear, &op_qlinear_matmul, NULL, inputs,
                        QLINEAR_INPUTS, 1, out);
}

static enum assay_status product_matmul(struct integers *pass,
                                        const struct node *matmul,
                                        const struct step *to, uint32_t *out)
{
    uint32_t inputs[QLINEAR_INPUTS];
    struct weights weights;
    struct step x;

    if (!integers_dequantised(pass->graph, matmul->inputs[0], &x) ||
        !weights_find(pass->graph, matmul->inputs[1], 1, &weights) ||
        weights.shape.rank != 2)
        return ASSAY_OK;
    product_inputs(&x, &weights, to, GRAPH_NONE, inputs);
    return integers_add(pass, matmul, &op_qlinear_matmul, NULL, inputs,
                        QLINEAR_INPUTS, 1, out);
}

enum assay_status integers_product(struct integers *pass, const struct node *op,
                                   const struct step *to, uint32_t *out)
{
    const struct node kept = *op;

    if (kept.op == &op_conv2d)
        return product_conv(pass, &kept, to, out);
    if (kept.op == &op_linear)
        return product_linear(pass, &kept, to, out);
    if (kept.op == &op_matmul)
        return product_matmul(pass, &kept, to, out);
    return ASSAY_OK;
}

/* ---- sums of int32 that are scaled afterwards ---------------------------- */

/* The ConvInteger or MatMulInteger whose sums a Cast makes float32. */
static const struct node *sums_maker(const struct graph *graph, uint32_t value)
{
    const struct node *cast = integers_sole_maker(graph, value, &op_cast);
    const struct node *conv, *product;

    if (!cast || ((const struct cast_attrs *)cast->attrs)->dtype != DTYPE_F32)
        return NULL;
    conv = integers_sole_maker(graph, cast->inputs[0], &op_conv_integer);
    product = integers_sole_maker(graph, cast->inputs[0], &op_matmul_integer);
    return conv ? conv : product;
}

/* The scales that a Mul multiplies: one number that is computed or constant,
 * and constant ones of the weights. */
static bool scales_find(const struct graph *graph, uint32_t value,
                        uint32_t *x_scale, uint32_t *w_scale)
{
    const struct node *mul = integers_maker(graph, value);
    const struct node *maker;

    if (!mul || mul->op != &op_mul)
        return false;
    for (size_t i = 0; i < 2; i++) {
        *x_scale = mul->inputs[i];
        *w_scale = mul->inputs[1 - i];
        maker = integers_maker(graph, *x_scale);
        if (integers_data(graph, *w_scale, DTYPE_F32) && maker &&
            maker->op == &op_dynamic_quantize_linear &&
            maker->outputs[1] == *x_scale)
            return true;
    }
    return false;
}

enum assay_status integers_scaled(struct integers *pass, const struct node *mul)
{
    const struct node *sums = NULL;
    struct node kept;
    uint32_t inputs[QLINEAR_INPUTS], out;
    enum assay_status st;

    for (size_t i = 0; !sums && i < 2; i++) {
        sums = sums_maker(pass->graph, mul->inputs[i]);
        if (sums &&
            !scales_find(pass->graph, mul->inputs[1 - i],
                         &inputs[QLINEAR_X_SCALE], &inputs[QLINEAR_W_SCALE]))
            sums = NULL;
    }
    if (!sums)
        return ASSAY_OK;
    kept = *sums;
    inputs[QLINEAR_X] = kept.inputs[0];
    inputs[QLINEAR_W] = kept.inputs[1];
    inputs[QLINEAR_X_ZERO] = kept.n_inputs > 2 ? kept.inputs[2] : GRAPH_NONE;
    inputs[QLINEAR_W_ZERO] = kept.n_inputs > 3 ? kept.inputs[3] : GRAPH_NONE;
    inputs[QLINEAR_Y_SCALE] = inputs[QLINEAR_Y_ZERO] = GRAPH_NONE;
    inputs[QLINEAR_BIAS] = GRAPH_NONE;
    st = integers_add(pass, &kept,
                      kept.op == &op_conv_integer ? &op_qlinear_conv
                                                  : &op_qlinear_matmul,
                      kept.op == &op_conv_integer ? kept.attrs : NULL, inputs,
                      QLINEAR_INPUTS, 1, &out);
    return st ? st : integers_replace(pass, mul, out);
}

/* The integer node with float32 results that makes a value and has no other
 * reader; GRAPH_NONE: none does. */
static uint32_t real_maker(const struct graph *graph, uint32_t value)
{
    const struct node *maker = integers_maker(graph, value);

    if (!maker || graph_use_count(graph, value) != 1 ||
        (maker->op != &op_qlinear_conv && maker->op != &op_qlinear_matmul) ||
        maker->n_inputs != QLINEAR_INPUTS ||
        maker->inputs[QLINEAR_Y_SCALE] != GRAPH_NONE)
        return GRAPH_NONE;
    return graph_value(graph, value)->producer;
}

/* Whether a constant is [1,c,1,1] after a convolution, else [n]. */
static bool bias_lies_right(const struct graph *graph, uint32_t value,
                            const struct node *product)
{
    const struct tensor *bias = integers_data(graph, value, DTYPE_F32);
    const struct shape *w =
        &graph_value(graph, product->inputs[QLINEAR_W])->data.shape;
    int64_t n;

    if (!bias || !w->rank)
        return false;
    n = (int64_t)tensor_elements(bias);
    if (product->op == &op_qlinear_conv)
        return bias->shape.rank == w->rank && n == w->dims[0] &&
               bias->shape.dims[1] == n;
    return bias->shape.rank == 1 && n == w->dims[w->rank - 1];
}

enum assay_status integers_bias(struct integers *pass, const struct node *add)
{
    const struct node kept = *add;

    for (size_t i = 0; kept.n_inputs == 2 && i < 2; i++) {
        uint32_t at = real_maker(pass->graph, kept.inputs[i]);
        uint32_t bias = kept.inputs[1 - i];
        const struct node *product;

        if (at == GRAPH_NONE)
            continue;
        product = graph_node(pass->graph, at);
        if (product->inputs[QLINEAR_BIAS] != GRAPH_NONE ||
            !bias_lies_right(pass->graph, bias, product))
            continue;
        graph_input_set(pass->graph, at, QLINEAR_BIAS, bias);
        return integers_replace(pass, &kept, kept.inputs[i]);
    }
    return ASSAY_OK;
}

enum assay_status integers_finish(struct integers *pass,
                                  const struct node *activation)
{
    const struct node kept = *activation;
    enum conv2d_activation kind = conv2d_activation_of(kept.op);
    const struct unary_attrs *numbers = kept.attrs;
    struct quantized_finish *finish;
    uint32_t at;

    if ((!kind && kept.op != &op_relu) || !kept.n_inputs)
        return ASSAY_OK;
    at = real_maker(pass->graph, kept.inputs[0]);
    if (at == GRAPH_NONE || graph_node(pass->graph, at)->op != &op_qlinear_conv)
        return ASSAY_OK;
    finish =
        &((struct quantized_conv_attrs *)graph_node(pass->graph, at)->attrs)
             ->finish;
    if (finish->has_relu || finish->activation)
        return ASSAY_OK;
    finish->has_relu = kept.op == &op_relu;
    finish->activation = kind;
    if (kind == CONV2D_LEAKY_RELU)
        finish->slope = (float)numbers->alpha;
    return integers_replace(pass, &kept, kept.inputs[0]);
}
