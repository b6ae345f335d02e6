/* Runs ONNX models: graphs inside nodes, other types, checks of inputs. */
#include "formats/onnx_build.h"

#include "engine/engine.h"
#include "tensor/half.h"

#include <math.h>

static struct pool *pool;
static struct graph *graph;
static struct engine *engine;
static struct error err;

static void open_model(struct str graph_message)
{
    struct engine_options options = {.backend_options = {.n_threads = 1}};

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(load_bytes(make_model(graph_message, 16),
                            &(struct model_file_options){0}, pool, &graph,
                            &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_new(graph, pool, &options, &engine, &err), ASSAY_OK,
                 &err);
}

static void close_model(void)
{
    engine_free(engine);
    graph_free(graph);
    pool_free(pool);
}

static struct tensor floats(const float *numbers, size_t n)
{
    struct shape shape = shape_of(1, (int64_t)n);
    struct tensor tensor;

    CHECK_INT(tensor_new(pool, DTYPE_F32, &shape, &tensor, &err), ASSAY_OK);
    memcpy(tensor_data(&tensor), numbers, n * sizeof *numbers);
    return tensor;
}

static struct tensor truth(bool is_true)
{
    struct shape shape = shape_of(0);
    struct tensor tensor;

    CHECK_INT(tensor_new(pool, DTYPE_BOOL, &shape, &tensor, &err), ASSAY_OK);
    *(uint8_t *)tensor_data(&tensor) = is_true;
    return tensor;
}

static void run(struct tensor *inputs, size_t n_inputs, struct tensor *outputs)
{
    CHECK_STATUS(engine_run(engine, inputs, outputs, &err), ASSAY_OK, &err);
    for (size_t i = 0; i < n_inputs; i++)
        tensor_release(&inputs[i]);
}

/* Takes the tensor. */
static void check_floats(struct tensor got, const float *wanted, size_t n)
{
    CHECK_INT(tensor_elements(&got), n);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(tensor_f32(&got)[i], wanted[i], 1e-6);
    tensor_release(&got);
}

/* ---- If ----------------------------------------------------------------- */

static struct str branch(const char *op, const char *inputs)
{
    struct str body = {0};

    put_message(&body, GRAPH_NODE, make_node(op, "", inputs, "made"));
    put_message(&body, GRAPH_OUTPUT, make_value("made", ONNX_FLOAT, "2"));
    return body;
}

/* y = condition ? 2x + w : 2x * 2x; 2x and w are outside the branches. */
static struct str choosing_graph(void)
{
    static const float weight[] = {10, 20};
    struct str made = {0}, node = make_node("If", "choice", "c", "y");

    put_message(&made, GRAPH_INPUT, make_value("c", ONNX_BOOL, ""));
    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "2"));
    put_message(&made, GRAPH_INITIALIZER, make_floats("w", weight, 2));
    put_message(&made, GRAPH_NODE, make_node("Add", "", "x x", "twice"));
    put_graph_attribute(&node, "then_branch", branch("Add", "twice w"));
    put_graph_attribute(&node, "else_branch", branch("Mul", "twice twice"));
    put_message(&made, GRAPH_NODE, node);
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "2"));
    return made;
}

TEST(an_if_runs_the_branch_that_its_condition_selects)
{
    static const float x[] = {1, 2}, sum[] = {12, 24}, square[] = {4, 16};
    struct tensor y;

    open_model(choosing_graph());
    run((struct tensor[]){truth(true), floats(x, 2)}, 2, &y);
    check_floats(y, sum, 2);
    run((struct tensor[]){truth(false), floats(x, 2)}, 2, &y);
    check_floats(y, square, 2);
    close_model();
}

TEST(the_cost_of_a_branch_counts_for_its_node)
{
    static const float x[] = {1, 2};
    struct tensor y;

    open_model(choosing_graph());
    run((struct tensor[]){truth(false), floats(x, 2)}, 2, &y);
    tensor_release(&y);
    CHECK_INT(engine_cost(engine, 1)->flops, 2); /* the products */
    close_model();
}

TEST(a_branch_that_runs_out_of_memory_leaks_nothing)
{
    static const float x[] = {1, 2};
    enum assay_status st = ASSAY_NOMEM;
    struct tensor inputs[2], y;

    open_model(choosing_graph());
    inputs[0] = truth(true);
    inputs[1] = floats(x, 2);
    for (long nth = 0; st == ASSAY_NOMEM; nth++) {
        size_t before;

        pool_trim(pool); /* or it would need no memory at all */
        before = pool_usage(pool).live_bytes;
        mem_fail_at(nth);
        st = engine_run(engine, inputs, &y, NULL);
        mem_fail_at(-1);
        if (!st)
            tensor_release(&y);
        CHECK_INT(pool_usage(pool).live_bytes, before);
    }
    CHECK_INT(st, ASSAY_OK);
    tensor_release(&inputs[0]);
    tensor_release(&inputs[1]);
    close_model();
}

