/* The fusing pass: the same results from fewer nodes, which list their modules.
 */
#include "passes/fuse.h"

#include "base/mem.h"
#include "engine/engine.h"
#include "ops/math/clip.h"
#include "ops/math/unary_math.h"
#include "passes/residual_block.h"
#include "passes/run_network.h"
#include "passes/train_pass.h"

#include <math.h>
#include <string.h>

static struct error err;

enum { n_outputs = 2 };

static void run_on(const struct network *net, const struct tensor *x,
                   struct tensor *outputs)
{
    struct engine_options options = {.device = &device_portable};
    struct engine *engine;

    err = (struct error){0};
    CHECK_STATUS(engine_new(net->graph, net->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, x, outputs, &err), ASSAY_OK, &err);
    engine_free(engine);
}

static void run(const struct network *net, struct tensor *outputs)
{
    run_on(net, &net->x, outputs);
}

static void check_near(const struct tensor *got, const struct tensor *want)
{
    CHECK(shape_equal(&got->shape, &want->shape));
    for (size_t i = 0; i < tensor_elements(want); i++)
        CHECK_NEAR(tensor_f32(got)[i], tensor_f32(want)[i], 2e-4);
}

/* The node whose scope has that path. */
static size_t node_at(const struct graph *graph, const char *path)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        uint32_t scope = graph_node(graph, i)->scope;

        if (scope != GRAPH_NONE &&
            strcmp(graph_scope(graph, scope)->path, path) == 0)
            return i;
    }
    fail_msg("no node has the scope %s", path);
    return 0;
}

static bool has_op(const struct graph *graph, const struct op_class *op)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        if (graph_node(graph, i)->op == op)
            return true;
    }
    return false;
}

static void check_stands_for(const struct graph *graph, const char *path,
                             const char *const *scopes)
{
    const struct node *node = graph_node(graph, node_at(graph, path));
    size_t n = 0;

    for (; scopes[n]; n++) {
        CHECK(n < node->n_stands_for);
        CHECK_STR(graph_scope(graph, node->stands_for[n])->path, scopes[n]);
    }
    CHECK_INT(node->n_stands_for, n);
}

