/* tests/backend/executed_backward_test.c - the work that kernels of a backward
 * pass report, against counts made by hand. */
#include "../engine/small_graph.h"

#include "backend/dnnl/dnnl_internal.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

/* ---- a step of one convolution ------------------------------------------- */

struct layer {
    int64_t in, out, height, width, kernel, stride;
    bool is_first; /* nobody wants the gradient of its input */
    bool has_relu;
    bool is_frozen; /* nor that of its weights */
};

static uint32_t parameter(struct small *small, const char *name,
                          struct shape shape)
{
    uint32_t value;

    CHECK_INT(graph_parameter(small->graph, GRAPH_NONE, name, VALUE_PARAMETER,
                              DTYPE_F32, &shape, &value, &err),
              0);
    CHECK_INT(
        graph_set_data(small->graph, value, small_ones(small, shape), &err), 0);
    return value;
}

static struct small step_graph(const struct layer *layer)
{
    struct small small = small_new();
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[CONV2D_INPUTS] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE,
                                      GRAPH_NONE};
    struct node_description node = {.op = &op_conv2d,
                                    .attrs = &attrs,
                                    .scope = GRAPH_NONE,
                                    .inputs = inputs,
                                    .n_inputs = CONV2D_INPUTS,
                                    .n_outputs = 1};
    uint32_t y;

    for (int i = 0; i < 2; i++) {
        attrs.stride[i] = layer->stride;
        attrs.before[i] = attrs.after[i] = layer->kernel / 2;
    }
    attrs.has_relu = layer->has_relu;
    inputs[CONV2D_X] = parameter(
        &small, "x",
        shape_of(4, (int64_t)1, layer->in, layer->height, layer->width));
    inputs[CONV2D_WEIGHT] = parameter(
        &small, "w",
        shape_of(4, layer->out, layer->in, layer->kernel, layer->kernel));
    CHECK_INT(graph_node_add(small.graph, &node, &y, &err), 0);
    small_output(&small,
                 small_op(&small, &small_total_op, GRAPH_NONE, NULL, y));
    if (layer->is_first)
        graph_freeze(small.graph, inputs[CONV2D_X]);
    if (layer->is_frozen)
        graph_freeze(small.graph, inputs[CONV2D_WEIGHT]);
    return small;
}

struct step_cost {
    struct cost forward, backward;
    char kernels[2048]; /* how they ran, a line each */
    size_t scratch_bytes;
    struct pool_usage usage; /* after the step */
};

/* Has the kernels that ran counted as Winograd's, which few processors have. */
static void call_them_winograd(struct engine *engine)
{
    for (int i = 0; i < N_DIRECTIONS; i++) {
        struct kernel *kernel = *kernel_list(
            (struct onednn *)engine_backend(engine), (enum direction)i, 0);

        if (kernel && !strstr(kernel->candidates.items[0].name, "wino_4x3"))
            snprintf(kernel->candidates.items[0].name,
                     sizeof kernel->candidates.items[0].name,
                     "winograd made_up_4x3");
    }
}

static void run_step(struct engine *engine, struct tensor *loss)
{
    CHECK_STATUS(engine_run(engine, NULL, loss, &err), ASSAY_OK, &err);
    CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
}

static struct step_cost cost_of(const struct layer *layer,
                                struct backend_options options)
{
    struct small small = step_graph(layer);
    struct engine_options wanted = {.device = device_cpu(),
                                    .backend_options = options};
    struct str kernels = {0};
    struct sink sink = sink_to_str(&kernels);
    size_t weights_bytes;
    struct step_cost cost;
    struct backend *backend;
    struct engine *engine;
    struct tensor loss;

    wanted.backend_options.is_training = true;
    wanted.backend_options.n_threads = 1;
    CHECK_STATUS(engine_new(small.graph, small.pool, &wanted, &engine, &err),
                 ASSAY_OK, &err);
    run_step(engine, &loss);
    if (options.algorithm) {
        call_them_winograd(engine);
        tensor_release(&loss);
        run_step(engine, &loss);
    }
    cost.forward = *engine_cost(engine, 0);
    cost.backward = *engine_backward_cost(engine, 0);
    backend = engine_backend(engine);
    backend->class->explain(backend, graph_node(small.graph, 0), 0, &sink);
    snprintf(cost.kernels, sizeof cost.kernels, "%s", str_text(&kernels));
    str_release(&kernels);
    tensor_release(&loss);
    backend->class->memory(backend, &weights_bytes, &cost.scratch_bytes);
    cost.usage = pool_usage(small.pool);
    engine_free(engine);
    small_free(&small);
    return cost;
}

