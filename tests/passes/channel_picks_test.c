/* Channels that exporters move with several ops are moved by one, and the
 * results stay. */
#include "passes/channel_picks.h"

#include "engine/engine.h"
#include "ops/movement/concat.h"
#include "ops/movement/gather.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "passes/residual_block.h"

static struct error err;

enum { images = 2, channels = 6, height = 5, width = 4 };

static struct shape map_shape(void)
{
    return shape_of(4, (int64_t)images, (int64_t)channels, (int64_t)height,
                    (int64_t)width);
}

static struct network empty_network(uint32_t *image)
{
    struct network net = network_new();
    struct shape shape = map_shape();

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, image, &err), ASSAY_OK);
    graph_declare_input(net.graph, *image, &shape);
    return net;
}

static uint32_t integers(struct network *net, const int64_t *values, int64_t n)
{
    struct shape shape = n ? shape_of(1, n) : shape_of(0);
    struct tensor list;
    uint32_t value;

    CHECK_INT(tensor_new(net->pool, DTYPE_I64, &shape, &list, &err), ASSAY_OK);
    for (int64_t i = 0; i < (n ? n : 1); i++)
        tensor_i64(&list)[i] = values[i];
    CHECK_INT(graph_constant(net->graph, "list", list, &value, &err), ASSAY_OK);
    return value;
}

static uint32_t reshape(struct network *net, uint32_t x, const int64_t *sizes,
                        int64_t n)
{
    uint32_t pair[2] = {x, integers(net, sizes, n)};

    return network_add(net, &op_reshape, NULL, GRAPH_NONE, pair, 2);
}

static uint32_t relu(struct network *net, uint32_t x)
{
    return network_add(net, &op_relu, NULL, GRAPH_NONE, &x, 1);
}

static uint32_t concat(struct network *net, uint32_t a, uint32_t b)
{
    struct concat_attrs attrs = {.axis = 1};
    uint32_t pair[2] = {a, b};

    return network_add(net, &op_concat, &attrs, GRAPH_NONE, pair, 2);
}

/* In two groups, of c channels. */
static uint32_t shuffle(struct network *net, uint32_t x, int64_t c)
{
    struct transpose_attrs swap = {.rank = 5, .order = {0, 2, 1, 3, 4}};
    int64_t apart[] = {images, 2, c / 2, height, width};
    int64_t together[] = {images, -1, height, width};

    x = reshape(net, x, apart, 5);
    x = network_add(net, &op_transpose, &swap, GRAPH_NONE, &x, 1);
    return reshape(net, x, together, 4);
}

