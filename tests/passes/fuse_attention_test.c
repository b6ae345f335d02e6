/* The ops of an attention become one, with the same results; what others read
 * stays. */
#include "passes/fuse_attention.h"

#include "ops/math/softmax.h"
#include "ops/product/attention.h"
#include "passes/fuse.h"
#include "passes/run_network.h"

#include <string.h>

static struct error err;

enum { windows = 4, heads = 3, rows = 5, depth = 6, columns = 7, wide = 8 };

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

static uint32_t scores(struct network *net, uint32_t x)
{
    return two(net, &op_matmul, x,
               constant(net, shape_of(4, (int64_t)windows, (int64_t)heads,
                                      (int64_t)depth, (int64_t)columns)));
}

static uint32_t summand(struct network *net)
{
    return constant(net, shape_of(4, (int64_t)1, (int64_t)heads, (int64_t)rows,
                                  (int64_t)columns));
}

static uint32_t shares(struct network *net, uint32_t x, int axis)
{
    struct softmax_attrs attrs = {.axis = axis};

    return network_add(net, &op_softmax, &attrs, GRAPH_NONE, &x, 1);
}

static uint32_t finish(struct network *net, uint32_t x)
{
    return two(net, &op_matmul, x,
               constant(net, shape_of(4, (int64_t)windows, (int64_t)heads,
                                      (int64_t)columns, (int64_t)wide)));
}

static uint32_t reshape(struct network *net, uint32_t x, const int64_t *dims,
                        int rank)
{
    struct shape shape = shape_of(1, (int64_t)rank);
    struct tensor data;
    uint32_t to;

    CHECK_STATUS(tensor_new(net->pool, DTYPE_I64, &shape, &data, &err),
                 ASSAY_OK, &err);
    memcpy(tensor_i64(&data), dims, (size_t)rank * sizeof *dims);
    CHECK_STATUS(graph_constant(net->graph, "", data, &to, &err), ASSAY_OK,
                 &err);
    return two(net, &op_reshape, x, to);
}

typedef uint32_t build(struct network *net, uint32_t x);

static uint32_t plain(struct network *net, uint32_t x)
{
    return finish(net, shares(net, scores(net, x), -1));
}

static uint32_t with_summand(struct network *net, uint32_t x)
{
    uint32_t y = two(net, &op_sum, scores(net, x), summand(net));

    return finish(net, shares(net, y, -1));
}

/* The masks of each window; images in front. */
static uint32_t masked(struct network *net, uint32_t x, int64_t images)
{
    int64_t split[] = {images, windows / images, heads, rows, columns};
    int64_t joined[] = {-1, heads, rows, columns};
    uint32_t y = two(net, &op_sum, scores(net, x), summand(net));
    uint32_t mask =
        constant(net, shape_of(5, (int64_t)1, windows / images, (int64_t)1,
                               (int64_t)rows, (int64_t)columns));

    y = two(net, &op_sum, reshape(net, y, split, 5), mask);
    return finish(net, shares(net, reshape(net, y, joined, 4), -1));
}

static uint32_t with_masks(struct network *net, uint32_t x)
{
    return masked(net, x, 1);
}

static uint32_t masks_of_several_images(struct network *net, uint32_t x)
{
    return masked(net, x, 2);
}

/* The heads of all windows are next to each other until the masks come. */
static uint32_t with_merged_windows(struct network *net, uint32_t x)
{
    static const int64_t merged[] = {1, windows * heads, rows, depth};
    static const int64_t split[] = {1, windows, heads, rows, columns};
    static const int64_t joined[] = {-1, heads, rows, columns};
    uint32_t k = constant(net, shape_of(4, (int64_t)1, merged[1],
                                        (int64_t)depth, (int64_t)columns));
    uint32_t plus = constant(net, shape_of(4, (int64_t)1, merged[1],
                                           (int64_t)rows, (int64_t)columns));
    uint32_t mask =
        constant(net, shape_of(5, (int64_t)1, (int64_t)windows, (int64_t)1,
                               (int64_t)rows, (int64_t)columns));
    uint32_t y = two(net, &op_matmul, reshape(net, x, merged, 4), k);

    y = reshape(net, two(net, &op_sum, y, plus), split, 5);
    y = reshape(net, two(net, &op_sum, y, mask), joined, 4);
    return finish(net, shares(net, y, -1));
}

static uint32_t along_rows(struct network *net, uint32_t x)
{
    return finish(net, shares(net, scores(net, x), 2));
}

static uint32_t with_a_guest(struct network *net, uint32_t x)
{
    uint32_t y = shares(net, scores(net, x), -1);
    uint32_t z = finish(net, y);

    CHECK_INT(graph_output(net->graph, "guest", y, &err), ASSAY_OK);
    return z;
}

/* How many nodes are left, and how many of these are Attentions. */
static void check_fused(build *make, size_t n_attentions, size_t n_nodes)
{
    struct shape shape = shape_of(4, (int64_t)windows, (int64_t)heads,
                                  (int64_t)rows, (int64_t)depth);
    struct network net = network_new();
    struct tensor want, got;
    size_t n = 0;
    uint32_t x;

    graph_free(net.graph);
    tensor_release(&net.x);
    CHECK_INT(graph_new(&net.graph, NULL), ASSAY_OK);
    net.x = network_data(&net, &shape, -1, 1);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    CHECK_INT(graph_output(net.graph, "y", make(&net, x), &err), ASSAY_OK);
    fuse_network(&net);
    want = run_network(&net);
    CHECK_STATUS(fuse_attention(net.graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_check(net.graph, &err), ASSAY_OK, &err);
    for (size_t i = 0; i < graph_node_count(net.graph); i++)
        n += graph_node(net.graph, i)->op == &op_attention;
    CHECK_INT(n, n_attentions);
    CHECK_INT(graph_node_count(net.graph), n_nodes);
    got = run_network(&net);
    CHECK(shape_equal(&got.shape, &want.shape));
    for (size_t i = 0; i < tensor_elements(&want); i++)
        CHECK_NEAR(tensor_f32(&got)[i], tensor_f32(&want)[i], 1e-5);
    tensor_release(&want);
    tensor_release(&got);
    network_free(&net);
}

TEST(products_summand_and_softmax_become_an_attention)
{
    check_fused(plain, 1, 1);
    check_fused(with_summand, 1, 1);
}

TEST(masks_of_windows_go_into_an_attention)
{
    check_fused(with_masks, 1, 1);
}

TEST(what_is_no_attention_stays)
{
    check_fused(masks_of_several_images, 0, 7);
    check_fused(with_merged_windows, 0, 8);
    check_fused(along_rows, 0, 3);
    check_fused(with_a_guest, 0, 3);
}
