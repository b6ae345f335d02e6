/* Convolutions of one map to a few channels each become one, with the depthwise
 * ones and the Transposes behind them and the same results; others stay. */
#include "ops/movement/concat.h"
#include "ops/movement/transpose.h"
#include "passes/fuse.h"
#include "passes/merge_heads.h"
#include "passes/run_network.h"

enum { most_heads = 4 };

/* How the heads of a network are made. */
struct plan {
    int64_t channels[most_heads]; /* of each; 0: there are no more */
    int64_t kernel[most_heads];
    bool has_depthwise, has_transposes, has_norms;
    bool reads_first_twice; /* somebody else reads the first head's map */
};

static uint32_t depthwise(struct network *net, uint32_t x, int64_t channels)
{
    struct shape w = shape_of(4, channels, (int64_t)1, (int64_t)3, (int64_t)3);
    struct shape b = shape_of(1, channels);
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t scope = network_scope(net, GRAPH_NONE, "depthwise", "Conv2d");
    uint32_t inputs[CONV2D_INPUTS] = {
        x, network_parameter(net, scope, "weight", &w, -0.5f, 0.5f),
        network_parameter(net, scope, "bias", &b, -1, 1), GRAPH_NONE};

    attrs.groups = channels;
    for (int i = 0; i < 2; i++)
        attrs.before[i] = attrs.after[i] = 1;
    return network_add(net, &op_conv2d, &attrs, scope, inputs, CONV2D_INPUTS);
}

static uint32_t head(struct network *net, uint32_t x, const struct plan *plan,
                     int i)
{
    static const char *const names[most_heads] = {"a", "b", "c", "d"};
    struct transpose_attrs last = {.rank = 4, .order = {0, 2, 3, 1}};
    uint32_t y = network_conv(net, GRAPH_NONE, names[i], x, 3,
                              plan->channels[i], plan->kernel[i]);

    if (plan->has_norms && i > 0)
        y = network_norm(net, GRAPH_NONE, "norm", y, plan->channels[i]);
    if (plan->reads_first_twice && i == 0)
        CHECK_INT(graph_output(net->graph, "twice", y, NULL), ASSAY_OK);
    if (plan->has_depthwise)
        y = depthwise(net, y, plan->channels[i]);
    return plan->has_transposes
               ? network_add(net, &op_transpose, &last, GRAPH_NONE, &y, 1)
               : y;
}

/* A network of heads alone, whose outputs are concatenated. */
static struct network heads_network(const struct plan *plan)
{
    struct network net = network_new();
    struct concat_attrs attrs = {.axis = plan->has_transposes ? 3 : 1};
    uint32_t x, heads[most_heads], y;
    size_t n = 0;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, NULL), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &x, NULL), ASSAY_OK);
    for (; n < most_heads && plan->channels[n]; n++)
        heads[n] = head(&net, x, plan, (int)n);
    y = network_add(&net, &op_concat, &attrs, GRAPH_NONE, heads, n);
    if (!plan->reads_first_twice)
        CHECK_INT(graph_output(net.graph, "y", y, NULL), ASSAY_OK);
    return net;
}

static size_t count_nodes(const struct graph *graph, const struct op_class *op)
{
    size_t n = 0;

    for (size_t i = 0; i < graph_node_count(graph); i++)
        n += graph_node(graph, i)->op == op;
    return n;
}

/* Merges the heads, which must not change the output. */
static struct network merged(const struct plan *plan)
{
    struct network net = heads_network(plan);
    struct error err = {0};
    struct tensor want, got;

    fuse_network(&net);
    want = run_network(&net);
    CHECK_STATUS(merge_heads(net.graph, net.pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_check(net.graph, &err), ASSAY_OK, &err);
    got = run_network(&net);
    CHECK(shape_equal(&got.shape, &want.shape));
    for (size_t i = 0; i < tensor_elements(&want); i++)
        CHECK_NEAR(tensor_f32(&got)[i], tensor_f32(&want)[i], 1e-5);
    tensor_release(&want);
    tensor_release(&got);
    return net;
}

static size_t merged_convs(const struct plan *plan)
{
    struct network net = merged(plan);
    size_t n = count_nodes(net.graph, &op_conv2d);

    network_free(&net);
    return n;
}

static const struct plan detector = {.channels = {1, 4, 1, 10},
                                     .kernel = {1, 1, 1, 1},
                                     .has_depthwise = true,
                                     .has_transposes = true};

TEST(heads_of_one_map_become_one_with_what_follows_them)
{
    struct network net = merged(&detector);

    CHECK_INT(count_nodes(net.graph, &op_conv2d), 2);
    CHECK_INT(count_nodes(net.graph, &op_transpose), 1);
    CHECK_INT(count_nodes(net.graph, &op_split), 1);
    network_free(&net);
}

TEST(the_merged_node_stands_for_all_heads)
{
    struct network net = merged(&detector);
    const struct node *first = graph_node(net.graph, 0);

    CHECK(first->op == &op_conv2d);
    CHECK_STR(graph_scope(net.graph, first->scope)->name, "a");
    CHECK_INT(first->n_stands_for, 3);
    CHECK_STR(graph_scope(net.graph, first->stands_for[2])->name, "d");
    network_free(&net);
}

TEST(norms_of_some_heads_and_larger_kernels_are_merged_too)
{
    struct plan plan = detector;

    plan.has_norms = true;
    plan.has_transposes = false;
    CHECK_INT(merged_convs(&plan), 2);
    for (int i = 0; i < most_heads; i++)
        plan.kernel[i] = 3;
    CHECK_INT(merged_convs(&plan), 2);
}

TEST(heads_that_fill_more_than_a_block_stay)
{
    struct plan plan = detector;

    plan.channels[3] = 11; /* three fit, the fourth does not */
    CHECK_INT(merged_convs(&plan), 4);
    plan.channels[1] = 15; /* two fit */
    CHECK_INT(merged_convs(&plan), 8);
}

TEST(two_heads_or_different_kernels_stay)
{
    struct plan two = {.channels = {1, 4}, .kernel = {1, 1}};
    struct plan mixed = {.channels = {1, 4, 1, 2}, .kernel = {1, 3, 1, 3}};

    CHECK_INT(merged_convs(&two), 2);
    CHECK_INT(merged_convs(&mixed), 4);
}

TEST(a_map_that_somebody_else_reads_is_still_made)
{
    struct plan plan = detector;

    plan.reads_first_twice = true;
    CHECK_INT(merged_convs(&plan), 1); /* the rest is not read */
}
