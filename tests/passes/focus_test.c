/* A Focus in front of a convolution becomes part of it, in every order that
 * exporters write, with the same results; what only looks like one stays. */
#include "ops/movement/concat.h"
#include "ops/movement/slice.h"
#include "passes/fuse.h"
#include "passes/run_network.h"

static struct error err;

enum { images = 2, channels = 3, height = 8, width = 10, filters = 5 };

static uint32_t integers(struct network *net, const int64_t *values, int64_t n)
{
    struct shape shape = shape_of(1, n);
    struct tensor list;
    uint32_t value;

    CHECK_INT(tensor_new(net->pool, DTYPE_I64, &shape, &list, &err), ASSAY_OK);
    for (int64_t i = 0; i < n; i++)
        tensor_i64(&list)[i] = values[i];
    CHECK_INT(graph_constant(net->graph, "list", list, &value, &err), ASSAY_OK);
    return value;
}

/* Every second place of n axes. */
static uint32_t cut(struct network *net, uint32_t x, const int64_t *axes,
                    const int64_t *starts, int64_t n, int64_t end)
{
    const int64_t ends[] = {end, end}, steps[] = {2, 2};
    uint32_t inputs[] = {x, integers(net, starts, n), integers(net, ends, n),
                         integers(net, axes, n), integers(net, steps, n)};

    return network_add(net, &op_slice, NULL, GRAPH_NONE, inputs, 5);
}

/* How a Focus is written. */
struct spelling {
    bool is_one_slice;    /* for both axes */
    bool is_from_the_end; /* axes are negative */
    int starts[4][2];
    int64_t end;
};

static uint32_t part(struct network *net, uint32_t x,
                     const struct spelling *spelling, int i)
{
    const int64_t axes[] = {spelling->is_from_the_end ? -2 : 2,
                            spelling->is_from_the_end ? -1 : 3};
    const int64_t starts[] = {spelling->starts[i][0], spelling->starts[i][1]};

    if (spelling->is_one_slice)
        return cut(net, x, axes, starts, 2, spelling->end);
    x = cut(net, x, axes, starts, 1, spelling->end);
    return cut(net, x, axes + 1, starts + 1, 1, spelling->end);
}

static struct network focus_network(const struct spelling *spelling,
                                    int64_t kernel)
{
    struct network net = network_new();
    struct shape shape = shape_of(4, (int64_t)images, (int64_t)channels,
                                  (int64_t)height, (int64_t)width);
    struct concat_attrs attrs = {.axis = 1};
    uint32_t image, parts[4], y;

    tensor_release(&net.x);
    net.x = network_data(&net, &shape, -1, 1);

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &image, &err), ASSAY_OK);
    for (int i = 0; i < 4; i++)
        parts[i] = part(&net, image, spelling, i);
    y = network_add(&net, &op_concat, &attrs, GRAPH_NONE, parts, 4);
    y = network_conv(&net, GRAPH_NONE, "conv", y, 4 * channels, filters,
                     kernel);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    return net;
}

/* The nodes that are left; the results are the same. */
static size_t fused_nodes(const struct spelling *spelling, int64_t kernel)
{
    struct network net = focus_network(spelling, kernel);
    size_t n_nodes;

    fuse_network(&net);
    n_nodes = graph_node_count(net.graph);
    network_free(&net);
    return n_nodes;
}

static const struct spelling yolox = {
    .starts = {{0, 0}, {1, 0}, {0, 1}, {1, 1}}, .end = INT64_MAX};

TEST(a_focus_in_any_order_is_part_of_its_convolution)
{
    struct spelling spelling = yolox;

    CHECK_INT(fused_nodes(&yolox, 3), 1);
    CHECK_INT(fused_nodes(&yolox, 1), 1);
    CHECK_INT(fused_nodes(&yolox, 5), 1);
    spelling.is_one_slice = spelling.is_from_the_end = true;
    CHECK_INT(fused_nodes(&spelling, 3), 1);
    spelling = (struct spelling){.starts = {{1, 1}, {0, 1}, {0, 0}, {1, 0}},
                                 .end = INT32_MAX};
    CHECK_INT(fused_nodes(&spelling, 3), 1);
}

TEST(parts_that_are_no_focus_stay)
{
    struct spelling twice = yolox, short_of_it = yolox;

    twice.starts[3][0] = 0; /* one part twice, one not at all */
    CHECK_INT(fused_nodes(&twice, 3), 8 + 2);
    short_of_it.end = height; /* may be all, for this height only */
    CHECK_INT(fused_nodes(&short_of_it, 3), 8 + 2);
}
