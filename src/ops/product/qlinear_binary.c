/* ops/product/qlinear_binary.c - QLinearAdd and QLinearMul, see quantize.h. */
#include "base/variants.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/product/quantize.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"
#include "tensor/convert.h"

enum { qlinear_piece = 1 << 10 };

/* ---- rows of equal length ------------------------------------------------ */

VARIANTS(void, row_combine,
         (const float *a, const float *b, float *y, size_t n, bool is_product),
         (a, b, y, n, is_product))
{
    if (is_product) {
        for (size_t i = 0; i < n; i++)
            y[i] = a[i] * b[i];
    } else {
        for (size_t i = 0; i < n; i++)
            y[i] = a[i] + b[i];
    }
}

void qlinear_row(const struct qlinear_row *row)
{
    float a[qlinear_piece], b[qlinear_piece];

    for (size_t at = 0; at < row->n; at += qlinear_piece) {
        size_t n = row->n - at < qlinear_piece ? row->n - at : qlinear_piece;

        dequantize_row(row->a_dtype, (const uint8_t *)row->a + at, a, n,
                       row->a_scale, row->a_zero);
        dequantize_row(row->b_dtype, (const uint8_t *)row->b + at, b, n,
                       row->b_scale, row->b_zero);
        row_combine(a, b, a, n, row->is_product);
        quantize_row(row->y_dtype, a, (uint8_t *)row->y + at, n, row->y_scale,
                     row->y_zero);
    }
}

static bool qlinear_is_byte(const struct tensor *tensor)
{
    return tensor->dtype == DTYPE_U8 || tensor->dtype == DTYPE_I8;
}

bool qlinear_row_find(const struct node *node,
                      const struct tensor *const *inputs,
                      struct qlinear_row *row)
{
    static const size_t scales[] = {QLINEAR_X_SCALE, QLINEAR_W_SCALE,
                                    QLINEAR_Y_SCALE};
    float scale[3];
    int zero[3];

    for (size_t i = 0; i < 3; i++) {
        const struct tensor *s = inputs[scales[i]], *z = inputs[scales[i] + 1];

        if (s->dtype != DTYPE_F32 || tensor_elements(s) != 1 ||
            tensor_elements(z) != 1 || !qlinear_is_byte(z))
            return false;
        scale[i] = *tensor_f32(s);
        zero[i] = (int)int_at(z, 0);
    }
    *row = (struct qlinear_row){.a_dtype = inputs[QLINEAR_X]->dtype,
                                .b_dtype = inputs[QLINEAR_W]->dtype,
                                .y_dtype = inputs[QLINEAR_Y_ZERO]->dtype,
                                .a_scale = scale[0],
                                .b_scale = scale[1],
                                .y_scale = scale[2],
                                .a_zero = zero[0],
                                .b_zero = zero[1],
                                .y_zero = zero[2],
                                .is_product = node->op == &op_qlinear_mul};
    return qlinear_is_byte(inputs[QLINEAR_X]) &&
           qlinear_is_byte(inputs[QLINEAR_W]);
}

/* ---- the portable kernel ------------------------------------------------- */

static enum assay_status
qlinear_binary_infer(const struct node *node,
                     const struct tensor *const *inputs, struct tensor *outputs,
                     struct error *err)
{
    const struct tensor *list[] = {inputs[QLINEAR_X], inputs[QLINEAR_W]};
    struct node real = {.op = &op_sum, .n_inputs = 2, .n_outputs = 1};
    struct tensor a = *list[0], b = *list[1];
    enum assay_status st;

    (void)node;
    a.dtype = b.dtype = DTYPE_F32;
    list[0] = &a;
    list[1] = &b;
    st = op_sum.infer(&real, list, outputs, err);
    if (!st)
        outputs[0].dtype = inputs[QLINEAR_Y_ZERO]->dtype;
    return st;
}

static enum assay_status qlinear_dequantise(const struct op_context *context,
                                            const struct tensor *x, float scale,
                                            int zero, struct tensor *out,
                                            struct error *err)
{
    enum assay_status st =
        tensor_new(context->pool, DTYPE_F32, &x->shape, out, err);

    if (!st)
        dequantize_row(x->dtype, tensor_data(x), tensor_f32(out),
                       tensor_elements(x), scale, zero);
    return st;
}

/* By way of float32 tensors, whose op knows how to broadcast. */
static enum assay_status qlinear_broadcast(const struct op_context *context,
                                           const struct tensor *const *inputs,
                                           struct qlinear_row *row,
                                           const struct tensor *y,
                                           struct error *err)
{
    const struct op_class *op = row->is_product ? &op_mul : &op_sum;
    struct tensor a = {0}, b = {0}, real = {0};
    const struct tensor *list[] = {&a, &b};
    struct node node = {.op = op, .n_inputs = 2, .n_outputs = 1};
    enum assay_status st = qlinear_dequantise(
        context, inputs[QLINEAR_X], row->a_scale, row->a_zero, &a, err);

    if (!st)
        st = qlinear_dequantise(context, inputs[QLINEAR_W], row->b_scale,
                                row->b_zero, &b, err);
    if (!st)
        st = tensor_new(context->pool, DTYPE_F32, &y->shape, &real, err);
    if (!st)
        st = op->forward(context, &node, list, &real, err);
    if (!st)
        quantize_row(row->y_dtype, tensor_f32(&real), tensor_data(y),
                     tensor_elements(y), row->y_scale, row->y_zero);
    tensor_release(&a);
    tensor_release(&b);
    tensor_release(&real);
    return st;
}

static enum assay_status
qlinear_binary_forward(const struct op_context *context,
                       const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    struct qlinear_row row;

    if (!qlinear_row_find(node, inputs, &row))
        return error_set(err, ASSAY_BAD_INPUT,
                         "needs 8-bit numbers with one scale and zero each");
    if (!shape_equal(&inputs[QLINEAR_X]->shape, &inputs[QLINEAR_W]->shape))
        return qlinear_broadcast(context, inputs, &row, &outputs[0], err);
    row.a = tensor_data(inputs[QLINEAR_X]);
    row.b = tensor_data(inputs[QLINEAR_W]);
    row.y = tensor_data(&outputs[0]);
    row.n = tensor_elements(&outputs[0]);
    qlinear_row(&row);
    return ASSAY_OK;
}

#define CLASS(symbol, text)                                                    \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_TAKES(QLINEAR_BIAS, QLINEAR_BIAS),                                  \
        OP_MAKES(1, 1),                                                        \
        .infer = qlinear_binary_infer,                                         \
        .forward = qlinear_binary_forward,                                     \
        .cost = rule_cost_elementwise,                                         \
    };
CLASS(qlinear_add, "QLinearAdd")
CLASS(qlinear_mul, "QLinearMul")
