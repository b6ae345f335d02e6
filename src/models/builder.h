/* models/builder.h - modules become nodes.
 *
 * Remembers the first failure and does nothing from then on, so that a model
 * reads like its architecture; builder_finish() tells.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_BUILDER_H
#define MODELS_BUILDER_H

#include "graph/graph.h"
#include "models/models.h"

struct builder {
    struct graph *graph;
    uint32_t scope; /* where modules are added; GRAPH_NONE: the model */
    enum assay_status st;
    struct error *err;
    enum model_norm norm;
    float norm_eps;
};

enum assay_status builder_start(struct builder *builder, const char *name,
                                const char *class_name,
                                const struct model_options *options,
                                struct error *err);
/* Takes the graph out, or frees it where something failed. */
enum assay_status builder_finish(struct builder *builder, struct graph **out);

/* Everything until the matching builder_leave() belongs to the module. */
void builder_enter(struct builder *builder, const char *name,
                   const char *class_name);
void builder_enter_container(struct builder *builder, const char *name,
                             const char *class_name);
void builder_enter_index(struct builder *builder, int index,
                         const char *class_name);
void builder_leave(struct builder *builder);

/* How the weight of a layer is filled. */
enum weight_fill {
    WEIGHT_KAIMING_NORMAL,  /* fan out, for a ReLU behind it */
    WEIGHT_KAIMING_UNIFORM, /* fan in, a = 1 */
    WEIGHT_DEFAULT,         /* of PyTorch: uniform, a = sqrt(5) */
    WEIGHT_NORMAL_001       /* standard deviation 0.01 */
};

struct conv_layer {
    int64_t in, out, kernel, stride, padding;
    bool has_bias;
    enum weight_fill fill;
    bool has_default_bias; /* PyTorch's uniform one instead of zeros */
};

/* Layers: a module called `name` in the present scope, with one op. They
 * return the value of its output. */
uint32_t builder_conv(struct builder *builder, const char *name,
                      const struct conv_layer *layer, uint32_t x);
uint32_t builder_conv_transpose(struct builder *builder, const char *name,
                                const struct conv_layer *layer, uint32_t x);
uint32_t builder_norm(struct builder *builder, const char *name,
                      int64_t channels, uint32_t x);
uint32_t builder_relu(struct builder *builder, const char *name, uint32_t x);
uint32_t builder_max_pool(struct builder *builder, const char *name,
                          const char *class_name, int64_t kernel,
                          int64_t stride, int64_t padding, uint32_t x);
uint32_t builder_linear(struct builder *builder, const char *name, int64_t in,
                        int64_t out, uint32_t x);

/* An op of the present module itself, under a name of its own. */
uint32_t builder_op(struct builder *builder, const char *name,
                    const struct op_class *op, const void *attrs,
                    const uint32_t *inputs, size_t n_inputs);
void builder_op_outputs(struct builder *builder, const char *name,
                        const struct op_class *op, const void *attrs,
                        const uint32_t *inputs, size_t n_inputs,
                        uint32_t *outputs, size_t n_outputs);
uint32_t builder_input(struct builder *builder, const char *name);
void builder_output(struct builder *builder, const char *name, uint32_t value);

#endif
