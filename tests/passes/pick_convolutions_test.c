/* Convolutions read shuffled channels where they are, and the results stay. */
#include "passes/pick_convolutions.h"

#include "ops/convolution/pick_conv2d.h"
#include "passes/run_network.h"

static struct error err;

enum { images = 2, channels = 6, height = 5, width = 4 };

static struct network empty_network(uint32_t *image)
{
    struct network net = {.random = random_seed(5)};
    struct shape shape = shape_of(4, (int64_t)images, (int64_t)channels,
                                  (int64_t)height, (int64_t)width);

    CHECK_INT(pool_new(&net.pool, &err), ASSAY_OK);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, image, &err), ASSAY_OK);
    net.x = network_data(&net, &shape, -1, 1);
    return net;
}

/* n channels of one map or two. */
static uint32_t pick(struct network *net, uint32_t a, uint32_t b,
                     const int64_t *list, int64_t n)
{
    uint32_t scope = network_scope(net, GRAPH_NONE, "shuffle", "Shuffle");
    struct shape shape = shape_of(1, n);
    uint32_t inputs[3] = {a, b}, list_at = b == GRAPH_NONE ? 1 : 2;
    struct tensor data;

    CHECK_INT(tensor_new(net->pool, DTYPE_I64, &shape, &data, &err), ASSAY_OK);
    for (int64_t i = 0; i < n; i++)
        tensor_i64(&data)[i] = list[i];
    CHECK_INT(graph_constant(net->graph, "list", data, &inputs[list_at], &err),
              ASSAY_OK);
    return network_add(net, &op_pick_channels, NULL, scope, inputs,
                       list_at + 1);
}

/* With a bias and, where it is depthwise, a scale. */
static uint32_t convolve(struct network *net, const char *name, uint32_t x,
                         struct shape w, struct conv2d_attrs attrs)
{
    uint32_t scope = network_scope(net, GRAPH_NONE, name, "Conv2d");
    struct shape each = shape_of(1, w.dims[0]);
    uint32_t inputs[CONV2D_SCALE + 1] = {
        x, network_parameter(net, scope, "weight", &w, -1, 1),
        network_parameter(net, scope, "bias", &each, -1, 1), GRAPH_NONE,
        network_parameter(net, scope, "scale", &each, 1, 2)};

    return network_add(net, &op_conv2d, &attrs, scope, inputs,
                       w.dims[1] == 1 ? CONV2D_SCALE + 1 : CONV2D_SCALE);
}

static uint32_t pointwise(struct network *net, const char *name, uint32_t x,
                          int64_t c, int64_t o, int64_t groups)
{
    struct conv2d_attrs attrs = conv2d_defaults();

    attrs.groups = groups;
    attrs.has_relu = true;
    return convolve(net, name, x,
                    shape_of(4, o, c / groups, (int64_t)1, (int64_t)1), attrs);
}

static uint32_t depthwise(struct network *net, const char *name, uint32_t x,
                          int64_t c)
{
    struct conv2d_attrs attrs = {
        .stride = {2, 2}, .dilation = {1, 1}, .before = {1, 1}, .groups = c};

    return convolve(net, name, x,
                    shape_of(4, c, (int64_t)1, (int64_t)2, (int64_t)2), attrs);
}

/* The ops in their order after the pass, a letter each: c and d for
 * convolutions (depthwise), p for a pick, P for a convolution that picks. */
