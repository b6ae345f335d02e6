/* Ops of com.microsoft that ONNX Runtime's quantisation writes, with numbers
 * that can be checked by hand. */
#include "formats/onnx_build.h"

#include "engine/engine.h"

enum { ONNX_UINT8 = 2, ONNX_INT32 = 6, NODE_DOMAIN = 7 };

static struct error err;

/* Below: x has steps of 0.5 around 10, b and w of 0.25 around 3, results of 0.5
 * around 20. */
static const uint8_t x_bytes[] = {10, 12, 20, 2}; /* 0, 1, 5, -4 */
static const uint8_t b_bytes[] = {3, 7, 11, 3};   /* 0, 1, 2, 0 */

static struct str bytes(const char *name, const uint8_t *numbers,
                        const int64_t *dims, size_t n_dims)
{
    struct str tensor = make_tensor(name, ONNX_UINT8, dims, n_dims);
    size_t n = 1;

    for (size_t i = 0; i < n_dims; i++)
        n *= (size_t)dims[i];
    put_bytes(&tensor, TENSOR_RAW, numbers, n);
    return tensor;
}

static void put_numbers(struct str *graph)
{
    static const float steps[] = {0.5F, 0.25F};
    static const uint8_t zeros[] = {10, 3, 20};
    static const char *const names[] = {"xs", "bs", "xz", "bz", "yz"};
    static const int64_t row[] = {1, 4}, by_input[] = {4, 2},
                         by_output[] = {2, 4};
    static const uint8_t w[] = {3, 7, 11, 3, 3, 4, 7, 3};
    static const uint8_t turned[] = {3, 11, 3, 7, 7, 3, 4, 3};
    static const int32_t bias[] = {4, 8};
    static const int64_t two = 2;
    struct str c = make_tensor("c", ONNX_INT32, &two, 1);

    for (size_t i = 0; i < 2; i++) {
        struct str scale = make_tensor(names[i], ONNX_FLOAT, NULL, 0);

        put_bytes(&scale, TENSOR_RAW, &steps[i], sizeof steps[i]);
        put_message(graph, GRAPH_INITIALIZER, scale);
    }
    for (size_t i = 0; i < 3; i++)
        put_message(graph, GRAPH_INITIALIZER,
                    bytes(names[2 + i], &zeros[i], NULL, 0));
    put_message(graph, GRAPH_INITIALIZER, bytes("b", b_bytes, row, 2));
    put_message(graph, GRAPH_INITIALIZER, bytes("w", w, by_input, 2));
    put_message(graph, GRAPH_INITIALIZER, bytes("wt", turned, by_output, 2));
    put_bytes(&c, TENSOR_RAW, bias, sizeof bias);
    put_message(graph, GRAPH_INITIALIZER, c);
}

struct op_case {
    const char *op, *inputs, *shape; /* of x */
    const char *attribute;           /* or NULL */
    int64_t number;                  /* of the attribute */
    double wanted[8];
    size_t n;
    bool is_real; /* the result is float32 */
};

static struct str case_model(const struct op_case *c)
{
    struct str graph = {0}, node = make_node(c->op, "", c->inputs, "y");

    put_text(&node, NODE_DOMAIN, "com.microsoft");
    if (c->attribute)
        put_int_attribute(&node, c->attribute, c->number);
    put_message(&graph, GRAPH_INPUT, make_value("x", ONNX_UINT8, c->shape));
    put_numbers(&graph);
    put_message(&graph, GRAPH_NODE, node);
    put_message(&graph, GRAPH_OUTPUT,
                make_value("y", c->is_real ? ONNX_FLOAT : ONNX_UINT8, "?"));
    return make_model(graph, 17);
}

