/* models/builder_internal.h - builds a graph module by module.
 *
 * Remembers the first failure and does nothing afterwards, so that a model
 * reads like its architecture; builder_finish() returns the failure.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_BUILDER_INTERNAL_H
#define MODELS_BUILDER_INTERNAL_H

#include "graph/graph.h"
#include "models/models.h"

struct builder {
    struct graph *graph;
    uint32_t scope; /* where modules are added; GRAPH_NONE: the model */
    enum assay_status st;
    struct error *err;
    enum model_norm norm;
    float norm_eps;
    float norm_momentum; /* 0: PyTorch's default */
    bool is_training;
    bool is_unused; /* layers only add their parameters, no ops */
    char index[16]; /* see builder_index() */
};

enum assay_status builder_start(struct builder *builder, const char *name,
                                const char *class_name,
                                const struct model_options *options,
                                struct error *err);
/* Hands over the graph, or frees it if something failed. */
enum assay_status builder_finish(struct builder *builder, struct graph **out);

/* Everything until the matching builder_leave() belongs to the module. */
void builder_enter(struct builder *builder, const char *name,
                   const char *class_name);
void builder_enter_container(struct builder *builder, const char *name,
                             const char *class_name);
void builder_enter_index(struct builder *builder, int index,
                         const char *class_name);
void builder_leave(struct builder *builder);
/* A number as a module's name; valid until the next call. */
const char *builder_index(struct builder *builder, int index);

/* How the weight of a layer is filled. */
enum weight_fill {
    WEIGHT_DEFAULT,           /* PyTorch's: uniform, a = sqrt(5) */
    WEIGHT_KAIMING_NORMAL,    /* fan out, before a ReLU */
    WEIGHT_KAIMING_UNIFORM,   /* fan in, a = 1 */
    WEIGHT_KAIMING_UNIFORM_0, /* fan in, a = 0 */
    WEIGHT_UNIFORM_FAN_OUT,   /* Kaiming's before a sigmoid */
    WEIGHT_NORMAL_001         /* standard deviation 0.01 */
};

struct conv_layer {
    int64_t in, out, kernel, stride, padding;
    int64_t groups; /* 0: one */
    bool has_bias;
    enum weight_fill fill;
    bool has_default_bias; /* PyTorch's uniform one instead of zeros */
};

/* A convolution without bias that pads by half its kernel, with Kaiming's
 * normal weights. */
static inline struct conv_layer plain_conv(int64_t in, int64_t out,
                                           int64_t kernel, int64_t stride)
{
    return (struct conv_layer){.in = in,
                               .out = out,
                               .kernel = kernel,
                               .stride = stride,
                               .padding = kernel / 2,
                               .fill = WEIGHT_KAIMING_NORMAL};
}

struct linear_layer {
    int64_t in, out;
    enum weight_fill fill;
    bool has_zero_bias; /* instead of PyTorch's uniform one */
};

struct pool_layer {
    int64_t kernel, stride, padding;
    bool ceil;
};

/* Layers: modules with one op, called `name` in the current scope. They return
 * the op's output. */
uint32_t builder_conv(struct builder *builder, const char *name,
                      const struct conv_layer *layer, uint32_t x);
uint32_t builder_conv_transpose(struct builder *builder, const char *name,
                                const struct conv_layer *layer, uint32_t x);
uint32_t builder_norm(struct builder *builder, const char *name,
                      int64_t channels, uint32_t x);
uint32_t builder_relu(struct builder *builder, const char *name, uint32_t x);
uint32_t builder_relu6(struct builder *builder, const char *name, uint32_t x);
uint32_t builder_max_pool(struct builder *builder, const char *name,
                          const char *class_name,
                          const struct pool_layer *layer, uint32_t x);
/* Averages to size x size. */
uint32_t builder_adaptive_pool(struct builder *builder, const char *name,
                               int64_t size, uint32_t x);
uint32_t builder_dropout(struct builder *builder, const char *name, float ratio,
                         uint32_t x);
uint32_t builder_linear(struct builder *builder, const char *name,
                        const struct linear_layer *layer, uint32_t x);

/* An op of the current module itself, with a name of its own. */
uint32_t builder_op(struct builder *builder, const char *name,
                    const struct op_class *op, const void *attrs,
                    const uint32_t *inputs, size_t n_inputs);
void builder_op_outputs(struct builder *builder, const char *name,
                        const struct op_class *op, const void *attrs,
                        const uint32_t *inputs, size_t n_inputs,
                        uint32_t *outputs, size_t n_outputs);
/* An average pooling to 1x1 and a flattening as ops of the current module. */
uint32_t builder_mean(struct builder *builder, uint32_t x);
uint32_t builder_flatten(struct builder *builder, uint32_t x);
/* Concatenates channels. */
uint32_t builder_concat(struct builder *builder, const uint32_t *maps,
                        size_t n);
/* Of float32, or of another type. */
uint32_t builder_input(struct builder *builder, const char *name);
uint32_t builder_input_of(struct builder *builder, const char *name,
                          enum dtype dtype);
void builder_output(struct builder *builder, const char *name, uint32_t value);

#endif
