/* ops/movement/rearrange.c - see rearrange.h. */
#include "ops/movement/rearrange.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"

#include <string.h>

static enum assay_status depth_infer(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    const struct depth_attrs *attrs = node->attrs;
    struct shape y = inputs[0]->shape;
    int64_t block = attrs->block;
    bool to_space = node->op == &op_depth_to_space;
    char text[64];
    enum assay_status st = rule_rank(inputs, 0, 4, err);

    if (st)
        return st;
    if (block < 1 || block > INT16_MAX ||
        (to_space ? y.dims[1] % (block * block)
                  : y.dims[2] % block || y.dims[3] % block))
        return error_set(err, ASSAY_BAD_INPUT,
                         "blocks of %lld do not fit into %s", (long long)block,
                         shape_text(&y, text, sizeof text));
    y.dims[1] =
        to_space ? y.dims[1] / (block * block) : y.dims[1] * block * block;
    for (int i = 2; i < 4; i++)
        y.dims[i] = to_space ? y.dims[i] * block : y.dims[i] / block;
    rule_set(&outputs[0], inputs[0]->dtype, &y);
    return ASSAY_OK;
}

/* Copies between the deep side and the wide one. Both are walked as n, c, h,
 * block, w, block. */
static void move_depth(const struct op_context *context,
                       const struct depth_attrs *attrs,
                       const struct shape *deep, bool to_space, size_t bytes,
                       const void *from, void *to)
{
    int64_t block = attrs->block, plane = deep->dims[2] * deep->dims[3];
    int64_t n = deep->dims[0], c = deep->dims[1] / (block * block);
    int64_t h = deep->dims[2], w = deep->dims[3];
    struct shape cut = {.rank = 6, .dims = {n, c, h, block, w, block}};
    struct strides wide = strides_dense(&cut), stacked;

    stacked = attrs->is_depth_first
                  ? (struct strides){{c * block * block * plane,
                                      block * block * plane, w, block * plane,
                                      1, plane}}
                  : (struct strides){{c * block * block * plane, plane, w,
                                      block * c * plane, 1, c * plane}};
    strided_copy(context, &cut, bytes, from, to_space ? &stacked : &wide, to,
                 to_space ? &wide : &stacked);
}

static enum assay_status depth_forward(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    bool to_space = node->op == &op_depth_to_space;

    (void)err;
    move_depth(context, node->attrs,
               to_space ? &inputs[0]->shape : &outputs[0].shape, to_space,
               dtype_bytes(outputs[0].dtype), tensor_data(inputs[0]),
               tensor_data(&outputs[0]));
    return ASSAY_OK;
}

static enum assay_status depth_backward(const struct op_context *context,
                                        const struct node *node,
                                        const struct op_backward *pass,
                                        struct error *err)
{
    bool to_space = node->op == &op_depth_to_space;

    (void)err;
    move_depth(context, node->attrs,
               to_space ? &pass->dx[0].shape : &pass->dy[0]->shape, !to_space,
               sizeof(float), tensor_data(pass->dy[0]),
               tensor_data(&pass->dx[0]));
    return ASSAY_OK;
}

/* ---- ReverseSequence -------------------------------------------------- */

static enum assay_status reverse_infer(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct reverse_sequence_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;
    bool fits = x->rank >= 2 && attrs->batch_axis + attrs->time_axis == 1 &&
                attrs->batch_axis >= 0 && attrs->time_axis >= 0;

    rule_set(&outputs[0], inputs[0]->dtype, x);
    if (fits && !indices_check(inputs, 1, err) && inputs[1]->shape.rank == 1 &&
        inputs[1]->shape.dims[0] == x->dims[attrs->batch_axis])
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "the lengths do not fit the sequences along axis %lld",
                     (long long)attrs->batch_axis);
}

