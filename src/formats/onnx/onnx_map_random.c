/* formats/onnx/onnx_map_random.c - random numbers and dropout. */
#include "formats/onnx/onnx_import_internal.h"
#include "ops/math/cast.h"
#include "ops/norm/dropout.h"
#include "ops/norm/dropout_training.h"
#include "ops/ops.h"
#include "ops/random/random_ops.h"

static struct random_attrs onnx_random_read_attrs(struct onnx_call *call)
{
    return (struct random_attrs){
        .seed = call->opset >= 12 && onnx_int(call, "seed", 0)
                    ? (uint32_t)onnx_int(call, "seed", 0)
                    : (uint32_t)(int64_t)onnx_float(call, "seed", 0),
        .has_dtype = onnx_has(call, "dtype"),
        .dtype = onnx_type(call, "dtype", 1)};
}

static void emit_fill(struct onnx_call *call, const struct op_class *op,
                      const char *low, const char *high)
{
    struct random_attrs attrs = onnx_random_read_attrs(call);
    uint32_t input = onnx_input(call, 0);
    const int64_t *sizes;
    size_t n = onnx_ints(call, "shape", &sizes);

    attrs.low = (double)onnx_float(call, low, 0);
    attrs.high = (double)onnx_float(call, high, 1);
    attrs.takes_shape = input != GRAPH_NONE;
    if (!attrs.takes_shape) {
        input = onnx_new_i64s(call, sizes, n);
        attrs.has_dtype = true;
    }
    onnx_emit_inputs(call, op, &attrs, &input, 1);
}

static void import_uniform(struct onnx_call *call)
{
    emit_fill(call, &op_random_uniform, "low", "high");
}

static void import_normal(struct onnx_call *call)
{
    emit_fill(call, &op_random_normal, "mean", "scale");
}

static void import_bernoulli(struct onnx_call *call)
{
    struct random_attrs attrs = onnx_random_read_attrs(call);

    onnx_emit(call, &op_bernoulli, &attrs);
}

static void import_multinomial(struct onnx_call *call)
{
    struct random_attrs attrs = onnx_random_read_attrs(call);

    attrs.n_samples = onnx_int(call, "sample_size", 1);
    if (!attrs.has_dtype)
        attrs.dtype = DTYPE_I32;
    onnx_emit(call, &op_multinomial, &attrs);
}

/* ---- dropout ------------------------------------------------------------ */

/* Whether a value is known to be false. */
static bool is_off(struct onnx_call *call, uint32_t value)
{
    const struct tensor *known = onnx_constant(call, value);

    return value == GRAPH_NONE || (known && tensor_bytes(known) == 1 &&
                                   !*(const uint8_t *)tensor_data(known));
}

/* The fraction that training drops: an attribute, or a known input. */
static float dropout_ratio(struct onnx_call *call)
{
    uint32_t value = onnx_input(call, 1);
    const struct tensor *known =
        value == GRAPH_NONE ? NULL : onnx_constant(call, value);

    if (known && known->dtype == DTYPE_F32 && tensor_elements(known) == 1)
        return tensor_f32(known)[0];
    return onnx_float(call, "ratio", 0.5F);
}

/* Passes everything through, unless an input may turn training on. */
static void onnx_random_import_dropout(struct onnx_call *call)
{
    struct shape_of_attrs whole = {.end = INT64_MAX};
    struct dropout_attrs attrs = {.ratio = dropout_ratio(call)};
    struct dropout_training_attrs training = {
        .seed = onnx_random_read_attrs(call).seed, .ratio = attrs.ratio};
    uint32_t x = onnx_input(call, 0), inputs[2];

    if (!is_off(call, onnx_input(call, 2))) {
        onnx_emit(call, &op_dropout_training, &training);
        return;
    }
    onnx_emit_outputs(call, &op_dropout, &attrs, &x, 1, 1);
    if (call->n_outputs < 2)
        return;
    inputs[0] = onnx_step(call, &op_shape_of, &whole, &x, 1);
    inputs[1] =
        onnx_new_scalar(call, call->opset < 10 ? DTYPE_F32 : DTYPE_BOOL, 1);
    call->outputs[1] = onnx_step(call, &op_constant_of_shape, NULL, inputs, 2);
}

const struct onnx_op onnx_random_ops[] = {
    {"Bernoulli", 15, ONNX_NOW, 1, 1, import_bernoulli},
    {"Dropout", 1, ONNX_NOW, 1, 3, onnx_random_import_dropout},
    {"Multinomial", 7, ONNX_NOW, 1, 1, import_multinomial},
    {"RandomNormal", 1, ONNX_NOW, 0, 0, import_normal},
    {"RandomNormalLike", 1, ONNX_NOW, 1, 1, import_normal},
    {"RandomUniform", 1, ONNX_NOW, 0, 0, import_uniform},
    {"RandomUniformLike", 1, ONNX_NOW, 1, 1, import_uniform},
    {0},
};
