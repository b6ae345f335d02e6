/* tests/backend/executed_backward_test.c - the work that kernels of a backward
 * pass report, against counts made by hand. */
#include "../engine/small_graph.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static struct error err;

/* ---- a step of one convolution ------------------------------------------- */

struct layer {
    int64_t in, out, height, width, kernel, stride;
    bool is_first; /* nobody wants the gradient of its input */
    bool has_relu;
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
    return small;
}

struct step_cost {
    struct cost forward, backward;
    char kernels[2048]; /* how they ran, a line each */
};

static struct step_cost cost_of(const struct layer *layer,
                                struct backend_options options)
{
    struct small small = step_graph(layer);
    struct engine_options wanted = {.backend = &backend_dnnl,
                                    .backend_options = options};
    struct str kernels = {0};
    struct sink sink = sink_to_str(&kernels);
    struct step_cost cost;
    struct backend *backend;
    struct engine *engine;
    struct tensor loss;

    wanted.backend_options.is_training = true;
    wanted.backend_options.n_threads = 1;
    CHECK_STATUS(engine_new(small.graph, small.pool, &wanted, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, NULL, &loss, &err), ASSAY_OK, &err);
    CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
    cost.forward = *engine_cost(engine, 0);
    cost.backward = *engine_backward_cost(engine, 0);
    backend = engine_backend(engine);
    backend->class->explain(backend, graph_node(small.graph, 0), 0, &sink);
    snprintf(cost.kernels, sizeof cost.kernels, "%s", str_text(&kernels));
    str_release(&kernels);
    tensor_release(&loss);
    engine_free(engine);
    small_free(&small);
    return cost;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    while ((text = strstr(text, part))) {
        text += strlen(part);
        n++;
    }
    return n;
}

static const struct backend_options direct = {.is_plain = true};
static const struct backend_options winograd = {.algorithm = "winograd"};

TEST(backward_to_data_and_weights_skip_the_zeros_as_forward_does)
{
    struct layer layer = {64, 64, 16, 16, 3, 1, false, false};
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
    struct layer layer = {64, 20, 8, 8, 1, 1, false, false};
    struct step_cost cost = cost_of(&layer, direct);

    if (count(cost.kernels, "nChw16c") < 2)
        SKIP("channels come in blocks of 16 with AVX-512 only");
    CHECK_INT(cost.backward.macs, 2 * 64 * 20 * 64);
    CHECK_INT(cost.backward.done_flops, 2 * 2 * 64 * 32 * 64);
}

/* Products of 20 tiles of 6 by 6, their transforms, and those of the weights:
 * 15 FLOP a line of 9 on the way in, 13 on the way back. */
TEST(winograd_does_fewer_products_both_ways)
{
    struct layer layer = {64, 128, 18, 14, 3, 1, false, false};
    struct step_cost cost = cost_of(&layer, winograd);
    uint64_t products = 20 * 2 * 36 * 64 * 128, pairs = 64 * 128;
    uint64_t forward, data, weights;

    if (count(cost.kernels, "winograd jit_wino_4x3") < 3)
        SKIP("oneDNN has no Winograd kernels for this processor");
    forward = products + 20 * (288 * 64 + 160 * 128) + 135 * pairs;
    data = products + 20 * (288 * 128 + 160 * 64) + 135 * pairs;
    weights = products + 20 * (288 * 64 + 160 * 128) + 117 * pairs;
    CHECK_INT(cost.forward.done_flops, forward);
    CHECK_INT(cost.backward.done_flops, data + weights);
}

/* (4 + 2)^2 products make 4^2 outputs of 9 each. */
TEST(of_a_large_map_winograd_does_a_quarter)
{
    struct layer layer = {256, 256, 32, 32, 3, 1, false, false};
    struct step_cost cost = cost_of(&layer, winograd);
    double share =
        (double)cost.backward.done_flops / (2 * (double)cost.backward.macs);

    if (count(cost.kernels, "winograd jit_wino_4x3") < 3)
        SKIP("oneDNN has no Winograd kernels for this processor");
    CHECK(share > 36.0 / (16 * 9));
    CHECK(share < 36.0 / (16 * 9) + 0.05);
}

/* A band on the way back makes a row more on either side than is complete,
 * and transforms the weights again. */
TEST(bands_are_counted_as_they_ran)
{
    struct layer layer = {64, 64, 64, 64, 3, 1, false, false};
    struct backend_options options = winograd;
    const char *data, *bands;
    struct step_cost cost;
    uint64_t rows, n_bands, tiles, whole;

    options.scratch_bytes = 3 << 20;
    cost = cost_of(&layer, options);
    data = strstr(cost.kernels, "backward to the data");
    bands = data ? strstr(data, "in bands of ") : NULL;
    if (!bands || count(cost.kernels, "winograd jit_wino_4x3") < 3)
        SKIP("oneDNN has no Winograd kernels for this processor");
    rows = strtoull(bands + strlen("in bands of "), NULL, 10);
    n_bands = (64 + rows - 1) / rows;
    tiles = (rows + 2 + 3) / 4 * 16;
    whole = 256 * (2 * 36 * 64 * 64 + (288 + 160) * 64) + 117 * 64 * 64;
    CHECK_INT(cost.backward.done_flops,
              whole + n_bands * (tiles * (2 * 36 * 64 * 64 + (288 + 160) * 64) +
                                 135 * 64 * 64));
}

/* The weights' pass reads x and dy and makes dw, the data's reads dy and w and
 * makes dx. What is not laid out as its kernel wants it is read and written
 * once more, the gradient of the weights when it is done. */
TEST(each_pass_reads_its_operands_and_lays_them_out)
{
    struct layer layer = {64, 64, 8, 8, 1, 1, false, false};
    struct step_cost cost = cost_of(&layer, direct);
    uint64_t map = 4 * 64 * 64, w = 4 * 64 * 64;
    const char *back = strstr(cost.kernels, "backward");

    CHECK(back != NULL);
    if (count(back, "x reordered from nchw to nChw16c") < 2)
        SKIP("channels come in blocks of 16 with AVX-512 only");
    CHECK_INT(cost.backward.done_bytes,
              (2 * map + w) + 2 * map + 2 * w         /* to the data */
                  + (2 * map + w) + 4 * map + 2 * w); /* to the weights */
}

/* Of the gradient and the output; the loss wanted all of them dense. */
TEST(a_relu_inside_makes_a_gradient_first)
{
    struct layer layer = {64, 64, 8, 8, 1, 1, false, false};
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
        .backend = &backend_dnnl,
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
