/* Products with constant weights take what follows them, with the same
 * results, and leave what others read. */
#include "passes/fuse_dense.h"

#include "ops/product/dense.h"
#include "passes/fuse.h"
#include "passes/run_network.h"

static struct error err;

enum { rows = 3, depth = 5, columns = 7 };

static uint32_t constant(struct network *net, struct shape shape)
{
    uint32_t id;

    CHECK_STATUS(graph_constant(net->graph, "",
                                network_data(net, &shape, -1, 1), &id, &err),
                 ASSAY_OK, &err);
    return id;
}

static uint32_t two(struct network *net, const struct op_class *op, uint32_t a,
                    uint32_t b)
{
    return network_add(net, op, NULL, GRAPH_NONE, (uint32_t[]){a, b}, 2);
}

static uint32_t product(struct network *net, uint32_t x)
{
    return two(net, &op_matmul, x,
               constant(net, shape_of(2, (int64_t)depth, (int64_t)columns)));
}

static uint32_t row(struct network *net)
{
    return constant(net, shape_of(1, (int64_t)columns));
}

static uint32_t one(struct network *net, const struct op_class *op, uint32_t x)
{
    return network_add(net, op, NULL, GRAPH_NONE, &x, 1);
}

typedef uint32_t build(struct network *net, uint32_t x);

static uint32_t everything(struct network *net, uint32_t x)
{
    uint32_t other = product(net, x);
    uint32_t y = two(net, &op_sum, row(net), product(net, x));

    return two(net, &op_add, other, one(net, &op_gelu, y));
}

static uint32_t relu_without_bias(struct network *net, uint32_t x)
{
    return one(net, &op_relu, product(net, x));
}

static uint32_t second_bias(struct network *net, uint32_t x)
{
    uint32_t y = two(net, &op_sum, product(net, x), row(net));

    return two(net, &op_sum, y, row(net));
}

static uint32_t activation_behind_a_sum(struct network *net, uint32_t x)
{
    uint32_t other = one(net, &op_relu, product(net, x));

    return one(net, &op_relu, two(net, &op_add, product(net, x), other));
}

static uint32_t product_with_a_guest(struct network *net, uint32_t x)
{
    uint32_t y = product(net, x);

    return two(net, &op_mul, one(net, &op_relu, y), y);
}

/* A bias has one number per column; a constant matrix is not one. */
static uint32_t constant_matrix(struct network *net, uint32_t x)
{
    return two(net, &op_sum, product(net, x),
               constant(net, shape_of(2, (int64_t)rows, (int64_t)columns)));
}

static size_t count_ops(const struct graph *graph, const struct op_class *op)
{
    size_t n = 0;

    for (size_t i = 0; i < graph_node_count(graph); i++)
        n += graph_node(graph, i)->op == op;
    return n;
}

/* How many nodes are left, and how many of these are no Dense. */
static void check_fused(build *make, size_t n_dense, size_t n_others)
{
    struct shape shape = shape_of(2, (int64_t)rows, (int64_t)depth);
    struct network net = network_new();
    struct tensor want, got;
    uint32_t x;

    graph_free(net.graph);
    tensor_release(&net.x);
    CHECK_INT(graph_new(&net.graph, NULL), ASSAY_OK);
    net.x = network_data(&net, &shape, -1, 1);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    CHECK_INT(graph_output(net.graph, "y", make(&net, x), &err), ASSAY_OK);
    fuse_network(&net);
    want = run_network(&net);
    CHECK_STATUS(fuse_dense(net.graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_check(net.graph, &err), ASSAY_OK, &err);
    got = run_network(&net);
    CHECK_INT(count_ops(net.graph, &op_dense), n_dense);
    CHECK_INT(graph_node_count(net.graph), n_dense + n_others);
    CHECK(shape_equal(&got.shape, &want.shape));
    for (size_t i = 0; i < tensor_elements(&want); i++)
        CHECK_NEAR(tensor_f32(&got)[i], tensor_f32(&want)[i], 1e-5);
    tensor_release(&want);
    tensor_release(&got);
    network_free(&net);
}

TEST(bias_activation_and_summand_go_into_a_product)
{
    check_fused(everything, 2, 0);
    check_fused(relu_without_bias, 1, 0);
}

TEST(what_a_product_cannot_take_stays)
{
    check_fused(second_bias, 1, 1);
    check_fused(activation_behind_a_sum, 2, 1);
    check_fused(product_with_a_guest, 1, 2);
    check_fused(constant_matrix, 1, 1);
}
