/* passes/merge_heads.c - see merge_heads.h. */
#include "passes/merge_heads.h"

#include "ops/convolution/conv2d.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "ops/ops.h"
#include "passes/fuse_internal.h"

#include <string.h>

/* Together they fill a block of channels at most. Two do not gain enough to pay
 * for the Split. */
enum { least_heads = 3, most_channels = 16 };

/* Nodes that become one: the first ones of all heads, then the next ones. */
struct heads {
    size_t nodes[most_channels];
    size_t n;
};

/* ---- finding them -------------------------------------------------------- */

static uint32_t head_input(const struct node *node, size_t i)
{
    return i < node->n_inputs ? node->inputs[i] : GRAPH_NONE;
}

/* Whether an input that may be left out has its data if it is there. */
static bool head_is_known(const struct graph *graph, uint32_t value)
{
    return value == GRAPH_NONE || fuse_data(graph, value);
}

/* A convolution whose numbers are all known, without a residual. */
static bool is_plain_conv(const struct graph *graph, const struct node *node)
{
    const struct tensor *weight;

    if (node->op != &op_conv2d || node->n_inputs < CONV2D_INPUTS ||
        node->inputs[CONV2D_RESIDUAL] != GRAPH_NONE ||
        !head_is_known(graph, node->inputs[CONV2D_BIAS]) ||
        !head_is_known(graph, head_input(node, CONV2D_SCALE)))
        return false;
    weight = fuse_data(graph, node->inputs[CONV2D_WEIGHT]);
    return weight && weight->shape.rank == 4;
}

static const int64_t *head_weight(const struct graph *graph, size_t at)
{
    const struct node *node = graph_node(graph, at);

    return graph_value(graph, node->inputs[CONV2D_WEIGHT])->data.shape.dims;
}

/* One for every channel, or of all channels. */
static bool has_own_channels(const struct graph *graph, size_t at)
{
    const int64_t *w = head_weight(graph, at);

    return w[1] == 1 && conv2d_attrs(graph_node(graph, at))->groups == w[0];
}

static bool are_alike(const struct graph *graph, size_t a, size_t b)
{
    const struct conv2d_attrs *one = conv2d_attrs(graph_node(graph, a));
    const struct conv2d_attrs *other = conv2d_attrs(graph_node(graph, b));
    const int64_t *w = head_weight(graph, a), *v = head_weight(graph, b);

    for (int i = 0; i < 2; i++) {
        if (one->stride[i] != other->stride[i] ||
            one->dilation[i] != other->dilation[i] ||
            one->before[i] != other->before[i] ||
            one->after[i] != other->after[i])
            return false;
    }
    return w[1] == v[1] && w[2] == v[2] && w[3] == v[3] &&
           one->has_relu == other->has_relu &&
           one->relu_limit == other->relu_limit &&
           one->activation == other->activation && one->slope == other->slope;
}

/* All that read the same map as a node, itself first, as far as they fit. */
static void find_heads(const struct graph *graph, size_t at,
                       struct heads *heads)
{
    uint32_t x = graph_node(graph, at)->inputs[CONV2D_X];
    int64_t channels = 0;

    heads->n = 0;
    for (size_t i = at; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        if (!is_plain_conv(graph, node) || node->inputs[CONV2D_X] != x ||
            conv2d_attrs(node)->groups != 1 || !are_alike(graph, at, i))
            continue;
        channels += head_weight(graph, i)[0];
        if (channels > most_channels)
            return;
        heads->nodes[heads->n++] = i;
    }
}

/* The only node that reads the output of another; GRAPH_NONE: there are
 * others. */
static size_t only_reader(const struct graph *graph, size_t at)
{
    uint32_t value = graph_node(graph, at)->outputs[0];

    for (size_t i = 0;
         graph_use_count(graph, value) == 1 && i < graph_node_count(graph);
         i++) {
        const struct node *node = graph_node(graph, i);

        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] == value)
                return i;
        }
    }
    return GRAPH_NONE;
}

static bool find_next(const struct graph *graph, const struct heads *heads,
                      struct heads *next)
{
    next->n = heads->n;
    for (size_t i = 0; i < heads->n; i++) {
        next->nodes[i] = only_reader(graph, heads->nodes[i]);
        if (next->nodes[i] == GRAPH_NONE)
            return false;
    }
    return true;
}

/* Whether they are depthwise convolutions alike. A single channel is one, too.
 */
static bool are_depthwise(const struct graph *graph, const struct heads *heads)
{
    for (size_t i = 0; i < heads->n; i++) {
        size_t at = heads->nodes[i];

        if (!is_plain_conv(graph, graph_node(graph, at)) ||
            !has_own_channels(graph, at) ||
            !are_alike(graph, heads->nodes[0], at))
            return false;
    }
    return true;
}

