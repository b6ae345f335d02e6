/* tests/backend/cuda_quantize_test.c - numbers of 8 bits on a GPU are those of
 * the portable kernels, bit for bit. Skips without one. */
#include "test.h"

#include "base/random.h"
#include "engine/engine.h"
#include "ops/ops.h"
#include "ops/product/quantize.h"

#include <string.h>

enum { most = 12 };

struct scene {
    struct pool *pool;
    struct graph *graph;
    struct tensor inputs[most];
    size_t n_inputs;
    struct random random;
};

static void scene_start(struct scene *s)
{
    struct error err = {0};

    *s = (struct scene){.random = random_seed(11)};
    CHECK_STATUS(pool_new(&s->pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_new(&s->graph, &err), ASSAY_OK, &err);
}

/* An input of random numbers: bytes, or floats from 0 to `scale`. */
static uint32_t scene_input(struct scene *s, enum dtype dtype,
                            struct shape shape, float scale)
{
    struct tensor *x = &s->inputs[s->n_inputs++];
    struct error err = {0};
    uint32_t value;

    CHECK_STATUS(tensor_new(s->pool, dtype, &shape, x, &err), ASSAY_OK, &err);
    for (size_t i = 0; i < tensor_elements(x); i++) {
        double unit = random_unit(&s->random);

        if (dtype == DTYPE_F32)
            tensor_f32(x)[i] = scale * (float)(unit + 0.01);
        else if (dtype == DTYPE_I32)
            ((int32_t *)tensor_data(x))[i] = (int32_t)(unit * 2000) - 1000;
        else
            ((uint8_t *)tensor_data(x))[i] = (uint8_t)(unit * 256);
    }
    CHECK_STATUS(graph_input(s->graph, "x", dtype, &value, &err), ASSAY_OK,
                 &err);
    return value;
}

static uint32_t scene_scalar(struct scene *s, enum dtype dtype, float scale)
{
    return scene_input(s, dtype, (struct shape){.rank = 0}, scale);
}

static void scene_node(struct scene *s, const struct op_class *op,
                       const void *attrs, const uint32_t *inputs, size_t n)
{
    struct node_description node = {.op = op,
                                    .attrs = attrs,
                                    .scope = GRAPH_NONE,
                                    .inputs = inputs,
                                    .n_inputs = n,
                                    .n_outputs = 1};
    struct error err = {0};
    uint32_t made;

    CHECK_STATUS(graph_node_add(s->graph, &node, &made, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_output(s->graph, "y", made, &err), ASSAY_OK, &err);
}

static void scene_run(struct scene *s, const struct device *device,
                      struct tensor *output)
{
    struct engine_options options = {
        .device = device,
        .backend_options = {.precision = PRECISION_FP32, .n_threads = 2}};
    struct engine *engine;
    struct error err = {0};

    CHECK_STATUS(engine_new(s->graph, s->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, s->inputs, output, &err), ASSAY_OK, &err);
    engine_free(engine);
}

static void scene_end(struct scene *s)
{
    for (size_t i = 0; i < s->n_inputs; i++)
        tensor_release(&s->inputs[i]);
    graph_free(s->graph);
    pool_free(s->pool);
}

static void scene_check(struct scene *s)
{
    const struct device *gpu;
    struct tensor want = {0}, got = {0};
    struct error err = {0};
    bool has_gpu = device_find("cuda:0", &gpu, &err) == ASSAY_OK;

    scene_run(s, &device_portable, &want);
    if (has_gpu) {
        scene_run(s, gpu, &got);
        CHECK_INT(got.dtype, want.dtype);
        CHECK(shape_equal(&got.shape, &want.shape));
        CHECK(memcmp(tensor_data(&got), tensor_data(&want),
                     tensor_bytes(&want)) == 0);
    }
    tensor_release(&want);
    tensor_release(&got);
    scene_end(s);
    if (!has_gpu)
        SKIP("there is no GPU");
}

TEST(quantised_numbers_on_a_gpu_are_those_of_the_host)
{
    struct quantize_attrs attrs = {.axis = 1};
    uint32_t in[3];
    struct scene s;

    scene_start(&s);
    in[0] = scene_input(&s, DTYPE_F32,
                        shape_of(3, (int64_t)3, (int64_t)5, (int64_t)7), 9);
    in[1] = scene_input(&s, DTYPE_F32, shape_of(1, (int64_t)5), 0.1F);
    in[2] = scene_input(&s, DTYPE_I8, shape_of(1, (int64_t)5), 0);
    scene_node(&s, &op_quantize_linear, &attrs, in, 3);
    scene_check(&s);
}

TEST(numbers_that_a_gpu_dequantises_are_those_of_the_host)
{
    struct quantize_attrs attrs = {.axis = 1};
    uint32_t in[3];
    struct scene s;

    scene_start(&s);
    in[0] = scene_input(&s, DTYPE_U8, shape_of(2, (int64_t)40, (int64_t)33), 0);
    in[1] = scene_scalar(&s, DTYPE_F32, 0.1F);
    in[2] = scene_scalar(&s, DTYPE_U8, 0);
    scene_node(&s, &op_dequantize_linear, &attrs, in, 3);
    scene_check(&s);
}

/* x, weight, result: each with a scale and a zero; then the bias. */
static void add_scaled(struct scene *s, uint32_t *in, enum dtype x,
                       struct shape x_shape, enum dtype w, struct shape w_shape,
                       int64_t n_scales)
{
    in[QLINEAR_X] = scene_input(s, x, x_shape, 0);
    in[QLINEAR_X_SCALE] = scene_scalar(s, DTYPE_F32, 0.05F);
    in[QLINEAR_X_ZERO] = scene_scalar(s, x, 0);
    in[QLINEAR_W] = scene_input(s, w, w_shape, 0);
    in[QLINEAR_W_SCALE] =
        scene_input(s, DTYPE_F32, shape_of(1, n_scales), 0.02F);
    in[QLINEAR_W_ZERO] = scene_input(s, w, shape_of(1, n_scales), 0);
    in[QLINEAR_Y_SCALE] = scene_scalar(s, DTYPE_F32, 4);
    in[QLINEAR_Y_ZERO] = scene_scalar(s, DTYPE_U8, 0);
}

static void check_conv(bool has_relu, int64_t groups)
{
    struct quantized_conv_attrs attrs = {
        .window = {.rank = 2,
                   .kernel = {3, 3},
                   .stride = {2, 1},
                   .dilation = {1, 2},
                   .before = {1, 2},
                   .after = {1, 2}},
        .groups = groups,
        .finish = {.has_relu = has_relu, .relu_limit = 6}};
    uint32_t in[QLINEAR_INPUTS];
    struct scene s;

    scene_start(&s);
    add_scaled(&s, in, DTYPE_U8,
               shape_of(4, (int64_t)2, (int64_t)6, (int64_t)9, (int64_t)8),
               DTYPE_I8,
               shape_of(4, (int64_t)4, 6 / groups, (int64_t)3, (int64_t)3), 4);
    in[QLINEAR_BIAS] = scene_input(&s, DTYPE_I32, shape_of(1, (int64_t)4), 0);
    scene_node(&s, &op_qlinear_conv, &attrs, in, QLINEAR_INPUTS);
    scene_check(&s);
}

TEST(a_quantised_convolution_on_a_gpu_is_that_of_the_host)
{
    check_conv(false, 1);
}

TEST(a_quantised_convolution_with_a_relu_and_groups_is_that_of_the_host)
{
    check_conv(true, 2);
}

TEST(a_quantised_product_on_a_gpu_is_that_of_the_host)
{
    uint32_t in[QLINEAR_INPUTS];
    struct scene s;

    scene_start(&s);
    add_scaled(&s, in, DTYPE_U8,
               shape_of(3, (int64_t)2, (int64_t)5, (int64_t)20), DTYPE_I8,
               shape_of(2, (int64_t)20, (int64_t)7), 7);
    scene_node(&s, &op_qlinear_matmul, NULL, in, QLINEAR_BIAS);
    scene_check(&s);
}

TEST(integers_that_a_gpu_multiplies_are_those_of_the_host)
{
    uint32_t in[4];
    struct scene s;

    scene_start(&s);
    in[0] = scene_input(&s, DTYPE_U8, shape_of(2, (int64_t)9, (int64_t)30), 0);
    in[1] = scene_input(&s, DTYPE_U8, shape_of(2, (int64_t)30, (int64_t)11), 0);
    in[2] = scene_scalar(&s, DTYPE_U8, 0);
    in[3] = scene_scalar(&s, DTYPE_U8, 0);
    scene_node(&s, &op_matmul_integer, NULL, in, 4);
    scene_check(&s);
}

TEST(a_quantised_sum_on_a_gpu_is_that_of_the_host)
{
    uint32_t in[QLINEAR_INPUTS];
    struct scene s;

    scene_start(&s);
    add_scaled(&s, in, DTYPE_U8, shape_of(2, (int64_t)50, (int64_t)21),
               DTYPE_I8, shape_of(2, (int64_t)50, (int64_t)21), 1);
    scene_node(&s, &op_qlinear_add, NULL, in, QLINEAR_BIAS);
    scene_check(&s);
}
