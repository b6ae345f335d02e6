/* In 16 bits, what a GPU chooses by is not rounded: logits that differ stay
 * different. */
#include "small_graph.h"

#include "ops/math/softmax.h"
#include "ops/product/linear.h"

#include <math.h>

static struct error err;

/* 256 and 257 have 9 bits, bfloat16 has 8: both would be 256 in it. */
static const float weights[] = {256, 0, 256, 1};

static uint32_t linear(struct small *small, uint32_t x)
{
    struct shape shape = shape_of(2, (int64_t)2, (int64_t)2);
    struct tensor data = small_ones(small, shape);
    uint32_t inputs[LINEAR_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE};

    for (size_t i = 0; i < 4; i++)
        tensor_f32(&data)[i] = weights[i];
    CHECK_INT(graph_parameter(small->graph, GRAPH_NONE, "weight",
                              VALUE_PARAMETER, DTYPE_F32, &shape,
                              &inputs[LINEAR_WEIGHT], NULL),
              ASSAY_OK);
    CHECK_INT(graph_set_data(small->graph, inputs[LINEAR_WEIGHT], data, NULL),
              ASSAY_OK);
    return small_node(small, &op_linear, GRAPH_NONE, "linear", inputs,
                      LINEAR_INPUTS);
}

static void check_logits(enum precision precision)
{
    struct engine_options options = {
        .backend_options = {.precision = precision, .n_threads = 1}};
    struct softmax_attrs attrs = {.axis = -1};
    struct small small = small_new();
    struct tensor x, y = {0};
    struct engine *engine;
    uint32_t logits, shares;

    err = (struct error){0};
    if (device_find("cuda:0", &options.device, &err)) {
        small_free(&small);
        SKIP("%s", err.text);
    }
    x = small_ones(&small, shape_of(2, (int64_t)1, (int64_t)2));
    logits = linear(&small, small_input(&small));
    CHECK_INT(graph_node_add(small.graph,
                             &(struct node_description){.op = &op_softmax,
                                                        .attrs = &attrs,
                                                        .scope = GRAPH_NONE,
                                                        .inputs = &logits,
                                                        .n_inputs = 1,
                                                        .n_outputs = 1},
                             &shares, &err),
              ASSAY_OK);
    small_output(&small, shares);
    CHECK_STATUS(engine_new(small.graph, small.pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, &x, &y, &err), ASSAY_OK, &err);
    CHECK_NEAR(tensor_f32(&y)[1], 1 / (1 + exp(-1)), 1e-4);
    tensor_release(&x);
    tensor_release(&y);
    engine_free(engine);
    small_free(&small);
}

TEST(logits_of_products_in_bfloat16_are_not_rounded)
{
    check_logits(PRECISION_BF16);
}

TEST(logits_of_products_in_float16_are_not_rounded)
{
    check_logits(PRECISION_FP16);
}
