/* The pass for quantised models: integer nodes that compute what the float ones
 * between DequantizeLinear and QuantizeLinear did, to one step. */
#include "passes/integers.h"

#include "backend/device.h"
#include "base/processor.h"
#include "engine/engine.h"
#include "ops/convolution/conv2d.h"
#include "ops/math/cast.h"
#include "ops/movement/concat.h"
#include "ops/movement/resize.h"
#include "ops/movement/slice.h"
#include "ops/ops.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/product/linear.h"
#include "ops/product/quantize.h"
#include "passes/fuse.h"
#include "test.h"

#include <math.h>
#include <string.h>

static struct error err;

/* ---- graphs -------------------------------------------------------------- */

struct model {
    struct pool *pool;
    struct graph *graph;
    uint32_t random;
};

static struct model model_new(void)
{
    struct model model = {.random = 7};

    CHECK_STATUS(pool_new(&model.pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_new(&model.graph, &err), ASSAY_OK, &err);
    return model;
}

static void model_free(struct model *model)
{
    graph_free(model->graph);
    pool_free(model->pool);
}

static uint32_t draw(struct model *model)
{
    model->random = model->random * 1664525 + 1013904223;
    return model->random >> 8;
}

static struct tensor made(const struct model *model, enum dtype dtype,
                          struct shape shape)
{
    struct tensor tensor;

    CHECK_STATUS(tensor_new(model->pool, dtype, &shape, &tensor, &err),
                 ASSAY_OK, &err);
    return tensor;
}

static uint32_t constant(const struct model *model, struct tensor data)
{
    uint32_t value;

    CHECK_STATUS(graph_constant(model->graph, "", data, &value, &err), ASSAY_OK,
                 &err);
    return value;
}

static uint32_t number(const struct model *model, float value)
{
    struct tensor data = made(model, DTYPE_F32, (struct shape){0});

    *tensor_f32(&data) = value;
    return constant(model, data);
}

static uint32_t byte(const struct model *model, enum dtype dtype, int value)
{
    struct tensor data = made(model, dtype, (struct shape){0});

    *(uint8_t *)tensor_data(&data) = (uint8_t)value;
    return constant(model, data);
}

static uint32_t add_node(const struct model *model, const struct op_class *op,
                         const void *attrs, const uint32_t *inputs, size_t n,
                         size_t n_outputs, uint32_t *outputs)
{
    struct node_description description = {.op = op,
                                           .attrs = attrs,
                                           .scope = GRAPH_NONE,
                                           .inputs = inputs,
                                           .n_inputs = n,
                                           .n_outputs = n_outputs};

    CHECK_STATUS(graph_node_add(model->graph, &description, outputs, &err),
                 ASSAY_OK, &err);
    return outputs[0];
}

static uint32_t node(const struct model *model, const struct op_class *op,
                     const void *attrs, const uint32_t *inputs, size_t n)
{
    uint32_t out;

    return add_node(model, op, attrs, inputs, n, 1, &out);
}

/* How a value is quantised. */
struct steps {
    enum dtype dtype;
    float scale;
    int zero;
};

/* Quantised, and float32 again. */
static uint32_t through(const struct model *model, uint32_t x,
                        struct steps steps)
{
    uint32_t inputs[] = {x, number(model, steps.scale),
                         byte(model, steps.dtype, steps.zero)};

