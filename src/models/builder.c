/* models/builder.c - see builder_internal.h. */
#include "models/builder_internal.h"

#include "base/str.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/math/clip.h"
#include "ops/movement/concat.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/dropout.h"
#include "ops/ops.h"
#include "ops/pooling/adaptive_avg_pool2d.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/product/linear.h"

#include <math.h>
#include <stdio.h>

enum assay_status builder_start(struct builder *builder, const char *name,
                                const char *class_name,
                                const struct model_options *options,
                                struct error *err)
{
    *builder = (struct builder){.scope = GRAPH_NONE,
                                .err = err,
                                .norm = options->norm,
                                .norm_eps = options->norm_eps,
                                .is_training = options->is_training};
    builder->st = graph_new(&builder->graph, err);
    if (!builder->st)
        builder->st = graph_set_name(builder->graph, name, class_name, err);
    return builder->st;
}

enum assay_status builder_finish(struct builder *builder, struct graph **out)
{
    *out = NULL;
    if (!builder->st)
        builder->st = graph_check(builder->graph, builder->err);
    if (builder->st)
        graph_free(builder->graph);
    else
        *out = builder->graph;
    builder->graph = NULL;
    return builder->st;
}

static void builder_enter_scope(struct builder *builder, const char *name,
                                const char *class_name, bool is_container)
{
    if (!builder->st)
        builder->st =
            graph_scope_add(builder->graph, builder->scope, name, class_name,
                            is_container, &builder->scope, builder->err);
}

void builder_enter(struct builder *builder, const char *name,
                   const char *class_name)
{
    builder_enter_scope(builder, name, class_name, false);
}

void builder_enter_container(struct builder *builder, const char *name,
                             const char *class_name)
{
    builder_enter_scope(builder, name, class_name, true);
}

const char *builder_index(struct builder *builder, int index)
{
    snprintf(builder->index, sizeof builder->index, "%d", index);
    return builder->index;
}

void builder_enter_index(struct builder *builder, int index,
                         const char *class_name)
{
    builder_enter_scope(builder, builder_index(builder, index), class_name,
                        false);
}

void builder_leave(struct builder *builder)
{
    if (!builder->st)
        builder->scope = graph_scope(builder->graph, builder->scope)->parent;
}

void builder_op_outputs(struct builder *builder, const char *name,
                        const struct op_class *op, const void *attrs,
                        const uint32_t *inputs, size_t n_inputs,
                        uint32_t *outputs, size_t n_outputs)
{
    struct node_description description = {.op = op,
                                           .attrs = attrs,
                                           .scope = builder->scope,
                                           .name = name,
                                           .inputs = inputs,
                                           .n_inputs = n_inputs,
                                           .n_outputs = n_outputs};

    for (size_t i = 0; i < n_outputs; i++)
        outputs[i] = GRAPH_NONE;
    if (!builder->st && !builder->is_unused)
        builder->st =
            graph_node_add(builder->graph, &description, outputs, builder->err);
}

uint32_t builder_op(struct builder *builder, const char *name,
                    const struct op_class *op, const void *attrs,
                    const uint32_t *inputs, size_t n_inputs)
{
    uint32_t output;

    builder_op_outputs(builder, name, op, attrs, inputs, n_inputs, &output, 1);
    return output;
}

uint32_t builder_input_of(struct builder *builder, const char *name,
                          enum dtype dtype)
{
    uint32_t value = GRAPH_NONE;

    if (!builder->st)
        builder->st =
            graph_input(builder->graph, name, dtype, &value, builder->err);
    return value;
}

uint32_t builder_input(struct builder *builder, const char *name)
{
    return builder_input_of(builder, name, DTYPE_F32);
}

void builder_output(struct builder *builder, const char *name, uint32_t value)
{
    if (!builder->st)
        builder->st = graph_output(builder->graph, name, value, builder->err);
}

/* A module that is called several times shares its parameters. */
static uint32_t builder_find_parameter(struct builder *builder,
                                       const char *name)
{
    struct str path = {0};
    uint32_t found = GRAPH_NONE;

    if (builder->scope != GRAPH_NONE)
        builder->st = str_printf(
            &path, "%s.", graph_scope(builder->graph, builder->scope)->path);
    if (!builder->st)
        builder->st = str_append(&path, name);
    if (builder->st)
        error_nomem(builder->err, path.n, "the name of a parameter");
    else
        found = graph_find_value(builder->graph, path.text);
    str_release(&path);
    return found;
}

static uint32_t builder_parameter(struct builder *builder, const char *name,
                                  enum value_kind kind,
                                  const struct shape *shape, enum fill fill,
                                  float scale)
{
    uint32_t value = GRAPH_NONE;

    if (!builder->st)
        value = builder_find_parameter(builder, name);
    if (builder->st || value != GRAPH_NONE)
        return value;
    builder->st = graph_parameter(builder->graph, builder->scope, name, kind,
                                  DTYPE_F32, shape, &value, builder->err);
    if (!builder->st)
        graph_set_fill(builder->graph, value, fill, scale);
    return value;
}

