/* A BatchNorm that is left to the convolution of 1x1 behind it. */
#include "backend/device.h"
#include "backend/direct/direct.h"
#include "base/sink.h"
#include "base/str.h"
#include "engine/engine.h"
#include "passes/residual_block.h"

#include <string.h>

static struct error err;

/* Channels that do not fill their blocks, pixels that no tile divides. */
enum { channels = 45, results = 35 };

struct norm_then_conv {
    struct network net;
    uint32_t normed; /* the BatchNorm's output */
    size_t norm, conv;
};

/* A convolution, a BatchNorm with a ReLU and a convolution of 1x1. */
static struct norm_then_conv make_pair(int64_t images, int64_t stride,
                                       bool has_two_readers)
{
    struct norm_then_conv pair = {.net = network_new()};
    struct network *net = &pair.net;
    struct shape shape =
        shape_of(4, images, (int64_t)3, (int64_t)19, (int64_t)23);
    struct batch_norm_attrs *norm;
    struct conv2d_attrs *conv;
    uint32_t image, y;

    graph_free(net->graph);
    tensor_release(&net->x);
    net->x = network_data(net, &shape, -1, 1);
    CHECK_INT(graph_new(&net->graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net->graph, "x", DTYPE_F32, &image, &err), ASSAY_OK);
    y = network_conv(net, GRAPH_NONE, "first", image, 3, channels, 3);
    pair.normed = network_norm(net, GRAPH_NONE, "norm", y, channels);
    y = network_conv(net, GRAPH_NONE, "second", pair.normed, channels, results,
                     1);
    pair.conv = graph_node_count(net->graph) - 1;
    pair.norm = pair.conv - 1;
    norm = graph_node_edit(net->graph, pair.norm)->attrs;
    norm->has_relu = true;
    conv = graph_node_edit(net->graph, pair.conv)->attrs;
    conv->stride[0] = conv->stride[1] = stride;
    CHECK_INT(graph_output(net->graph, "y", y, &err), ASSAY_OK);
    if (has_two_readers)
        CHECK_INT(graph_output(net->graph, "z", pair.normed, &err), ASSAY_OK);
    return pair;
}

static struct engine *engine_on(const struct network *net,
                                const struct device *device, int n_threads)
{
    struct engine_options options = {
        .device = device, .backend_options = {.n_threads = n_threads}};
    struct engine *engine;

    CHECK_STATUS(engine_new(net->graph, net->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    return engine;
}

static void check_equal(const struct tensor *got, const struct tensor *want)
{
    CHECK(shape_equal(&got->shape, &want->shape));
    for (size_t i = 0; i < tensor_elements(want); i++)
        CHECK_NEAR(tensor_f32(got)[i], tensor_f32(want)[i], 2e-4);
}

static void check_run(const struct norm_then_conv *pair, struct engine *slow,
                      struct engine *fast)
{
    struct tensor want[2] = {{0}}, got[2] = {{0}};

    CHECK_STATUS(engine_run(slow, &pair->net.x, want, &err), ASSAY_OK, &err);
    for (int pass = 0; pass < 2; pass++) {
        CHECK_STATUS(engine_run(fast, &pair->net.x, got, &err), ASSAY_OK, &err);
        for (size_t i = 0; i < graph_output_count(pair->net.graph); i++) {
            check_equal(&got[i], &want[i]);
            tensor_release(&got[i]);
        }
    }
    tensor_release(&want[0]);
    tensor_release(&want[1]);
}

/* Whether the convolution says that it scales what it reads. */
static bool is_left(const struct norm_then_conv *pair, struct engine *engine)
{
    struct backend *backend = engine_backend(engine);
    struct str text = {0};
    struct sink sink = sink_to_str(&text);
    bool is_said;

    backend->class->explain(backend, graph_node(pair->net.graph, pair->conv),
                            pair->conv, &sink);
    is_said = strstr(str_text(&text), "x scaled") != NULL;
    str_release(&text);
    return is_said;
}

static void check_pair(int64_t images, int64_t stride, bool has_two_readers)
{
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        struct norm_then_conv pair = make_pair(images, stride, has_two_readers);
        struct engine *slow = engine_on(&pair.net, &device_portable, 1);
        struct engine *fast = engine_on(&pair.net, device_cpu(), n_threads);

        check_run(&pair, slow, fast);
        CHECK_INT(is_left(&pair, fast), direct_lanes() && !has_two_readers);
        engine_free(slow);
        engine_free(fast);
        network_free(&pair.net);
    }
}

TEST(a_norm_that_is_left_gives_what_the_portable_kernels_compute)
{
    check_pair(1, 1, false);
    check_pair(3, 1, false);
}

TEST(so_does_one_before_a_stride)
{
    check_pair(1, 2, false);
    check_pair(2, 2, false);
}

TEST(a_norm_that_somebody_else_reads_is_not_left)
{
    check_pair(1, 1, true);
}

TEST(who_asks_for_the_norm_itself_gets_its_numbers)
{
    struct norm_then_conv pair = make_pair(1, 1, false);
    struct engine *slow = engine_on(&pair.net, &device_portable, 1);
    struct engine *fast = engine_on(&pair.net, device_cpu(), 2);

    CHECK_INT(engine_keep(slow, pair.normed, &err), ASSAY_OK);
    CHECK_INT(engine_keep(fast, pair.normed, &err), ASSAY_OK);
    check_run(&pair, slow, fast);
    check_equal(engine_kept(fast, pair.normed), engine_kept(slow, pair.normed));
    engine_free(slow);
    engine_free(fast);
    network_free(&pair.net);
}

TEST(a_norm_whose_parameters_change_is_left_with_the_new_ones)
{
    struct norm_then_conv pair = make_pair(1, 1, false);
    struct engine *slow = engine_on(&pair.net, &device_portable, 1);
    struct engine *fast = engine_on(&pair.net, device_cpu(), 2);
    const struct node *norm = graph_node(pair.net.graph, pair.norm);
    float *bias = tensor_f32(
        &graph_value(pair.net.graph, norm->inputs[BATCH_NORM_BIAS])->data);

    check_run(&pair, slow, fast);
    for (int c = 0; c < channels; c++)
        bias[c] += 3;
    engine_parameters_changed(slow);
    engine_parameters_changed(fast);
    check_run(&pair, slow, fast);
    engine_free(slow);
    engine_free(fast);
    network_free(&pair.net);
}

TEST(what_is_left_costs_the_norm_nothing)
{
    struct norm_then_conv pair = make_pair(1, 1, false);
    struct engine *engine = engine_on(&pair.net, device_cpu(), 1);
    const struct cost *cost = engine_cost(engine, pair.norm);
    struct tensor y;

    CHECK_STATUS(engine_run(engine, &pair.net.x, &y, &err), ASSAY_OK, &err);
    if (direct_lanes())
        CHECK_INT(cost->done_bytes + cost->done_flops, 0);
    tensor_release(&y);
    engine_free(engine);
    network_free(&pair.net);
}