    inputs[0] = node(model, &op_quantize_linear, NULL, inputs, 3);
    return node(model, &op_dequantize_linear, NULL, inputs, 3);
}

/* Weights as the importer folds them. */
struct weights {
    enum dtype dtype;
    int zero, low, high; /* of the quantised ones */
    bool per_channel;
    bool has_few_large; /* most are a quarter of the range */
};

static uint32_t weights(struct model *model, struct shape shape,
                        const struct weights *like)
{
    struct tensor q = made(model, like->dtype, shape);
    struct tensor real = made(model, DTYPE_F32, shape);
    int64_t n = like->per_channel ? shape.dims[0] : 1;
    struct tensor scales = made(model, DTYPE_F32, shape_of(1, n));
    struct tensor zeros = made(model, like->dtype, shape_of(1, n));
    size_t each = tensor_elements(&q) / (size_t)shape.dims[0];
    struct dequantised from;
    uint32_t value;

    for (int64_t i = 0; i < n; i++) {
        tensor_f32(&scales)[i] = 0.004F + 0.001F * (float)(i % 5);
        ((uint8_t *)tensor_data(&zeros))[i] = (uint8_t)like->zero;
    }
    for (size_t i = 0; i < tensor_elements(&q); i++) {
        int w = like->low +
                (int)(draw(model) % (unsigned)(like->high - like->low + 1));

        if (like->has_few_large && draw(model) % 32)
            w = w / 4;
        ((uint8_t *)tensor_data(&q))[i] = (uint8_t)w;
        tensor_f32(&real)[i] =
            (float)(w - like->zero) *
            tensor_f32(&scales)[like->per_channel ? i / each : 0];
    }
    from = (struct dequantised){.quantised = constant(model, q),
                                .scale = constant(model, scales),
                                .zero = constant(model, zeros)};
    value = constant(model, real);
    graph_note_dequantised(model->graph, value, &from);
    return value;
}

static uint32_t image(const struct model *model)
{
    uint32_t x;

    CHECK_STATUS(graph_input(model->graph, "x", DTYPE_F32, &x, &err), ASSAY_OK,
                 &err);
    return x;
}

static void finish(const struct model *model, uint32_t value)
{
    CHECK_STATUS(graph_output(model->graph, "y", value, &err), ASSAY_OK, &err);
}

static size_t count(const struct model *model, const struct op_class *op)
{
    size_t n = 0;

    for (size_t i = 0; i < graph_node_count(model->graph); i++)
        n += graph_node(model->graph, i)->op == op;
    return n;
}

/* ---- running ------------------------------------------------------------- */

static struct tensor run(const struct model *model, const struct device *device,
                         const struct tensor *x)
{
    struct engine_options options = {.device = device};
    struct engine *engine;
    struct tensor y;

    CHECK_STATUS(engine_new(model->graph, model->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, x, &y, &err), ASSAY_OK, &err);
    engine_free(engine);
    return y;
}

/* No element differs by more than a step, and few do. */
static void check_steps(const struct tensor *got, const struct tensor *want,
                        float step, double share)
{
    size_t n = tensor_elements(want), differ = 0;

    CHECK(shape_equal(&got->shape, &want->shape));
    for (size_t i = 0; i < n; i++) {
        double by = fabs((double)tensor_f32(got)[i] - tensor_f32(want)[i]);

        CHECK_NEAR(tensor_f32(got)[i], tensor_f32(want)[i],
                   (double)step * 1.001);
        differ += by > 0.01 * (double)step;
    }
    if ((double)differ > share * (double)n)
        fail_msg("%zu of %zu elements differ", differ, n);
}

/* Runs the graph as it is, then after the pass with the ops' own kernels and
 * with the backend's. */
static void check_pass(struct model *model, struct shape shape, float step,
                       double share)
{
    struct tensor x = made(model, DTYPE_F32, shape), want, own, best;

    for (size_t i = 0; i < tensor_elements(&x); i++)
        tensor_f32(&x)[i] = (float)(draw(model) % 2001) / 1000 - 1;
    want = run(model, &device_portable, &x);
    /* The pass before it must leave it the quantised weights. */
    CHECK_STATUS(fuse_graph(model->graph, model->pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(integers_fuse(model->graph, model->pool, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(graph_check(model->graph, &err), ASSAY_OK, &err);
    own = run(model, &device_portable, &x);
    best = run(model, device_cpu(), &x);
    check_steps(&own, &want, step, share);
    check_steps(&best, &own, step, share);
    tensor_release(&want);
    tensor_release(&own);
    tensor_release(&best);
    tensor_release(&x);
}

/* ---- convolutions -------------------------------------------------------- */

struct conv_case {
    struct steps x, y;
    struct weights w;
    int64_t in, out, kernel, stride, pad, groups;
    int64_t dilation; /* 0: 1 */
    bool has_bias, has_relu;
    float relu_limit;
    enum conv2d_activation activation;
    bool is_real; /* no QuantizeLinear follows */
};

static const struct steps u8 = {DTYPE_U8, 0.009F, 120};
static const struct steps i8 = {DTYPE_I8, 0.009F, -7};
static const struct steps wide = {DTYPE_U8, 0.05F, 101};
static const struct weights w_i8 = {DTYPE_I8, 0, -127, 127, false, false};
static const struct weights w_small = {DTYPE_I8, 0, -63, 63, true, false};
static const struct weights w_each = {DTYPE_I8, 0, -127, 127, true, false};
static const struct weights w_few = {DTYPE_I8, 0, -128, 127, true, true};
static const struct weights w_u8 = {DTYPE_U8, 131, 0, 255, false, false};
static const struct weights w_u8_each = {DTYPE_U8, 90, 0, 255, true, false};

static void check_conv(const struct conv_case *c)
{
    struct model model = model_new();
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[CONV2D_INPUTS] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE,
                                      GRAPH_NONE};
    uint32_t y;

    for (int i = 0; i < 2; i++) {
        attrs.stride[i] = c->stride;
        attrs.dilation[i] = c->dilation ? c->dilation : 1;
        attrs.before[i] = attrs.after[i] = c->pad;
    }
    attrs.relu_limit = c->relu_limit;
    attrs.groups = c->groups;
    attrs.has_relu = c->has_relu;
    attrs.activation = c->activation;
    inputs[CONV2D_X] = through(&model, image(&model), c->x);
    inputs[CONV2D_WEIGHT] = weights(
        &model, shape_of(4, c->out, c->in / c->groups, c->kernel, c->kernel),
        &c->w);
    if (c->has_bias) {
        struct tensor bias = made(&model, DTYPE_F32, shape_of(1, c->out));

        for (int64_t i = 0; i < c->out; i++)
            tensor_f32(&bias)[i] = (float)(i % 7) / 10 - 0.3F;
        inputs[CONV2D_BIAS] = constant(&model, bias);
    }
    y = node(&model, &op_conv2d, &attrs, inputs, CONV2D_INPUTS);
    finish(&model, c->is_real ? y : through(&model, y, c->y));
    check_pass(&model, shape_of(4, (int64_t)2, c->in, (int64_t)9, (int64_t)7),
               c->is_real ? 1e-3F : c->y.scale, 0.01);
    CHECK_INT(count(&model, &op_conv2d), 0);
    CHECK_INT(count(&model, &op_qlinear_conv), 1);
    model_free(&model);
}

#define CONV(x_, y_, w_, in_, out_, kernel_, stride_, groups_, ...)            \
    {                                                                          \
        .x = x_, .y = y_, .w = w_, .in = in_, .out = out_, .kernel = kernel_,  \
        .stride = stride_, .pad = (kernel_) / 2, .groups = groups_,            \
        __VA_ARGS__                                                            \
    }
#define BIAS .has_bias = true

/* With the kernels of each level. */
static void check_on_levels(const struct conv_case *cases, size_t n)
{
    static const enum processor_level levels[] = {PROCESSOR_AMX, PROCESSOR_AVX2,
                                                  PROCESSOR_SSE41};

    for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
        processor_limit(levels[level]);
        for (size_t i = 0; i < n; i++)
            check_conv(&cases[i]);
    }
    processor_limit(PROCESSOR_AMX);
}

TEST(convolutions_of_every_type_and_zero_agree)
{
    const struct conv_case cases[] = {
        CONV(u8, wide, w_i8, 3, 16, 3, 2, 1, BIAS),
        CONV(u8, wide, w_each, 16, 24, 3, 1, 1, BIAS),
        CONV(u8, i8, w_small, 16, 24, 1, 1, 1, .has_bias = false),
        CONV(i8, wide, w_i8, 8, 20, 3, 1, 1, BIAS),
        CONV(i8, i8, w_u8, 8, 5, 3, 1, 1, .has_bias = false),
        CONV(u8, wide, w_u8, 17, 33, 3, 1, 1, BIAS),
        CONV(u8, wide, w_u8_each, 16, 16, 1, 1, 1, .has_bias = false),
        CONV(u8, wide, w_each, 16, 16, 3, 1, 16, BIAS),
        CONV(u8, wide, w_u8, 16, 16, 3, 2, 16, BIAS),
        CONV(u8, wide, w_each, 16, 32, 3, 1, 4, .has_bias = false),
    };

    check_on_levels(cases, sizeof cases / sizeof *cases);
}

/* Tiles of pixels and outputs that are full and not, groups of inputs that are
 * full and not, weights that are small, rarely large and often large, windows
 * at the edges. */
TEST(one_group_agrees_on_every_processor)
{
    const struct conv_case cases[] = {
        CONV(u8, wide, w_few, 16, 96, 1, 1, 1, BIAS, .has_relu = true),
        CONV(u8, wide, w_few, 96, 24, 1, 1, 1, BIAS),
        CONV(i8, i8, w_few, 30, 70, 1, 1, 1, .has_bias = false),
        CONV(u8, i8, w_each, 18, 13, 1, 1, 1, BIAS, .has_relu = true,
             .relu_limit = 0.4F),
        CONV(i8, wide, w_small, 7, 3, 1, 1, 1, BIAS),
        CONV(u8, wide, w_u8, 33, 41, 1, 1, 1, BIAS),
        CONV(u8, wide, w_few, 64, 130, 1, 2, 1, BIAS),
        CONV(u8, wide, w_few, 3, 32, 3, 2, 1, BIAS, .has_relu = true),
        CONV(i8, wide, w_few, 3, 17, 3, 1, 1, BIAS),
        CONV(u8, wide, w_few, 20, 8, 5, 1, 1, BIAS),
        CONV(i8, i8, w_few, 12, 40, 3, 1, 1, BIAS, .dilation = 2),
        CONV(u8, wide, w_each, 12, 40, 3, 1, 1, BIAS, .dilation = 2),
        CONV(u8, wide, w_small, 5, 9, 9, 1, 1, BIAS),
        CONV(u8, wide, w_small, 2, 6, 1, 3, 1, BIAS),
    };

    check_on_levels(cases, sizeof cases / sizeof *cases);
}

/* Blocks of channels that are full and not, with the kernel of each level. */
TEST(channels_with_weights_of_their_own_agree_on_every_processor)
{
    const struct conv_case cases[] = {
        CONV(u8, wide, w_each, 5, 5, 3, 1, 5, BIAS),
        CONV(u8, wide, w_i8, 16, 16, 3, 1, 16, BIAS),
        CONV(u8, wide, w_each, 32, 32, 3, 1, 32, BIAS),
        CONV(i8, i8, w_each, 32, 32, 5, 1, 32, BIAS, .has_relu = true),
        CONV(u8, wide, w_each, 8, 8, 3, 1, 8, BIAS),
        CONV(u8, i8, w_each, 24, 24, 5, 2, 24, BIAS, .has_relu = true),
        CONV(i8, wide, w_each, 64, 64, 3, 2, 64, BIAS, .has_relu = true,
             .relu_limit = 0.9F),
        CONV(i8, i8, w_u8, 70, 70, 3, 1, 70, .has_bias = false),
        CONV(u8, wide, w_each, 144, 144, 3, 1, 144, .dilation = 2),
        CONV(u8, wide, w_u8_each, 131, 131, 3, 1, 131, BIAS),
        CONV(i8, wide, w_each, 48, 48, 3, 1, 48, BIAS),
        CONV(u8, wide, w_each, 96, 96, 3, 2, 96, BIAS, .has_relu = true),
        CONV(u8, i8, w_u8, 35, 35, 3, 2, 35, BIAS),
        CONV(u8, wide, w_each, 66, 66, 1, 1, 66, BIAS),
        CONV(u8, wide, w_small, 8, 8, 7, 1, 8, BIAS, .activation = CONV2D_SILU),
        CONV(u8, wide, w_small, 8, 8, 9, 1, 8, BIAS),
    };

    check_on_levels(cases, sizeof cases / sizeof *cases);
}

TEST(activations_before_the_rounding_agree)
{
    const struct conv_case cases[] = {
        CONV(u8, wide, w_each, 16, 24, 3, 1, 1, BIAS, .has_relu = true),
        CONV(u8, wide, w_each, 16, 24, 3, 1, 1, BIAS,
             .activation = CONV2D_SILU),
        CONV(u8, wide, w_u8, 16, 24, 3, 1, 1, BIAS, .activation = CONV2D_SILU),
        CONV(u8, wide, w_each, 16, 24, 3, 1, 1, BIAS,
             .activation = CONV2D_HARD_SWISH),
        CONV(i8, i8, w_i8, 16, 24, 1, 1, 1, BIAS, .activation = CONV2D_SIGMOID),
        CONV(u8, i8, w_i8, 16, 24, 1, 1, 1, BIAS, .has_relu = true,
             .relu_limit = 0.4F),
        CONV(u8, i8, w_u8, 16, 24, 1, 1, 1, BIAS, .has_relu = true,
             .relu_limit = 0.4F),
        CONV(i8, wide, w_u8_each, 16, 24, 3, 2, 1, .has_relu = true),
        CONV(u8, wide, w_u8, 2, 4100, 1, 1, 1, .activation = CONV2D_SILU),
    };

    check_on_levels(cases, sizeof cases / sizeof *cases);
}

TEST(results_that_nothing_rounds_are_float32)
{
    const struct conv_case cases[] = {
        CONV(u8, wide, w_each, 16, 24, 3, 1, 1, BIAS, .is_real = true),
        CONV(u8, wide, w_u8, 16, 24, 3, 1, 1, BIAS, .is_real = true),
        CONV(u8, wide, w_each, 16, 24, 1, 1, 1, BIAS, .activation = CONV2D_SILU,
             .is_real = true),
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_conv(&cases[i]);
}

TEST(a_linear_layer_becomes_a_product_of_integers)
{
    struct model model = model_new();
    uint32_t inputs[LINEAR_INPUTS];
    struct tensor bias = made(&model, DTYPE_F32, shape_of(1, (int64_t)10));

    for (int i = 0; i < 10; i++)
        tensor_f32(&bias)[i] = (float)i / 10;
    inputs[LINEAR_X] = through(&model, image(&model), u8);
    inputs[LINEAR_WEIGHT] =
        weights(&model, shape_of(2, (int64_t)10, (int64_t)37), &w_each);
    inputs[LINEAR_BIAS] = constant(&model, bias);
    finish(&model,
           through(&model,
                   node(&model, &op_linear, NULL, inputs, LINEAR_INPUTS),
                   wide));
    check_pass(&model, shape_of(2, (int64_t)5, (int64_t)37), wide.scale, 0.05);
    CHECK_INT(count(&model, &op_qlinear_matmul), 1);
    model_free(&model);
}

/* ---- numbers one by one, and ops that move them -------------------------- */

/* A first layer, so that maps are in the layout of the integer kernels. */
static uint32_t first_layer(struct model *model, int64_t out)
{
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[CONV2D_INPUTS] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE,
                                      GRAPH_NONE};

    inputs[CONV2D_X] = through(model, image(model), u8);
    inputs[CONV2D_WEIGHT] = weights(
        model, shape_of(4, out, (int64_t)3, (int64_t)1, (int64_t)1), &w_small);
    return through(
        model, node(model, &op_conv2d, &attrs, inputs, CONV2D_INPUTS), wide);
}

static const int64_t photo[] = {1, 3, 8, 6};

static void check_map(struct model *model, uint32_t y, struct steps steps)
{
    finish(model, through(model, y, steps));
    /* A step of the first layer may become several of the last. */
    check_pass(model, shape_of(4, photo[0], photo[1], photo[2], photo[3]),
               steps.scale * 3, 0.02);
    CHECK_INT(count(model, &op_quantize_linear), 1);
    CHECK_INT(count(model, &op_dequantize_linear), 1);
}

TEST(x_times_its_sigmoid_is_one_table)
{
    static const struct steps unit = {DTYPE_U8, 1.0F / 255, 0};
    struct model model = model_new();
    uint32_t inputs[2] = {first_layer(&model, 16)};

    inputs[1] =
        through(&model, node(&model, &op_sigmoid, NULL, inputs, 1), unit);
    check_map(&model, node(&model, &op_mul, NULL, inputs, 2), u8);
    CHECK_INT(count(&model, &op_lookup), 1);
    CHECK_INT(count(&model, &op_mul), 0);
    CHECK_INT(count(&model, &op_sigmoid), 0);
    model_free(&model);
}

/* As some exporters write it, though the type is the same. */
TEST(a_cast_between_quantising_and_back_is_dropped)
{
    static const struct cast_attrs to_u8 = {.dtype = DTYPE_U8};
    struct model model = model_new();
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[CONV2D_INPUTS] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE,
                                      GRAPH_NONE};
    uint32_t x[3] = {image(&model), number(&model, u8.scale),
                     byte(&model, u8.dtype, u8.zero)};

    for (int64_t from = 3; from <= 16; from += 13) {
        x[0] = node(&model, &op_quantize_linear, NULL, x, 3);
        x[0] = node(&model, &op_cast, &to_u8, x, 1);
        inputs[CONV2D_X] = node(&model, &op_dequantize_linear, NULL, x, 3);
        inputs[CONV2D_WEIGHT] = weights(
            &model, shape_of(4, (int64_t)16, from, (int64_t)1, (int64_t)1),
            &w_small);
        x[0] = node(&model, &op_conv2d, &attrs, inputs, CONV2D_INPUTS);
    }
    check_map(&model, x[0], wide);
    CHECK_INT(count(&model, &op_cast), 0);
    CHECK_INT(count(&model, &op_qlinear_conv), 2);
    model_free(&model);
}

TEST(a_split_an_addition_and_a_concatenation_stay_integers)
{
    struct split_attrs split = {.axis = 1};
    struct concat_attrs concat = {.axis = 1};
    struct max_pool2d_attrs pool = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, false};
    struct model model = model_new();
    uint32_t x = first_layer(&model, 16), halves[2], sum;

    add_node(&model, &op_split, &split, &x, 1, 2, halves);
    for (int i = 0; i < 2; i++)
        halves[i] = through(&model, halves[i], wide);
    sum = through(&model, node(&model, &op_add, NULL, halves, 2), i8);
    halves[1] =
        through(&model, node(&model, &op_max_pool2d, &pool, &sum, 1), i8);
    check_map(&model, node(&model, &op_concat, &concat, halves, 2), wide);
    CHECK_INT(count(&model, &op_qlinear_add), 1);
    CHECK_INT(count(&model, &op_add), 0);
    model_free(&model);
}

/* Twice as high and three times as wide, from maps with the channels last. */
/* Halves of `from`, added to `to`: 7 x 9 x 5 is no whole number of vectors. */
static void check_addition(struct steps from, struct steps other,
                           struct steps to)
{
    struct split_attrs split = {.axis = 1};
    struct model model = model_new();
    uint32_t x = first_layer(&model, 10), halves[2];

