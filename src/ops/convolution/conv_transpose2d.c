/* ops/convolution/conv_transpose2d.c - see conv_transpose2d.h. */
#include "ops/convolution/conv_transpose2d.h"

#include "ops/attr_fields.h"
#include "ops/convolution/conv_internal.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

const struct conv_transpose2d_attrs *
conv_transpose2d_attrs(const struct node *node)
{
    assert(node->op == &op_conv_transpose2d);
    return node->attrs;
}

static enum assay_status
conv_transpose2d_infer(const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    const struct conv_transpose2d_attrs *attrs = conv_transpose2d_attrs(node);
    enum assay_status st = rule_ranks(inputs, 2, 4, err);
    const struct shape *x = &inputs[CONV_TRANSPOSE2D_X]->shape;
    const struct shape *w = &inputs[CONV_TRANSPOSE2D_WEIGHT]->shape;
    char text[64];
    struct shape y = {.rank = 4};

    if (!st)
        st = conv_check(x, w, 1, true, err);
    if (st)
        return st;
    y.dims[0] = x->dims[0];
    y.dims[1] = w->dims[1];
    for (int i = 0; i < 2; i++) {
        y.dims[2 + i] = (x->dims[2 + i] - 1) * attrs->stride[i] -
                        attrs->before[i] - attrs->after[i] + attrs->more[i] +
                        w->dims[2 + i];
        if (y.dims[2 + i] < 0)
            return error_set(err, ASSAY_BAD_INPUT,
                             "the padding leaves nothing of x %s",
                             shape_text(x, text, sizeof text));
    }
    rule_set(&outputs[0], DTYPE_F32, &y);
    return rule_bias(inputs[CONV_TRANSPOSE2D_BIAS], y.dims[1], err);
}

/* Adds one value of x, times the kernel, to the output plane. */
static void conv_transpose2d_spread(const struct conv_transpose2d_attrs *attrs,
                                    const struct shape *w,
                                    const struct shape *y, float *plane,
                                    const float *kernel, float value,
                                    int64_t row, int64_t col)
{
    for (int64_t i = 0; i < w->dims[2]; i++) {
        int64_t to_row = row * attrs->stride[0] - attrs->before[0] + i;

        if (to_row < 0 || to_row >= y->dims[2])
            continue;
        for (int64_t j = 0; j < w->dims[3]; j++) {
            int64_t to_col = col * attrs->stride[1] - attrs->before[1] + j;

            if (to_col >= 0 && to_col < y->dims[3])
                plane[to_row * y->dims[3] + to_col] +=
                    value * kernel[i * w->dims[3] + j];
        }
    }
}

static void conv_transpose2d_fill_plane(const struct node *node,
                                        const struct tensor *const *inputs,
                                        const struct tensor *output, int64_t n,
                                        int64_t o)
{
    const struct conv_transpose2d_attrs *attrs = conv_transpose2d_attrs(node);
    const struct shape *x = &inputs[CONV_TRANSPOSE2D_X]->shape;
    const struct shape *w = &inputs[CONV_TRANSPOSE2D_WEIGHT]->shape;
    const struct shape *y = &output->shape;
    const struct tensor *bias = inputs[CONV_TRANSPOSE2D_BIAS];
    int64_t size = y->dims[2] * y->dims[3], area = w->dims[2] * w->dims[3];
    float *plane = tensor_f32(output) + (n * y->dims[1] + o) * size;
    const float *image = tensor_f32(inputs[CONV_TRANSPOSE2D_X]) +
                         n * x->dims[1] * x->dims[2] * x->dims[3];

    for (int64_t i = 0; i < size; i++)
        plane[i] = bias ? tensor_f32(bias)[o] : 0;
    for (int64_t c = 0; c < x->dims[1]; c++) {
        const float *kernel = tensor_f32(inputs[CONV_TRANSPOSE2D_WEIGHT]) +
                              (c * w->dims[1] + o) * area;

        for (int64_t i = 0; i < x->dims[2]; i++) {
            for (int64_t j = 0; j < x->dims[3]; j++)
                conv_transpose2d_spread(attrs, w, y, plane, kernel, *image++, i,
                                        j);
        }
    }
    for (int64_t i = 0; attrs->has_relu && i < size; i++)
        plane[i] = plane[i] < 0 ? 0 : plane[i];
}

