/* passes/fuse_attention.c - see fuse_attention.h. */
#include "passes/fuse_attention.h"

#include "ops/math/softmax.h"
#include "ops/ops.h"
#include "ops/product/attention.h"
#include "passes/fuse_internal.h"

#include <string.h>

enum { most_parts = 6 };

/* The nodes before the last product, and what they read. */
struct attention {
    uint32_t parts[most_parts];
    size_t n_parts;
    uint32_t q, k, plus, mask;
    struct shape mask_shape; /* without the dimension in front */
    int64_t mask_heads;      /* of the scores that it is added to */
};

/* The node that makes a value for this reader alone, added to the parts; else
 * GRAPH_NONE. */
static uint32_t attention_part(const struct graph *graph, struct attention *a,
                               uint32_t value, const struct op_class *op)
{
    uint32_t maker = fuse_sole_maker(graph, value, op);

    if (maker != GRAPH_NONE)
        a->parts[a->n_parts++] = maker;
    return maker;
}

/* A Sum of a value and a constant of a rank; *value becomes what it is added
 * to. GRAPH_NONE: it is none. */
static uint32_t take_summand(const struct graph *graph, struct attention *a,
                             int rank, uint32_t *value)
{
    uint32_t maker = fuse_sole_maker(graph, *value, &op_sum);
    const struct node *sum;

    if (maker == GRAPH_NONE)
        maker = fuse_sole_maker(graph, *value, &op_add);
    if (maker == GRAPH_NONE || graph_node(graph, maker)->n_inputs != 2)
        return GRAPH_NONE;
    sum = graph_node(graph, maker);
    for (int i = 0; i < 2; i++) {
        const struct tensor *data = fuse_data(graph, sum->inputs[i]);

        if (!data || data->shape.rank != rank)
            continue;
        a->parts[a->n_parts++] = maker;
        *value = sum->inputs[1 - i];
        return sum->inputs[i];
    }
    return GRAPH_NONE;
}

/* The shape that a Reshape makes, perhaps with a first dimension of -1, for
 * what is left; false if it is not known or has other gaps. */
static bool reshape_target(const struct graph *graph, uint32_t maker,
                           struct shape *out)
{
    const struct tensor *data =
        &graph_value(graph, graph_node(graph, maker)->inputs[1])->data;

    if (!data->buffer || data->dtype != DTYPE_I64 || data->shape.rank != 1 ||
        tensor_elements(data) > SHAPE_MAX_RANK)
        return false;
    out->rank = (int)tensor_elements(data);
    for (int i = 0; i < out->rank; i++) {
        out->dims[i] = tensor_i64(data)[i];
        if (out->dims[i] <= 0 && (i > 0 || out->dims[i] != -1))
            return false;
    }
    return true;
}

/* Masks [1,windows,1,n,m] between Reshapes of [windows,heads,n,m]: *value
 * becomes what comes before these. False if there is something else. */
static bool take_mask(const struct graph *graph, struct attention *a,
                      uint32_t *value)
{
    enum { rank = 4 };
    struct attention tried = *a;
    uint32_t outer = attention_part(graph, &tried, *value, &op_reshape), inner;
    struct shape after, before, mask;
    uint32_t at;

    if (outer == GRAPH_NONE || !reshape_target(graph, outer, &after))
        return false;
    at = graph_node(graph, outer)->inputs[0];
    tried.mask = take_summand(graph, &tried, rank + 1, &at);
    inner = attention_part(graph, &tried, at, &op_reshape);
    if (tried.mask == GRAPH_NONE || inner == GRAPH_NONE ||
        !reshape_target(graph, inner, &before) || after.rank != rank ||
        before.rank != rank + 1 || before.dims[0] != 1)
        return false;
    if (after.dims[0] == -1)
        after.dims[0] = before.dims[1];
    if (memcmp(before.dims + 1, after.dims, rank * sizeof *after.dims) != 0)
        return false;
    mask = fuse_data(graph, tried.mask)->shape;
    if (mask.dims[0] != 1 || mask.dims[1] != after.dims[0] ||
        mask.dims[2] != 1 || mask.dims[3] != after.dims[2] ||
        mask.dims[4] != after.dims[3])
        return false;
    tried.mask_heads = after.dims[1];
    tried.mask_shape =
        shape_of(rank, mask.dims[1], mask.dims[2], mask.dims[3], mask.dims[4]);
    *value = graph_node(graph, inner)->inputs[0];
    *a = tried;
    return true;
}

