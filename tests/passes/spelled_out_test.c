/* Activations of several ops become one, in every order that exporters write,
 * with the same results. */
#include "ops/math/clip.h"
#include "passes/fuse.h"
#include "passes/run_network.h"

static struct error err;

static const struct clip_attrs six = {.low = 0, .high = 6};

static uint32_t number(struct network *net, float value)
{
    struct shape shape = shape_of(0);
    uint32_t id;

    CHECK_STATUS(graph_constant(net->graph, "",
                                network_data(net, &shape, value, value), &id,
                                &err),
                 ASSAY_OK, &err);
    return id;
}

static uint32_t one(struct network *net, const struct op_class *op,
                    const void *attrs, uint32_t x)
{
    return network_add(net, op, attrs, GRAPH_NONE, &x, 1);
}

static uint32_t two(struct network *net, const struct op_class *op, uint32_t a,
                    uint32_t b)
{
    return network_add(net, op, NULL, GRAPH_NONE, (uint32_t[]){a, b}, 2);
}

/* clip(x + n, 0, 6) */
static uint32_t hard_gate(struct network *net, uint32_t x, float n)
{
    return one(net, &op_clip, &six, two(net, &op_sum, x, number(net, n)));
}

/* 1 + erf(x / n) */
static uint32_t erf_gate(struct network *net, uint32_t x, float n)
{
    uint32_t inner = two(net, &op_div, x, number(net, n));

    return two(net, &op_sum, number(net, 1), one(net, &op_erf, NULL, inner));
}

typedef uint32_t spell(struct network *net, uint32_t x);

static uint32_t swish_then_divided(struct network *net, uint32_t x)
{
    return two(net, &op_div, two(net, &op_mul, x, hard_gate(net, x, 3)),
               number(net, 6));
}

static uint32_t swish_of_divided_gate(struct network *net, uint32_t x)
{
    uint32_t gate = two(net, &op_div, hard_gate(net, x, 3), number(net, 6));

    return two(net, &op_mul, gate, x);
}

static uint32_t swish_of_scaled_gate(struct network *net, uint32_t x)
{
    uint32_t gate =
        two(net, &op_mul, number(net, 1.0F / 6), hard_gate(net, x, 3));

    return two(net, &op_mul, x, gate);
}

static uint32_t swish_of_another_shift(struct network *net, uint32_t x)
{
    return two(net, &op_div, two(net, &op_mul, x, hard_gate(net, x, 2)),
               number(net, 6));
}

static uint32_t swish_of_another_scale(struct network *net, uint32_t x)
{
    return two(net, &op_div, two(net, &op_mul, x, hard_gate(net, x, 3)),
               number(net, 5));
}

static uint32_t hard_sigmoid(struct network *net, uint32_t x)
{
    return two(net, &op_div, hard_gate(net, x, 3), number(net, 6));
}

static uint32_t gelu_then_halved(struct network *net, uint32_t x)
{
    return two(net, &op_mul,
               two(net, &op_mul, x, erf_gate(net, x, 1.41421356F)),
               number(net, 0.5F));
}

static uint32_t gelu_of_half_x(struct network *net, uint32_t x)
{
    uint32_t inner = two(net, &op_mul, x, number(net, 0.70710678F));
    uint32_t gate =
        two(net, &op_sum, one(net, &op_erf, NULL, inner), number(net, 1));

    return two(net, &op_mul, two(net, &op_mul, number(net, 0.5F), x), gate);
}

static uint32_t gelu_of_another_root(struct network *net, uint32_t x)
{
    return two(net, &op_mul, two(net, &op_mul, x, erf_gate(net, x, 1.5F)),
               number(net, 0.5F));
}

/* The gate has a second reader. */
static uint32_t gelu_with_a_guest(struct network *net, uint32_t x)
{
    uint32_t gate = erf_gate(net, x, 1.41421356F);
    uint32_t y =
        two(net, &op_mul, two(net, &op_mul, x, gate), number(net, 0.5F));

    return two(net, &op_sum, y, gate);
}

/* A network of values from -6 to 6, so that every branch is taken. */
static struct network spelled_network(spell *write)
{
    struct network net = network_new();
    uint32_t x, y;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    y = write(&net, x);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    for (size_t i = 0; i < tensor_elements(&net.x); i++)
        tensor_f32(&net.x)[i] = (float)(i % 97) / 8 - 6;
    return net;
}

/* The only node after fusing, which changes no result; NULL: there are
 * several. */
static const struct op_class *fused_op(spell *write)
{
    struct network net = spelled_network(write);
    const struct op_class *op = NULL;

    fuse_network(&net);
    if (graph_node_count(net.graph) == 1)
        op = graph_node(net.graph, 0)->op;
    network_free(&net);
    return op;
}

TEST(a_hard_swish_in_any_order_is_one_op)
{
    CHECK(fused_op(swish_then_divided) == &op_hard_swish);
    CHECK(fused_op(swish_of_divided_gate) == &op_hard_swish);
    CHECK(fused_op(swish_of_scaled_gate) == &op_hard_swish);
    CHECK(fused_op(hard_sigmoid) == &op_hard_sigmoid);
}

TEST(other_numbers_are_no_hard_swish)
{
    CHECK(!fused_op(swish_of_another_shift));
    CHECK(!fused_op(swish_of_another_scale));
}

TEST(a_gelu_in_any_order_is_one_op)
{
    CHECK(fused_op(gelu_then_halved) == &op_gelu);
    CHECK(fused_op(gelu_of_half_x) == &op_gelu);
}

TEST(other_numbers_or_readers_are_no_gelu)
{
    CHECK(!fused_op(gelu_of_another_root));
    CHECK(!fused_op(gelu_with_a_guest));
}

TEST(a_spelled_out_activation_lists_its_modules)
{
    struct network net = network_new();
    uint32_t x, sum, clip, y;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    sum = network_add(&net, &op_sum, NULL,
                      network_scope(&net, GRAPH_NONE, "sum", "Sum"),
                      (uint32_t[]){x, number(&net, 3)}, 2);
    clip =
        network_add(&net, &op_clip, &six,
                    network_scope(&net, GRAPH_NONE, "clip", "Clip"), &sum, 1);
    y = network_add(&net, &op_div, NULL,
                    network_scope(&net, GRAPH_NONE, "div", "Div"),
                    (uint32_t[]){clip, number(&net, 6)}, 2);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    CHECK_INT(graph_node_count(net.graph), 1);
    CHECK_INT(graph_node(net.graph, 0)->n_stands_for, 2);
    network_free(&net);
}
