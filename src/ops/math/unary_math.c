/* ops/math/unary_math.c - see unary_math.h.
 *
 * Each line of the lists makes an op: its expression is compiled for each type
 * that it is defined for. */
#include "ops/math/unary_math.h"

#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/math/vector_math_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

#include <math.h>

enum { parallel_elements = 1 << 14 };

typedef void unary_row(const struct unary_attrs *attrs, const void *from,
                       void *to, size_t n);

/* The functions of the math library by type. */
#define BY_TYPE(x, for_float, for_double)                                      \
    _Generic((x), float : for_float, default : for_double)(x)
#define ACOS(x)      BY_TYPE(x, acosf, acos)
#define ACOSH(x)     BY_TYPE(x, acoshf, acosh)
#define ASIN(x)      BY_TYPE(x, asinf, asin)
#define ASINH(x)     BY_TYPE(x, asinhf, asinh)
#define ATAN(x)      BY_TYPE(x, atanf, atan)
#define ATANH(x)     BY_TYPE(x, atanhf, atanh)
#define CEIL(x)      BY_TYPE(x, ceilf, ceil)
#define COS(x)       BY_TYPE(x, cosf, cos)
#define COSH(x)      BY_TYPE(x, coshf, cosh)
#define ERF(x)       BY_TYPE(x, vector_erf, erf)
#define EXP(x)       BY_TYPE(x, vector_exp, exp)
#define EXPM1(x)     BY_TYPE(x, vector_expm1, expm1)
#define FLOOR(x)     BY_TYPE(x, floorf, floor)
#define LOG(x)       BY_TYPE(x, logf, log)
#define LOG1P(x)     BY_TYPE(x, log1pf, log1p)
#define MISH_GATE(x) BY_TYPE(x, mish_gate_f32, mish_gate_f64)
#define RINT(x)      BY_TYPE(x, rintf, rint)
#define SIGMOID(x)   BY_TYPE(x, vector_sigmoid, sigmoid)
#define SIN(x)       BY_TYPE(x, sinf, sin)
#define SINH(x)      BY_TYPE(x, sinhf, sinh)
#define SQRT(x)      BY_TYPE(x, sqrtf, sqrt)
#define TAN(x)       BY_TYPE(x, tanf, tan)
#define TANH(x)      BY_TYPE(x, vector_tanh, tanh)
#define ABS(x)       ((x) < 0 ? -(x) : (x))
#define SIGN(x)      ((x) > 0 ? 1 : (x) < 0 ? -1 : (x) == 0 ? 0 : (x))
/* Written without exp() of large numbers, which would overflow. */
#define SOFTPLUS(x)        (((x) > 0 ? (x) : 0) + LOG1P(EXP(-ABS(x))))
#define HELD(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))

/* tanh(log(1 + exp(x))); from 20 on it is 1. */
VARIANT_PART float mish_gate_f32(float x)
{
    float e = vector_exp(x < 20 ? x : 20), n = e * (e + 2);

    return n / (n + 2);
}