static enum assay_status reverse_forward(const struct op_context *context,
                                         const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const struct reverse_sequence_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[0];
    int64_t rows = x->shape.dims[0], columns = x->shape.dims[1];
    size_t bytes =
        (size_t)shape_span(&x->shape, 2, x->shape.rank) * dtype_bytes(x->dtype);
    const char *from = tensor_data(x);
    char *to = tensor_data(&outputs[0]);

    (void)context;
    for (int64_t i = 0; i < rows * columns; i++) {
        int64_t at[2] = {i / columns, i % columns};
        int64_t length = int_at(inputs[1], (size_t)at[attrs->batch_axis]);
        int64_t *time = &at[attrs->time_axis];

        if (length < 0 || length > x->shape.dims[attrs->time_axis])
            return error_set(err, ASSAY_BAD_INPUT,
                             "a sequence of %lld does not fit into %lld",
                             (long long)length,
                             (long long)x->shape.dims[attrs->time_axis]);
        if (*time < length)
            *time = length - 1 - *time;
        memcpy(to + (size_t)i * bytes,
               from + (size_t)(at[0] * columns + at[1]) * bytes, bytes);
    }
    return ASSAY_OK;
}

/* The deep channel that holds element k of wide channel i's blocks. */
static size_t depth_block_place(const struct depth_attrs *attrs, size_t n,
                                size_t i, size_t k)
{
    size_t area = (size_t)(attrs->block * attrs->block);

    return attrs->is_depth_first ? i * area + k : k * n + i;
}

static void depth_to_space_channels(struct channels *channels,
                                    const struct node *node)
{
    const struct depth_attrs *attrs = node->attrs;
    struct labels x = channels_of(channels, node->inputs[0], 1);
    size_t area = (size_t)(attrs->block * attrs->block), n = x.n / area;
    uint32_t *atoms = channels_room(channels, n);

    channels_set(channels, node->outputs[0], 0,
                 channels_of(channels, node->inputs[0], 0));
    if (!x.n || !atoms)
        return;
    for (size_t i = 0; i < n; i++) {
        atoms[i] = x.atoms[depth_block_place(attrs, n, i, 0)];
        for (size_t k = 1; k < area; k++)
            channels_join(channels, atoms[i],
                          x.atoms[depth_block_place(attrs, n, i, k)]);
    }
    channels_set(channels, node->outputs[0], 1, (struct labels){n, atoms});
}

static void space_to_depth_channels(struct channels *channels,
                                    const struct node *node)
{
    const struct depth_attrs *attrs = node->attrs;
    struct labels x = channels_of(channels, node->inputs[0], 1);
    size_t area = (size_t)(attrs->block * attrs->block);
    uint32_t *atoms = channels_room(channels, x.n * area);

    channels_set(channels, node->outputs[0], 0,
                 channels_of(channels, node->inputs[0], 0));
    if (!x.n || !atoms)
        return;
    for (size_t i = 0; i < x.n; i++) {
        for (size_t k = 0; k < area; k++)
            atoms[depth_block_place(attrs, x.n, i, k)] = x.atoms[i];
    }
    channels_set(channels, node->outputs[0], 1,
                 (struct labels){x.n * area, atoms});
}

static void depth_to_onnx(struct onnx_sink *to)
{
    const struct depth_attrs *attrs = to->node->attrs;
    bool to_space = to->node->op == &op_depth_to_space;

    onnx_attr_int(to, "blocksize", attrs->block);
    if (to_space)
        onnx_attr_text(to, "mode", attrs->is_depth_first ? "CRD" : "DCR");
    onnx_put_node(to, to_space ? "DepthToSpace" : "SpaceToDepth", 1);
}

ATTR_FIELDS(depth, FIELD_SIZE(depth_attrs, block),
            FIELD_FLAG(depth_attrs, is_depth_first));

#define CLASS(symbol, text, kind, attrs, n, passes, ...)                       \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct attrs),                                   \
        OP_TAKES(n, n),                                                        \
        OP_MAKES(1, 1),                                                        \
        .infer = kind##_infer,                                                 \
        .forward = kind##_forward,                                             \
        .backward = passes,                                                    \
        __VA_ARGS__,                                                           \
    };
CLASS(depth_to_space, "DepthToSpace", depth, depth_attrs, 1, depth_backward,
      .fields = depth_fields, .channels = depth_to_space_channels,
      .to_onnx = depth_to_onnx)
CLASS(space_to_depth, "SpaceToDepth", depth, depth_attrs, 1, depth_backward,
      .fields = depth_fields, .channels = space_to_depth_channels,
      .to_onnx = depth_to_onnx)
CLASS(reverse_sequence, "ReverseSequence", reverse, reverse_sequence_attrs, 2,
      NULL, .fields = NULL)