/* A weight with the scale of torch.nn.init for these fans. */
static uint32_t builder_weight(struct builder *builder,
                               const struct shape *shape, enum weight_fill fill,
                               double fan_in, double fan_out)
{
    enum fill kind = FILL_UNIFORM;
    double scale = 0;

    switch (fill) {
    case WEIGHT_KAIMING_NORMAL:
        kind = FILL_NORMAL;
        scale = sqrt(2 / fan_out);
        break;
    case WEIGHT_KAIMING_UNIFORM:
        scale = sqrt(3 / fan_in);
        break;
    case WEIGHT_KAIMING_UNIFORM_0:
        scale = sqrt(6 / fan_in);
        break;
    case WEIGHT_UNIFORM_FAN_OUT:
        scale = sqrt(3 / fan_out);
        break;
    case WEIGHT_DEFAULT:
        scale = sqrt(1 / fan_in);
        break;
    case WEIGHT_NORMAL_001:
        kind = FILL_NORMAL;
        scale = 0.01;
        break;
    }
    return builder_parameter(builder, "weight", VALUE_PARAMETER, shape, kind,
                             (float)scale);
}

static uint32_t builder_conv_bias(struct builder *builder,
                                  const struct conv_layer *layer, double fan_in)
{
    struct shape shape = shape_of(1, layer->out);
    enum fill fill = layer->has_default_bias ? FILL_UNIFORM : FILL_ZERO;

    if (!layer->has_bias)
        return GRAPH_NONE;
    return builder_parameter(builder, "bias", VALUE_PARAMETER, &shape, fill,
                             (float)sqrt(1 / fan_in));
}

