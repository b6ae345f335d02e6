/* passes/pick_convolutions.c - see pick_convolutions.h. */
#include "passes/pick_convolutions.h"

#include "ops/convolution/pick_conv2d.h"
#include "ops/ops.h"
#include "passes/fuse_internal.h"

#include <string.h>

/* ---- depthwise first ----------------------------------------------------- */

/* The outputs of the Conv2d that makes a value; 0: something else does. */
static int64_t made_channels(const struct graph *graph, uint32_t value)
{
    const struct value *made = graph_value(graph, value);
    const struct node *node;
    const struct tensor *weight;

    if (made->kind != VALUE_COMPUTED)
        return 0;
    node = graph_node(graph, made->producer);
    if (node->op != &op_conv2d)
        return 0;
    weight = &graph_value(graph, node->inputs[CONV2D_WEIGHT])->data;
    return weight->shape.rank == 4 ? weight->shape.dims[0] : 0;
}

/* Whether a list has every number below n once. */
static bool is_permutation(const struct tensor *list, int64_t n)
{
    enum { most = 4096 };
    bool is_there[most] = {false};

    if (n > most || (int64_t)tensor_elements(list) != n)
        return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tensor_i64(list)[i];

        if (at < 0 || at >= n || is_there[at])
            return false;
        is_there[at] = true;
    }
    return true;
}

/* The data of an input that may be left out: none then. False: it is there but
 * not known. It is borrowed, in a struct of its own, because those of the graph
 * move when it gets a value more. */
static bool known_input(const struct graph *graph, const struct node *node,
                        size_t input, struct tensor *data)
{
    const struct tensor *known;

    *data = (struct tensor){0};
    if (input >= node->n_inputs || node->inputs[input] == GRAPH_NONE)
        return true;
    known = fuse_data(graph, node->inputs[input]);
    if (known)
        *data = *known;
    return known;
}

/* A depthwise Conv2d whose numbers are known, and its weight, bias and scale.
 */
static bool is_known_depthwise(const struct graph *graph,
                               const struct node *node, struct tensor *parts)
{
    static const size_t inputs[] = {CONV2D_WEIGHT, CONV2D_BIAS, CONV2D_SCALE};
    const int64_t *w;

    if (node->op != &op_conv2d || node->inputs[CONV2D_RESIDUAL] != GRAPH_NONE)
        return false;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        if (!known_input(graph, node, inputs[i], &parts[i]))
            return false;
    }
    if (parts[0].shape.rank != 4)
        return false;
    w = parts[0].shape.dims;
    return w[1] == 1 && conv2d_attrs(node)->groups == w[0];
}

/* Row list[i] of the result is row i of the data. */
static enum assay_status reorder_rows(struct graph *graph, struct pool *pool,
                                      const struct tensor *list, size_t node,
                                      size_t input, const struct tensor *data,
                                      struct error *err)
{
    uint32_t value = graph_node(graph, node)->inputs[input];
    size_t n = tensor_elements(list), each = tensor_elements(data) / n;
    struct tensor made;
    enum assay_status st =
        tensor_new(pool, DTYPE_F32, &data->shape, &made, err);

    for (size_t i = 0; !st && i < n; i++)
        memcpy(tensor_f32(&made) + (size_t)tensor_i64(list)[i] * each,
               tensor_f32(data) + i * each, each * sizeof(float));
    if (!st)
        st = fuse_constant(graph, value, "in another order", made, &value, err);
    if (!st)
        graph_input_set(graph, node, input, value);
    return st;
}

/* Each takes the place of the other, with its name; values stay where they are
 * made. */
static void change_places(struct graph *graph, size_t first, size_t second)
{
    struct node *a = graph_node_edit(graph, first);
    struct node *b = graph_node_edit(graph, second);
    uint32_t x = a->inputs[0], between = b->inputs[0];
    uint32_t *a_outputs = a->outputs, *b_outputs = b->outputs;
    struct node kept = *a;

    *a = *b;
    *b = kept;
    a->outputs = a_outputs;
    b->outputs = b_outputs;
    graph_input_set(graph, first, 0, x);
    graph_input_set(graph, second, 0, between);
}

