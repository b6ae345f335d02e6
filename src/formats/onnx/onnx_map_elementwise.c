/* formats/onnx/onnx_map_elementwise.c - ops that work element by element. */
#include "formats/onnx/onnx_steps_internal.h"
#include "ops/math/binary_math.h"
#include "ops/math/bit_cast.h"
#include "ops/math/cast.h"
#include "ops/math/clip.h"
#include "ops/math/unary_math.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

/* ---- one input ---------------------------------------------------------- */

static const struct {
    const char *op_type, *alpha, *beta; /* the attributes' names */
    float alpha_default, beta_default;
} parameters[] = {
    {"Celu", "alpha", "", 1, 0},
    {"Elu", "alpha", "", 1, 0},
    {"HardSigmoid", "alpha", "beta", 0.2F, 0.5F},
    {"LeakyRelu", "alpha", "", 0.01F, 0},
    {"Selu", "alpha", "gamma", 1.67326319F, 1.05070102F},
    {"Shrink", "lambd", "bias", 0.5F, 0},
    {"ThresholdedRelu", "alpha", "", 1, 0},
};

static void import_parameters(struct onnx_call *call)
{
    struct unary_attrs attrs;
    size_t i = 0;

    while (strcmp(parameters[i].op_type, call->node->op_type) != 0)
        i++;
    attrs.alpha = (double)onnx_float(call, parameters[i].alpha,
                                     parameters[i].alpha_default);
    attrs.beta = (double)onnx_float(call, parameters[i].beta,
                                    parameters[i].beta_default);
    onnx_emit_named(call, &attrs);
}

static void import_is_inf(struct onnx_call *call)
{
    struct unary_attrs attrs = {
        .alpha = (double)onnx_int(call, "detect_negative", 1),
        .beta = (double)onnx_int(call, "detect_positive", 1)};

    onnx_emit(call, &op_is_inf, &attrs);
}

static void onnx_elementwise_import_relu(struct onnx_call *call)
{
    onnx_emit(call, &op_relu, NULL);
}

static struct cast_attrs onnx_elementwise_cast_attrs(struct onnx_call *call)
{
    static const char *const roundings[] = {
        [SCALE_UP] = "up", [SCALE_DOWN] = "down", [SCALE_NEAREST] = "nearest"};

    return (struct cast_attrs){.overflows = !onnx_int(call, "saturate", 1),
                               .rounding = (enum scale_rounding)ONNX_CHOOSE(
                                   call, "round_mode", "up", roundings)};
}

static void import_cast(struct onnx_call *call)
{
    static const struct {
        const char *name;
        int64_t number;
    } names[] = {{"FLOAT", 1},   {"UINT8", 2},   {"INT8", 3},
                 {"UINT16", 4},  {"INT16", 5},   {"INT32", 6},
                 {"INT64", 7},   {"BOOL", 9},    {"FLOAT16", 10},
                 {"DOUBLE", 11}, {"UINT32", 12}, {"UINT64", 13}};
    int64_t to = onnx_int(call, "to", 0);
    const char *text = onnx_text(call, "to", "");
    struct cast_attrs attrs = onnx_elementwise_cast_attrs(call);

    /* Before opset 6 the type was text. */
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, text) == 0)
            to = names[i].number;
    }
    if (!onnx_dtype(to, &attrs.dtype))
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "casting to type %lld is not supported", (long long)to);
    onnx_emit(call, &op_cast, &attrs);
}

static void import_cast_like(struct onnx_call *call)
{
    struct cast_attrs attrs = onnx_elementwise_cast_attrs(call);

    onnx_emit(call, &op_cast, &attrs);
}