/* Masks are for scores [windows,heads,n,m] alone: only a summand with several
 * heads, the same number, tells. */
static bool tells_scores(const struct graph *graph, const struct attention *a)
{
    return a->plus != GRAPH_NONE && a->mask_heads > 1 &&
           fuse_data(graph, a->plus)->shape.dims[1] == a->mask_heads;
}

static bool find_attention(const struct graph *graph, size_t at,
                           struct attention *a)
{
    const struct node *node = graph_node(graph, at);
    const struct softmax_attrs *softmax;
    uint32_t maker, value;
    bool has_mask;

    *a = (struct attention){.plus = GRAPH_NONE, .mask = GRAPH_NONE};
    maker = attention_part(graph, a, node->inputs[0], &op_softmax);
    if (maker == GRAPH_NONE)
        return false;
    softmax = graph_node(graph, maker)->attrs;
    if (softmax->axis != -1 || softmax->is_flat)
        return false;
    value = graph_node(graph, maker)->inputs[0];
    has_mask = take_mask(graph, a, &value);
    a->plus = take_summand(graph, a, 4, &value);
    maker = attention_part(graph, a, value, &op_matmul);
    if (maker == GRAPH_NONE || (has_mask && !tells_scores(graph, a)))
        return false;
    a->q = graph_node(graph, maker)->inputs[0];
    a->k = graph_node(graph, maker)->inputs[1];
    return true;
}

static enum assay_status reshape_mask(struct graph *graph, struct attention *a,
                                      struct error *err)
{
    struct tensor data;

    if (a->mask == GRAPH_NONE)
        return ASSAY_OK;
    data = tensor_reshape(fuse_data(graph, a->mask), &a->mask_shape);
    return fuse_constant(graph, a->mask, "masks of windows", data, &a->mask,
                         err);
}

static enum assay_status make_attention(struct graph *graph, size_t at,
                                        struct attention *a, struct error *err)
{
    uint32_t v = graph_node(graph, at)->inputs[1];
    enum assay_status st = reshape_mask(graph, a, err);

    for (size_t i = 0; !st && i < a->n_parts; i++)
        st = fuse_note_scope(graph, at, graph_node(graph, a->parts[i])->scope,
                             err);
    for (int i = ATTENTION_V; !st && i < ATTENTION_INPUTS; i++)
        st = graph_input_append(graph, at, GRAPH_NONE, err);
    if (!st)
        st = graph_node_become(graph, at, &op_attention, NULL, err);
    if (st)
        return st;
    graph_input_set(graph, at, ATTENTION_Q, a->q);
    graph_input_set(graph, at, ATTENTION_K, a->k);
    graph_input_set(graph, at, ATTENTION_V, v);
    graph_input_set(graph, at, ATTENTION_PLUS, a->plus);
    graph_input_set(graph, at, ATTENTION_MASK, a->mask);
    return ASSAY_OK;
}

enum assay_status fuse_attention(struct graph *graph, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_node_count(graph); i++) {
        struct attention a;

        if (graph_node(graph, i)->op == &op_matmul &&
            find_attention(graph, i, &a))
            st = make_attention(graph, i, &a, err);
        for (size_t k = 0; !st && k < graph_node(graph, i)->n_bodies; k++)
            st = fuse_attention(graph_node(graph, i)->bodies[k], err);
    }
    graph_sweep(graph);
    return st;
}