    add_node(&model, &op_split, &split, &x, 1, 2, halves);
    halves[0] = through(&model, halves[0], from);
    halves[1] = through(&model, halves[1], other);
    check_map(&model, node(&model, &op_add, NULL, halves, 2), to);
    CHECK_INT(count(&model, &op_qlinear_add), 1);
    model_free(&model);
}

TEST(additions_of_every_type_agree_on_every_processor)
{
    static const enum processor_level levels[] = {PROCESSOR_AMX, PROCESSOR_AVX2,
                                                  PROCESSOR_SSE41};

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        processor_limit(levels[i]);
        check_addition(wide, wide, wide);
        check_addition(wide, i8, wide);
        check_addition(i8, u8, i8);
        check_addition(i8, i8, wide);
    }
    processor_limit(PROCESSOR_AMX);
}

TEST(a_resize_to_the_nearest_stays_an_integer)
{
    static const struct resize_attrs ways[] = {
        {.place = RESIZE_ASYMMETRIC, .nearest = RESIZE_FLOOR},
        {.place = RESIZE_HALF_PIXEL},
        {.place = RESIZE_ASYMMETRIC, .nearest = RESIZE_CEIL}};
    static const float scales[] = {1, 1, 2, 3};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct model model = model_new();
        struct tensor list = made(&model, DTYPE_F32, shape_of(1, (int64_t)4));
        uint32_t inputs[] = {first_layer(&model, 16), GRAPH_NONE, GRAPH_NONE};

        memcpy(tensor_f32(&list), scales, sizeof scales);
        inputs[2] = constant(&model, list);
        check_map(&model, node(&model, &op_resize, &ways[i], inputs, 3), wide);
        CHECK_INT(count(&model, &op_resize), 1);
        CHECK_INT(count(&model, &op_lookup), 0);
        model_free(&model);
    }
}