static const char to_data[] = "backward to the data",
                  to_weights[] = "backward to the weights";

/* Channels that the kernel of a pass computes together; 1 where it reads what
 * it gets as it is. */
static uint64_t block_of(const struct step_cost *cost, const char *pass)
{
    static const char blocks[] = "x reordered from nchw to nChw";
    const char *line = strstr(cost->kernels, pass);
    const char *found = line ? strstr(line, blocks) : NULL;

    CHECK(line);
    if (!found || found > line + strcspn(line, "\n"))
        return 1;
    return strtoull(found + strlen(blocks), NULL, 10);
}

static uint64_t whole_blocks(uint64_t channels, uint64_t block)
{
    return (channels + block - 1) / block * block;
}

static const struct backend_options direct = {.is_plain = true};
/* The first kernel of a list, which is one of 4 by 4 tiles, not the fastest. */
static const struct backend_options winograd = {.algorithm = "winograd",
                                                .tuning_seconds = 1e-9};

TEST(backward_to_data_and_weights_skip_the_zeros_as_forward_does)
{
    struct layer layer = {64, 64, 16, 16, 3, 1, false, false, false};
    struct step_cost cost = cost_of(&layer, direct);

    /* 16 places with 3 neighbours each, less one at either end. */
    CHECK_INT(cost.forward.done_flops, 2 * 46 * 46 * 64 * 64);
    CHECK_INT(cost.backward.macs, 2 * 16 * 16 * 9 * 64 * 64);
    CHECK_INT(cost.backward.done_flops, 2 * cost.forward.done_flops);
    layer.is_first = true;
    cost = cost_of(&layer, direct);
    CHECK_INT(cost.backward.done_flops, cost.forward.done_flops);
    /* Stride 2: 8 outputs; only the first one meets a zero. */
    layer.is_first = false;
    layer.stride = 2;
    cost = cost_of(&layer, direct);
    CHECK_INT(cost.backward.done_flops, 2 * 2 * 23 * 23 * 64 * 64);
}

TEST(what_fills_up_a_block_is_computed_on_the_way_back_too)
{
    struct layer layer = {64, 20, 8, 8, 1, 1, false, false, false};
    struct step_cost cost = cost_of(&layer, direct);
    uint64_t data = whole_blocks(20, block_of(&cost, to_data));
    uint64_t weights = whole_blocks(20, block_of(&cost, to_weights));

    CHECK_INT(cost.backward.macs, 2 * 64 * 20 * 64);
    CHECK_INT(cost.backward.done_flops, 2 * 64 * (data + weights) * 64);
}

/* Products of 20 tiles of 6 by 6, their transforms, and those of the weights:
 * 15 FLOP a line of 9 on the way in, 13 on the way back. */
TEST(winograd_does_fewer_products_both_ways)
{
    struct layer layer = {64, 128, 18, 14, 3, 1, false, false, false};
    struct step_cost cost = cost_of(&layer, winograd);
    uint64_t products = 20 * 2 * 36 * 64 * 128, pairs = 64 * 128;
    uint64_t forward, data, weights;

    forward = products + 20 * (288 * 64 + 160 * 128) + 135 * pairs;
    data = products + 20 * (288 * 128 + 160 * 64) + 135 * pairs;
    weights = products + 20 * (288 * 64 + 160 * 128) + 117 * pairs;
    CHECK_INT(cost.forward.done_flops, forward);
    CHECK_INT(cost.backward.done_flops, data + weights);
}

/* (4 + 2)^2 products make 4^2 outputs of 9 each. */
TEST(of_a_large_map_winograd_does_a_quarter)
{
    struct layer layer = {256, 256, 32, 32, 3, 1, false, false, false};
    struct step_cost cost = cost_of(&layer, winograd);
    double share =
        (double)cost.backward.done_flops / (2 * (double)cost.backward.macs);

    CHECK(share > 36.0 / (16 * 9));
    CHECK(share < 36.0 / (16 * 9) + 0.05);
}

/* A band on the way back makes a row more on either side than is complete,
 * and transforms the weights again. */
