/* ops/convolution/conv2d_backward.c - the gradients of a two-dimensional
 * convolution, with what is fused into it. A folded norm is frozen: its scale
 * gets none. */
#include "ops/convolution/conv2d_backward_internal.h"

#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_gradient_internal.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"

enum { BIT_X = 1 << CONV2D_X, BIT_WEIGHT = 1 << CONV2D_WEIGHT };

struct op_reads conv2d_backward_reads(const struct node *node, uint64_t wanted)
{
    struct op_reads reads = {.outputs = conv2d_attrs(node)->has_relu};

    if (wanted & BIT_X)
        reads.inputs |= BIT_WEIGHT;
    if (wanted & BIT_WEIGHT)
        reads.inputs |= BIT_X;
    if (wanted & (BIT_X | BIT_WEIGHT) && node->n_inputs > CONV2D_SCALE)
        reads.inputs |= 1 << CONV2D_SCALE;
    return reads;
}

/* dy times the scale of each channel, or dy itself, shared. */
static enum assay_status apply_scale(const struct op_context *context,
                                     const struct tensor *scale,
                                     const struct tensor *dy,
                                     struct tensor *out, struct error *err)
{
    int64_t channels = dy->shape.dims[1];
    int64_t plane = shape_span(&dy->shape, 2, 4);
    enum assay_status st;

    if (!scale) {
        *out = tensor_share(dy);
        return ASSAY_OK;
    }
    st = tensor_new(context->pool, DTYPE_F32, &dy->shape, out, err);
    for (int64_t i = 0; !st && i < dy->shape.dims[0] * channels; i++) {
        float factor = tensor_f32(scale)[i % channels];
        const float *from = tensor_f32(dy) + i * plane;
        float *to = tensor_f32(out) + i * plane;

        for (int64_t k = 0; k < plane; k++)
            to[k] = from[k] * factor;
    }
    return st;
}

/* Of x and of the weights, from the gradient of their bare convolution. */
static void pass_sums(const struct op_context *context, const struct node *node,
                      const struct op_backward *pass, const struct tensor *dz)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(node);
    const struct tensor *x = pass->inputs[CONV2D_X];
    const struct tensor *w = pass->inputs[CONV2D_WEIGHT];
    struct conv_sides sides =
        conv_sides_2d(&x->shape, &dz->shape, &w->shape, attrs->groups,
                      attrs->stride, attrs->dilation, attrs->before);

    if (op_wants(pass, CONV2D_X))
        conv_to_large(context, &sides, tensor_f32(w), tensor_f32(dz),
                      tensor_f32(&pass->dx[CONV2D_X]));
    if (op_wants(pass, CONV2D_WEIGHT))
        conv_to_weight(context, &sides, tensor_f32(dz), tensor_f32(x),
                       tensor_f32(&pass->dx[CONV2D_WEIGHT]));
}

enum assay_status conv2d_backward(const struct op_context *context,
                                  const struct node *node,
                                  const struct op_backward *pass,
                                  struct error *err)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(node);
    struct tensor dy, dz = {0};
    enum assay_status st =
        gradient_rectify(context, attrs->has_relu, attrs->relu_limit,
                         &pass->outputs[0], pass->dy[0], &dy, err);

    if (!st && op_wants(pass, CONV2D_SCALE))
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "a norm that is folded into a convolution cannot be "
                       "trained; leave the graph as it is, or freeze it");
    if (!st && pass->wanted & (BIT_X | BIT_WEIGHT)) {
        st = apply_scale(context, conv2d_scale(node, pass->inputs), &dy, &dz,
                         err);
        if (!st)
            pass_sums(context, node, pass, &dz);
    }
    if (!st && op_wants(pass, CONV2D_BIAS))
        gradient_channel_sums(context, &dy, &pass->dx[CONV2D_BIAS]);
    if (!st && op_wants(pass, CONV2D_RESIDUAL))
        gradient_scale(context, 1, &dy, &pass->dx[CONV2D_RESIDUAL]);
    tensor_release(&dy);
    tensor_release(&dz);
    return st;
}