/* ---- dynamic quantisation ------------------------------------------------ */

TEST(scales_that_are_computed_are_fused_too)
{
    struct model model = model_new();
    struct quantized_conv_attrs attrs = {.window = {.rank = 2,
                                                    .kernel = {3, 3},
                                                    .stride = {1, 1},
                                                    .dilation = {1, 1},
                                                    .before = {1, 1},
                                                    .after = {1, 1}},
                                         .groups = 1};
    struct cast_attrs cast = {.dtype = DTYPE_F32};
    uint32_t x = image(&model), made_of[3], inputs[4], scales[2], y[2];
    const struct value *w;
    struct tensor bias =
        made(&model, DTYPE_F32,
             shape_of(4, (int64_t)1, (int64_t)16, (int64_t)1, (int64_t)1));

    for (int i = 0; i < 16; i++)
        tensor_f32(&bias)[i] = (float)i / 10;
    w = graph_value(model.graph, weights(&model,
                                         shape_of(4, (int64_t)16, (int64_t)3,
                                                  (int64_t)3, (int64_t)3),
                                         &w_u8));
    add_node(&model, &op_dynamic_quantize_linear, NULL, &x, 1, 3, made_of);
    inputs[0] = made_of[0];
    inputs[1] = w->from.quantised;
    inputs[2] = made_of[2];
    inputs[3] = w->from.zero;
    scales[0] = made_of[1];
    scales[1] = w->from.scale;
    y[0] = node(&model, &op_conv_integer, &attrs, inputs, 4);
    y[0] = node(&model, &op_cast, &cast, y, 1);
    y[1] = node(&model, &op_mul, NULL, scales, 2);
    y[0] = node(&model, &op_mul, NULL, y, 2);
    y[1] = constant(&model, bias);
    y[0] = node(&model, &op_sum, NULL, y, 2);
    finish(&model, node(&model, &op_silu, NULL, y, 1));
    check_pass(&model,
               shape_of(4, (int64_t)1, (int64_t)3, (int64_t)9, (int64_t)9),
               2e-3F, 0.01);
    CHECK_INT(graph_node_count(model.graph), 2);
    model_free(&model);
}