static void import_bit_cast(struct onnx_call *call)
{
    struct bit_cast_attrs attrs = {.dtype = onnx_type(call, "to", 0)};

    onnx_emit(call, &op_bit_cast, &attrs);
}

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, or with erf. */
static void onnx_elementwise_import_gelu(struct onnx_call *call)
{
    static const char *const ways[] = {"none", "tanh"};
    uint32_t x = onnx_input(call, 0), inner, pair[2];

    if (ONNX_CHOOSE(call, "approximate", "none", ways) == 0) {
        onnx_emit(call, &op_gelu, NULL);
        return;
    }
    inner = onnx_step_pair(call, &op_mul, x, x);
    inner = onnx_step_scalar(call, &op_mul, inner, 0.044715);
    inner = onnx_step_scalar(call, &op_sum, inner, 1);
    inner = onnx_step_pair(call, &op_mul, inner, x);
    inner = onnx_step_scalar(call, &op_mul, inner, 0.7978845608028654);
    inner = onnx_step_one(call, &op_tanh, inner);
    inner = onnx_step_scalar(call, &op_sum, inner, 1);
    pair[0] = onnx_step_scalar(call, &op_mul, inner, 0.5);
    pair[1] = x;
    onnx_emit_inputs(call, &op_mul, NULL, pair, 2);
}

/* x sigmoid(alpha x) */
static void import_swish(struct onnx_call *call)
{
    float alpha = onnx_float(call, "alpha", 1);
    uint32_t x = onnx_input(call, 0), pair[] = {x, x};

    if (alpha == 1) {
        onnx_emit(call, &op_silu, NULL);
        return;
    }
    pair[1] = onnx_step_scalar(call, &op_mul, x, (double)alpha);
    pair[1] = onnx_step_one(call, &op_sigmoid, pair[1]);
    onnx_emit_inputs(call, &op_mul, NULL, pair, 2);
}

/* ---- several inputs ----------------------------------------------------- */

/* Until opset 6 the second input could be aligned to an axis of the first: it
 * gets dimensions of 1 after its own. */
static uint32_t align_second(struct onnx_call *call)
{
    const struct tensor *a = onnx_known(call, onnx_input(call, 0));
    const struct tensor *b = onnx_known(call, onnx_input(call, 1));
    int64_t axis = onnx_int(call, "axis", -1), axes[SHAPE_MAX_RANK];
    uint32_t inputs[2] = {onnx_input(call, 1), GRAPH_NONE};
    size_t n = 0;

    if (call->opset >= 7 || !onnx_int(call, "broadcast", 0) ||
        !onnx_has(call, "axis"))
        return inputs[0];
    if (!a || !b) {
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "broadcasting along an axis needs known shapes");
        return inputs[0];
    }
    axis = axis < 0 ? axis + a->shape.rank : axis;
    for (int64_t i = b->shape.rank; i < a->shape.rank - axis; i++)
        axes[n++] = i;
    if (n == 0)
        return inputs[0];
    inputs[1] = onnx_new_i64s(call, axes, n);
    return onnx_step(call, &op_unsqueeze, NULL, inputs, 2);
}

static void onnx_elementwise_emit_pair(struct onnx_call *call,
                                       const struct op_class *op,
                                       const struct binary_attrs *attrs)
{
    uint32_t inputs[] = {onnx_input(call, 0), align_second(call)};

    onnx_emit_inputs(call, op, attrs, inputs, 2);
}

static void import_pair(struct onnx_call *call)
{
    onnx_elementwise_emit_pair(call, op_find(call->node->op_type), NULL);
}

static bool onnx_elementwise_is_same(const struct tensor *a,
                                     const struct tensor *b)
{
    return a && b && a->dtype == DTYPE_F32 && b->dtype == DTYPE_F32 &&
           a->shape.rank > 0 && shape_equal(&a->shape, &b->shape);
}

/* For equal shapes, uses the op that is fused with convolutions. */
static void import_add(struct onnx_call *call)
{
    bool is_plain =
        onnx_elementwise_is_same(onnx_known(call, onnx_input(call, 0)),
                                 onnx_known(call, onnx_input(call, 1)));

    onnx_elementwise_emit_pair(call, is_plain ? &op_add : &op_sum, NULL);
}

/* Of two, it is an Add. */
static void import_sum(struct onnx_call *call)
{
    if (onnx_input(call, 1) != GRAPH_NONE && onnx_input(call, 2) == GRAPH_NONE)
        import_add(call);
    else
        onnx_import_named(call);
}

static void import_mod(struct onnx_call *call)
{
    onnx_elementwise_emit_pair(
        call, &op_mod,
        &(struct binary_attrs){.is_fmod = onnx_int(call, "fmod", 0)});
}