static void check_ops(struct network *net, uint32_t y, const char *ops)
{
    struct tensor want, got;
    char text[16] = "";
    size_t n;

    CHECK_INT(graph_output(net->graph, "y", y, &err), ASSAY_OK);
    want = run_network(net);
    CHECK_STATUS(pick_convolutions(net->graph, net->pool, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(graph_check(net->graph, &err), ASSAY_OK, &err);
    got = run_network(net);
    CHECK(shape_equal(&got.shape, &want.shape));
    for (size_t i = 0; i < tensor_elements(&want); i++)
        CHECK_NEAR(tensor_f32(&got)[i], tensor_f32(&want)[i], 1e-5);
    n = graph_node_count(net->graph);
    CHECK(n < sizeof text);
    for (size_t i = 0; i < n; i++) {
        const struct node *node = graph_node(net->graph, i);

        if (node->op == &op_conv2d)
            text[i] = conv2d_attrs(node)->groups == channels ? 'd' : 'c';
        else
            text[i] = node->op == &op_pick_conv2d     ? 'P'
                      : node->op == &op_pick_channels ? 'p'
                                                      : '-';
    }
    CHECK_STR(text, ops);
    tensor_release(&want);
    tensor_release(&got);
    network_free(net);
}

/* Values that nothing reads. */
static void add_values(struct network *net, int n)
{
    struct shape scalar = shape_of(0);

    for (int i = 0; i < n; i++) {
        struct tensor data = network_data(net, &scalar, 0, 1);
        uint32_t value;

        CHECK_INT(graph_constant(net->graph, "", data, &value, &err), ASSAY_OK);
    }
}

static const int64_t shuffled[] = {0, 3, 1, 4, 2, 5};

TEST(a_shuffle_between_convolutions_costs_no_pass_of_its_own)
{
    uint32_t x, y;
    struct network net = empty_network(&x);

    y = pick(&net, pointwise(&net, "a", x, channels, channels, 2), GRAPH_NONE,
             shuffled, channels);
    y = depthwise(&net, "b", y, channels);
    check_ops(&net, pointwise(&net, "c", y, channels, 8, 2), "cdP");
}

/* Whichever of the new weights makes the graph's array of values move. */
TEST(a_shuffle_moves_however_many_values_the_graph_has)
{
    enum { most = 64 };

    for (int n = 0; n < most; n++) {
        uint32_t x, y;
        struct network net = empty_network(&x);

        y = pick(&net, pointwise(&net, "a", x, channels, channels, 2),
                 GRAPH_NONE, shuffled, channels);
        y = depthwise(&net, "b", y, channels);
        add_values(&net, n);
        check_ops(&net, y, "cdp");
    }
}

TEST(names_stay_with_what_moves)
{
    uint32_t x, y;
    struct network net = empty_network(&x);
    const struct graph *graph = net.graph;

    y = pick(&net, pointwise(&net, "a", x, channels, channels, 1), GRAPH_NONE,
             shuffled, channels);
    y = depthwise(&net, "b", y, channels);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    CHECK_INT(pick_convolutions(net.graph, net.pool, &err), ASSAY_OK);
    CHECK(graph_node(graph, 1)->op == &op_conv2d);
    CHECK_STR(graph_scope(graph, graph_node(graph, 1)->scope)->name, "b");
    CHECK_STR(graph_scope(graph, graph_node(graph, 2)->scope)->name, "shuffle");
    network_free(&net);
}

TEST(channels_of_two_maps_are_read_where_they_are)
{
    static const int64_t some[] = {11, 0, 7, 3};
    uint32_t x, a, b;
    struct network net = empty_network(&x);

    a = pointwise(&net, "a", x, channels, channels, 1);
    b = pointwise(&net, "b", a, channels, channels, 3);
    check_ops(&net, pointwise(&net, "c", pick(&net, a, b, some, 4), 4, 5, 1),
              "ccP");
}

TEST(a_shuffle_that_something_else_reads_stays)
{
    uint32_t x, y, both[2];
    struct network net = empty_network(&x);

    y = pick(&net, pointwise(&net, "a", x, channels, channels, 1), GRAPH_NONE,
             shuffled, channels);
    both[0] = pointwise(&net, "b", y, channels, channels, 1);
    both[1] = y;
    y = network_add(&net, &op_add, NULL, GRAPH_NONE, both, 2);
    check_ops(&net, y, "cpc-");
}

TEST(a_depthwise_convolution_of_some_channels_stays_where_it_is)
{
    static const int64_t some[] = {4, 0, 2, 1, 3, 5};
    uint32_t x, y;
    struct network net = empty_network(&x);

    y = pick(&net, pointwise(&net, "a", x, channels, 2 * channels, 1),
             GRAPH_NONE, some, channels);
    check_ops(&net, depthwise(&net, "b", y, channels), "cpd");
}

TEST(a_depthwise_convolution_that_reads_a_channel_twice_stays_where_it_is)
{
    static const int64_t twice[] = {4, 0, 2, 4, 3, 5};
    uint32_t x, y;
    struct network net = empty_network(&x);

    y = pick(&net, pointwise(&net, "a", x, channels, channels, 1), GRAPH_NONE,
             twice, channels);
    check_ops(&net, depthwise(&net, "b", y, channels), "cpd");
}

TEST(a_convolution_of_3x3_reads_a_shuffle_as_before)
{
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t x, y;
    struct network net = empty_network(&x);

    y = pick(&net, x, GRAPH_NONE, shuffled, channels);
    check_ops(&net,
              convolve(&net, "a", y,
                       shape_of(4, (int64_t)4, (int64_t)channels, (int64_t)3,
                                (int64_t)3),
                       attrs),
              "pc");
}