static void split(struct network *net, uint32_t x, uint32_t parts[2])
{
    struct split_attrs attrs = {.axis = 1};
    struct node_description description = {.op = &op_split,
                                           .attrs = &attrs,
                                           .scope = GRAPH_NONE,
                                           .inputs = &x,
                                           .n_inputs = 1,
                                           .n_outputs = 2};

    CHECK_STATUS(graph_node_add(net->graph, &description, parts, &err),
                 ASSAY_OK, &err);
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

static size_t count(const struct network *net, const struct op_class *op)
{
    size_t n = 0;

    for (size_t i = 0; i < graph_node_count(net->graph); i++)
        n += graph_node(net->graph, i)->op == op;
    return n;
}

struct left {
    size_t nodes, picks;
};

/* What is left of the graph that makes y. */
static struct left nodes_left(struct network *net, uint32_t y)
{
    struct shape shape = map_shape();
    struct tensor x = network_data(net, &shape, -1, 1), want, got;
    struct left left;

    CHECK_INT(graph_output(net->graph, "y", y, &err), ASSAY_OK);
    want = result_of(net, &x);
    CHECK_STATUS(channel_picks_fuse(net->graph, net->pool, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(graph_check(net->graph, &err), ASSAY_OK, &err);
    got = result_of(net, &x);
    CHECK(shape_equal(&got.shape, &want.shape));
    for (size_t i = 0; i < tensor_elements(&want); i++)
        CHECK_NEAR(tensor_f32(&got)[i], tensor_f32(&want)[i], 0);
    left = (struct left){graph_node_count(net->graph),
                         count(net, &op_pick_channels)};
    tensor_release(&want);
    tensor_release(&got);
    tensor_release(&x);
    network_free(net);
    return left;
}

TEST(a_shuffle_becomes_one_node)
{
    uint32_t x, y;
    struct network net = empty_network(&x);
    struct left left;

    y = relu(&net, shuffle(&net, relu(&net, x), channels));
    left = nodes_left(&net, y);
    CHECK_INT(left.nodes, 3);
    CHECK_INT(left.picks, 1);
}

TEST(a_shuffle_and_its_reverse_become_nothing)
{
    struct transpose_attrs swap = {.rank = 5, .order = {0, 2, 1, 3, 4}};
    int64_t apart[] = {images, channels / 2, 2, height, width};
    int64_t together[] = {images, channels, height, width};
    uint32_t x, y;
    struct network net = empty_network(&x);
    struct left left;

    y = shuffle(&net, relu(&net, x), channels);
    y = reshape(&net, y, apart, 5);
    y = network_add(&net, &op_transpose, &swap, GRAPH_NONE, &y, 1);
    y = relu(&net, reshape(&net, y, together, 4));
    left = nodes_left(&net, y);
    CHECK_INT(left.nodes, 2);
    CHECK_INT(left.picks, 0);
}

TEST(parts_of_a_shuffled_concat_are_read_from_its_inputs)
{
    uint32_t x, a, y, parts[2];
    struct network net = empty_network(&x);
    struct left left;

    a = relu(&net, x);
    split(&net, shuffle(&net, concat(&net, a, x), 2 * channels), parts);
    y = concat(&net, parts[0], relu(&net, parts[1]));
    y = relu(&net, shuffle(&net, y, 2 * channels));
    left = nodes_left(&net, y);
    CHECK_INT(left.picks, 2);
    CHECK_INT(left.nodes, 5);
}

TEST(what_is_read_in_between_is_made_there)
{
    uint32_t x, y, shuffled, pair[2];
    struct network net = empty_network(&x);
    struct left left;

    shuffled = shuffle(&net, relu(&net, x), channels);
    y = shuffle(&net, shuffled, channels);
    pair[0] = relu(&net, shuffled);
    pair[1] = y;
    y = network_add(&net, &op_add, NULL, GRAPH_NONE, pair, 2);
    left = nodes_left(&net, y);
    CHECK_INT(left.picks, 2);
    CHECK_INT(left.nodes, 5);
}

TEST(gathers_of_every_second_channel_are_picks)
{
    static const int64_t zero = 0, one = 1;
    struct transpose_attrs swap = {.rank = 3, .order = {1, 0, 2}};
    struct gather_attrs first = {.axis = 0};
    int64_t apart[] = {images * channels / 2, 2, height * width};
    int64_t together[] = {2, images, channels / 2, height, width};
    uint32_t x, y, pair[2], halves[2];
    struct network net = empty_network(&x);
    struct left left;

    y = reshape(&net, relu(&net, x), apart, 3);
    y = network_add(&net, &op_transpose, &swap, GRAPH_NONE, &y, 1);
    y = reshape(&net, y, together, 5);
    for (int i = 0; i < 2; i++) {
        pair[0] = y;
        pair[1] = integers(&net, i ? &one : &zero, 0);
        halves[i] = network_add(&net, &op_gather, &first, GRAPH_NONE, pair, 2);
    }
    y = network_add(&net, &op_add, NULL, GRAPH_NONE, halves, 2);
    left = nodes_left(&net, y);
    CHECK_INT(left.picks, 2);
    CHECK_INT(left.nodes, 4);
}

TEST(a_slice_of_channels_is_a_pick_and_one_of_rows_is_not)
{
    static const int64_t axes[] = {1, 2}, start = 1, end = 4;

    for (int i = 0; i < 2; i++) {
        uint32_t x, y, inputs[4];
        struct network net = empty_network(&x);
        struct left left;

        inputs[0] = relu(&net, x);
        inputs[1] = integers(&net, &start, 1);
        inputs[2] = integers(&net, &end, 1);
        inputs[3] = integers(&net, &axes[i], 1);
        y = network_add(&net, &op_slice, NULL, GRAPH_NONE, inputs, 4);
        left = nodes_left(&net, relu(&net, y));
        CHECK_INT(left.picks, i == 0);
        CHECK_INT(left.nodes, 3);
    }
}

TEST(pixels_that_move_stay_as_they_are)
{
    struct transpose_attrs turn = {.rank = 4, .order = {0, 1, 3, 2}};
    uint32_t x, y;
    struct network net = empty_network(&x);
    struct left left;

    y = relu(&net, x);
    y = relu(&net, network_add(&net, &op_transpose, &turn, GRAPH_NONE, &y, 1));
    left = nodes_left(&net, y);
    CHECK_INT(left.picks, 0);
    CHECK_INT(left.nodes, 3);
}

TEST(images_that_move_stay_as_they_are)
{
    struct transpose_attrs turn = {.rank = 4, .order = {1, 0, 2, 3}};
    uint32_t x, y;
    struct network net = empty_network(&x);
    struct left left;

    y = relu(&net, x);
    y = relu(&net, network_add(&net, &op_transpose, &turn, GRAPH_NONE, &y, 1));
    left = nodes_left(&net, y);
    CHECK_INT(left.picks, 0);
    CHECK_INT(left.nodes, 3);
}

TEST(a_graph_whose_sizes_are_open_stays)
{
    struct shape open = map_shape();
    uint32_t x, y;
    struct network net = empty_network(&x);
    struct left left;

    open.dims[0] = -1;
    graph_declare_input(net.graph, x, &open);
    y = relu(&net, shuffle(&net, relu(&net, x), channels));
    left = nodes_left(&net, y);
    CHECK_INT(left.picks, 0);
    CHECK_INT(left.nodes, 5);
}
