/* Products and sums with constants of channels: they go into the convolution or
 * norm before them, and the results stay. */
#include "passes/fuse.h"

#include "engine/engine.h"
#include "ops/math/binary_math.h"
#include "ops/pooling/max_pool2d.h"
#include "passes/residual_block.h"

static struct error err;

enum { channels = 3 };

/* A graph of its own with the pool and random data of the network. */
static struct network empty_network(uint32_t *image)
{
    struct network net = network_new();

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, image, &err), ASSAY_OK);
    return net;
}

static uint32_t with_constant(struct network *net, const struct op_class *op,
                              uint32_t x, struct shape shape)
{
    uint32_t pair[2] = {GRAPH_NONE, x};

    CHECK_INT(graph_constant(net->graph, "constant",
                             network_data(net, &shape, 0.5F, 2), &pair[0],
                             &err),
              ASSAY_OK);
    return network_add(net, op, &(struct binary_attrs){0}, GRAPH_NONE, pair, 2);
}

static struct tensor result_of(const struct network *net,
                               const struct tensor *x)
{
    struct engine_options options = {.device = &device_portable};
    struct engine *engine;
    struct tensor y;

    CHECK_STATUS(engine_new(net->graph, net->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, x, &y, &err), ASSAY_OK, &err);
    engine_free(engine);
    return y;
}

/* Fuses the graph that makes y, checks its results, frees it; how many nodes
 * are left. */
static size_t nodes_left(struct network *net, uint32_t y)
{
    struct shape shape =
        shape_of(4, (int64_t)2, (int64_t)channels, (int64_t)5, (int64_t)4);
    struct tensor x = network_data(net, &shape, -1, 1), want, got;
    size_t n;

    CHECK_INT(graph_output(net->graph, "y", y, &err), ASSAY_OK);
    want = result_of(net, &x);
    CHECK_STATUS(fuse_graph(net->graph, net->pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_check(net->graph, &err), ASSAY_OK, &err);
    got = result_of(net, &x);
    CHECK(shape_equal(&got.shape, &want.shape));
    for (size_t i = 0; i < tensor_elements(&want); i++)
        CHECK_NEAR(tensor_f32(&got)[i], tensor_f32(&want)[i], 1e-4);
    n = graph_node_count(net->graph);
    tensor_release(&want);
    tensor_release(&got);
    tensor_release(&x);
    network_free(net);
    return n;
}

static struct shape of_channels(void)
{
    return shape_of(3, (int64_t)channels, (int64_t)1, (int64_t)1);
}

TEST(scales_and_shifts_of_channels_go_into_the_convolution_before_them)
{
    uint32_t x, y;
    struct network net = empty_network(&x);

    y = network_conv(&net, GRAPH_NONE, "conv", x, channels, channels, 3);
    y = network_norm(&net, GRAPH_NONE, "bn", y, channels);
    y = with_constant(&net, &op_mul, y, of_channels());
    y = with_constant(
        &net, &op_sum, y,
        shape_of(4, (int64_t)1, (int64_t)channels, (int64_t)1, (int64_t)1));
    y = network_add(&net, &op_relu, NULL, GRAPH_NONE, &y, 1);
    CHECK_INT(nodes_left(&net, y), 1);

    net = empty_network(&x);
    y = network_conv(&net, GRAPH_NONE, "conv", x, channels, channels, 3);
    y = with_constant(&net, &op_sum, y, of_channels());
    y = with_constant(&net, &op_mul, y, shape_of(1, (int64_t)1));
    CHECK_INT(nodes_left(&net, y), 1);
}

TEST(scales_and_shifts_of_channels_go_into_a_norm_that_stays)
{
    struct max_pool2d_attrs pool = {.kernel = {2, 2}, .stride = {1, 1}};
    uint32_t x, y;
    struct network net = empty_network(&x);

    y = network_add(&net, &op_max_pool2d, &pool, GRAPH_NONE, &x, 1);
    y = network_norm(&net, GRAPH_NONE, "bn", y, channels);
    y = with_constant(&net, &op_mul, y, of_channels());
    y = with_constant(&net, &op_sum, y, of_channels());
    CHECK_INT(nodes_left(&net, y), 2);
}

TEST(a_norm_of_what_may_not_be_a_map_takes_no_constant)
{
    uint32_t x, y;
    struct network net = empty_network(&x);

    y = network_norm(&net, GRAPH_NONE, "bn", x, channels);
    y = with_constant(&net, &op_mul, y, of_channels());
    CHECK_INT(nodes_left(&net, y), 2);
}

TEST(constants_along_another_side_stay)
{
    uint32_t x, y;
    struct network net = empty_network(&x);

    y = network_conv(&net, GRAPH_NONE, "conv", x, channels, channels, 3);
    y = with_constant(&net, &op_mul, y, shape_of(1, (int64_t)4));
    y = with_constant(&net, &op_sum, y, shape_of(2, (int64_t)5, (int64_t)1));
    CHECK_INT(nodes_left(&net, y), 3);
}

TEST(what_others_read_before_the_product_stays)
{
    uint32_t x, y, pair[2];
    struct network net = empty_network(&x);

    pair[0] = network_conv(&net, GRAPH_NONE, "conv", x, channels, channels, 3);
    pair[1] = with_constant(&net, &op_mul, pair[0], of_channels());
    y = network_add(&net, &op_max, &(struct binary_attrs){0}, GRAPH_NONE, pair,
                    2);
    CHECK_INT(nodes_left(&net, y), 3);
}