static bool are_transposes(const struct graph *graph, const struct heads *heads)
{
    const struct transpose_attrs *first =
        graph_node(graph, heads->nodes[0])->attrs;

    for (size_t i = 0; i < heads->n; i++) {
        const struct node *node = graph_node(graph, heads->nodes[i]);
        const struct transpose_attrs *attrs = node->attrs;

        if (node->op != &op_transpose || attrs->rank != 4 ||
            memcmp(attrs->order, first->order, 4 * sizeof *attrs->order) != 0)
            return false;
    }
    return true;
}

/* ---- their numbers ------------------------------------------------------- */

/* An input of all of them, one after another; where it is left out, as often
 * as there are channels, `otherwise`. */
static void join_numbers(const struct graph *graph, const struct heads *heads,
                         size_t input, float otherwise, float *to)
{
    for (size_t i = 0; i < heads->n; i++) {
        const struct node *node = graph_node(graph, heads->nodes[i]);
        const struct tensor *data = fuse_data(graph, head_input(node, input));
        size_t n = data ? tensor_elements(data)
                        : (size_t)head_weight(graph, heads->nodes[i])[0];

        for (size_t k = 0; k < n; k++)
            to[k] = data ? tensor_f32(data)[k] : otherwise;
        to += n;
    }
}

static bool heads_have(const struct graph *graph, const struct heads *heads,
                       size_t input)
{
    for (size_t i = 0; i < heads->n; i++) {
        if (head_input(graph_node(graph, heads->nodes[i]), input) != GRAPH_NONE)
            return true;
    }
    return false;
}

static int64_t heads_channels(const struct graph *graph,
                              const struct heads *heads)
{
    int64_t channels = 0;

    for (size_t i = 0; i < heads->n; i++)
        channels += head_weight(graph, heads->nodes[i])[0];
    return channels;
}

static enum assay_status join_input(struct graph *graph, struct pool *pool,
                                    const struct heads *heads, size_t input,
                                    const char *what, uint32_t *value,
                                    struct error *err)
{
    const struct node *first = graph_node(graph, heads->nodes[0]);
    uint32_t weight = first->inputs[CONV2D_WEIGHT];
    struct shape shape = shape_of(1, heads_channels(graph, heads));
    struct tensor data;
    enum assay_status st;

    *value = GRAPH_NONE;
    if (!heads_have(graph, heads, input))
        return ASSAY_OK;
    if (input == CONV2D_WEIGHT) {
        int64_t channels = shape.dims[0];

        shape = graph_value(graph, weight)->data.shape;
        shape.dims[0] = channels;
    }
    st = tensor_new(pool, DTYPE_F32, &shape, &data, err);
    if (st)
        return st;
    join_numbers(graph, heads, input, input == CONV2D_SCALE ? 1 : 0,
                 tensor_f32(&data));
    return fuse_constant(graph, weight, what, data, value, err);
}

/* ---- new nodes ----------------------------------------------------------- */

/* A node in the place of the first that stands for all of them. */
static enum assay_status heads_add(struct graph *graph,
                                   const struct heads *heads,
                                   const struct node_description *like,
                                   uint32_t *outputs, struct error *err)
{
    struct node_description description = *like;
    const struct node *first = graph_node(graph, heads->nodes[0]);
    enum assay_status st;
    size_t at = graph_node_count(graph);

    description.scope = first->scope;
    if (!description.name)
        description.name = first->name;
    st = graph_node_add(graph, &description, outputs, err);
    for (size_t i = 0; !st && i < heads->n; i++)
        st = fuse_note_scope(graph, at,
                             graph_node(graph, heads->nodes[i])->scope, err);
    return st;
}

static enum assay_status join_convs(struct graph *graph, struct pool *pool,
                                    const struct heads *heads, int64_t groups,
                                    uint32_t x, uint32_t *y, struct error *err)
{
    static const struct {
        size_t input;
        const char *what;
    } parts[] = {{CONV2D_WEIGHT, "weights of several"},
                 {CONV2D_BIAS, "biases of several"},
                 {CONV2D_SCALE, "scales of several"}};
    struct conv2d_attrs attrs =
        *conv2d_attrs(graph_node(graph, heads->nodes[0]));
    uint32_t inputs[CONV2D_SCALE + 1] = {x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE,
                                         GRAPH_NONE};
    struct node_description description = {.op = &op_conv2d,
                                           .attrs = &attrs,
                                           .inputs = inputs,
                                           .n_inputs = CONV2D_INPUTS,
                                           .n_outputs = 1};
    enum assay_status st = ASSAY_OK;

    attrs.groups = groups;
    for (size_t i = 0; !st && i < sizeof parts / sizeof *parts; i++)
        st = join_input(graph, pool, heads, parts[i].input, parts[i].what,
                        &inputs[parts[i].input], err);
    if (st)
        return st;
    if (inputs[CONV2D_SCALE] != GRAPH_NONE)
        description.n_inputs++;
    return heads_add(graph, heads, &description, y, err);
}

