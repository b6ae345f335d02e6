/* tests/engine/small_graph.h - graphs of a few nodes, made line by line.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_ENGINE_SMALL_GRAPH_H
#define TESTS_ENGINE_SMALL_GRAPH_H

#include "engine/engine.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"
#include "test.h"

struct small {
    struct graph *graph;
    struct pool *pool;
};

static inline struct small small_new(void)
{
    struct small small;

    CHECK_INT(pool_new(&small.pool, NULL), ASSAY_OK);
    CHECK_INT(graph_new(&small.graph, NULL), ASSAY_OK);
    CHECK_INT(graph_set_name(small.graph, "small", "Small", NULL), ASSAY_OK);
    return small;
}

static inline void small_free(struct small *small)
{
    graph_free(small->graph);
    pool_free(small->pool);
}

static inline uint32_t small_module(struct small *small, uint32_t parent,
                                    const char *name, const char *class_name)
{
    uint32_t id;

    CHECK_INT(graph_scope_add(small->graph, parent, name, class_name, false,
                              &id, NULL),
              ASSAY_OK);
    return id;
}

static inline uint32_t small_list(struct small *small, uint32_t parent,
                                  const char *name)
{
    uint32_t id;

    CHECK_INT(graph_scope_add(small->graph, parent, name, "ModuleList", true,
                              &id, NULL),
              ASSAY_OK);
    return id;
}

static inline uint32_t small_input(struct small *small)
{
    uint32_t value;

    CHECK_INT(graph_input(small->graph, "x", DTYPE_F32, &value, NULL),
              ASSAY_OK);
    return value;
}

/* A node with one output; name may be NULL. */
static inline uint32_t small_node(struct small *small,
                                  const struct op_class *op, uint32_t scope,
                                  const char *name, const uint32_t *inputs,
                                  size_t n)
{
    struct node_description description = {.op = op,
                                           .scope = scope,
                                           .name = name,
                                           .inputs = inputs,
                                           .n_inputs = n,
                                           .n_outputs = 1};
    uint32_t out;

    CHECK_INT(graph_node_add(small->graph, &description, &out, NULL), ASSAY_OK);
    return out;
}

static inline uint32_t small_op(struct small *small, const struct op_class *op,
                                uint32_t scope, const char *name, uint32_t x)
{
    return small_node(small, op, scope, name, &x, 1);
}

static inline struct tensor small_ones(struct small *small, struct shape shape)
{
    struct tensor data;

    CHECK_INT(tensor_new(small->pool, DTYPE_F32, &shape, &data, NULL),
              ASSAY_OK);
    for (size_t i = 0; i < tensor_elements(&data); i++)
        tensor_f32(&data)[i] = 1;
    return data;
}

/* A module "conv" of one channel and one tap, whose weight is 1. */
static inline uint32_t small_conv(struct small *small, uint32_t parent,
                                  uint32_t x)
{
    uint32_t scope = small_module(small, parent, "conv", "Conv2d");
    struct shape shape = {.rank = 4, .dims = {1, 1, 1, 1}};
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[CONV2D_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    struct node_description description = {.op = &op_conv2d,
                                           .attrs = &attrs,
                                           .scope = scope,
                                           .inputs = inputs,
                                           .n_inputs = CONV2D_INPUTS,
                                           .n_outputs = 1};
    uint32_t out;

    CHECK_INT(graph_parameter(small->graph, scope, "weight", VALUE_PARAMETER,
                              DTYPE_F32, &shape, &inputs[1], NULL),
              ASSAY_OK);
    CHECK_INT(
        graph_set_data(small->graph, inputs[1], small_ones(small, shape), NULL),
        ASSAY_OK);
    CHECK_INT(graph_node_add(small->graph, &description, &out, NULL), ASSAY_OK);
    return out;
}

static inline void small_output(struct small *small, uint32_t value)
{
    CHECK_INT(graph_output(small->graph, "y", value, NULL), ASSAY_OK);
}

/* A loss: the sum of a tensor. */
static inline enum assay_status
small_infer_scalar(const struct node *node, const struct tensor *const *inputs,
                   struct tensor *outputs, struct error *error)
{
    (void)node, (void)error, (void)inputs;
    outputs[0].dtype = DTYPE_F32;
    outputs[0].shape = (struct shape){.rank = 0};
    return ASSAY_OK;
}

static inline enum assay_status small_total(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *error)
{
    (void)context, (void)node, (void)error;
    *tensor_f32(&outputs[0]) = 0;
    for (size_t i = 0; i < tensor_elements(inputs[0]); i++)
        *tensor_f32(&outputs[0]) += tensor_f32(inputs[0])[i];
    return ASSAY_OK;
}

static inline enum assay_status
small_total_back(const struct op_context *context, const struct node *node,
                 const struct op_backward *pass, struct error *error)
{
    (void)context, (void)node, (void)error;
    for (size_t i = 0; i < tensor_elements(&pass->dx[0]); i++)
        tensor_f32(&pass->dx[0])[i] = *tensor_f32(pass->dy[0]);
    return ASSAY_OK;
}

static const struct op_class small_total_op = {.name = "Total",
                                               .min_inputs = 1,
                                               .max_inputs = 1,
                                               .min_outputs = 1,
                                               .max_outputs = 1,
                                               .infer = small_infer_scalar,
                                               .forward = small_total,
                                               .backward = small_total_back};

static inline struct engine *small_engine(struct small *small,
                                          const struct device *device,
                                          enum engine_detail detail)
{
    struct engine_options options = {.device = device,
                                     .backend_options = {.n_threads = 1},
                                     .detail = detail};
    struct engine *engine;
    struct error err = {0};

    CHECK_STATUS(engine_new(small->graph, small->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    return engine;
}

#endif
