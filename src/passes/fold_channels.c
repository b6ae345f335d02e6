/* passes/fold_channels.c - see fuse_internal.h. Exporters write the scale and
 * shift of a norm as ops of their own. */
#include "ops/convolution/conv2d.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"
#include "passes/fuse_internal.h"

/* What is folded, and where to: y = x * scale + bias for each channel. */
struct folding {
    uint32_t maker;
    uint32_t named_after;
    size_t scale_input, bias_input; /* of the maker */
    int64_t channels;
    const struct tensor *scale, *bias; /* before; NULL: 1, 0 */
    const struct tensor *constant;
    bool is_product;
};

/* Ops whose output has four dimensions; the first input of the others below
 * decides. */
static bool is_made_map(const struct op_class *op)
{
    return op == &op_conv2d || op == &op_conv_transpose2d ||
           op == &op_max_pool2d || op == &op_avg_pool2d ||
           op == &op_adaptive_avg_pool2d || op == &op_resize_nearest;
}

static bool keeps_rank(const struct op_class *op)
{
    return op == &op_batch_norm || op == &op_relu || op == &op_concat ||
           op == &op_add || op == &op_dropout || op == &op_clip;
}

/* Whether it is certain that a value is a map [n,c,h,w]. */
static bool is_map(const struct graph *graph, uint32_t value)
{
    while (value != GRAPH_NONE) {
        const struct value *made = graph_value(graph, value);
        const struct node *node;

        if (made->kind != VALUE_COMPUTED)
            return false;
        node = graph_node(graph, made->producer);
        if (is_made_map(node->op))
            return true;
        if (!keeps_rank(node->op) || node->n_inputs == 0)
            return false;
        value = node->inputs[0];
    }
    return false;
}

/* Whether it has one number, or one for every channel of a map. */
static bool fits_channels(const struct tensor *constant, int64_t channels)
{
    int rank = constant->shape.rank;

    if (rank > 4)
        return false;
    for (int i = 0; i < rank; i++) {
        int64_t size = constant->shape.dims[i];

        if (size != 1 && (i != rank - 3 || size != channels))
            return false;
    }
    return true;
}

/* A list of a number per channel, or nothing at all; false for others. */
static bool get_channels(const struct graph *graph, const struct node *node,
                         size_t input, int64_t channels,
                         const struct tensor **list)
{
    *list = NULL;
    if (input >= node->n_inputs || node->inputs[input] == GRAPH_NONE)
        return true;
    *list = fuse_data(graph, node->inputs[input]);
    return *list && (*list)->shape.rank == 1 &&
           (*list)->shape.dims[0] == channels;
}

static bool find_conv(const struct graph *graph, uint32_t value,
                      struct folding *out)
{
    uint32_t maker = fuse_sole_maker(graph, value, &op_conv2d);
    const struct tensor *weight;

    if (!fuse_conv_is_open(graph, maker))
        return false;
    out->maker = maker;
    out->scale_input = CONV2D_SCALE;
    out->bias_input = CONV2D_BIAS;
    out->named_after = graph_node(graph, maker)->inputs[CONV2D_WEIGHT];
    weight = fuse_data(graph, out->named_after);
    if (!weight || weight->shape.rank != 4)
        return false;
    out->channels = weight->shape.dims[0];
    return true;
}

static bool find_norm(const struct graph *graph, uint32_t value,
                      struct folding *out)
{
    uint32_t maker = fuse_sole_maker(graph, value, &op_batch_norm);
    const struct tensor *weight;

    if (maker == GRAPH_NONE || !is_map(graph, value) ||
        batch_norm_attrs(graph_node(graph, maker))->has_relu)
        return false;
    out->maker = maker;
    out->scale_input = BATCH_NORM_WEIGHT;
    out->bias_input = BATCH_NORM_BIAS;
    out->named_after = graph_node(graph, maker)->inputs[BATCH_NORM_WEIGHT];
    weight = fuse_data(graph, out->named_after);
    if (!weight || weight->shape.rank != 1 ||
        !fuse_data(graph, graph_node(graph, maker)->inputs[BATCH_NORM_BIAS]))
        return false;
    out->channels = weight->shape.dims[0];
    return true;
}

static bool find_folding(const struct graph *graph, size_t at,
                         struct folding *out)
{
    const struct node *node = graph_node(graph, at);

    for (size_t i = 0; node->n_inputs == 2 && i < 2; i++) {
        *out =
            (struct folding){.constant = fuse_data(graph, node->inputs[1 - i]),
                             .is_product = node->op == &op_mul};
        if (!out->constant || (!find_conv(graph, node->inputs[i], out) &&
                               !find_norm(graph, node->inputs[i], out)))
            continue;
        node = graph_node(graph, out->maker);
        return fits_channels(out->constant, out->channels) &&
               get_channels(graph, node, out->scale_input, out->channels,
                            &out->scale) &&
               get_channels(graph, node, out->bias_input, out->channels,
                            &out->bias);
    }
    return false;
}

static float number_of(const struct tensor *list, int64_t channel, float other)
{
    if (!list)
        return other;
    return tensor_f32(list)[tensor_elements(list) == 1 ? 0 : channel];
}

static void fold_numbers(const struct folding *folding,
                         const struct tensor *scale, const struct tensor *bias)
{
    for (int64_t c = 0; c < folding->channels; c++) {
        float constant = number_of(folding->constant, c, 0);
        float factor = folding->is_product ? constant : 1;
        float shift = folding->is_product ? 0 : constant;

        tensor_f32(scale)[c] = number_of(folding->scale, c, 1) * factor;
        tensor_f32(bias)[c] = number_of(folding->bias, c, 0) * factor + shift;
    }
}

static enum assay_status make_constants(struct graph *graph, struct pool *pool,
                                        const struct folding *folding,
                                        uint32_t *scale, uint32_t *bias,
                                        struct error *err)
{
    struct shape channels = shape_of(1, folding->channels);
    struct tensor s, b = {0};
    enum assay_status st = tensor_new(pool, DTYPE_F32, &channels, &s, err);

    if (!st)
        st = tensor_new(pool, DTYPE_F32, &channels, &b, err);
    if (st) {
        tensor_release(&s);
        return st;
    }
    fold_numbers(folding, &s, &b);
    st = fuse_constant(graph, folding->named_after, "scale", s, scale, err);
    if (st) {
        tensor_release(&b);
        return st;
    }
    return fuse_constant(graph, folding->named_after, "bias", b, bias, err);
}

enum assay_status fold_channels(struct graph *graph, size_t at,
                                struct pool *pool, struct error *err)
{
    struct folding folding;
    enum assay_status st = ASSAY_OK;
    uint32_t scale, bias;

    if (!find_folding(graph, at, &folding))
        return ASSAY_OK;
    if (graph_node(graph, folding.maker)->n_inputs == folding.scale_input)
        st = graph_input_append(graph, folding.maker, GRAPH_NONE, err);
    if (!st)
        st = make_constants(graph, pool, &folding, &scale, &bias, err);
    if (st)
        return st;
    st = fuse_into(graph, at, folding.maker, err);
    graph_input_set(graph, at, folding.scale_input, scale);
    graph_input_set(graph, at, folding.bias_input, bias);
    return st;
}
