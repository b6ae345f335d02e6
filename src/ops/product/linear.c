/* ops/product/linear.c - see linear.h. */
#include "ops/product/linear.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/product/matrix_internal.h"
#include "ops/shape_rules.h"

#include <assert.h>

const struct linear_attrs *linear_attrs(const struct node *node)
{
    assert(node->op == &op_linear);
    return node->attrs;
}

static enum assay_status linear_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[LINEAR_X]->shape;
    const struct shape *w = &inputs[LINEAR_WEIGHT]->shape;
    enum assay_status st = rule_ranks(inputs, 2, 2, err);
    struct shape y;

    (void)node;
    if (st)
        return st;
    if (x->dims[1] != w->dims[1])
        return rule_misfit("x", x, "weight", w, err);
    y = shape_of(2, x->dims[0], w->dims[0]);
    rule_set(&outputs[0], DTYPE_F32, &y);
    return rule_bias(inputs[LINEAR_BIAS], y.dims[1], err);
}

static enum assay_status linear_forward(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    bool has_relu = linear_attrs(node)->has_relu;
    int64_t rows = outputs[0].shape.dims[0], cols = outputs[0].shape.dims[1];
    int64_t depth = inputs[LINEAR_X]->shape.dims[1];
    const float *x = tensor_f32(inputs[LINEAR_X]);
    const float *w = tensor_f32(inputs[LINEAR_WEIGHT]);
    float *y = tensor_f32(&outputs[0]);

    (void)context, (void)err;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            float sum =
                inputs[LINEAR_BIAS] ? tensor_f32(inputs[LINEAR_BIAS])[j] : 0;

            for (int64_t k = 0; k < depth; k++)
                sum += x[i * depth + k] * w[j * depth + k];
            *y++ = has_relu && sum < 0 ? 0 : sum;
        }
    }
    return ASSAY_OK;
}

static void linear_count_cost(const struct node *node,
                              const struct tensor *const *inputs,
                              const struct tensor *outputs, struct cost *cost)
{
    (void)node;
    cost->macs += tensor_elements(&outputs[0]) *
                  (uint64_t)inputs[LINEAR_X]->shape.dims[1];
}

static struct op_reads linear_backward_reads(const struct node *node,
                                             uint64_t wanted)
{
    struct op_reads reads = gradient_reads_factors(node, wanted);

    reads.outputs = linear_attrs(node)->has_relu;
    return reads;
}

static enum assay_status linear_backward(const struct op_context *context,
                                         const struct node *node,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    const struct tensor *x = pass->inputs[LINEAR_X];
    const struct tensor *w = pass->inputs[LINEAR_WEIGHT];
    int64_t rows = x->shape.dims[0], depth = x->shape.dims[1];
    int64_t cols = w->shape.dims[0];
    struct tensor dy;
    enum assay_status st =
        gradient_rectify(context, linear_attrs(node)->has_relu, 0,
                         &pass->outputs[0], pass->dy[0], &dy, err);

    if (st)
        return st;
    if (op_wants(pass, LINEAR_X))
        matrix_multiply(context, DTYPE_F32, rows, depth, cols,
                        &(struct matrix){tensor_data(&dy), cols, 1},
                        &(struct matrix){tensor_data(w), depth, 1},
                        tensor_data(&pass->dx[LINEAR_X]));
    if (op_wants(pass, LINEAR_WEIGHT))
        matrix_multiply(context, DTYPE_F32, cols, depth, rows,
                        &(struct matrix){tensor_data(&dy), 1, cols},
                        &(struct matrix){tensor_data(x), depth, 1},
                        tensor_data(&pass->dx[LINEAR_WEIGHT]));
    if (op_wants(pass, LINEAR_BIAS))
        gradient_channel_sums(context, &dy, &pass->dx[LINEAR_BIAS]);
    tensor_release(&dy);
    return ASSAY_OK;
}

static void linear_channels(struct channels *channels, const struct node *node)
{
    if (!channels_is_weight(channels, node->inputs[LINEAR_WEIGHT])) {
        channels_fix_inputs(channels, node);
        return;
    }
    channel_product(channels, node, 1, 1);
    channels_match(channels, node->inputs[LINEAR_BIAS], 0,
                   channels_of(channels, node->outputs[0], 1));
}

static void linear_to_onnx(struct onnx_sink *to)
{
    if (linear_attrs(to->node)->has_relu) {
        onnx_refuse(to, "another op is fused into it");
        return;
    }
    onnx_attr_int(to, "transB", 1);
    onnx_put_node(to, "Gemm", LINEAR_INPUTS);
}

static void linear_describe(const struct node *node,
                            const struct tensor *const *inputs,
                            const struct tensor *outputs,
                            struct layer_numbers *numbers)
{
    const struct shape *x = &inputs[0]->shape;

    (void)node, (void)outputs;
    numbers->summed = x->dims[x->rank - 1];
}

ATTR_FIELDS(linear, FIELD_FLAG(linear_attrs, has_relu));

const struct op_class op_linear = {
    .name = "Linear",
    OP_ATTRS(linear),
    OP_TAKES(LINEAR_INPUTS, LINEAR_INPUTS),
    OP_MAKES(1, 1),
    .infer = linear_infer,
    .forward = linear_forward,
    .cost = linear_count_cost,
    .backward = linear_backward,
    .backward_reads = linear_backward_reads,
    .is_f32 = true,
    .channels = linear_channels,
    .to_onnx = linear_to_onnx,
    .counted = COUNTED_PRODUCT,
    .describe = linear_describe,
};