TEST(a_condition_of_the_wrong_type_is_refused)
{
    static const float x[] = {1, 2};
    struct str made = {0}, node = make_node("If", "choice", "x", "y");
    struct tensor input, y;

    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "2"));
    put_graph_attribute(&node, "then_branch", branch("Relu", "x"));
    put_graph_attribute(&node, "else_branch", branch("Neg", "x"));
    put_message(&made, GRAPH_NODE, node);
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "2"));
    open_model(made);
    input = floats(x, 2);
    CHECK_STATUS(engine_run(engine, &input, &y, &err), ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "choice (If)");
    CHECK_HAS(err.text, "float32 2");
    tensor_release(&input);
    close_model();
}

/* ---- Loop --------------------------------------------------------------- */

/* v = v + x for `most` rounds or until v's sum is 100 or more; collects v. */
static struct str adding_graph(int64_t most)
{
    static const float limit[] = {100};
    struct str made = {0}, body = {0}, sum = {0};
    struct str node = make_node("Loop", "again", "m - x", "last all");
    struct str rounds = make_tensor("m", ONNX_INT64, NULL, 0);

    put_bytes(&rounds, TENSOR_RAW, &most, sizeof most);
    put_message(&body, GRAPH_INPUT, make_value("i", ONNX_INT64, ""));
    put_message(&body, GRAPH_INPUT, make_value("c", ONNX_BOOL, ""));
    put_message(&body, GRAPH_INPUT, make_value("v", ONNX_FLOAT, "2"));
    put_message(&body, GRAPH_INITIALIZER, make_floats("limit", limit, 1));
    put_message(&body, GRAPH_NODE, make_node("Add", "", "v x", "v_next"));
    sum = make_node("ReduceSum", "", "v_next", "total");
    put_int_attribute(&sum, "keepdims", 0);
    put_message(&body, GRAPH_NODE, sum);
    put_message(&body, GRAPH_NODE, make_node("Less", "", "total limit", "few"));
    sum = make_node("Squeeze", "", "few", "go_on");
    put_message(&body, GRAPH_NODE, sum);
    put_message(&body, GRAPH_NODE, make_node("Identity", "", "v_next", "kept"));
    put_message(&body, GRAPH_OUTPUT, make_value("go_on", ONNX_BOOL, ""));
    put_message(&body, GRAPH_OUTPUT, make_value("v_next", ONNX_FLOAT, "2"));
    put_message(&body, GRAPH_OUTPUT, make_value("kept", ONNX_FLOAT, "2"));
    put_graph_attribute(&node, "body", body);
    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "2"));
    put_message(&made, GRAPH_INITIALIZER, rounds);
    put_message(&made, GRAPH_NODE, node);
    put_message(&made, GRAPH_OUTPUT, make_value("last", ONNX_FLOAT, "2"));
    put_message(&made, GRAPH_OUTPUT, make_value("all", ONNX_FLOAT, "?x2"));
    return made;
}

TEST(a_loop_carries_its_state_and_collects_outputs)
{
    static const float x[] = {1, 2}, last[] = {4, 8};
    static const float all[] = {2, 4, 3, 6, 4, 8};
    struct tensor input, outputs[2];

    open_model(adding_graph(3));
    input = floats(x, 2);
    run(&input, 1, outputs);
    check_floats(outputs[0], last, 2);
    CHECK_INT(outputs[1].shape.rank, 2);
    check_floats(outputs[1], all, 6);
    close_model();
}

TEST(a_loop_ends_with_its_condition_or_never_starts)
{
    static const float x[] = {20, 20};
    static const float last[] = {60, 60};
    struct tensor input, outputs[2];

    open_model(adding_graph(1000));
    input = floats(x, 2);
    run(&input, 1, outputs); /* 40 + 40, 60 + 60 */
    check_floats(outputs[0], last, 2);
    CHECK_INT(outputs[1].shape.dims[0], 2);
    tensor_release(&outputs[1]);
    close_model();
    open_model(adding_graph(0));
    input = floats(x, 2);
    run(&input, 1, outputs);
    check_floats(outputs[0], x, 2);
    CHECK_INT(outputs[1].shape.dims[0], 0);
    tensor_release(&outputs[1]);
    close_model();
}