static double mish_gate_f64(double x)
{
    double e = exp(x < 20 ? x : 20), n = e * (e + 2);

    return n / (n + 2);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* X(symbol, expression of x, a and b, what the slope reads, slope): for float32
 * and float64. Slopes are float32 and read x, y or neither. */
#define FLOAT_UNARY_LIST(X)                                                    \
    X(acos, ACOS(x), x, -1 / SQRT(1 - x * x))                                  \
    X(acosh, ACOSH(x), x, 1 / SQRT(x * x - 1))                                 \
    X(asin, ASIN(x), x, 1 / SQRT(1 - x * x))                                   \
    X(asinh, ASINH(x), x, 1 / SQRT(x * x + 1))                                 \
    X(atan, ATAN(x), x, 1 / (1 + x * x))                                       \
    X(atanh, ATANH(x), x, 1 / (1 - x * x))                                     \
    X(ceil, CEIL(x), none, 0)                                                  \
    X(celu, x > 0 ? x : a * EXPM1(x / a), y, y > 0 ? 1 : y / a + 1)            \
    X(cos, COS(x), x, -SIN(x))                                                 \
    X(cosh, COSH(x), x, SINH(x))                                               \
    X(elu, x > 0 ? x : a * EXPM1(x), y, y > 0 ? 1 : y + a)                     \
    X(erf, ERF(x), x, 2 * root_pi * EXP(-x * x))                               \
    X(exp, EXP(x), y, y)                                                       \
    X(floor, FLOOR(x), none, 0)                                                \
    X(gelu, x *(1 + ERF(x * half_root)) / 2, x,                                \
      (1 + ERF(x * half_root)) / 2 +                                           \
          x * half_root * root_pi * EXP(-x * x / 2))                           \
    X(hard_sigmoid, HELD(a *x + b, 0, 1), y, y > 0 && y < 1 ? a : 0)           \
    X(hard_swish, x *HELD(x + 3, 0, 6) / 6, x,                                 \
      x < -3  ? 0                                                              \
      : x > 3 ? 1                                                              \
              : x / 3 + half)                                                  \
    X(leaky_relu, x < 0 ? a * x : x, x, x < 0 ? a : 1)                         \
    X(log, LOG(x), x, 1 / x)                                                   \
    X(mish, x *MISH_GATE(x), x, slope_of_mish(x))                              \
    X(reciprocal, 1 / x, y, -y * y)                                            \
    X(round, RINT(x), none, 0)                                                 \
    X(selu, b *(x > 0 ? x : a * EXPM1(x)), y, y > 0 ? b : y + a * b)           \
    X(sigmoid, SIGMOID(x), y, y *(1 - y))                                      \
    X(silu, x *SIGMOID(x), x, SIGMOID(x) * (1 + x * (1 - SIGMOID(x))))         \
    X(sin, SIN(x), x, COS(x))                                                  \
    X(sinh, SINH(x), x, COSH(x))                                               \
    X(softplus, SOFTPLUS(x), x, SIGMOID(x))                                    \
    X(softsign, x / (1 + ABS(x)), x, 1 / ((1 + ABS(x)) * (1 + ABS(x))))        \
    X(sqrt, SQRT(x), y, half / y)                                              \
    X(tan, TAN(x), y, 1 + y * y)                                               \
    X(tanh, TANH(x), y, 1 - y * y)                                             \
    X(thresholded_relu, x > a ? x : 0, x, x > a ? 1 : 0)

/* The same, for signed integers too. */
#define SIGNED_UNARY_LIST(X)                                                   \
    X(abs, ABS(x), x, SIGN(x))                                                 \
    X(neg, -x, none, -1)                                                       \
    X(shrink, x<-a ? x + b : x> a ? x - b : 0, x, x<-a || x> a ? 1 : 0)        \
    X(sign, SIGN(x), none, 0)

/* From float32 and float64 to bool. */
#define TEST_UNARY_LIST(X)                                                     \
    X(is_nan, isnan(x))                                                        \
    X(is_inf, isinf(x) && (x < 0 ? a : b) != 0)

#define ROW(function, type, made, expression)                                  \
    VARIANTS(void, function,                                                   \
             (const struct unary_attrs *attrs, const void *from, void *to,     \
              size_t n),                                                       \
             (attrs, from, to, n))                                             \
    {                                                                          \
        const type half_root = (type)0.70710678118654752440;                   \
        const type a = (type)attrs->alpha, b = (type)attrs->beta;              \
        const type *read = from;                                               \
        made *write = to;                                                      \
                                                                               \
        (void)half_root, (void)a, (void)b;                                     \
        for (size_t i = 0; i < n; i++) {                                       \
            const type x = read[i];                                            \
                                                                               \
            write[i] = (made)(expression);                                     \
        }                                                                      \
    }

#define FLOAT_ROWS(symbol, expression, ...)                                    \
    ROW(symbol##_f32, float, float, expression)                                \
    ROW(symbol##_f64, double, double, expression)
#define SIGNED_ROWS(symbol, expression, ...)                                   \
    FLOAT_ROWS(symbol, expression, none)                                       \
    ROW(symbol##_i64, int64_t, int64_t, expression)
#define TEST_ROWS(symbol, expression)                                          \
    ROW(symbol##_f32, float, uint8_t, expression)                              \
    ROW(symbol##_f64, double, uint8_t, expression)
FLOAT_UNARY_LIST(FLOAT_ROWS)
SIGNED_UNARY_LIST(SIGNED_ROWS)
TEST_UNARY_LIST(TEST_ROWS)
ROW(not_bool, uint8_t, uint8_t, !x)
ROW(bitwise_not_i64, int64_t, int64_t, ~x)

/* A kernel of a gradient: `read` is x or y. */
typedef void slope_row(const struct unary_attrs *attrs, const float *read,
                       const float *dy, float *dx, size_t n);

VARIANT_PART float slope_of_mish(float x)
{
    float t = vector_tanh(SOFTPLUS(x));

    return t + x * vector_sigmoid(x) * (1 - t * t);
}

#define SLOPE(symbol, expression, reads, slope)                                \
    VARIANTS(void, symbol##_slope,                                             \
             (const struct unary_attrs *attrs, const float *read,              \
              const float *dy, float *dx, size_t n),                           \
             (attrs, read, dy, dx, n))                                         \
    {                                                                          \
        const float half_root = 0.70710678F, root_pi = 0.56418958F,            \
                    half = .5F;                                                \
        const float a = (float)attrs->alpha, b = (float)attrs->beta;           \
                                                                               \
        (void)half_root, (void)root_pi, (void)half, (void)a, (void)b;          \
        for (size_t i = 0; i < n; i++) {                                       \
            const float reads = read[i];                                       \
                                                                               \
            (void)reads;                                                       \
            dx[i] = dy[i] * (slope);                                           \
        }                                                                      \
    }
FLOAT_UNARY_LIST(SLOPE)
SIGNED_UNARY_LIST(SLOPE)

enum slope_reads { READS_none, READS_x, READS_y };

static const struct unary {
    const struct op_class *op;
    unary_row *f32, *f64, *i64, *truth;
    slope_row *slope;
    enum slope_reads reads; /* what the slope reads */
} unaries[] = {
#define FLOAT_ENTRY(symbol, expression, read, ...)                             \
    {.op = &op_##symbol,                                                       \
     .f32 = symbol##_f32,                                                      \
     .f64 = symbol##_f64,                                                      \
     .slope = symbol##_slope,                                                  \
     .reads = READS_##read},
#define SIGNED_ENTRY(symbol, expression, read, ...)                            \
    {.op = &op_##symbol,                                                       \
     .f32 = symbol##_f32,                                                      \
     .f64 = symbol##_f64,                                                      \
     .i64 = symbol##_i64,                                                      \
     .slope = symbol##_slope,                                                  \
     .reads = READS_##read},
#define TEST_ENTRY(symbol, expression)                                         \
    {.op = &op_##symbol, .f32 = symbol##_f32, .f64 = symbol##_f64},
    FLOAT_UNARY_LIST(FLOAT_ENTRY) SIGNED_UNARY_LIST(SIGNED_ENTRY)
        TEST_UNARY_LIST(TEST_ENTRY){.op = &op_not, .truth = not_bool},
    {.op = &op_bitwise_not, .i64 = bitwise_not_i64},
};

static const struct unary *find_unary(const struct node *node)
{
    const struct unary *unary = unaries;

    while (unary->op != node->op)
        unary++;
    return unary;
}

static unary_row *unary_find_row(const struct node *node, enum dtype dtype)
{
    const struct unary *unary = find_unary(node);

    if (dtype == DTYPE_F32)
        return unary->f32;
    if (dtype == DTYPE_F64)
        return unary->f64;
    return dtype == DTYPE_BOOL ? unary->truth : unary->i64;
}

/* Runs a kernel on n elements; `read` and `write` are bytes per element. */
static void run_row(const struct op_context *context, const struct node *node,
                    unary_row *row, const char *from, size_t read, char *to,
                    size_t write, size_t n)
{
    size_t parts = n < parallel_elements ? 1 : (size_t)op_threads(context);

#pragma omp parallel for num_threads((int)parts) if (parts > 1)
    for (size_t i = 0; i < parts; i++) {
        size_t first = n * i / parts, last = n * (i + 1) / parts;

        row(node->attrs, from + first * read, to + first * write, last - first);
    }
}

void unary_run_f32(const struct op_context *context, const struct node *node,
                   const float *x, float *y, size_t n)
{
    run_row(context, node, unary_find_row(node, DTYPE_F32), (const char *)x,
            sizeof *x, (char *)y, sizeof *y, n);
}

static enum assay_status unary_kernel(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    unary_row *row = unary_find_row(node, inputs[0]->dtype);

    if (!row)
        return rule_undefined(node, inputs[0]->dtype, err);
    run_row(context, node, row, tensor_data(inputs[0]),
            dtype_bytes(inputs[0]->dtype), tensor_data(&outputs[0]),
            dtype_bytes(outputs[0].dtype), tensor_elements(inputs[0]));
    return ASSAY_OK;
}

WIDEN_FORWARD(unary_forward, unary_kernel)

static enum assay_status unary_infer_truth(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    (void)node, (void)err;
    rule_set(&outputs[0], DTYPE_BOOL, &inputs[0]->shape);
    return ASSAY_OK;
}

static struct op_reads unary_backward_reads(const struct node *node,
                                            uint64_t wanted)
{
    enum slope_reads reads = find_unary(node)->reads;

    (void)wanted;
    return (struct op_reads){.inputs = reads == READS_x,
                             .outputs = reads == READS_y};
}

void unary_backward_f32(const struct op_context *context,
                        const struct node *node, const float *read,
                        const float *dy, float *dx, size_t n)
{
    const struct unary *unary = find_unary(node);
    size_t parts = (size_t)gradient_parts(context, n);

#pragma omp parallel for num_threads((int)parts) if (parts > 1)
    for (size_t i = 0; i < parts; i++) {
        size_t first = n * i / parts, last = n * (i + 1) / parts;

        unary->slope(node->attrs, read + first, dy + first, dx + first,
                     last - first);
    }
}

static enum assay_status unary_backward(const struct op_context *context,
                                        const struct node *node,
                                        const struct op_backward *pass,
                                        struct error *err)
{
    enum slope_reads reads = find_unary(node)->reads;
    const float *dy = tensor_f32(pass->dy[0]), *read = dy;

    (void)err;
    if (reads == READS_x)
        read = tensor_f32(pass->inputs[0]);
    if (reads == READS_y)
        read = tensor_f32(&pass->outputs[0]);
    unary_backward_f32(context, node, read, dy, tensor_f32(&pass->dx[0]),
                       tensor_elements(pass->dy[0]));
    return ASSAY_OK;
}

/* ---- as ONNX ----------------------------------------------------------- */

/* Activations with parameters, and ONNX's names for these. */
static void unary_to_onnx(struct onnx_sink *to)
{
    static const struct {
        const struct op_class *op;
        const char *alpha, *beta;
    } names[] = {
        {&op_celu, "alpha", NULL},
        {&op_elu, "alpha", NULL},
        {&op_hard_sigmoid, "alpha", "beta"},
        {&op_leaky_relu, "alpha", NULL},
        {&op_selu, "alpha", "gamma"},
        {&op_shrink, "lambd", "bias"},
        {&op_thresholded_relu, "alpha", NULL},
    };
    const struct unary_attrs *attrs = to->node->attrs;
    size_t i = 0;

    while (names[i].op != to->node->op)
        i++;
    onnx_attr_float(to, names[i].alpha, attrs->alpha);
    if (names[i].beta)
        onnx_attr_float(to, names[i].beta, attrs->beta);
    onnx_put_node(to, to->node->op->name, 1);
}

/* x times a gate that was computed from x. */
static void unary_put_gated(struct onnx_sink *to, const char *gate)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *y = onnx_name(to, to->node->outputs[0]);
    const char *pair[2] = {x, gate};

    onnx_put_op(to, "Mul", pair, 2, &y, 1);
}

/* Opset 13 has no op for these four; each becomes several. */
static void silu_to_onnx(struct onnx_sink *to)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *gate = onnx_add_name(to, "gate");

    onnx_put_op(to, "Sigmoid", &x, 1, &gate, 1);
    unary_put_gated(to, gate);
}

static void hard_swish_to_onnx(struct onnx_sink *to)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *gate = onnx_add_name(to, "gate");

    onnx_attr_float(to, "alpha", 1.0 / 6);
    onnx_attr_float(to, "beta", 0.5);
    onnx_put_op(to, "HardSigmoid", &x, 1, &gate, 1);
    unary_put_gated(to, gate);
}

static void mish_to_onnx(struct onnx_sink *to)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *soft = onnx_add_name(to, "soft");
    const char *gate = onnx_add_name(to, "gate");

    onnx_put_op(to, "Softplus", &x, 1, &soft, 1);
    onnx_put_op(to, "Tanh", &soft, 1, &gate, 1);
    unary_put_gated(to, gate);
}

/* x (1 + erf(x / sqrt 2)) / 2 */
static void gelu_to_onnx(struct onnx_sink *to)
{
    const char *scaled = onnx_add_name(to, "scaled");
    const char *erf_of = onnx_add_name(to, "erf");
    const char *sum = onnx_add_name(to, "sum");
    const char *gate = onnx_add_name(to, "gate");
    const char *pair[2] = {onnx_name(to, to->node->inputs[0]),
                           onnx_add_scalar(to, (float)sqrt(0.5))};

    onnx_put_op(to, "Mul", pair, 2, &scaled, 1);
    onnx_put_op(to, "Erf", &scaled, 1, &erf_of, 1);
    pair[0] = erf_of;
    pair[1] = onnx_add_scalar(to, 1);
    onnx_put_op(to, "Add", pair, 2, &sum, 1);
    pair[0] = sum;
    pair[1] = onnx_add_scalar(to, 0.5F);
    onnx_put_op(to, "Mul", pair, 2, &gate, 1);
    unary_put_gated(to, gate);
}

/* ---- the classes -------------------------------------------------------- */

ATTR_FIELDS(unary, FIELD_DOUBLE(unary_attrs, alpha),
            FIELD_DOUBLE(unary_attrs, beta));

#define CLASS(symbol, text, inferred, passes, reads, ...)                      \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_ATTRS(unary),                                                       \
        OP_TAKES(1, 1),                                                        \
        OP_MAKES(1, 1),                                                        \
        .infer = inferred,                                                     \
        .forward = unary_forward,                                              \
        .cost = rule_cost_elementwise,                                         \
        .backward = passes,                                                    \
        .backward_reads = reads,                                               \
        .is_cheap = true,                                                      \
        __VA_ARGS__,                                                           \
    };
#define SMOOTH_CLASS(symbol, text, ...)                                        \
    CLASS(symbol, text, rule_same, unary_backward, unary_backward_reads,       \
          __VA_ARGS__)
#define STEP_CLASS(symbol, text, ...)                                          \
    CLASS(symbol, text, rule_same, NULL, NULL, __VA_ARGS__)
#define TRUTH_CLASS(symbol, text, ...)                                         \
    CLASS(symbol, text, unary_infer_truth, NULL, NULL, __VA_ARGS__)
#define PASSES   .channels = channel_pass
#define NAMED    .to_onnx = onnx_put_named
#define NUMBERED .to_onnx = unary_to_onnx
#define NO_ONNX  .to_onnx = NULL
SMOOTH_CLASS(acos, "Acos", NO_ONNX)
SMOOTH_CLASS(acosh, "Acosh", NO_ONNX)
SMOOTH_CLASS(asin, "Asin", NO_ONNX)
SMOOTH_CLASS(asinh, "Asinh", NO_ONNX)
SMOOTH_CLASS(atan, "Atan", NO_ONNX)
SMOOTH_CLASS(atanh, "Atanh", NO_ONNX)
SMOOTH_CLASS(celu, "Celu", PASSES, NUMBERED)
SMOOTH_CLASS(cos, "Cos", NAMED)
SMOOTH_CLASS(cosh, "Cosh", NO_ONNX)
SMOOTH_CLASS(elu, "Elu", PASSES, NUMBERED, .counted = COUNTED_ACTIVATION)
SMOOTH_CLASS(erf, "Erf", PASSES, NAMED)
SMOOTH_CLASS(exp, "Exp", PASSES, NAMED)
SMOOTH_CLASS(gelu, "Gelu", PASSES, .to_onnx = gelu_to_onnx,
             .counted = COUNTED_ACTIVATION)
SMOOTH_CLASS(hard_sigmoid, "HardSigmoid", PASSES, NUMBERED,
             .counted = COUNTED_ACTIVATION)
SMOOTH_CLASS(hard_swish, "HardSwish", PASSES, .to_onnx = hard_swish_to_onnx,
             .counted = COUNTED_ACTIVATION)
SMOOTH_CLASS(leaky_relu, "LeakyRelu", PASSES, NUMBERED, .counted = COUNTED_RELU)
SMOOTH_CLASS(log, "Log", NAMED)
SMOOTH_CLASS(mish, "Mish", PASSES, .to_onnx = mish_to_onnx,
             .counted = COUNTED_ACTIVATION)
SMOOTH_CLASS(reciprocal, "Reciprocal", NAMED)
SMOOTH_CLASS(selu, "Selu", PASSES, NUMBERED, .counted = COUNTED_ACTIVATION)
SMOOTH_CLASS(sigmoid, "Sigmoid", PASSES, NAMED, .counted = COUNTED_RELU)
SMOOTH_CLASS(silu, "SiLU", PASSES, .to_onnx = silu_to_onnx,
             .counted = COUNTED_ACTIVATION)
SMOOTH_CLASS(sin, "Sin", NAMED)
SMOOTH_CLASS(sinh, "Sinh", NO_ONNX)
SMOOTH_CLASS(softplus, "Softplus", PASSES, NAMED)
SMOOTH_CLASS(softsign, "Softsign", PASSES, NAMED)
SMOOTH_CLASS(sqrt, "Sqrt", PASSES, NAMED)
SMOOTH_CLASS(tan, "Tan", NO_ONNX)
SMOOTH_CLASS(tanh, "Tanh", PASSES, NAMED, .counted = COUNTED_RELU)
SMOOTH_CLASS(thresholded_relu, "ThresholdedRelu", PASSES, NUMBERED)
STEP_CLASS(ceil, "Ceil", NAMED)
STEP_CLASS(floor, "Floor", NAMED)
STEP_CLASS(round, "Round", NAMED)
STEP_CLASS(sign, "Sign", NO_ONNX)
STEP_CLASS(bitwise_not, "BitwiseNot", NO_ONNX)
SMOOTH_CLASS(abs, "Abs", PASSES, NAMED)
SMOOTH_CLASS(neg, "Neg", PASSES, NAMED)
SMOOTH_CLASS(shrink, "Shrink", NUMBERED)
TRUTH_CLASS(is_nan, "IsNaN", NO_ONNX)
TRUTH_CLASS(is_inf, "IsInf", NO_ONNX)
TRUTH_CLASS(not, "Not", NAMED)