/* A depthwise Conv2d after a PickChannels. */
static enum assay_status pick_later(struct graph *graph, size_t at,
                                    struct pool *pool, struct error *err)
{
    static const size_t inputs[] = {CONV2D_WEIGHT, CONV2D_BIAS, CONV2D_SCALE};
    const struct node *node = graph_node(graph, at);
    struct tensor parts[3], list;
    enum assay_status st = ASSAY_OK;
    int64_t channels;
    uint32_t pick;

    if (!is_known_depthwise(graph, node, parts))
        return ASSAY_OK;
    channels = parts[0].shape.dims[0];
    pick = fuse_sole_maker(graph, node->inputs[CONV2D_X], &op_pick_channels);
    if (pick == GRAPH_NONE || graph_node(graph, pick)->n_inputs != 2)
        return ASSAY_OK;
    list = graph_value(graph, graph_node(graph, pick)->inputs[1])->data;
    if (!list.buffer || !is_permutation(&list, channels) ||
        made_channels(graph, graph_node(graph, pick)->inputs[0]) != channels)
        return ASSAY_OK;
    for (size_t i = 0; !st && i < sizeof inputs / sizeof *inputs; i++) {
        if (parts[i].buffer)
            st =
                reorder_rows(graph, pool, &list, at, inputs[i], &parts[i], err);
    }
    if (!st)
        change_places(graph, pick, at);
    return st;
}

/* ---- convolutions of 1x1 ------------------------------------------------- */

static bool is_pointwise(const struct graph *graph, const struct node *node)
{
    const struct conv2d_attrs *attrs;
    const struct shape *w;

    if (node->op != &op_conv2d)
        return false;
    attrs = conv2d_attrs(node);
    w = &graph_value(graph, node->inputs[CONV2D_WEIGHT])->shape;
    for (int i = 0; i < 2; i++) {
        if (w->rank != 4 || w->dims[2 + i] != 1 || attrs->stride[i] != 1 ||
            attrs->before[i] || attrs->after[i])
            return false;
    }
    return true;
}

/* A Conv2d of 1x1 after a PickChannels. */
static enum assay_status pick_as_it_reads(struct graph *graph, size_t at,
                                          struct error *err)
{
    const struct node *node = graph_node(graph, at), *pick;
    struct conv2d_attrs attrs;
    enum assay_status st = ASSAY_OK;
    uint32_t maker, first;
    size_t n_maps;

    if (!is_pointwise(graph, node))
        return ASSAY_OK;
    maker = fuse_sole_maker(graph, node->inputs[CONV2D_X], &op_pick_channels);
    if (maker == GRAPH_NONE)
        return ASSAY_OK;
    attrs = *conv2d_attrs(node);
    pick = graph_node(graph, maker);
    n_maps = pick->n_inputs - 1;
    first = pick->inputs[0];
    if (node->n_inputs == CONV2D_SCALE)
        st = graph_input_append(graph, at, GRAPH_NONE, err);
    for (size_t i = 0; !st && i < n_maps; i++)
        st = graph_input_append(
            graph, at, graph_node(graph, maker)->inputs[i ? i : n_maps], err);
    if (!st)
        st = fuse_note_scope(graph, at, graph_node(graph, maker)->scope, err);
    if (!st)
        st = graph_node_become(graph, at, &op_pick_conv2d, &attrs, err);
    if (!st)
        graph_input_set(graph, at, CONV2D_X, first);
    return st;
}

enum assay_status pick_convolutions(struct graph *graph, struct pool *pool,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_node_count(graph); i++)
        st = pick_later(graph, i, pool, err);
    for (size_t i = 0; !st && i < graph_node_count(graph); i++)
        st = pick_as_it_reads(graph, i, err);
    graph_sweep(graph);
    return st;
}