/* ---- Scan --------------------------------------------------------------- */

static void put_ints_attribute(struct str *node, const char *name,
                               int64_t number)
{
    struct str attribute = {0};

    put_text(&attribute, 1, name);
    put_int(&attribute, 8, number);
    put_int(&attribute, 20, 7);
    put_message(node, NODE_ATTRIBUTE, attribute);
}

/* Running sums from the last element to the first. */
TEST(a_scan_goes_through_slices_in_either_direction)
{
    static const float x[] = {1, 2, 3}, sums[] = {3, 5, 6}, total[] = {6};
    static const float zero[] = {0};
    struct str made = {0}, body = {0};
    struct str node = make_node("Scan", "sums", "start x", "total parts");
    struct str start = make_tensor("start", ONNX_FLOAT, NULL, 0);
    struct tensor input, outputs[2];

    put_bytes(&start, TENSOR_RAW, zero, sizeof zero);
    put_message(&body, GRAPH_INPUT, make_value("sum", ONNX_FLOAT, ""));
    put_message(&body, GRAPH_INPUT, make_value("part", ONNX_FLOAT, ""));
    put_message(&body, GRAPH_NODE, make_node("Add", "", "sum part", "next"));
    put_message(&body, GRAPH_NODE, make_node("Identity", "", "next", "kept"));
    put_message(&body, GRAPH_OUTPUT, make_value("next", ONNX_FLOAT, ""));
    put_message(&body, GRAPH_OUTPUT, make_value("kept", ONNX_FLOAT, ""));
    put_graph_attribute(&node, "body", body);
    put_int_attribute(&node, "num_scan_inputs", 1);
    put_ints_attribute(&node, "scan_input_directions", 1);
    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "3"));
    put_message(&made, GRAPH_INITIALIZER, start);
    put_message(&made, GRAPH_NODE, node);
    put_message(&made, GRAPH_OUTPUT, make_value("total", ONNX_FLOAT, ""));
    put_message(&made, GRAPH_OUTPUT, make_value("parts", ONNX_FLOAT, "3"));
    open_model(made);
    input = floats(x, 3);
    run(&input, 1, outputs);
    check_floats(outputs[0], total, 1);
    check_floats(outputs[1], sums, 3);
    close_model();
}

/* ---- types and shapes --------------------------------------------------- */

/* A convolution that doubles, in half precision: 0x4000 is 2. */
TEST(a_convolution_of_half_precision_returns_half_precision)
{
    static const int64_t one[] = {1, 1, 1, 1};
    static const uint16_t two = 0x4000;
    struct shape shape =
        shape_of(4, INT64_C(1), INT64_C(1), INT64_C(2), INT64_C(2));
    struct str made = {0}, weight = make_tensor("w", 10, one, 4);
    struct tensor input, output;

    put_bytes(&weight, TENSOR_RAW, &two, sizeof two);
    put_message(&made, GRAPH_INPUT, make_value("x", 10, "1x1x2x2"));
    put_message(&made, GRAPH_INITIALIZER, weight);
    put_message(&made, GRAPH_NODE, make_node("Conv", "", "x w", "y"));
    put_message(&made, GRAPH_OUTPUT, make_value("y", 10, "1x1x2x2"));
    open_model(made);
    CHECK_INT(tensor_new(pool, DTYPE_F16, &shape, &input, &err), ASSAY_OK);
    for (int i = 0; i < 4; i++)
        ((uint16_t *)tensor_data(&input))[i] = (uint16_t)(0x3c00 + i);
    run(&input, 1, &output);
    CHECK_INT(output.dtype, DTYPE_F16);
    for (int i = 0; i < 4; i++) /* the next exponent */
        CHECK_INT(((uint16_t *)tensor_data(&output))[i], 0x4000 + i);
    tensor_release(&output);
    close_model();
}

TEST(an_input_of_another_shape_or_type_is_refused_and_names_both)
{
    static const float x[] = {1, 2, 3};
    struct tensor inputs[2], y;

    open_model(choosing_graph());
    inputs[0] = truth(true);
    inputs[1] = floats(x, 3);
    CHECK_STATUS(engine_run(engine, inputs, &y, &err), ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "'x'");
    CHECK_HAS(err.text, "float32 3");
    CHECK_HAS(err.text, "float32 2");
    tensor_release(&inputs[0]);
    tensor_release(&inputs[1]);
    close_model();
}
