/* ops/softmax.c - see softmax.h. */
#include "ops/softmax.h"

#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>
#include <math.h>

const struct softmax_attrs *softmax_attrs(const struct node *node)
{
    assert(node->op == &op_softmax);
    return node->attrs;
}

static int axis_of(const struct node *node, int rank)
{
    int axis = softmax_attrs(node)->axis;

    return axis < 0 ? axis + rank : axis;
}

static enum assay_status infer(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[0]->shape;
    int axis = axis_of(node, x->rank);
    char text[64];

    rule_set(&outputs[0], DTYPE_F32, x);
    if (axis < 0 || axis >= x->rank)
        return error_set(err, ASSAY_BAD_INPUT,
                         "axis %d of %s cannot be; it has rank %d",
                         softmax_attrs(node)->axis,
                         shape_text(x, text, sizeof text), x->rank);
    return rule_dtype(inputs, 0, DTYPE_F32, err);
}

/* n values, `stride` apart. The largest is taken off first: exp() cannot
 * overflow then. */
static void normalise(const float *x, float *y, size_t n, size_t stride)
{
    float largest = -INFINITY, sum = 0;

    for (size_t i = 0; i < n; i++)
        largest = x[i * stride] > largest ? x[i * stride] : largest;
    for (size_t i = 0; i < n; i++) {
        y[i * stride] = expf(x[i * stride] - largest);
        sum += y[i * stride];
    }
    for (size_t i = 0; i < n; i++)
        y[i * stride] /= sum;
}

static enum assay_status forward(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    const struct shape *shape = &outputs[0].shape;
    int axis = axis_of(node, shape->rank);
    size_t n = (size_t)shape->dims[axis], stride = 1, total;
    const float *x = tensor_f32(inputs[0]);
    float *y = tensor_f32(&outputs[0]);

    (void)context, (void)err;
    total = tensor_elements(&outputs[0]);
    for (int i = axis + 1; i < shape->rank; i++)
        stride *= (size_t)shape->dims[i];
    for (size_t at = 0; at < total; at += n * stride) {
        for (size_t i = 0; i < stride; i++)
            normalise(x + at + i, y + at + i, n, stride);
    }
    return ASSAY_OK;
}

const struct op_class op_softmax = {
    .name = "Softmax",
    .attrs_bytes = sizeof(struct softmax_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .forward = forward,
    .cost = rule_cost_elementwise,
};