TEST(a_fused_graph_computes_what_the_plain_one_does)
{
    struct network plain = network_new(), fused = network_new();
    struct tensor want[n_outputs], got[n_outputs];

    run(&plain, want);
    CHECK_STATUS(fuse_graph(fused.graph, fused.pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_check(fused.graph, &err), ASSAY_OK, &err);
    run(&fused, got);
    for (int i = 0; i < n_outputs; i++) {
        check_near(&got[i], &want[i]);
        tensor_release(&got[i]);
        tensor_release(&want[i]);
    }
    network_free(&plain);
    network_free(&fused);
}

TEST(norms_additions_and_activations_go_into_convolutions)
{
    struct network net = network_new();
    const struct node *conv2;

    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    CHECK(!has_op(net.graph, &op_batch_norm));
    /* Remaining: conv1, maxpool, 3 of the block, lateral, its relu and
     * addition, up, flatten, fc. */
    CHECK_INT(graph_node_count(net.graph), 11);
    conv2 = graph_node(net.graph, node_at(net.graph, "block.conv2"));
    CHECK(conv2->op == &op_conv2d);
    CHECK(conv2d_attrs(conv2)->has_relu);
    CHECK(conv2->inputs[CONV2D_RESIDUAL] != GRAPH_NONE);
    CHECK(linear_attrs(graph_node(net.graph, node_at(net.graph, "fc")))
              ->has_relu);
    CHECK(
        conv_transpose2d_attrs(graph_node(net.graph, node_at(net.graph, "up")))
            ->has_relu);
    network_free(&net);
}

TEST(a_value_that_others_read_is_left_alone)
{
    struct network net = network_new();
    const struct node *lateral;

    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    lateral = graph_node(net.graph, node_at(net.graph, "lateral"));
    CHECK(!conv2d_attrs(lateral)->has_relu);
    CHECK(lateral->inputs[CONV2D_RESIDUAL] == GRAPH_NONE);
    CHECK(has_op(net.graph, &op_relu));
    CHECK(has_op(net.graph, &op_add));
    network_free(&net);
}

/* A convolution, a clip, and a dropout that is read twice. */
static struct network clipped_network(float low, float high)
{
    struct clip_attrs clip = {.low = low, .high = high};
    struct network net = network_new();
    uint32_t scope, x;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    scope = network_scope(&net, GRAPH_NONE, "act", "ReLU6");
    x = network_conv(&net, GRAPH_NONE, "conv", x, 3, 3, 3);
    x = network_add(&net, &op_clip, &clip, scope, &x, 1);
    scope = network_scope(&net, GRAPH_NONE, "drop", "Dropout");
    x = network_add(&net, &op_dropout, NULL, scope, &x, 1);
    CHECK_INT(graph_output(net.graph, "y", x, &err), ASSAY_OK);
    CHECK_INT(graph_output(net.graph, "y again", x, &err), ASSAY_OK);
    return net;
}

TEST(a_relu6_goes_into_its_convolution_and_a_dropout_is_removed)
{
    struct network plain = clipped_network(0, 0.5f);
    struct network fused = clipped_network(0, 0.5f);
    struct tensor want[n_outputs], got[n_outputs];

    run(&plain, want);
    CHECK_STATUS(fuse_graph(fused.graph, fused.pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_check(fused.graph, &err), ASSAY_OK, &err);
    CHECK_INT(graph_node_count(fused.graph), 1);
    check_stands_for(fused.graph, "conv",
                     (const char *const[]){"act", "drop", NULL});
    run(&fused, got);
    for (int i = 0; i < n_outputs; i++) {
        check_near(&got[i], &want[i]);
        tensor_release(&got[i]);
        tensor_release(&want[i]);
    }
    network_free(&plain);
    network_free(&fused);
}

TEST(a_clip_that_does_not_begin_at_zero_stays)
{
    struct network net = clipped_network(-1, 1);

    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    CHECK(has_op(net.graph, &op_clip));
    CHECK(!has_op(net.graph, &op_dropout));
    network_free(&net);
}

TEST(a_convolution_takes_only_one_addition)
{
    struct network net = network_new();
    uint32_t values[2], image;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &image, &err), ASSAY_OK);
    values[0] = network_conv(&net, GRAPH_NONE, "conv", image, 3, 3, 3);
    values[1] = image;
    values[0] = network_add(&net, &op_add, NULL, GRAPH_NONE, values, 2);
    values[0] = network_add(&net, &op_add, NULL, GRAPH_NONE, values, 2);
    CHECK_INT(graph_output(net.graph, "y", values[0], &err), ASSAY_OK);
    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    CHECK_INT(graph_node_count(net.graph), 2);
    CHECK(graph_node(net.graph, 0)->op == &op_conv2d);
    CHECK(graph_node(net.graph, 1)->op == &op_add);
    network_free(&net);
}

/* As in a DenseNet: a norm of a map that is no convolution's. */
TEST(a_relu_goes_into_a_norm_that_stays)
{
    struct network net = network_new();
    const struct node *norm;
    uint32_t y;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &y, &err), ASSAY_OK);
    y = network_norm(&net, GRAPH_NONE, "bn", y, 3);
    y = network_relu(&net, GRAPH_NONE, y);
    y = network_relu(&net, GRAPH_NONE, y);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    fuse_network(&net);
    CHECK_INT(graph_node_count(net.graph), 2);
    norm = graph_node(net.graph, 0);
    CHECK(norm->op == &op_batch_norm);
    CHECK(batch_norm_attrs(norm)->has_relu);
    network_free(&net);
}

TEST(nothing_is_fused_after_an_activation)
{
    struct network net = network_new();
    uint32_t values[2], image;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &image, &err), ASSAY_OK);
    values[0] = network_conv(&net, GRAPH_NONE, "conv", image, 3, 3, 3);
    values[0] = network_relu(&net, GRAPH_NONE, values[0]);
    values[1] = image;
    values[0] = network_add(&net, &op_add, NULL, GRAPH_NONE, values, 2);
    values[0] = network_norm(&net, GRAPH_NONE, "bn", values[0], 3);
    CHECK_INT(graph_output(net.graph, "y", values[0], &err), ASSAY_OK);
    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    CHECK_INT(graph_node_count(net.graph), 3);
    CHECK(graph_node(net.graph, 1)->op == &op_add);
    CHECK(graph_node(net.graph, 2)->op == &op_batch_norm);
    network_free(&net);
}

