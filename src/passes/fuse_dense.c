/* passes/fuse_dense.c - see fuse_dense.h. */
#include "passes/fuse_dense.h"

#include "ops/ops.h"
#include "ops/product/dense.h"
#include "passes/fuse_internal.h"

/* The Dense that makes a value for this reader alone and can still take what
 * comes before `plus`; else GRAPH_NONE. */
static uint32_t open_dense(const struct graph *graph, uint32_t value)
{
    uint32_t maker = fuse_sole_maker(graph, value, &op_dense);
    const struct node *node;

    if (maker == GRAPH_NONE)
        return GRAPH_NONE;
    node = graph_node(graph, maker);
    return node->inputs[DENSE_PLUS] == GRAPH_NONE &&
                   dense_attrs(node)->activation == DENSE_NO_ACTIVATION
               ? maker
               : GRAPH_NONE;
}

static enum assay_status dense_from_matmul(struct graph *graph, size_t at,
                                           struct error *err)
{
    static const struct dense_attrs none = {DENSE_NO_ACTIVATION};
    const struct node *node = graph_node(graph, at);
    const struct tensor *weight = fuse_data(graph, node->inputs[1]);
    enum assay_status st;

    if (!weight || weight->shape.rank != 2)
        return ASSAY_OK;
    st = graph_input_append(graph, at, GRAPH_NONE, err);
    if (!st)
        st = graph_input_append(graph, at, GRAPH_NONE, err);
    return st ? st : graph_node_become(graph, at, &op_dense, &none, err);
}

/* Whether a value is a row of as many numbers as the node has columns. */
static bool is_bias(const struct graph *graph, uint32_t value,
                    const struct node *dense)
{
    const struct tensor *bias = fuse_data(graph, value);
    const struct tensor *weight = fuse_data(graph, dense->inputs[DENSE_WEIGHT]);

    return bias && weight && bias->shape.rank == 1 &&
           bias->shape.dims[0] == weight->shape.dims[1];
}

static enum assay_status dense_take_bias(struct graph *graph, size_t at,
                                         struct error *err)
{
    const struct node *sum = graph_node(graph, at);

    for (size_t i = 0; sum->n_inputs == 2 && i < 2; i++) {
        uint32_t maker = open_dense(graph, sum->inputs[i]);
        uint32_t bias = sum->inputs[1 - i];
        enum assay_status st;

        if (maker == GRAPH_NONE ||
            graph_node(graph, maker)->inputs[DENSE_BIAS] != GRAPH_NONE ||
            !is_bias(graph, bias, graph_node(graph, maker)))
            continue;
        st = fuse_into(graph, at, maker, err);
        graph_input_set(graph, at, DENSE_BIAS, bias);
        return st;
    }
    return ASSAY_OK;
}

static enum assay_status dense_take_activation(struct graph *graph, size_t at,
                                               struct error *err)
{
    const struct node *node = graph_node(graph, at);
    uint32_t maker = open_dense(graph, node->inputs[0]);

    if (maker == GRAPH_NONE)
        return ASSAY_OK;
    ((struct dense_attrs *)graph_node(graph, maker)->attrs)->activation =
        node->op == &op_relu ? DENSE_RELU : DENSE_GELU;
    return fuse_into(graph, at, maker, err);
}

static enum assay_status dense_take_plus(struct graph *graph, size_t at,
                                         struct error *err)
{
    const struct node *add = graph_node(graph, at);

    for (size_t i = 0; i < 2; i++) {
        uint32_t maker = fuse_sole_maker(graph, add->inputs[i], &op_dense);
        uint32_t other = add->inputs[1 - i];
        enum assay_status st;

        if (maker == GRAPH_NONE ||
            graph_node(graph, maker)->inputs[DENSE_PLUS] != GRAPH_NONE)
            continue;
        st = fuse_into(graph, at, maker, err);
        graph_input_set(graph, at, DENSE_PLUS, other);
        return st;
    }
    return ASSAY_OK;
}

enum assay_status fuse_dense(struct graph *graph, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_node_count(graph); i++) {
        const struct op_class *op = graph_node(graph, i)->op;

        if (op == &op_matmul)
            st = dense_from_matmul(graph, i, err);
        else if (op == &op_sum)
            st = dense_take_bias(graph, i, err);
        else if (op == &op_relu || op == &op_gelu)
            st = dense_take_activation(graph, i, err);
        else if (op == &op_add)
            st = dense_take_plus(graph, i, err);
        for (size_t k = 0; !st && k < graph_node(graph, i)->n_bodies; k++)
            st = fuse_dense(graph_node(graph, i)->bodies[k], err);
    }
    graph_sweep(graph);
    return st;
}
