/* ops/norm/batch_norm.c - see batch_norm.h. */
#include "ops/norm/batch_norm.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>
#include <math.h>

const struct batch_norm_attrs *batch_norm_attrs(const struct node *node)
{
    assert(node->op == &op_batch_norm);
    return node->attrs;
}

void batch_norm_affine(const struct node *node,
                       const struct tensor *const *inputs, int64_t channel,
                       float *scale, float *shift)
{
    float variance = tensor_f32(inputs[BATCH_NORM_VARIANCE])[channel];
    float mean = tensor_f32(inputs[BATCH_NORM_MEAN])[channel];

    *scale = tensor_f32(inputs[BATCH_NORM_WEIGHT])[channel] /
             sqrtf(variance + batch_norm_attrs(node)->eps);
    *shift = tensor_f32(inputs[BATCH_NORM_BIAS])[channel] - mean * *scale;
}

static enum assay_status batch_norm_infer(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct shape *x = &inputs[BATCH_NORM_X]->shape;
    char text[64];

    (void)node;
    if (x->rank < 2)
        return rule_rank(inputs, BATCH_NORM_X, 4, err);
    for (size_t i = 1; i < BATCH_NORM_INPUTS; i++) {
        if (inputs[i]->shape.rank != 1 ||
            inputs[i]->shape.dims[0] != x->dims[1])
            return error_set(err, ASSAY_BAD_INPUT,
                             "input %zu does not fit the channels of %s", i,
                             shape_text(x, text, sizeof text));
    }
    rule_set(&outputs[0], DTYPE_F32, x);
    return ASSAY_OK;
}

static enum assay_status batch_norm_forward(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const float *x = tensor_f32(inputs[BATCH_NORM_X]);
    const struct shape *shape = &inputs[BATCH_NORM_X]->shape;
    float *y = tensor_f32(&outputs[0]);
    int64_t plane = shape_span(shape, 2, shape->rank);
    float low = batch_norm_attrs(node)->has_relu ? 0 : -INFINITY;

    (void)context, (void)err;
    for (int64_t n = 0; n < shape->dims[0]; n++) {
        for (int64_t c = 0; c < shape->dims[1]; c++) {
            float scale, shift;

            batch_norm_affine(node, inputs, c, &scale, &shift);
            for (int64_t i = 0; i < plane; i++) {
                float value = *x++ * scale + shift;

                *y++ = value < low ? low : value;
            }
        }
    }
    return ASSAY_OK;
}

static void batch_norm_count_cost(const struct node *node,
                                  const struct tensor *const *inputs,
                                  const struct tensor *outputs,
                                  struct cost *cost)
{
    (void)node, (void)inputs;
    cost->flops += 2 * tensor_elements(&outputs[0]);
}

static struct op_reads batch_norm_backward_reads(const struct node *node,
                                                 uint64_t wanted)
{
    static const uint64_t reads[BATCH_NORM_INPUTS] = {
        [BATCH_NORM_X] = 1 << BATCH_NORM_WEIGHT | 1 << BATCH_NORM_VARIANCE,
        [BATCH_NORM_WEIGHT] =
            1 << BATCH_NORM_X | 1 << BATCH_NORM_MEAN | 1 << BATCH_NORM_VARIANCE,
        [BATCH_NORM_MEAN] = 1 << BATCH_NORM_WEIGHT | 1 << BATCH_NORM_VARIANCE,
        [BATCH_NORM_VARIANCE] = 1 << BATCH_NORM_X | 1 << BATCH_NORM_WEIGHT |
                                1 << BATCH_NORM_MEAN | 1 << BATCH_NORM_VARIANCE,
    };
    struct op_reads all = {.outputs = batch_norm_attrs(node)->has_relu};

    for (size_t i = 0; i < BATCH_NORM_INPUTS; i++) {
        if (wanted >> i & 1)
            all.inputs |= reads[i];
    }
    return all;
}

static double deviation(const struct node *node, const struct op_backward *pass,
                        int64_t channel)
{
    const struct tensor *variance = pass->inputs[BATCH_NORM_VARIANCE];

    return sqrt((double)tensor_f32(variance)[channel] +
                (double)batch_norm_attrs(node)->eps);
}

/* Sums of dy and, if x has data, of dy * (x - mean). */
static void batch_norm_sum_channel(const struct op_backward *pass,
                                   int64_t channel, double *sum,
                                   double *product)
{
    const struct tensor *x = pass->inputs[BATCH_NORM_X];
    const struct tensor *mean = pass->inputs[BATCH_NORM_MEAN];
    const float *all = x->buffer ? tensor_f32(x) : NULL;
    double middle = all ? (double)tensor_f32(mean)[channel] : 0;
    int64_t channels = x->shape.dims[1];
    int64_t plane = shape_span(&x->shape, 2, x->shape.rank);

    *sum = *product = 0;
    for (int64_t n = 0; n < x->shape.dims[0]; n++) {
        int64_t at = (n * channels + channel) * plane;
        const float *dy = tensor_f32(pass->dy[0]) + at;

        for (int64_t i = 0; i < plane; i++)
            *sum += (double)dy[i];
        for (int64_t i = 0; all && i < plane; i++)
            *product += (double)dy[i] * ((double)all[at + i] - middle);
    }
}

