/* tests/passes/residual_block.h - a small network with everything that can be
 * fused, and some that cannot.
 *
 * stem: conv1 bn1 relu maxpool; block: conv1 bn1 relu conv2 bn2, downsample
 * (a convolution and a norm, made after conv2 as torchvision does), add, relu;
 * lateral: a convolution that two read; up: ConvTranspose2d relu; head: Flatten
 * Linear relu.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_PASSES_RESIDUAL_BLOCK_H
#define TESTS_PASSES_RESIDUAL_BLOCK_H

#include "base/random.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/product/linear.h"
#include "test.h"

struct network {
    struct graph *graph;
    struct pool *pool;
    struct tensor x;
    struct random random;
};

static uint32_t network_scope(struct network *net, uint32_t parent,
                              const char *name, const char *class_name)
{
    uint32_t id;

    CHECK_INT(
        graph_scope_add(net->graph, parent, name, class_name, false, &id, NULL),
        ASSAY_OK);
    return id;
}

static struct tensor network_data(struct network *net,
                                  const struct shape *shape, float from,
                                  float to)
{
    struct tensor data;

    CHECK_INT(tensor_new(net->pool, DTYPE_F32, shape, &data, NULL), ASSAY_OK);
    for (size_t i = 0; i < tensor_elements(&data); i++)
        tensor_f32(&data)[i] =
            from + (to - from) * (float)random_unit(&net->random);
    return data;
}

static uint32_t network_parameter(struct network *net, uint32_t scope,
                                  const char *name, const struct shape *shape,
                                  float from, float to)
{
    uint32_t value;

    CHECK_INT(graph_parameter(net->graph, scope, name, VALUE_PARAMETER,
                              DTYPE_F32, shape, &value, NULL),
              ASSAY_OK);
    CHECK_INT(graph_set_data(net->graph, value,
                             network_data(net, shape, from, to), NULL),
              ASSAY_OK);
    return value;
}

static uint32_t network_add(struct network *net, const struct op_class *op,
                            const void *attrs, uint32_t scope,
                            const uint32_t *inputs, size_t n)
{
    struct node_description description = {.op = op,
                                           .attrs = attrs,
                                           .scope = scope,
                                           .inputs = inputs,
                                           .n_inputs = n,
                                           .n_outputs = 1};
    uint32_t out;

    CHECK_INT(graph_node_add(net->graph, &description, &out, NULL), ASSAY_OK);
    return out;
}

static uint32_t network_conv(struct network *net, uint32_t parent,
                             const char *name, uint32_t x, int64_t c, int64_t o,
                             int64_t kernel)
{
    uint32_t scope = network_scope(net, parent, name, "Conv2d");
    struct shape w = shape_of(4, o, c, kernel, kernel);
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[CONV2D_INPUTS] = {
        x, network_parameter(net, scope, "weight", &w, -0.2f, 0.2f), GRAPH_NONE,
        GRAPH_NONE};

    for (int i = 0; i < 2; i++)
        attrs.before[i] = attrs.after[i] = kernel / 2;
    return network_add(net, &op_conv2d, &attrs, scope, inputs, CONV2D_INPUTS);
}

static uint32_t network_norm(struct network *net, uint32_t parent,
                             const char *name, uint32_t x, int64_t c)
{
    uint32_t scope = network_scope(net, parent, name, "FrozenBatchNorm2d");
    struct batch_norm_attrs attrs = {.eps = 1e-5f};
    struct shape channels = shape_of(1, c);
    uint32_t inputs[BATCH_NORM_INPUTS] = {
        x, network_parameter(net, scope, "weight", &channels, 0.5f, 1.5f),
        network_parameter(net, scope, "bias", &channels, -1, 1),
        network_parameter(net, scope, "running_mean", &channels, -1, 1),
        network_parameter(net, scope, "running_var", &channels, 0.5f, 2)};

    return network_add(net, &op_batch_norm, &attrs, scope, inputs,
                       BATCH_NORM_INPUTS);
}

static uint32_t network_relu(struct network *net, uint32_t parent, uint32_t x)
{
    uint32_t scope = network_scope(net, parent, "relu", "ReLU");

    return network_add(net, &op_relu, NULL, scope, &x, 1);
}

static uint32_t network_stem(struct network *net, uint32_t x)
{
    struct max_pool2d_attrs pool = {
        .kernel = {3, 3}, .stride = {2, 2}, .before = {1, 1}, .after = {1, 1}};

    x = network_conv(net, GRAPH_NONE, "conv1", x, 3, 64, 7);
    x = network_norm(net, GRAPH_NONE, "bn1", x, 64);
    x = network_relu(net, GRAPH_NONE, x);
    return network_add(net, &op_max_pool2d, &pool,
                       network_scope(net, GRAPH_NONE, "maxpool", "MaxPool2d"),
                       &x, 1);
}

static uint32_t network_block(struct network *net, uint32_t x)
{
    uint32_t block = network_scope(net, GRAPH_NONE, "block", "BasicBlock");
    uint32_t down = network_scope(net, block, "downsample", "Sequential");
    uint32_t sum[2];

    sum[0] = network_conv(net, block, "conv1", x, 64, 64, 3);
    sum[0] = network_norm(net, block, "bn1", sum[0], 64);
    sum[0] = network_relu(net, block, sum[0]);
    sum[0] = network_conv(net, block, "conv2", sum[0], 64, 96, 3);
    sum[0] = network_norm(net, block, "bn2", sum[0], 96);
    sum[1] = network_conv(net, down, "0", x, 64, 96, 1);
    sum[1] = network_norm(net, down, "1", sum[1], 96);
    x = network_add(net, &op_add, NULL, block, sum, 2);
    return network_relu(net, block, x);
}

static uint32_t network_up(struct network *net, uint32_t x)
{
    uint32_t scope = network_scope(net, GRAPH_NONE, "up", "ConvTranspose2d");
    struct conv_transpose2d_attrs attrs = {.stride = {2, 2}};
    struct shape w =
        shape_of(4, (int64_t)96, (int64_t)7, (int64_t)2, (int64_t)2);
    uint32_t inputs[] = {
        x, network_parameter(net, scope, "weight", &w, -0.2f, 0.2f),
        GRAPH_NONE};

    x = network_add(net, &op_conv_transpose2d, &attrs, scope, inputs, 3);
    return network_relu(net, GRAPH_NONE, x);
}

static uint32_t network_head(struct network *net, uint32_t x, int64_t depth)
{
    uint32_t scope = network_scope(net, GRAPH_NONE, "fc", "Linear");
    struct linear_attrs attrs = {0};
    struct shape w = shape_of(2, (int64_t)11, depth);
    uint32_t inputs[3] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};

    inputs[0] = network_add(net, &op_flatten, NULL, GRAPH_NONE, &x, 1);
    inputs[1] = network_parameter(net, scope, "weight", &w, -0.1f, 0.1f);
    x = network_add(net, &op_linear, &attrs, scope, inputs, 3);
    return network_add(net, &op_relu, NULL, GRAPH_NONE, &x, 1);
}

/* A new graph each time, with the same weights. */
static inline struct network network_new(void)
{
    struct network net = {.random = random_seed(3)};
    struct shape image =
        shape_of(4, (int64_t)2, (int64_t)3, (int64_t)24, (int64_t)20);
    uint32_t x, lateral, both[2];

    CHECK_INT(pool_new(&net.pool, NULL), ASSAY_OK);
    CHECK_INT(graph_new(&net.graph, NULL), ASSAY_OK);
    CHECK_INT(graph_set_name(net.graph, "small", "Small", NULL), ASSAY_OK);
    net.x = network_data(&net, &image, -1, 1);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &x, NULL), ASSAY_OK);
    x = network_block(&net, network_stem(&net, x));
    lateral = network_conv(&net, GRAPH_NONE, "lateral", x, 96, 96, 3);
    both[0] = lateral;
    both[1] = network_relu(&net, GRAPH_NONE, lateral);
    x = network_add(&net, &op_add, NULL, GRAPH_NONE, both, 2);
    x = network_up(&net, x);
    x = network_head(&net, x, 7 * 24 * 20);
    CHECK_INT(graph_output(net.graph, "lateral", lateral, NULL), ASSAY_OK);
    CHECK_INT(graph_output(net.graph, "y", x, NULL), ASSAY_OK);
    return net;
}

static void network_free(struct network *net)
{
    tensor_release(&net->x);
    graph_free(net->graph);
    pool_free(net->pool);
}

#endif