TEST(bands_are_counted_as_they_ran)
{
    struct layer layer = {64, 64, 64, 64, 3, 1, false, false, false};
    struct backend_options options = {.algorithm = "gemm"};
    const char *data, *bands;
    struct step_cost cost;
    uint64_t rows, n_bands, tiles, whole;

    options.scratch_bytes = 3 << 20;
    cost = cost_of(&layer, options);
    data = strstr(cost.kernels, to_data);
    CHECK(data);
    bands = strstr(data, "in bands of ");
    CHECK(bands);
    rows = strtoull(bands + strlen("in bands of "), NULL, 10);
    n_bands = (64 + rows - 1) / rows;
    tiles = (rows + 2 + 3) / 4 * 16;
    whole = 256 * (2 * 36 * 64 * 64 + (288 + 160) * 64) + 117 * 64 * 64;
    CHECK_INT(cost.backward.done_flops,
              whole + n_bands * (tiles * (2 * 36 * 64 * 64 + (288 + 160) * 64) +
                                 135 * 64 * 64));
}

static bool is_in_bands(const struct step_cost *cost)
{
    return strstr(cost->kernels, "in bands of ") != NULL;
}

/* By Winograd's kernels, where there are any, and by others that need much
 * scratch memory on the way back. */
TEST(large_maps_in_bands_need_less_memory)
{
    static const char *const algorithms[] = {"winograd", "gemm"};
    /* A gradient of weights is one sum over all of the map. */
    struct layer layer = {64, 64, 64, 64, 3, 1, false, false, true};
    int n_divided = 0;

    for (int i = 0; i < 2; i++) {
        struct backend_options options = {.algorithm = algorithms[i],
                                          .scratch_bytes = 1 << 30};
        struct step_cost whole = cost_of(&layer, options), in_bands;

        CHECK(!is_in_bands(&whole));
        options.scratch_bytes = 3 << 20;
        in_bands = cost_of(&layer, options);
        if (!is_in_bands(&in_bands))
            continue;
        n_divided++;
        CHECK(in_bands.scratch_bytes < whole.scratch_bytes);
        CHECK(in_bands.usage.peak_bytes < whole.usage.peak_bytes);
        /* Nothing of it stays when the kernels have run. */
        CHECK_INT(in_bands.usage.live_bytes, whole.usage.live_bytes);
    }
    CHECK(n_divided > 0);
}

/* The weights' pass reads x and dy and makes dw, the data's reads dy and w and
 * makes dx. What is not laid out as its kernel wants it is read and written
 * once more, the gradient of the weights when it is done. */
TEST(each_pass_reads_its_operands_and_lays_them_out)
{
    struct layer layer = {64, 64, 8, 8, 1, 1, false, false, false};
    struct step_cost cost = cost_of(&layer, direct);
    uint64_t map = 4 * 64 * 64, w = 4 * 64 * 64;
    uint64_t data = 2 * map + w, weights = 2 * map + w;

    if (block_of(&cost, to_data) > 1)
        data += 2 * map + 2 * w;
    if (block_of(&cost, to_weights) > 1)
        weights += 4 * map + 2 * w;
    CHECK_INT(cost.backward.done_bytes, data + weights);
}

/* Of the gradient and the output; the loss wanted all of them dense. */
TEST(a_relu_inside_makes_a_gradient_first)
{
    struct layer layer = {64, 64, 8, 8, 1, 1, false, false, false};
    uint64_t map = 4 * 64 * 64, without, with;

    without = cost_of(&layer, direct).backward.done_bytes;
    layer.has_relu = true;
    with = cost_of(&layer, direct).backward.done_bytes;
    CHECK_INT(with, without + 3 * map);
}

TEST(a_gradient_that_is_handed_on_moves_nothing)
{
    struct small small = small_new();
    struct engine_options wanted = {
        .device = device_cpu(),
        .backend_options = {.n_threads = 1, .is_training = true}};
    struct shape shape = shape_of(2, (int64_t)3, (int64_t)4);
    uint32_t inputs[2] = {parameter(&small, "a", shape),
                          parameter(&small, "b", shape)};
    struct engine *engine;
    struct tensor loss;
    uint32_t sum = small_node(&small, &op_add, GRAPH_NONE, NULL, inputs, 2);

    small_output(&small,
                 small_op(&small, &small_total_op, GRAPH_NONE, NULL, sum));
    CHECK_STATUS(engine_new(small.graph, small.pool, &wanted, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, NULL, &loss, &err), ASSAY_OK, &err);
    CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
    CHECK_INT(engine_backward_cost(engine, 0)->done_flops, 0);
    CHECK_INT(engine_backward_cost(engine, 0)->done_bytes, 0);
    tensor_release(&loss);
    engine_free(engine);
    small_free(&small);
}