TEST(a_fused_node_lists_the_modules_it_stands_for)
{
    static const char *const stem[] = {"bn1", "relu", NULL};
    static const char *const first[] = {"block.bn1", "block.relu", NULL};
    static const char *const second[] = {"block.bn2", "block.relu", NULL};
    static const char *const down[] = {"block.downsample.1", NULL};
    static const char *const head[] = {NULL};
    struct network net = network_new();

    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    check_stands_for(net.graph, "conv1", stem);
    check_stands_for(net.graph, "block.conv1", first);
    /* The addition belongs to the block; it is not a module. */
    check_stands_for(net.graph, "block.conv2", second);
    check_stands_for(net.graph, "block.downsample.0", down);
    check_stands_for(net.graph, "fc", head);
    network_free(&net);
}

TEST(parameters_are_counted_as_before_and_unread_data_is_freed)
{
    struct network net = network_new();
    uint64_t elements = graph_parameter_elements(net.graph);
    uint32_t weight = graph_find_value(net.graph, "conv1.weight");
    uint32_t mean = graph_find_value(net.graph, "bn1.running_mean");
    uint32_t lateral = graph_find_value(net.graph, "lateral.weight");

    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    CHECK_INT(graph_parameter_elements(net.graph), elements);
    CHECK(graph_value(net.graph, mean)->data.buffer == NULL);
    CHECK(graph_value(net.graph, weight)->data.buffer != NULL);
    CHECK(graph_value(net.graph, lateral)->data.buffer != NULL);
    network_free(&net);
}

TEST(two_norms_in_a_row_become_one_scale)
{
    struct network net = network_new();
    struct shape shape =
        shape_of(4, (int64_t)1, (int64_t)3, (int64_t)5, (int64_t)4);
    struct tensor x = network_data(&net, &shape, -1, 1), want, got;
    uint32_t image, y;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &image, &err), ASSAY_OK);
    y = network_conv(&net, GRAPH_NONE, "conv", image, 3, 3, 3);
    y = network_norm(&net, GRAPH_NONE, "bn1", y, 3);
    y = network_norm(&net, GRAPH_NONE, "bn2", y, 3);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    run_on(&net, &x, &want);
    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    CHECK_INT(graph_node_count(net.graph), 1);
    CHECK_INT(graph_node(net.graph, 0)->n_inputs, CONV2D_SCALE + 1);
    run_on(&net, &x, &got);
    check_near(&got, &want);
    tensor_release(&want);
    tensor_release(&got);
    tensor_release(&x);
    network_free(&net);
}

TEST(a_product_of_x_and_its_sigmoid_becomes_one_op)
{
    struct network net = network_new();
    struct tensor want, got;
    uint32_t x, conv, pair[2], other;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    conv = network_conv(&net, GRAPH_NONE, "conv", x, 3, 3, 3);
    pair[0] = network_add(&net, &op_sigmoid, NULL, GRAPH_NONE, &conv, 1);
    pair[1] = conv;
    other = network_add(&net, &op_mul, NULL, GRAPH_NONE, pair, 2);
    /* The sigmoid of another value stays. */
    pair[0] = network_add(&net, &op_sigmoid, NULL, GRAPH_NONE, &other, 1);
    other = network_add(&net, &op_mul, NULL, GRAPH_NONE, pair, 2);
    CHECK_INT(graph_output(net.graph, "y", other, &err), ASSAY_OK);
    run_on(&net, &net.x, &want);
    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    CHECK_INT(graph_node_count(net.graph), 4);
    CHECK(has_op(net.graph, &op_silu));
    CHECK(has_op(net.graph, &op_sigmoid));
    run_on(&net, &net.x, &got);
    check_near(&got, &want);
    tensor_release(&want);
    tensor_release(&got);
    network_free(&net);
}

/* A convolution of x, an op after it and the output; with is_gated the product
 * of the convolution and the op. */
static struct network activated_network(const struct op_class *op,
                                        const struct unary_attrs *attrs,
                                        bool is_gated)
{
    struct network net = network_new();
    uint32_t x, y, pair[2];

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    pair[0] = network_conv(&net, GRAPH_NONE, "conv", x, 3, 3, 3);
    y = pair[1] = network_add(&net, op, attrs, GRAPH_NONE, pair, 1);
    if (is_gated)
        y = network_add(&net, &op_mul, NULL, GRAPH_NONE, pair, 2);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    return net;
}

