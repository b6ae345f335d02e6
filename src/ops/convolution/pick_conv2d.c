/* ops/convolution/pick_conv2d.c - see pick_conv2d.h. The portable kernel runs
 * the two ops that it stands for. */
#include "ops/convolution/pick_conv2d.h"

#include "ops/convolution/conv_internal.h"
#include "ops/ops.h"

#include <string.h>

static size_t pick_conv2d_map_count(const struct node *node)
{
    return node->n_inputs - PICK_CONV2D_CHANNELS;
}

void pick_conv2d_maps(const struct node *node,
                      const struct tensor *const *inputs,
                      const struct tensor **list)
{
    size_t n = pick_conv2d_map_count(node);

    list[0] = inputs[CONV2D_X];
    for (size_t i = 1; i < n; i++)
        list[i] = inputs[PICK_CONV2D_CHANNELS + i];
    list[n] = inputs[PICK_CONV2D_CHANNELS];
}

void pick_conv2d_parts(const struct node *node, struct pick_conv2d *parts)
{
    size_t n = pick_conv2d_map_count(node);

    parts->conv = *node;
    parts->conv.op = &op_conv2d;
    parts->conv.n_inputs = CONV2D_SCALE + 1;
    parts->pick_inputs[0] = node->inputs[CONV2D_X];
    for (size_t i = 1; i < n; i++)
        parts->pick_inputs[i] = node->inputs[PICK_CONV2D_CHANNELS + i];
    parts->pick_inputs[n] = node->inputs[PICK_CONV2D_CHANNELS];
    parts->pick = (struct node){.op = &op_pick_channels,
                                .inputs = parts->pick_inputs,
                                .n_inputs = n + 1,
                                .n_outputs = 1};
}

/* What is picked, without memory, and the inputs of the convolution. */
static enum assay_status
pick_conv2d_begin(const struct node *node, const struct tensor *const *inputs,
                  struct pick_conv2d *parts, const struct tensor **maps,
                  struct tensor *x, const struct tensor **conv_inputs,
                  struct error *err)
{
    pick_conv2d_parts(node, parts);
    pick_conv2d_maps(node, inputs, maps);
    memcpy(conv_inputs, inputs, (CONV2D_SCALE + 1) * sizeof(*conv_inputs));
    conv_inputs[CONV2D_X] = x;
    return op_pick_channels.infer(&parts->pick, maps, x, err);
}

static enum assay_status pick_conv2d_infer(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct tensor *maps[OP_MAX_VALUES], *conv_inputs[CONV2D_SCALE + 1];
    struct pick_conv2d parts;
    struct tensor x = {0};
    enum assay_status st =
        pick_conv2d_begin(node, inputs, &parts, maps, &x, conv_inputs, err);

    return st ? st : op_conv2d.infer(&parts.conv, conv_inputs, outputs, err);
}

static enum assay_status pick_conv2d_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const struct tensor *maps[OP_MAX_VALUES], *conv_inputs[CONV2D_SCALE + 1];
    struct pick_conv2d parts;
    struct tensor shape = {0}, x = {0};
    enum assay_status st =
        pick_conv2d_begin(node, inputs, &parts, maps, &shape, conv_inputs, err);

    conv_inputs[CONV2D_X] = &x;
    if (!st)
        st = tensor_new(context->pool, shape.dtype, &shape.shape, &x, err);
    if (!st)
        st = op_pick_channels.forward(context, &parts.pick, maps, &x, err);
    if (!st)
        st = op_conv2d.forward(context, &parts.conv, conv_inputs, outputs, err);
    tensor_release(&x);
    return st;
}

/* Of the maps only the channels that are picked are read. */
static void pick_conv2d_cost(const struct node *node,
                             const struct tensor *const *inputs,
                             const struct tensor *outputs, struct cost *cost)
{
    const struct tensor *maps[OP_MAX_VALUES], *conv_inputs[CONV2D_SCALE + 1];
    struct pick_conv2d parts;
    struct tensor x = {0};

    conv_cost(node, inputs, outputs, cost);
    if (!pick_conv2d_begin(node, inputs, &parts, maps, &x, conv_inputs, NULL))
        op_pick_channels.cost(&parts.pick, maps, &x, cost);
}

const struct op_class op_pick_conv2d = {
    .name = "PickConv2d",
    .attrs_bytes = sizeof(struct conv2d_attrs),
    OP_TAKES(PICK_CONV2D_MAPS, SIZE_MAX),
    OP_MAKES(1, 1),
    .infer = pick_conv2d_infer,
    .forward = pick_conv2d_forward,
    .cost = pick_conv2d_cost,
};