/* As in torch.nn.init, the fan of the outputs ignores groups. */
uint32_t builder_conv(struct builder *builder, const char *name,
                      const struct conv_layer *layer, uint32_t x)
{
    int64_t groups = layer->groups ? layer->groups : 1;
    struct shape shape = shape_of(4, layer->out, layer->in / groups,
                                  layer->kernel, layer->kernel);
    struct conv2d_attrs attrs = conv2d_defaults();
    double area = (double)(layer->kernel * layer->kernel);
    int64_t depth = layer->in / groups;
    double fan_in = (double)depth * area;
    uint32_t inputs[CONV2D_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    uint32_t y;

    for (int i = 0; i < 2; i++) {
        attrs.stride[i] = layer->stride;
        attrs.before[i] = attrs.after[i] = layer->padding;
    }
    attrs.groups = groups;
    builder_enter(builder, name, "Conv2d");
    inputs[CONV2D_WEIGHT] = builder_weight(builder, &shape, layer->fill, fan_in,
                                           (double)layer->out * area);
    inputs[CONV2D_BIAS] = builder_conv_bias(builder, layer, fan_in);
    y = builder_op(builder, "", &op_conv2d, &attrs, inputs, CONV2D_INPUTS);
    builder_leave(builder);
    return y;
}

/* The weight is [in, out, k, k], but torch.nn.init takes the first dimension as
 * the outputs, so the fans are swapped. */
uint32_t builder_conv_transpose(struct builder *builder, const char *name,
                                const struct conv_layer *layer, uint32_t x)
{
    struct shape shape =
        shape_of(4, layer->in, layer->out, layer->kernel, layer->kernel);
    struct conv_transpose2d_attrs attrs = {
        .stride = {layer->stride, layer->stride},
        .before = {layer->padding, layer->padding},
        .after = {layer->padding, layer->padding},
    };
    double area = (double)(layer->kernel * layer->kernel);
    double fan_in = (double)layer->out * area;
    uint32_t inputs[CONV_TRANSPOSE2D_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE};
    uint32_t y;

    builder_enter(builder, name, "ConvTranspose2d");
    inputs[CONV_TRANSPOSE2D_WEIGHT] = builder_weight(
        builder, &shape, layer->fill, fan_in, (double)layer->in * area);
    inputs[CONV_TRANSPOSE2D_BIAS] = builder_conv_bias(builder, layer, fan_in);
    y = builder_op(builder, "", &op_conv_transpose2d, &attrs, inputs,
                   CONV_TRANSPOSE2D_INPUTS);
    builder_leave(builder);
    return y;
}

uint32_t builder_norm(struct builder *builder, const char *name,
                      int64_t channels, uint32_t x)
{
    struct batch_norm_attrs attrs = {.eps = builder->norm_eps,
                                     .momentum = builder->norm_momentum};
    struct shape shape = shape_of(1, channels);
    bool is_frozen = builder->norm == NORM_FROZEN;
    enum value_kind trained = is_frozen ? VALUE_BUFFER : VALUE_PARAMETER;
    uint32_t inputs[BATCH_NORM_INPUTS], y;

    builder_enter(builder, name,
                  is_frozen ? "FrozenBatchNorm2d" : "BatchNorm2d");
    inputs[BATCH_NORM_X] = x;
    inputs[BATCH_NORM_WEIGHT] =
        builder_parameter(builder, "weight", trained, &shape, FILL_ONE, 0);
    inputs[BATCH_NORM_BIAS] =
        builder_parameter(builder, "bias", trained, &shape, FILL_ZERO, 0);
    inputs[BATCH_NORM_MEAN] = builder_parameter(
        builder, "running_mean", VALUE_BUFFER, &shape, FILL_ZERO, 0);
    inputs[BATCH_NORM_VARIANCE] = builder_parameter(
        builder, "running_var", VALUE_BUFFER, &shape, FILL_ONE, 0);
    y = builder_op(builder, "", &op_batch_norm, &attrs, inputs,
                   BATCH_NORM_INPUTS);
    builder_leave(builder);
    return y;
}

/* A module with one op and no parameters. */
static uint32_t builder_simple(struct builder *builder, const char *name,
                               const char *class_name,
                               const struct op_class *op, const void *attrs,
                               uint32_t x)
{
    uint32_t y;

    builder_enter(builder, name, class_name);
    y = builder_op(builder, "", op, attrs, &x, 1);
    builder_leave(builder);
    return y;
}

uint32_t builder_relu(struct builder *builder, const char *name, uint32_t x)
{
    return builder_simple(builder, name, "ReLU", &op_relu, NULL, x);
}

uint32_t builder_relu6(struct builder *builder, const char *name, uint32_t x)
{
    struct clip_attrs attrs = {.low = 0, .high = 6};

    return builder_simple(builder, name, "ReLU6", &op_clip, &attrs, x);
}

uint32_t builder_max_pool(struct builder *builder, const char *name,
                          const char *class_name,
                          const struct pool_layer *layer, uint32_t x)
{
    struct max_pool2d_attrs attrs = {
        .kernel = {layer->kernel, layer->kernel},
        .stride = {layer->stride, layer->stride},
        .before = {layer->padding, layer->padding},
        .after = {layer->padding, layer->padding},
        .ceil = layer->ceil,
    };

    return builder_simple(builder, name, class_name, &op_max_pool2d, &attrs, x);
}

uint32_t builder_adaptive_pool(struct builder *builder, const char *name,
                               int64_t size, uint32_t x)
{
    struct adaptive_avg_pool2d_attrs attrs = {.size = {size, size}};

    return builder_simple(builder, name, "AdaptiveAvgPool2d",
                          &op_adaptive_avg_pool2d, &attrs, x);
}

uint32_t builder_dropout(struct builder *builder, const char *name, float ratio,
                         uint32_t x)
{
    struct dropout_attrs attrs = {.ratio = ratio};

    return builder_simple(builder, name, "Dropout", &op_dropout, &attrs, x);
}

uint32_t builder_flatten(struct builder *builder, uint32_t x)
{
    return builder_op(builder, "flatten", &op_flatten, NULL, &x, 1);
}

uint32_t builder_mean(struct builder *builder, uint32_t x)
{
    struct adaptive_avg_pool2d_attrs attrs = {.size = {1, 1}};

    x = builder_op(builder, "mean", &op_adaptive_avg_pool2d, &attrs, &x, 1);
    return builder_flatten(builder, x);
}

uint32_t builder_concat(struct builder *builder, const uint32_t *maps, size_t n)
{
    struct concat_attrs attrs = {.axis = 1};

    return builder_op(builder, "cat", &op_concat, &attrs, maps, n);
}

uint32_t builder_linear(struct builder *builder, const char *name,
                        const struct linear_layer *layer, uint32_t x)
{
    struct shape shape = shape_of(2, layer->out, layer->in);
    struct shape bias_shape = shape_of(1, layer->out);
    struct linear_attrs attrs = {.has_relu = false};
    double in = (double)layer->in, out = (double)layer->out;
    uint32_t inputs[LINEAR_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE}, y;

    builder_enter(builder, name, "Linear");
    inputs[LINEAR_WEIGHT] =
        builder_weight(builder, &shape, layer->fill, in, out);
    inputs[LINEAR_BIAS] = builder_parameter(
        builder, "bias", VALUE_PARAMETER, &bias_shape,
        layer->has_zero_bias ? FILL_ZERO : FILL_UNIFORM, (float)sqrt(1 / in));
    y = builder_op(builder, "", &op_linear, &attrs, inputs, LINEAR_INPUTS);
    builder_leave(builder);
    return y;
}