static void import_bit_shift(struct onnx_call *call)
{
    const char *direction = onnx_text(call, "direction", "");

    onnx_elementwise_emit_pair(
        call, &op_bit_shift,
        &(struct binary_attrs){.to_right = strcmp(direction, "RIGHT") == 0});
}

/* Until opset 6 a slope of one dimension was per channel. */
static void onnx_elementwise_import_prelu(struct onnx_call *call)
{
    const struct tensor *x = onnx_known(call, onnx_input(call, 0));
    const struct tensor *slope = onnx_known(call, onnx_input(call, 1));
    uint32_t inputs[] = {onnx_input(call, 0), onnx_input(call, 1)};
    int64_t axes[SHAPE_MAX_RANK];
    size_t n = 0;

    if (call->opset < 7 && x && slope && slope->shape.rank == 1) {
        for (int64_t i = 1; i < x->shape.rank - 1; i++)
            axes[n++] = i;
    }
    if (n) {
        uint32_t of_unsqueeze[] = {inputs[1], onnx_new_i64s(call, axes, n)};

        inputs[1] = onnx_step(call, &op_unsqueeze, NULL, of_unsqueeze, 2);
    }
    onnx_emit_inputs(call, &op_prelu, NULL, inputs, 2);
}

/* ---- bounds ------------------------------------------------------------- */

/* Reads a bound that is left out (true) or a float32 constant. */
static bool known_bound(struct onnx_call *call, uint32_t value, float *bound)
{
    const struct tensor *known = onnx_constant(call, value);

    if (value == GRAPH_NONE)
        return true;
    if (!known || known->dtype != DTYPE_F32 || tensor_elements(known) != 1)
        return false;
    *bound = *tensor_f32(known);
    return true;
}

/* Emits Clip, which backends have, or a maximum and a minimum. */
static void import_clip(struct onnx_call *call)
{
    struct clip_attrs attrs = {.low = onnx_float(call, "min", -INFINITY),
                               .high = onnx_float(call, "max", INFINITY)};
    uint32_t x = onnx_input(call, 0);
    uint32_t low = onnx_input(call, 1), high = onnx_input(call, 2);
    uint32_t inputs[] = {x, low};

    if (known_bound(call, low, &attrs.low) &&
        known_bound(call, high, &attrs.high) &&
        (call->opset < 11 || low != GRAPH_NONE || high != GRAPH_NONE)) {
        onnx_emit_inputs(call, &op_clip, &attrs, &x, 1);
        return;
    }
    if (low == GRAPH_NONE && high == GRAPH_NONE) {
        call->outputs[0] = x;
        return;
    }
    if (low != GRAPH_NONE && high != GRAPH_NONE)
        inputs[0] = onnx_step(call, &op_max, NULL, inputs, 2);
    if (high != GRAPH_NONE)
        inputs[1] = high;
    onnx_emit_inputs(call, high == GRAPH_NONE ? &op_max : &op_min, NULL, inputs,
                     2);
}

