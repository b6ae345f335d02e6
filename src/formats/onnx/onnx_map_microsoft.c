/* formats/onnx/onnx_map_microsoft.c - ops of com.microsoft that ONNX Runtime's
 * quantisation writes where the standard has none.
 *
 * Each becomes the op on float32 between DequantizeLinear and QuantizeLinear;
 * passes/integers.h makes integer nodes of that, as of any QDQ graph. */
#include "formats/onnx/onnx_steps_internal.h"
#include "ops/math/unary_math.h"
#include "ops/movement/concat.h"
#include "ops/ops.h"
#include "ops/pooling/adaptive_avg_pool2d.h"
#include "ops/product/linear.h"
#include "ops/product/quantize.h"

/* Fails if an input that the op needs is left out. */
static uint32_t microsoft_need(struct onnx_call *call, size_t input)
{
    uint32_t value = onnx_input(call, input);

    if (value == GRAPH_NONE)
        onnx_fail(call, ASSAY_BAD_INPUT, "its input %zu is left out", input);
    return value;
}

/* The quantised values x as float32; its scale and its zero, which may be left
 * out, are the inputs `scale` and the next. */
static uint32_t microsoft_dequantise(struct onnx_call *call, uint32_t x,
                                     size_t scale, int64_t axis)
{
    struct quantize_attrs attrs = {.axis = axis};
    uint32_t inputs[] = {x, microsoft_need(call, scale),
                         onnx_input(call, scale + 1)};

    return onnx_step(call, &op_dequantize_linear, &attrs, inputs,
                     inputs[2] == GRAPH_NONE ? 2 : 3);
}

/* Quantised values and their scale and zero lie side by side. */
static uint32_t microsoft_real(struct onnx_call *call, size_t first)
{
    return microsoft_dequantise(call, microsoft_need(call, first), first + 1,
                                1);
}

/* The result; without a zero it is 0 of the type of x. */
static void microsoft_emit(struct onnx_call *call, uint32_t y, size_t scale,
                           size_t x)
{
    struct quantize_attrs attrs = {.axis = 1};
    uint32_t inputs[] = {y, microsoft_need(call, scale),
                         onnx_input(call, scale + 1)};

    if (inputs[2] == GRAPH_NONE)
        inputs[2] =
            onnx_new_scalar(call, onnx_step_type(call, onnx_input(call, x)), 0);
    onnx_emit_inputs(call, &op_quantize_linear, &attrs, inputs, 3);
}

static void microsoft_import_pair(struct onnx_call *call,
                                  const struct op_class *op)
{
    uint32_t a = microsoft_real(call, 0), b = microsoft_real(call, 3);

    microsoft_emit(call, onnx_step_pair(call, op, a, b), 6, 0);
}

static void microsoft_import_add(struct onnx_call *call)
{
    microsoft_import_pair(call, &op_add);
}

static void microsoft_import_mul(struct onnx_call *call)
{
    microsoft_import_pair(call, &op_mul);
}

static void microsoft_import_sigmoid(struct onnx_call *call)
{
    uint32_t x = microsoft_real(call, 0);

    microsoft_emit(call, onnx_step_one(call, &op_sigmoid, x), 3, 0);
}

static void microsoft_import_leaky_relu(struct onnx_call *call)
{
    struct unary_attrs attrs = {.alpha =
                                    (double)onnx_float(call, "alpha", 0.01F)};
    uint32_t x = microsoft_real(call, 0);

    microsoft_emit(call, onnx_step(call, &op_leaky_relu, &attrs, &x, 1), 3, 0);
}

static void microsoft_import_mean(struct onnx_call *call)
{
    struct adaptive_avg_pool2d_attrs attrs = {.size = {1, 1}};
    uint32_t x = microsoft_real(call, 0);

    if (onnx_int(call, "channels_last", 0))
        onnx_fail(call, ASSAY_UNSUPPORTED, "channels_last is not supported");
    microsoft_emit(
        call, onnx_step(call, &op_adaptive_avg_pool2d, &attrs, &x, 1), 3, 0);
}

/* The scale and zero of the result come first, then three inputs for each. */
static void microsoft_import_concat(struct onnx_call *call)
{
    enum { most = 64 };
    struct concat_attrs attrs = {.axis = onnx_axis(call, 1)};
    size_t n = call->n_inputs / 3;
    uint32_t parts[most];

    if (call->n_inputs % 3 != 2 || n < 1 || n > most) {
        onnx_fail(call, ASSAY_UNSUPPORTED, "it has %zu inputs", call->n_inputs);
        return;
    }
    for (size_t i = 0; i < n; i++)
        parts[i] = microsoft_real(call, 2 + 3 * i);
    microsoft_emit(call, onnx_step(call, &op_concat, &attrs, parts, n), 0, 2);
}

/* A bias of int32 has the scale of the sums. */
static uint32_t microsoft_bias(struct onnx_call *call)
{
    uint32_t bias = onnx_input(call, 6);

    if (bias == GRAPH_NONE)
        return bias;
    bias = onnx_step_cast(call, bias, DTYPE_F32);
    bias = onnx_step_pair(call, &op_mul, bias, microsoft_need(call, 1));
    return onnx_step_pair(call, &op_mul, bias, microsoft_need(call, 4));
}

/* A linear layer with its weight as [outputs, inputs]. */
static void microsoft_import_gemm(struct onnx_call *call)
{
    static const int64_t turned[] = {1, 0};
    uint32_t x = microsoft_real(call, 0), w = microsoft_need(call, 3);
    uint32_t inputs[LINEAR_INPUTS];
    bool has_turned_x = onnx_int(call, "transA", 0);

    if (onnx_float(call, "alpha", 1) != 1)
        onnx_fail(call, ASSAY_UNSUPPORTED, "alpha is not 1");
    if (!onnx_int(call, "transB", 0))
        w = onnx_step_transpose(call, w, turned, 2);
    inputs[LINEAR_X] =
        has_turned_x ? onnx_step_transpose(call, x, turned, 2) : x;
    inputs[LINEAR_WEIGHT] = microsoft_dequantise(call, w, 4, 0);
    inputs[LINEAR_BIAS] = microsoft_bias(call);
    if (onnx_input(call, 7) == GRAPH_NONE)
        onnx_emit_inputs(call, &op_linear, NULL, inputs, LINEAR_INPUTS);
    else
        microsoft_emit(call,
                       onnx_step(call, &op_linear, NULL, inputs, LINEAR_INPUTS),
                       7, 0);
}

const struct onnx_op onnx_microsoft_ops[] = {
    {"QGemm", 1, 1, 2, 9, microsoft_import_gemm},
    {"QLinearAdd", 1, 1, 2, 8, microsoft_import_add},
    {"QLinearConcat", 1, 1, 1, ONNX_ANY, microsoft_import_concat},
    {"QLinearGlobalAveragePool", 1, 1, 2, 5, microsoft_import_mean},
    {"QLinearLeakyRelu", 1, 1, 2, 5, microsoft_import_leaky_relu},
    {"QLinearMul", 1, 1, 2, 8, microsoft_import_mul},
    {"QLinearSigmoid", 1, 1, 2, 5, microsoft_import_sigmoid},
    {0},
};