static enum assay_status join_transposes(struct graph *graph,
                                         const struct heads *heads, uint32_t x,
                                         uint32_t *y, struct error *err)
{
    struct node_description description = {
        .op = &op_transpose,
        .attrs = graph_node(graph, heads->nodes[0])->attrs,
        .inputs = &x,
        .n_inputs = 1,
        .n_outputs = 1};

    return heads_add(graph, heads, &description, y, err);
}

static enum assay_status split_sizes(struct graph *graph, struct pool *pool,
                                     const struct heads *convs, uint32_t *value,
                                     struct error *err)
{
    struct shape shape = shape_of(1, (int64_t)convs->n);
    uint32_t weight = graph_node(graph, convs->nodes[0])->inputs[CONV2D_WEIGHT];
    struct tensor sizes;
    enum assay_status st = tensor_new(pool, DTYPE_I64, &shape, &sizes, err);

    if (st)
        return st;
    for (size_t i = 0; i < convs->n; i++)
        tensor_i64(&sizes)[i] = head_weight(graph, convs->nodes[i])[0];
    return fuse_constant(graph, weight, "channels of several", sizes, value,
                         err);
}

/* Readers of the last nodes read parts of x instead. */
static enum assay_status split_heads(struct graph *graph,
                                     const struct heads *last, uint32_t x,
                                     uint32_t sizes, int64_t axis,
                                     struct error *err)
{
    struct split_attrs attrs = {.axis = axis};
    uint32_t inputs[] = {x, sizes}, parts[most_channels];
    struct node_description description = {.op = &op_split,
                                           .attrs = &attrs,
                                           .name = "split",
                                           .inputs = inputs,
                                           .n_inputs = 2,
                                           .n_outputs = last->n};
    enum assay_status st = heads_add(graph, last, &description, parts, err);

    for (size_t i = 0; !st && i < last->n; i++)
        graph_replace_uses(graph, graph_node(graph, last->nodes[i])->outputs[0],
                           parts[i]);
    return st;
}

/* The place to which a Transpose moves the channels. */
static int64_t moved_axis(const struct graph *graph, size_t at)
{
    const struct transpose_attrs *attrs = graph_node(graph, at)->attrs;
    int64_t axis = 0;

    while (axis < 3 && attrs->order[axis] != 1)
        axis++;
    return axis;
}

/* Nothing that the new nodes do is left to do for these. */
static void heads_retire(struct graph *graph, const struct heads *heads)
{
    for (size_t i = 0; i < heads->n; i++)
        graph_inputs_drop(graph, heads->nodes[i]);
}

static enum assay_status join_heads(struct graph *graph, struct pool *pool,
                                    struct heads *heads, struct error *err)
{
    uint32_t value = graph_node(graph, heads->nodes[0])->inputs[CONV2D_X];
    int64_t channels = heads_channels(graph, heads), axis = 1;
    struct heads next;
    uint32_t sizes = GRAPH_NONE;
    enum assay_status st = split_sizes(graph, pool, heads, &sizes, err);

    if (!st)
        st = join_convs(graph, pool, heads, 1, value, &value, err);
    while (!st && find_next(graph, heads, &next) &&
           are_depthwise(graph, &next)) {
        st = join_convs(graph, pool, &next, channels, value, &value, err);
        heads_retire(graph, heads);
        *heads = next;
    }
    if (!st && find_next(graph, heads, &next) && are_transposes(graph, &next)) {
        st = join_transposes(graph, &next, value, &value, err);
        axis = moved_axis(graph, next.nodes[0]);
        heads_retire(graph, heads);
        *heads = next;
    }
    if (!st)
        st = split_heads(graph, heads, value, sizes, axis, err);
    heads_retire(graph, heads);
    return st;
}

enum assay_status merge_heads(struct graph *graph, struct pool *pool,
                              struct error *err)
{
    size_t n = graph_node_count(graph);
    enum assay_status st = ASSAY_OK;
    bool has_changed = false;

    for (size_t i = 0; !st && i < n; i++) {
        struct heads heads;

        if (!is_plain_conv(graph, graph_node(graph, i)))
            continue;
        find_heads(graph, i, &heads);
        if (heads.n < least_heads)
            continue;
        st = join_heads(graph, pool, &heads, err);
        has_changed = true;
    }
    if (!has_changed)
        return st;
    if (!st)
        st = graph_sort(graph, err);
    graph_sweep(graph);
    return st;
}