const struct onnx_op onnx_elementwise_ops[] = {
    {"Abs", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Acos", 7, ONNX_NOW, 1, 1, onnx_import_named},
    {"Acosh", 9, ONNX_NOW, 1, 1, onnx_import_named},
    {"Add", 1, ONNX_NOW, 2, 2, import_add},
    {"And", 1, ONNX_NOW, 2, 2, import_pair},
    {"Asin", 7, ONNX_NOW, 1, 1, onnx_import_named},
    {"Asinh", 9, ONNX_NOW, 1, 1, onnx_import_named},
    {"Atan", 7, ONNX_NOW, 1, 1, onnx_import_named},
    {"Atanh", 9, ONNX_NOW, 1, 1, onnx_import_named},
    {"BitCast", 26, ONNX_NOW, 1, 1, import_bit_cast},
    {"BitShift", 11, ONNX_NOW, 2, 2, import_bit_shift},
    {"BitwiseAnd", 18, ONNX_NOW, 2, 2, onnx_import_named},
    {"BitwiseNot", 18, ONNX_NOW, 1, 1, onnx_import_named},
    {"BitwiseOr", 18, ONNX_NOW, 2, 2, onnx_import_named},
    {"BitwiseXor", 18, ONNX_NOW, 2, 2, onnx_import_named},
    {"Cast", 1, ONNX_NOW, 1, 1, import_cast},
    {"CastLike", 15, ONNX_NOW, 2, 2, import_cast_like},
    {"Ceil", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Celu", 12, ONNX_NOW, 1, 1, import_parameters},
    {"Clip", 1, ONNX_NOW, 1, 3, import_clip},
    {"Cos", 7, ONNX_NOW, 1, 1, onnx_import_named},
    {"Cosh", 9, ONNX_NOW, 1, 1, onnx_import_named},
    {"Div", 1, ONNX_NOW, 2, 2, import_pair},
    {"Elu", 1, ONNX_NOW, 1, 1, import_parameters},
    {"Equal", 1, ONNX_NOW, 2, 2, import_pair},
    {"Erf", 9, ONNX_NOW, 1, 1, onnx_import_named},
    {"Exp", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Floor", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Gelu", 20, ONNX_NOW, 1, 1, onnx_elementwise_import_gelu},
    {"Greater", 1, ONNX_NOW, 2, 2, import_pair},
    {"GreaterOrEqual", 12, ONNX_NOW, 2, 2, import_pair},
    {"HardSigmoid", 1, ONNX_NOW, 1, 1, import_parameters},
    {"HardSwish", 14, ONNX_NOW, 1, 1, onnx_import_named},
    {"IsInf", 10, ONNX_NOW, 1, 1, import_is_inf},
    {"IsNaN", 9, ONNX_NOW, 1, 1, onnx_import_named},
    {"LeakyRelu", 1, ONNX_NOW, 1, 1, import_parameters},
    {"Less", 1, ONNX_NOW, 2, 2, import_pair},
    {"LessOrEqual", 12, ONNX_NOW, 2, 2, import_pair},
    {"Log", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Max", 1, ONNX_NOW, 1, ONNX_ANY, onnx_import_named},
    {"Mean", 1, ONNX_NOW, 1, ONNX_ANY, onnx_import_named},
    {"Min", 1, ONNX_NOW, 1, ONNX_ANY, onnx_import_named},
    {"Mish", 18, ONNX_NOW, 1, 1, onnx_import_named},
    {"Mod", 10, ONNX_NOW, 2, 2, import_mod},
    {"Mul", 1, ONNX_NOW, 2, 2, import_pair},
    {"Neg", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Not", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Or", 1, ONNX_NOW, 2, 2, import_pair},
    {"Pow", 1, ONNX_NOW, 2, 2, import_pair},
    {"PRelu", 1, ONNX_NOW, 2, 2, onnx_elementwise_import_prelu},
    {"Reciprocal", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Relu", 1, ONNX_NOW, 1, 1, onnx_elementwise_import_relu},
    {"Round", 11, ONNX_NOW, 1, 1, onnx_import_named},
    {"Selu", 1, ONNX_NOW, 1, 1, import_parameters},
    {"Shrink", 9, ONNX_NOW, 1, 1, import_parameters},
    {"Sigmoid", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Sign", 9, ONNX_NOW, 1, 1, onnx_import_named},
    {"Sin", 7, ONNX_NOW, 1, 1, onnx_import_named},
    {"Sinh", 9, ONNX_NOW, 1, 1, onnx_import_named},
    {"Softplus", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Softsign", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Sqrt", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Sub", 1, ONNX_NOW, 2, 2, import_pair},
    {"Sum", 1, ONNX_NOW, 1, ONNX_ANY, import_sum},
    {"Swish", 24, ONNX_NOW, 1, 1, import_swish},
    {"Tan", 7, ONNX_NOW, 1, 1, onnx_import_named},
    {"Tanh", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"ThresholdedRelu", 10, ONNX_NOW, 1, 1, import_parameters},
    {"Where", 9, ONNX_NOW, 3, 3, onnx_import_named},
    {"Xor", 1, ONNX_NOW, 2, 2, import_pair},
    {0},
};
