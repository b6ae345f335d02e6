/* ops/math/binary_math.c - see binary_math.h.
 *
 * Each line of the lists defines a kernel per type. Kernels work on rows, along
 * which an input moves by one element, stays, or jumps. */
#include "ops/math/binary_math.h"

#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/math/binary_gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"
#include "ops/widen_internal.h"
#include "tensor/convert.h"

#include <math.h>
#include <string.h>

enum { parallel_elements = 1 << 14 };

/* n elements of two inputs, a_step and b_step apart. */
struct row {
    const void *a, *b;
    void *y;
    int64_t a_step, b_step, n;
};

typedef void binary_row(const struct row *row);

#define LOOP(type, made, p, q, expression)                                     \
    for (int64_t i = 0; i < row->n; i++) {                                     \
        const type a = (p), b = (q);                                           \
                                                                               \
        (void)b;                                                               \
        y[i] = (made)(expression);                                             \
    }

#define ROW(function, type, made, expression)                                  \
    VARIANTS(void, function, (const struct row *row), (row))                   \
    {                                                                          \
        const type *as = row->a, *bs = row->b;                                 \
        made *y = row->y;                                                      \
                                                                               \
        if (row->a_step == 1 && row->b_step == 1) {                            \
            LOOP(type, made, as[i], bs[i], expression)                         \
        } else if (row->a_step == 1 && row->b_step == 0) {                     \
            const type only = *bs;                                             \
                                                                               \
            LOOP(type, made, as[i], only, expression)                          \
        } else if (row->a_step == 0 && row->b_step == 1) {                     \
            const type only = *as;                                             \
                                                                               \
            LOOP(type, made, only, bs[i], expression)                          \
        } else {                                                               \
            LOOP(type, made, as[i * row->a_step], bs[i * row->b_step],         \
                 expression)                                                   \
        }                                                                      \
    }

/* Integer division by zero is not defined; we return 0. */
static int64_t divide_i64(int64_t a, int64_t b)
{
    if (b == -1)
        return -a;
    return b ? a / b : 0;
}

static uint64_t divide_u64(uint64_t a, uint64_t b)
{
    return b ? a / b : 0;
}