/* Checks that fusing changes no result. */
static size_t nodes_after_fusing(struct network *net)
{
    struct tensor want, got;
    size_t n;

    run_on(net, &net->x, &want);
    CHECK_STATUS(fuse_graph(net->graph, net->pool, &err), ASSAY_OK, &err);
    n = graph_node_count(net->graph);
    run_on(net, &net->x, &got);
    check_near(&got, &want);
    tensor_release(&want);
    tensor_release(&got);
    network_free(net);
    return n;
}

TEST(smooth_activations_go_into_the_convolution_before_them)
{
    static const struct unary_attrs leaky = {.alpha = 0.2};
    static const struct {
        const struct op_class *op;
        const struct unary_attrs *attrs;
    } cases[] = {{&op_silu, NULL},
                 {&op_sigmoid, NULL},
                 {&op_hard_swish, NULL},
                 {&op_mish, NULL},
                 {&op_leaky_relu, &leaky}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct network net =
            activated_network(cases[i].op, cases[i].attrs, false);

        CHECK_INT(nodes_after_fusing(&net), 1);
    }
}

TEST(a_product_of_x_and_its_hard_sigmoid_is_a_hard_swish)
{
    static const struct unary_attrs sixth = {1.0 / 6, 0.5}, fifth = {0.2, 0.5};
    struct network net = activated_network(&op_hard_sigmoid, &sixth, true);

    CHECK_INT(nodes_after_fusing(&net), 1);
    net = activated_network(&op_hard_sigmoid, &fifth, true);
    CHECK_INT(nodes_after_fusing(&net), 3);
}

TEST(a_norm_without_data_stays)
{
    struct network net = network_new();

    graph_release_data(net.graph,
                       graph_find_value(net.graph, "bn1.running_var"));
    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    CHECK(has_op(net.graph, &op_batch_norm));
    network_free(&net);
}

TEST(whichever_allocation_fails_the_graph_still_computes_the_same)
{
    struct network plain = network_new();
    struct tensor want[n_outputs], got[n_outputs];
    enum assay_status st;
    long nth = 0;

    run(&plain, want);
    do {
        struct network net = network_new();

        mem_fail_once_at(nth);
        st = fuse_graph(net.graph, net.pool, NULL);
        mem_fail_at(-1);
        CHECK_STATUS(graph_check(net.graph, &err), ASSAY_OK, &err);
        run(&net, got);
        for (int i = 0; i < n_outputs; i++) {
            check_near(&got[i], &want[i]);
            tensor_release(&got[i]);
        }
        network_free(&net);
        nth++;
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 3);
    for (int i = 0; i < n_outputs; i++)
        tensor_release(&want[i]);
    network_free(&plain);
}

/* ---- training --------------------------------------------------------------
 */

enum { most_outputs = 16 };

static size_t count_op(const struct graph *graph, const struct op_class *op)
{
    size_t n = 0;

    for (size_t i = 0; i < graph_node_count(graph); i++)
        n += graph_node(graph, i)->op == op;
    return n;
}

TEST(trained_norms_take_sums_and_activations_and_compute_the_same)
{
    struct network plain = network_new(), fused = network_new();
    struct tensor want[most_outputs], got[most_outputs];
    size_t n;

    CHECK_STATUS(graph_train_norms(plain.graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_train_norms(fused.graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(fuse_training(fused.graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_check(fused.graph, &err), ASSAY_OK, &err);
    /* The activations after the norm of the stem, after the first norm of the
     * block, and after the sum of its last norm and the shortcut's. */
    CHECK_INT(count_op(plain.graph, &op_relu),
              count_op(fused.graph, &op_relu) + 3);
    CHECK_INT(count_op(plain.graph, &op_add),
              count_op(fused.graph, &op_add) + 1);
    n = graph_output_count(plain.graph);
    CHECK(n > n_outputs && n <= most_outputs); /* running statistics too */
    run(&plain, want);
    run(&fused, got);
    for (size_t i = 0; i < n; i++) {
        check_near(&got[i], &want[i]);
        tensor_release(&got[i]);
        tensor_release(&want[i]);
    }
    network_free(&plain);
    network_free(&fused);
}

TEST(a_trained_norm_lists_the_activation_it_stands_for)
{
    static const char *const relu[] = {"relu", NULL}, *const none[] = {NULL};
    struct network net = network_new();

    CHECK_STATUS(graph_train_norms(net.graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(fuse_training(net.graph, &err), ASSAY_OK, &err);
    check_stands_for(net.graph, "bn1", relu);
    check_stands_for(net.graph, "block.bn2", none);
    network_free(&net);
}