/* The gradients of weight, bias, mean and variance, for one channel. */
static void pass_lists(const struct node *node, const struct op_backward *pass,
                       int64_t c)
{
    double sum, product, d = 1, w = 1;

    batch_norm_sum_channel(pass, c, &sum, &product);
    if (pass->wanted & ~(uint64_t)(1 << BATCH_NORM_BIAS))
        d = deviation(node, pass, c);
    if (op_wants(pass, BATCH_NORM_MEAN) || op_wants(pass, BATCH_NORM_VARIANCE))
        w = (double)tensor_f32(pass->inputs[BATCH_NORM_WEIGHT])[c];
    if (op_wants(pass, BATCH_NORM_WEIGHT))
        tensor_f32(&pass->dx[BATCH_NORM_WEIGHT])[c] = (float)(product / d);
    if (op_wants(pass, BATCH_NORM_BIAS))
        tensor_f32(&pass->dx[BATCH_NORM_BIAS])[c] = (float)sum;
    if (op_wants(pass, BATCH_NORM_MEAN))
        tensor_f32(&pass->dx[BATCH_NORM_MEAN])[c] = (float)(-sum * w / d);
    if (op_wants(pass, BATCH_NORM_VARIANCE))
        tensor_f32(&pass->dx[BATCH_NORM_VARIANCE])[c] =
            (float)(-product * w / (2 * d * d * d));
}

static void batch_norm_pass_channel(const struct node *node,
                                    const struct op_backward *pass, int64_t c)
{
    const struct shape *shape = &pass->inputs[BATCH_NORM_X]->shape;
    int64_t plane = shape_span(shape, 2, shape->rank);
    float scale;

    if (pass->wanted & ~(uint64_t)1)
        pass_lists(node, pass, c);
    if (!op_wants(pass, BATCH_NORM_X))
        return;
    scale = (float)((double)tensor_f32(pass->inputs[BATCH_NORM_WEIGHT])[c] /
                    deviation(node, pass, c));
    for (int64_t n = 0; n < shape->dims[0]; n++) {
        int64_t at = (n * shape->dims[1] + c) * plane;
        const float *dy = tensor_f32(pass->dy[0]) + at;
        float *dx = tensor_f32(&pass->dx[BATCH_NORM_X]) + at;

        for (int64_t i = 0; i < plane; i++)
            dx[i] = dy[i] * scale;
    }
}

static enum assay_status batch_norm_backward(const struct op_context *context,
                                             const struct node *node,
                                             const struct op_backward *pass,
                                             struct error *err)
{
    const struct shape *shape = &pass->inputs[BATCH_NORM_X]->shape;
    int parts = gradient_parts(context, tensor_elements(pass->dy[0]));
    const struct tensor *gradients;
    struct op_backward before = *pass;
    struct tensor dy;
    enum assay_status st =
        gradient_rectify(context, batch_norm_attrs(node)->has_relu, 0,
                         &pass->outputs[0], pass->dy[0], &dy, err);

    if (st)
        return st;
    gradients = &dy;
    before.dy = &gradients;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < shape->dims[1]; c++)
        batch_norm_pass_channel(node, &before, c);
    tensor_release(&dy);
    return ASSAY_OK;
}

static void batch_norm_to_onnx(struct onnx_sink *to)
{
    if (batch_norm_attrs(to->node)->has_relu) {
        onnx_refuse(to, "another op is fused into it");
        return;
    }
    onnx_attr_float(to, "epsilon", (double)batch_norm_attrs(to->node)->eps);
    onnx_put_node(to, "BatchNormalization", BATCH_NORM_INPUTS);
}

ATTR_FIELDS(batch_norm, FIELD_FLOAT(batch_norm_attrs, eps),
            FIELD_FLOAT(batch_norm_attrs, momentum),
            FIELD_FLAG(batch_norm_attrs, has_relu));

const struct op_class op_batch_norm = {
    .name = "BatchNorm",
    OP_ATTRS(batch_norm),
    OP_TAKES(BATCH_NORM_INPUTS, BATCH_NORM_INPUTS),
    OP_MAKES(1, 1),
    .infer = batch_norm_infer,
    .forward = batch_norm_forward,
    .cost = batch_norm_count_cost,
    .backward = batch_norm_backward,
    .backward_reads = batch_norm_backward_reads,
    .is_cheap = true,
    .is_f32 = true,
    .channels = channel_norm,
    .to_onnx = batch_norm_to_onnx,
    .counted = COUNTED_NORM,
};