/* The remainder has the divisor's sign. */
static int64_t modulo_i64(int64_t a, int64_t b)
{
    int64_t rest = b && b != -1 ? a % b : 0;

    return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

static float modulo_f32(float a, float b)
{
    float rest = fmodf(a, b);

    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double modulo_f64(double a, double b)
{
    double rest = fmod(a, b);

    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static uint64_t power_u64(uint64_t base, uint64_t exponent)
{
    uint64_t power = 1;

    for (; exponent; exponent >>= 1, base *= base) {
        if (exponent & 1)
            power *= base;
    }
    return power;
}

static int64_t power_i64(int64_t base, int64_t exponent)
{
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    return (int64_t)power_u64((uint64_t)base, (uint64_t)exponent);
}

static float power_f32(float a, float b)
{
    return b == 2 ? a * a : powf(a, b);
}

static uint64_t shift_u64(uint64_t a, uint64_t b, bool to_right)
{
    if (b >= 64)
        return 0;
    return to_right ? a >> b : a << b;
}

/* Keep a NaN on either side. */
#define SMALLER(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define LARGER(a, b)  ((a) > (b) || (a) != (a) ? (a) : (b))

/* X(symbol, f32, f64, i64, u64): expressions of a and b. */
#define NUMBER_LIST(X)                                                         \
    X(sum, a + b, a + b, a + b, a + b)                                         \
    X(sub, a - b, a - b, a - b, a - b)                                         \
    X(mul, a *b, a *b, a *b, a *b)                                             \
    X(div, a / b, a / b, divide_i64(a, b), divide_u64(a, b))                   \
    X(pow, power_f32(a, b), pow(a, b), power_i64(a, b), power_u64(a, b))       \
    X(mod, modulo_f32(a, b), modulo_f64(a, b), modulo_i64(a, b),               \
      b ? a % b : 0)                                                           \
    X(fmod, fmodf(a, b), fmod(a, b), b &&b != -1 ? a % b : 0, b ? a % b : 0)   \
    X(min, SMALLER(a, b), SMALLER(a, b), a < b ? a : b, a < b ? a : b)         \
    X(max, LARGER(a, b), LARGER(a, b), a > b ? a : b, a > b ? a : b)           \
    X(prelu, a < 0 ? a * b : a, a < 0 ? a * b : a, a < 0 ? a * b : a, a)

#define COMPARE_LIST(X)                                                        \
    X(equal, a == b)                                                           \
    X(greater, a > b)                                                          \
    X(greater_or_equal, a >= b)                                                \
    X(less, a < b)                                                             \
    X(less_or_equal, a <= b)

#define NUMBER_ROWS(symbol, f32, f64, i64, u64)                                \
    ROW(symbol##_f32, float, float, f32)                                       \
    ROW(symbol##_f64, double, double, f64)                                     \
    ROW(symbol##_i64, int64_t, int64_t, i64)                                   \
    ROW(symbol##_u64, uint64_t, uint64_t, u64)
#define COMPARE_ROWS(symbol, expression)                                       \
    ROW(symbol##_f32, float, uint8_t, expression)                              \
    ROW(symbol##_f64, double, uint8_t, expression)                             \
    ROW(symbol##_i64, int64_t, uint8_t, expression)                            \
    ROW(symbol##_u64, uint64_t, uint8_t, expression)                           \
    ROW(symbol##_truth, uint8_t, uint8_t, expression)
NUMBER_LIST(NUMBER_ROWS)
COMPARE_LIST(COMPARE_ROWS)
ROW(shift_left_u64, uint64_t, uint64_t, shift_u64(a, b, false))
ROW(shift_right_u64, uint64_t, uint64_t, shift_u64(a, b, true))
ROW(bitwise_and_u64, uint64_t, uint64_t, a &b)
ROW(bitwise_or_u64, uint64_t, uint64_t, a | b)
ROW(bitwise_xor_u64, uint64_t, uint64_t, a ^ b)
ROW(and_truth, uint8_t, uint8_t, a &&b)
ROW(or_truth, uint8_t, uint8_t, a || b)
ROW(xor_truth, uint8_t, uint8_t, !a != !b)

struct rows {
    binary_row *f32, *f64, *i64, *u64, *truth;
};

#define NUMBER_ENTRY(symbol, f32, f64, i64, u64)                               \
    static const struct rows symbol##_rows = {                                 \
        symbol##_f32, symbol##_f64, symbol##_i64, symbol##_u64, NULL};
#define COMPARE_ENTRY(symbol, expression)                                      \
    static const struct rows symbol##_rows = {symbol##_f32, symbol##_f64,      \
                                              symbol##_i64, symbol##_u64,      \
                                              symbol##_truth};
NUMBER_LIST(NUMBER_ENTRY)
COMPARE_LIST(COMPARE_ENTRY)
static const struct rows shift_left_rows = {.u64 = shift_left_u64};
static const struct rows shift_right_rows = {.u64 = shift_right_u64};
/* Signed integers have the same bits. */
static const struct rows bitwise_and_rows = {.i64 = bitwise_and_u64,
                                             .u64 = bitwise_and_u64};
static const struct rows bitwise_or_rows = {.i64 = bitwise_or_u64,
                                            .u64 = bitwise_or_u64};
static const struct rows bitwise_xor_rows = {.i64 = bitwise_xor_u64,
                                             .u64 = bitwise_xor_u64};
static const struct rows and_rows = {.truth = and_truth};
static const struct rows or_rows = {.truth = or_truth};
static const struct rows xor_rows = {.truth = xor_truth};

static const struct {
    const struct op_class *op;
    const struct rows *rows, *variant; /* the variant if an attribute asks */
} binaries[] = {
    {&op_sum, &sum_rows, NULL},
    {&op_mean, &sum_rows, NULL},
    {&op_sub, &sub_rows, NULL},
    {&op_mul, &mul_rows, NULL},
    {&op_div, &div_rows, NULL},
    {&op_pow, &pow_rows, NULL},
    {&op_mod, &mod_rows, &fmod_rows},
    {&op_min, &min_rows, NULL},
    {&op_max, &max_rows, NULL},
    {&op_prelu, &prelu_rows, NULL},
    {&op_bit_shift, &shift_left_rows, &shift_right_rows},
    {&op_bitwise_and, &bitwise_and_rows, NULL},
    {&op_bitwise_or, &bitwise_or_rows, NULL},
    {&op_bitwise_xor, &bitwise_xor_rows, NULL},
    {&op_equal, &equal_rows, NULL},
    {&op_greater, &greater_rows, NULL},
    {&op_greater_or_equal, &greater_or_equal_rows, NULL},
    {&op_less, &less_rows, NULL},
    {&op_less_or_equal, &less_or_equal_rows, NULL},
    {&op_and, &and_rows, NULL},
    {&op_or, &or_rows, NULL},
    {&op_xor, &xor_rows, NULL},
};

static binary_row *binary_find_row(const struct node *node, enum dtype dtype)
{
    const struct binary_attrs *attrs = node->attrs;
    const struct rows *rows;
    size_t i = 0;

    while (binaries[i].op != node->op)
        i++;
    rows = binaries[i].rows;
    if (binaries[i].variant && (attrs->is_fmod || attrs->to_right))
        rows = binaries[i].variant;
    switch (dtype) {
    case DTYPE_F32:
        return rows->f32;
    case DTYPE_F64:
        return rows->f64;
    case DTYPE_I64:
        return rows->i64;
    case DTYPE_U64:
        return rows->u64;
    default:
        return dtype == DTYPE_BOOL ? rows->truth : NULL;
    }
}

/* An array as bytes, and the size of an element. */
struct operand {
    char *data;
    int64_t bytes;
};

static struct operand binary_operand(const struct tensor *tensor)
{
    return (struct operand){tensor_data(tensor),
                            (int64_t)dtype_bytes(tensor->dtype)};
}

/* Elements [first, last) of rows [first_row, last_row). */
struct part {
    int64_t first_row, last_row, first, last;
};

static void run_part(const struct walk *walk, binary_row *row,
                     const struct operand *operands, struct part part)
{
    struct walk now = *walk;

    walk_seek(&now, part.first_row);
    for (int64_t r = part.first_row; r < part.last_row; r++, walk_next(&now)) {
        int64_t a = now.at[0] + part.first * now.steps[0];
        int64_t b = now.at[1] + part.first * now.steps[1];
        int64_t y = now.at[2] + part.first;

        row(&(struct row){.a = operands[0].data + a * operands[0].bytes,
                          .b = operands[1].data + b * operands[1].bytes,
                          .y = operands[2].data + y * operands[2].bytes,
                          .a_step = now.steps[0],
                          .b_step = now.steps[1],
                          .n = part.last - part.first});
    }
}

/* y = a op b; y may be a. */
static void run_pair(const struct op_context *context, binary_row *row,
                     const struct tensor *a, const struct tensor *b,
                     const struct tensor *y)
{
    struct strides strides[] = {strides_repeat(&a->shape, &y->shape),
                                strides_repeat(&b->shape, &y->shape),
                                strides_dense(&y->shape)};
    struct operand operands[] = {binary_operand(a), binary_operand(b),
                                 binary_operand(y)};
    struct walk walk = walk_start(&y->shape, strides, 3);
    bool by_rows = walk.n_rows >= op_threads(context);
    int threads =
        tensor_elements(y) < parallel_elements ? 1 : op_threads(context);

    /* One long row is cut into pieces, many rows are dealt out. */
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int i = 0; i < threads; i++) {
        struct part part = {0, walk.n_rows, 0, walk.length};

        if (by_rows) {
            part.first_row = walk.n_rows * i / threads;
            part.last_row = walk.n_rows * (i + 1) / threads;
        } else {
            part.first = walk.length * i / threads;
            part.last = walk.length * (i + 1) / threads;
        }
        run_part(&walk, row, operands, part);
    }
}

static void divide_all(const struct tensor *y, size_t n)
{
    size_t elements = tensor_elements(y);

    for (size_t i = 0; i < elements; i++) {
        if (y->dtype == DTYPE_F32)
            ((float *)tensor_data(y))[i] /= (float)n;
        else if (y->dtype == DTYPE_F64)
            ((double *)tensor_data(y))[i] /= (double)n;
    }
}

static enum assay_status binary_kernel(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct tensor *y = &outputs[0];
    struct strides dense = strides_dense(&y->shape);
    binary_row *row = binary_find_row(node, inputs[0]->dtype);

    if (!row)
        return rule_undefined(node, inputs[0]->dtype, err);
    if (node->n_inputs == 1)
        strided_take(context, inputs[0], 0, &dense, y);
    else
        run_pair(context, row, inputs[0], inputs[1], y);
    for (size_t i = 2; i < node->n_inputs; i++)
        run_pair(context, row, y, inputs[i], y);
    if (node->op == &op_mean)
        divide_all(y, node->n_inputs);
    return ASSAY_OK;
}

WIDEN_FORWARD(binary_forward, binary_kernel)

/* Base and exponent in the type of whichever is a floating point number, and
 * the power in the base's. */
static enum assay_status pow_forward(const struct op_context *context,
                                     const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    bool is_float = dtype_is_float(inputs[0]->dtype);
    enum dtype dtype = inputs[0]->dtype;
    struct tensor base, exponent = {0}, power = {0};
    enum assay_status st;

    if (inputs[0]->dtype == inputs[1]->dtype)
        return binary_forward(context, node, inputs, outputs, err);
    if (!is_float)
        dtype = dtype_is_float(inputs[1]->dtype) ? DTYPE_F64 : DTYPE_I64;
    st = tensor_convert(context->pool, inputs[0], dtype, &base, err);
    if (!st)
        st = tensor_convert(context->pool, inputs[1], dtype, &exponent, err);
    if (!st)
        st = tensor_new(context->pool, dtype, &outputs[0].shape, &power, err);
    if (!st)
        st = binary_forward(context, node,
                            (const struct tensor *const[]){&base, &exponent},
                            &power, err);
    if (!st)
        convert_elements(dtype, tensor_data(&power), outputs[0].dtype,
                         tensor_data(&outputs[0]), tensor_elements(&power));
    tensor_release(&base);
    tensor_release(&exponent);
    tensor_release(&power);
    return st;
}

/* ---- the ops ---------------------------------------------------------- */

static enum assay_status binary_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    struct shape shape;
    enum assay_status st =
        strided_broadcast(inputs, node->n_inputs, &shape, err);

    for (size_t i = 1; !st && node->op != &op_pow && i < node->n_inputs; i++)
        st = rule_dtype(inputs, i, inputs[0]->dtype, err);
    if (!st)
        rule_set(&outputs[0], inputs[0]->dtype, &shape);
    return st;
}

static enum assay_status binary_infer_truth(const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    enum assay_status st = binary_infer(node, inputs, outputs, err);

    outputs[0].dtype = DTYPE_BOOL;
    return st;
}

static enum assay_status prelu_infer(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    enum assay_status st = binary_infer(node, inputs, outputs, err);

    if (!st && !shape_equal(&outputs[0].shape, &inputs[0]->shape))
        return rule_misfit("slope", &inputs[1]->shape, "x", &inputs[0]->shape,
                           err);
    return st;
}

static void prelu_to_onnx(struct onnx_sink *to)
{
    onnx_put_node(to, "PRelu", 2);
}

ATTR_FIELDS(binary, FIELD_FLAG(binary_attrs, is_fmod),
            FIELD_FLAG(binary_attrs, to_right));

#define CLASS(symbol, text, least, most, inferred, run, passes, ...)           \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_ATTRS(binary),                                                      \
        OP_TAKES(least, most),                                                 \
        OP_MAKES(1, 1),                                                        \
        .infer = inferred,                                                     \
        .forward = run,                                                        \
        .cost = rule_cost_elementwise,                                         \
        .backward = passes,                                                    \
        .backward_reads = binary_backward_reads,                               \
        .is_cheap = true,                                                      \
        __VA_ARGS__,                                                           \
    };
#define ARITHMETIC(symbol, text, least, most, run, as)                         \
    CLASS(symbol, text, least, most, binary_infer, run, binary_backward,       \
          .channels = channel_broadcast, .to_onnx = onnx_put_named,            \
          .counted = as)
#define COMPARISON(symbol, text, written)                                      \
    CLASS(symbol, text, 2, 2, binary_infer_truth, binary_forward, NULL,        \
          .to_onnx = written)
#define NO_GRADIENT(symbol, text, written)                                     \
    CLASS(symbol, text, 2, 2, binary_infer, binary_forward, NULL,              \
          .to_onnx = written)
ARITHMETIC(sum, "Sum", 1, SIZE_MAX, binary_forward, COUNTED_ADD)
ARITHMETIC(mean, "Mean", 1, SIZE_MAX, binary_forward, COUNTED_NOT)
ARITHMETIC(min, "Min", 1, SIZE_MAX, binary_forward, COUNTED_NOT)
ARITHMETIC(max, "Max", 1, SIZE_MAX, binary_forward, COUNTED_NOT)
ARITHMETIC(sub, "Sub", 2, 2, binary_forward, COUNTED_ADD)
ARITHMETIC(mul, "Mul", 2, 2, binary_forward, COUNTED_MUL)
ARITHMETIC(div, "Div", 2, 2, binary_forward, COUNTED_MUL)
ARITHMETIC(pow, "Pow", 2, 2, pow_forward, COUNTED_NOT)
CLASS(prelu, "PRelu", 2, 2, prelu_infer, binary_forward, binary_backward,
      .channels = channel_broadcast, .to_onnx = prelu_to_onnx,
      .counted = COUNTED_ACTIVATION)
COMPARISON(equal, "Equal", onnx_put_named)
COMPARISON(greater, "Greater", onnx_put_named)
COMPARISON(greater_or_equal, "GreaterOrEqual", NULL)
COMPARISON(less, "Less", onnx_put_named)
COMPARISON(less_or_equal, "LessOrEqual", NULL)
NO_GRADIENT(mod, "Mod", NULL)
NO_GRADIENT(bit_shift, "BitShift", NULL)
NO_GRADIENT(bitwise_and, "BitwiseAnd", NULL)
NO_GRADIENT(bitwise_or, "BitwiseOr", NULL)
NO_GRADIENT(bitwise_xor, "BitwiseXor", NULL)
NO_GRADIENT(and, "And", onnx_put_named)
NO_GRADIENT(or, "Or", onnx_put_named)
NO_GRADIENT(xor, "Xor", NULL)