static enum assay_status
conv_transpose2d_forward(const struct op_context *context,
                         const struct node *node,
                         const struct tensor *const *inputs,
                         struct tensor *outputs, struct error *err)
{
    (void)context, (void)err;
    for (int64_t n = 0; n < outputs[0].shape.dims[0]; n++) {
        for (int64_t o = 0; o < outputs[0].shape.dims[1]; o++)
            conv_transpose2d_fill_plane(node, inputs, &outputs[0], n, o);
    }
    return ASSAY_OK;
}

static struct op_reads conv_transpose2d_backward_reads(const struct node *node,
                                                       uint64_t wanted)
{
    struct op_reads reads = gradient_reads_factors(node, wanted);

    reads.outputs = conv_transpose2d_attrs(node)->has_relu;
    return reads;
}

static enum assay_status
conv_transpose2d_backward(const struct op_context *context,
                          const struct node *node,
                          const struct op_backward *pass, struct error *err)
{
    static const int64_t dense[2] = {1, 1};
    const struct conv_transpose2d_attrs *attrs = conv_transpose2d_attrs(node);
    struct conv_sides sides;
    struct tensor dy;
    enum assay_status st = gradient_rectify(
        context, attrs->has_relu, 0, &pass->outputs[0], pass->dy[0], &dy, err);

    if (st)
        return st;
    sides = conv_sides_2d(&dy.shape, &pass->inputs[CONV_TRANSPOSE2D_X]->shape,
                          &pass->inputs[CONV_TRANSPOSE2D_WEIGHT]->shape, 1,
                          attrs->stride, dense, attrs->before);
    conv_backward(context, &sides, pass, &dy, true);
    if (op_wants(pass, CONV_TRANSPOSE2D_BIAS))
        gradient_channel_sums(context, &dy, &pass->dx[CONV_TRANSPOSE2D_BIAS]);
    tensor_release(&dy);
    return ASSAY_OK;
}

static void conv_transpose2d_channels(struct channels *channels,
                                      const struct node *node)
{
    conv_transpose_channels(channels, node, 1);
}

static void conv_transpose2d_to_onnx(struct onnx_sink *to)
{
    const struct conv_transpose2d_attrs *attrs =
        conv_transpose2d_attrs(to->node);

    if (attrs->has_relu) {
        onnx_refuse(to, "another op is fused into it");
        return;
    }
    onnx_attr_ints(to, "strides", attrs->stride, 2);
    onnx_attr_pads(to, attrs->before, attrs->after, 2);
    if (attrs->more[0] || attrs->more[1])
        onnx_attr_ints(to, "output_padding", attrs->more, 2);
    onnx_put_node(to, "ConvTranspose", ONNX_ALL_INPUTS);
}

ATTR_FIELDS(conv_transpose2d, FIELD_SIZE(conv_transpose2d_attrs, stride),
            FIELD_AMOUNT(conv_transpose2d_attrs, before),
            FIELD_AMOUNT(conv_transpose2d_attrs, after),
            FIELD_AMOUNT(conv_transpose2d_attrs, more),
            FIELD_FLAG(conv_transpose2d_attrs, has_relu));

const struct op_class op_conv_transpose2d = {
    .name = "ConvTranspose2d",
    OP_ATTRS(conv_transpose2d),
    OP_TAKES(CONV_TRANSPOSE2D_INPUTS, CONV_TRANSPOSE2D_INPUTS),
    OP_MAKES(1, 1),
    .infer = conv_transpose2d_infer,
    .forward = conv_transpose2d_forward,
    .cost = conv_transpose_cost,
    .backward = conv_transpose2d_backward,
    .backward_reads = conv_transpose2d_backward_reads,
    .is_f32 = true,
    .channels = conv_transpose2d_channels,
    .to_onnx = conv_transpose2d_to_onnx,
};