static void check_case(const struct op_case *c)
{
    struct engine_options options = {.backend_options = {.n_threads = 1}};
    struct shape shape =
        c->shape[3] == 'x'
            ? shape_of(4, (int64_t)1, (int64_t)1, (int64_t)2, (int64_t)2)
            : shape_of(2, (int64_t)1, (int64_t)4);
    struct tensor x, y;
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(load_bytes(case_model(c), &(struct model_file_options){0},
                            pool, &graph, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_new(graph, pool, &options, &engine, &err), ASSAY_OK,
                 &err);
    CHECK_INT(tensor_new(pool, DTYPE_U8, &shape, &x, &err), ASSAY_OK);
    memcpy(tensor_data(&x), x_bytes, sizeof x_bytes);
    CHECK_STATUS(engine_run(engine, &x, &y, &err), ASSAY_OK, &err);
    CHECK_INT(tensor_elements(&y), c->n);
    for (size_t i = 0; i < c->n; i++)
        CHECK_NEAR(c->is_real ? (double)tensor_f32(&y)[i]
                              : ((const uint8_t *)tensor_data(&y))[i],
                   c->wanted[i], 1e-6);
    tensor_release(&x);
    tensor_release(&y);
    engine_free(engine);
    graph_free(graph);
    pool_free(pool);
}

#define WANTED(...)                                                            \
    .wanted = {__VA_ARGS__}, .n = sizeof(double[]){__VA_ARGS__} / sizeof(double)

TEST(quantised_ops_round_the_float_result_to_steps)
{
    static const struct op_case cases[] = {
        {"QLinearAdd", "x xs xz b bs bz xs yz", "1x4", WANTED(20, 24, 34, 12)},
        {"QLinearMul", "x xs xz b bs bz xs yz", "1x4", WANTED(20, 22, 40, 20)},
        {"QLinearSigmoid", "x xs xz xs yz", "1x4", WANTED(21, 21, 22, 20)},
        {"QLinearLeakyRelu", "x xs xz xs yz", "1x4", WANTED(20, 22, 30, 20)},
        {"QLinearConcat", "xs yz x xs xz b bs bz", "1x4", "axis", 1,
         WANTED(20, 22, 30, 12, 20, 22, 24, 20)},
        {"QLinearGlobalAveragePool", "x xs xz xs yz", "1x1x2x2", WANTED(21)},
        {"QGemm", "x xs xz w bs bz c xs yz", "1x4", WANTED(17, 24)},
        {"QGemm", "x xs xz wt bs bz c xs yz", "1x4", "transB", 1,
         WANTED(17, 24)},
        {"QGemm", "x xs xz w bs bz c", "1x4", .is_real = true,
         WANTED(-1.5, 2.25)},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(&cases[i]);
}

/* Then it is 0: b is 3 steps of 0.25 higher, and the result has no offset. */
TEST(a_zero_may_be_left_out)
{
    static const struct op_case left_out = {"QLinearAdd", "x xs xz b bs - xs",
                                            "1x4", WANTED(2, 6, 16, 0)};

    check_case(&left_out);
}

TEST(what_is_not_supported_is_refused_by_name)
{
    static const struct {
        struct op_case of;
        const char *says;
    } cases[] = {
        {{"QLinearGlobalAveragePool", "x xs xz xs yz", "1x1x2x2",
          "channels_last", 1, WANTED(0)},
         "channels_last is not supported"},
        {{"QLinearConcat", "xs yz x xs", "1x4", "axis", 1, WANTED(0)},
         "it has 4 inputs"},
        {{"QLinearAdd", "x xs xz - bs bz xs yz", "1x4", WANTED(0)},
         "its input 3 is left out"},
        {{"QLinearSoftmax", "x xs xz xs yz", "1x4", WANTED(0)},
         "com.microsoft.QLinearSoftmax"},
    };
    struct pool *pool;
    struct graph *graph;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(load_bytes(case_model(&cases[i].of),
                         &(struct model_file_options){0}, pool, &graph, &err));
        CHECK_HAS(err.text, cases[i].says);
    }
    pool_free(pool);
}
