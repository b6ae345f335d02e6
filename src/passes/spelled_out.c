/* passes/spelled_out.c - activations that exporters write as several ops:
 *
 *     x * clip(x + 3, 0, 6) / 6          HardSwish
 *     clip(x + 3, 0, 6) / 6              HardSigmoid
 *     x * (1 + erf(x / sqrt(2))) / 2     Gelu
 *
 * in any order of their factors, with divisions by constants or products. */
#include "ops/math/clip.h"
#include "ops/math/unary_math.h"
#include "ops/ops.h"
#include "passes/fuse_internal.h"

#include <math.h>

enum { max_nodes = 4, max_factors = 2 };

/* A product of computed factors and constants, and the nodes that make it. */
struct product {
    double number;
    uint32_t factors[max_factors];
    size_t n_factors;
    size_t nodes[max_nodes];
    size_t n_nodes;
};

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

/* A single number: a shape of more dimensions could be the result's. */
static bool find_number(const struct graph *graph, uint32_t value,
                        double *number)
{
    const struct tensor *data = fuse_data(graph, value);

    if (!data || data->shape.rank > 1 || tensor_elements(data) != 1)
        return false;
    *number = (double)tensor_f32(data)[0];
    return true;
}

/* The node that makes a value as a product or quotient, for this reader
 * alone; else GRAPH_NONE. */
static uint32_t product_maker(const struct graph *graph, uint32_t value)
{
    uint32_t maker = fuse_sole_maker(graph, value, &op_mul);

    return maker != GRAPH_NONE ? maker : fuse_sole_maker(graph, value, &op_div);
}

static bool product_add(const struct graph *graph, uint32_t value,
                        struct product *product)
{
    uint32_t maker;
    double number;

    if (find_number(graph, value, &number)) {
        product->number *= number;
        return true;
    }
    maker = product_maker(graph, value);
    if (maker != GRAPH_NONE) {
        if (product->n_nodes == max_nodes)
            return false;
        product->nodes[product->n_nodes++] = maker;
        return true;
    }
    if (product->n_factors == max_factors)
        return false;
    product->factors[product->n_factors++] = value;
    return true;
}

static bool find_product(const struct graph *graph, size_t at,
                         struct product *out)
{
    *out = (struct product){.number = 1, .nodes = {at}, .n_nodes = 1};
    for (size_t i = 0; i < out->n_nodes; i++) {
        const struct node *node = graph_node(graph, out->nodes[i]);
        double number = 1;

        if (!product_add(graph, node->inputs[0], out))
            return false;
        if (node->op == &op_mul) {
            if (!product_add(graph, node->inputs[1], out))
                return false;
        } else if (!find_number(graph, node->inputs[1], &number)) {
            return false;
        }
        out->number /= number;
    }
    return true;
}

/* What the number is added to, where the value is such a sum; else
 * GRAPH_NONE. */
static uint32_t find_summand(const struct graph *graph, uint32_t value,
                             double number)
{
    uint32_t maker = fuse_sole_maker(graph, value, &op_sum);
    const struct node *node;
    double found;

    if (maker == GRAPH_NONE || graph_node(graph, maker)->n_inputs != 2)
        return GRAPH_NONE;
    node = graph_node(graph, maker);
    for (size_t i = 0; i < 2; i++) {
        if (find_number(graph, node->inputs[i], &found) &&
            is_near(found, number))
            return node->inputs[1 - i];
    }
    return GRAPH_NONE;
}

/* x of clip(x + 3, 0, 6); else GRAPH_NONE. */
static uint32_t find_hard_gate(const struct graph *graph, uint32_t value)
{
    uint32_t maker = fuse_sole_maker(graph, value, &op_clip);
    const struct clip_attrs *clip;

    if (maker == GRAPH_NONE)
        return GRAPH_NONE;
    clip = clip_attrs(graph_node(graph, maker));
    if (clip->low != 0 || clip->high != 6)
        return GRAPH_NONE;
    return find_summand(graph, graph_node(graph, maker)->inputs[0], 3);
}

/* x of 1 + erf(x / sqrt(2)); else GRAPH_NONE. */
static uint32_t find_erf_gate(const struct graph *graph, uint32_t value)
{
    uint32_t maker =
        fuse_sole_maker(graph, find_summand(graph, value, 1), &op_erf);
    struct product inner;

    if (maker == GRAPH_NONE)
        return GRAPH_NONE;
    maker = product_maker(graph, graph_node(graph, maker)->inputs[0]);
    if (maker == GRAPH_NONE || !find_product(graph, maker, &inner) ||
        inner.n_factors != 1 || !is_near(inner.number, sqrt(0.5)))
        return GRAPH_NONE;
    return inner.factors[0];
}

/* Whether the product is x by its gate. */
static bool is_gated(const struct graph *graph, const struct product *product,
                     uint32_t find(const struct graph *, uint32_t),
                     double number, uint32_t *x)
{
    if (product->n_factors != 2 || !is_near(product->number, number))
        return false;
    for (size_t i = 0; i < 2; i++) {
        *x = product->factors[1 - i];
        if (find(graph, product->factors[i]) == *x)
            return true;
    }
    return false;
}

static const struct op_class *find_spelled_out(const struct graph *graph,
                                               const struct product *product,
                                               uint32_t *x)
{
    if (is_gated(graph, product, find_hard_gate, 1.0 / 6, x))
        return &op_hard_swish;
    if (is_gated(graph, product, find_erf_gate, 0.5, x))
        return &op_gelu;
    if (product->n_factors == 1 && is_near(product->number, 1.0 / 6)) {
        *x = find_hard_gate(graph, product->factors[0]);
        if (*x != GRAPH_NONE)
            return &op_hard_sigmoid;
    }
    return NULL;
}

/* Notes the modules from a gate back to x: each has one input that is no
 * number. */
static enum assay_status note_gate(struct graph *graph, size_t at,
                                   uint32_t value, uint32_t x,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    while (!st && value != x) {
        uint32_t maker = graph_value(graph, value)->producer;
        const struct node *node = graph_node(graph, maker);
        double number;

        value = find_number(graph, node->inputs[0], &number) ? node->inputs[1]
                                                             : node->inputs[0];
        st = fuse_note_scope(graph, at, node->scope, err);
    }
    return st;
}

static enum assay_status note_parts(struct graph *graph, size_t at,
                                    const struct product *product, uint32_t x,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 1; !st && i < product->n_nodes; i++)
        st = fuse_note_scope(graph, at,
                             graph_node(graph, product->nodes[i])->scope, err);
    for (size_t i = 0; !st && i < product->n_factors; i++)
        st = note_gate(graph, at, product->factors[i], x, err);
    return st;
}

enum assay_status fuse_spelled_out(struct graph *graph, size_t at,
                                   struct error *err)
{
    static const struct unary_attrs sixth = {.alpha = 1.0 / 6, .beta = 0.5},
                                    none = {0};
    struct product product;
    const struct op_class *op = NULL;
    enum assay_status st;
    uint32_t x = GRAPH_NONE;

    if (find_product(graph, at, &product))
        op = find_spelled_out(graph, &product, &x);
    if (!op)
        return ASSAY_OK;
    st = note_parts(graph, at, &product, x, err);
    if (!st)
        st = graph_node_become(graph, at, op,
                               op == &op_hard_sigmoid ? &sixth : &none, err);
    if (st)
        return st;
    graph_input_set(graph, at, 0, x);
    graph_input_set(graph, at, 1, GRAPH_NONE);
    graph_node_edit(graph, at)->n_inputs = 1;
    return ASSAY_OK;
}
