/* ONNX files as graphs: names, order, data, shapes, what is refused. */
#include "onnx_build.h"

#include <stdio.h>
#include <stdlib.h>

static struct pool *pool;
static struct graph *graph;
static struct error err;

static void load_with(struct str model, const struct onnx_options *options,
                      enum assay_status wanted)
{
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(load_bytes(model, options, pool, &graph, &err), wanted, &err);
}

static void load(struct str model, enum assay_status wanted)
{
    load_with(model, &(struct onnx_options){0}, wanted);
}

static void close_all(void)
{
    graph_free(graph);
    pool_free(pool);
    graph = NULL;
    pool = NULL;
}

/* What is refused names all of these parts. */
static void check_refused(struct str model, enum assay_status wanted,
                          const char *const *parts)
{
    load(model, wanted);
    CHECK(!graph);
    for (; *parts; parts++)
        CHECK_HAS(err.text, *parts);
    close_all();
}

/* x of 1x4 through a ReLU a name, one behind the other, to y. */
static struct str chain_of(const char *const *names, size_t n)
{
    struct str chain = {0};

    put_message(&chain, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "1x4"));
    for (size_t i = 0; i < n; i++) {
        char in[16], out[16];

        snprintf(in, sizeof in, i ? "v%zu" : "x", i);
        snprintf(out, sizeof out, i + 1 < n ? "v%zu" : "y", i + 1);
        put_message(&chain, GRAPH_NODE, make_node("Relu", names[i], in, out));
    }
    put_message(&chain, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "1x4"));
    return chain;
}

/* ---- names -------------------------------------------------------------- */

static const struct graph_scope *scope_of(size_t node)
{
    return graph_scope(graph, graph_node(graph, node)->scope);
}

TEST(names_of_pytorch_become_its_modules)
{
    static const char *const names[] = {
        "/backbone/body/conv1/Conv",
        "/backbone/body/layer1/layer1.0/conv1/Conv",
        "/features/features.0/features.0.1/Relu",
        "/model.0/conv/Conv",
    };

    load(make_model(chain_of(names, 4), 13), ASSAY_OK);
    CHECK_STR(scope_of(0)->path, "backbone.body.conv1");
    CHECK_STR(scope_of(0)->class_name, "ReLU");
    CHECK_STR(graph_node(graph, 0)->name, "");
    CHECK_STR(scope_of(1)->path, "backbone.body.layer1.0.conv1");
    CHECK_STR(scope_of(2)->path, "features.0.1");
    CHECK_STR(scope_of(3)->path, "model.0.conv");
    close_all();
}

TEST(a_module_that_is_only_indexed_is_a_container)
{
    static const char *const names[] = {"/model.0/conv/Conv"};
    uint32_t scope;

    load(make_model(chain_of(names, 1), 13), ASSAY_OK);
    scope = scope_of(0)->parent; /* model.0 */
    CHECK(!graph_scope(graph, scope)->is_container);
    scope = graph_scope(graph, scope)->parent;
    CHECK_STR(graph_scope(graph, scope)->path, "model");
    CHECK(graph_scope(graph, scope)->is_container);
    close_all();
}

TEST(several_ops_of_a_module_keep_their_names)
{
    static const char *const names[] = {"/attention/Relu", "/attention/Relu_1",
                                        ""};

    load(make_model(chain_of(names, 3), 13), ASSAY_OK);
    CHECK_STR(scope_of(0)->path, "attention");
    CHECK_STR(scope_of(0)->class_name, "Module");
    CHECK_STR(graph_node(graph, 0)->name, "Relu");
    CHECK_STR(graph_node(graph, 1)->name, "Relu_1");
    CHECK_STR(scope_of(2)->path, "Relu_2");
    close_all();
}

TEST(names_that_are_used_twice_are_told_apart)
{
    static const char *const names[] = {"same", "same"};

    load(make_model(chain_of(names, 2), 13), ASSAY_OK);
    CHECK(strcmp(graph_node(graph, 0)->name, graph_node(graph, 1)->name) != 0);
    close_all();
}

/* ---- order -------------------------------------------------------------- */

TEST(nodes_may_come_in_any_order)
{
    struct str made = {0};

    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "4"));
    put_message(&made, GRAPH_NODE, make_node("Relu", "last", "b", "y"));
    put_message(&made, GRAPH_NODE, make_node("Neg", "first", "x", "a"));
    put_message(&made, GRAPH_NODE, make_node("Exp", "second", "a", "b"));
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "4"));
    load(make_model(made, 13), ASSAY_OK);
    CHECK_STR(scope_of(0)->path, "first");
    CHECK_STR(scope_of(1)->path, "second");
    CHECK_STR(scope_of(2)->path, "last");
    close_all();
}

TEST(a_circle_is_refused_with_a_node_of_it)
{
    struct str made = {0};

    put_message(&made, GRAPH_NODE, make_node("Relu", "one", "b", "a"));
    put_message(&made, GRAPH_NODE, make_node("Relu", "two", "a", "b"));
    put_message(&made, GRAPH_OUTPUT, make_value("a", ONNX_FLOAT, "4"));
    check_refused(make_model(made, 13), ASSAY_BAD_INPUT,
                  (const char *const[]){"circle", "one (Relu)", NULL});
}

TEST(a_value_that_nothing_makes_is_named_with_its_node)
{
    struct str made = {0};

    put_message(&made, GRAPH_NODE, make_node("Relu", "act", "weight", "y"));
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "4"));
    check_refused(make_model(made, 13), ASSAY_BAD_INPUT,
                  (const char *const[]){"act (Relu)", "'weight'", NULL});
}

TEST(an_output_that_nothing_makes_is_named)
{
    struct str made = {0};

    put_message(&made, GRAPH_OUTPUT, make_value("scores", ONNX_FLOAT, "4"));
    check_refused(make_model(made, 13), ASSAY_BAD_INPUT,
                  (const char *const[]){"'scores'", NULL});
}

/* ---- ops ---------------------------------------------------------------- */

TEST(all_missing_ops_are_named_at_once)
{
    struct str made = {0}, told = {0}, inner = {0};
    struct str branch = make_node("If", "choice", "x", "z");
    struct sink sink = sink_to_str(&told);
    struct onnx_options options = {.problems = &sink};

    put_message(&inner, GRAPH_NODE, make_node("Nowhere", "", "x", "q"));
    put_graph_attribute(&branch, "then_branch", inner);
    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "4"));
    put_message(&made, GRAPH_NODE, make_node("Unheard", "a/b", "x", "y"));
    put_message(&made, GRAPH_NODE, make_node("Unheard", "a/c", "x", "w"));
    put_message(&made, GRAPH_NODE, branch);
    load_with(make_model(made, 11), &options, ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "2 ops");
    CHECK_HAS(err.text, "Unheard (opset 11, node a/b)");
    CHECK_HAS(err.text, "Nowhere (opset 11, node q)");
    CHECK_STR(told.text, "missing  Unheard  opset 11  2 nodes, first a/b\n"
                         "missing  Nowhere  opset 11  1 node, first q\n");
    str_release(&told);
    close_all();
}

TEST(a_newer_opset_is_refused_with_the_way_out)
{
    static const char *const names[] = {"act"};

    check_refused(make_model(chain_of(names, 1), 18), ASSAY_UNSUPPORTED,
                  (const char *const[]){"opset 18", "opset_version=17", NULL});
}

TEST(an_input_that_is_needed_cannot_be_left_out)
{
    struct str made = {0};

    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "4"));
    put_message(&made, GRAPH_NODE, make_node("Add", "sum", "x -", "y"));
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "4"));
    check_refused(make_model(made, 13), ASSAY_BAD_INPUT,
                  (const char *const[]){"sum (Add)", "input 1", NULL});
}

TEST(shapes_that_contradict_each_other_are_named_with_the_node)
{
    struct str made = {0};

    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "2x3"));
    put_message(&made, GRAPH_INPUT, make_value("z", ONNX_FLOAT, "2x5"));
    put_message(&made, GRAPH_NODE, make_node("Add", "head/Add", "x z", "y"));
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "2x3"));
    check_refused(make_model(made, 13), ASSAY_BAD_INPUT,
                  (const char *const[]){"head/Add", "2x3", "2x5", NULL});
}

/* y = x + (w + w) */
static struct str graph_of_constants(void)
{
    static const float weight[] = {1, 2, 3};
    struct str made = {0};

    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "3"));
    put_message(&made, GRAPH_INITIALIZER, make_floats("w", weight, 3));
    put_message(&made, GRAPH_NODE, make_node("Add", "twice", "w w", "ww"));
    put_message(&made, GRAPH_NODE, make_node("Add", "sum", "x ww", "y"));
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "3"));
    return made;
}

TEST(what_depends_on_constants_alone_is_computed_once)
{
    const struct tensor *sum;

    load(make_model(graph_of_constants(), 13), ASSAY_OK);
    CHECK_INT(graph_node_count(graph), 1);
    CHECK_STR(scope_of(0)->path, "sum");
    sum = &graph_value(graph, graph_node(graph, 0)->inputs[1])->data;
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(tensor_f32(sum)[i], 2 * (i + 1), 0);
    CHECK_INT(graph_parameter_elements(graph), 3); /* w is still there */
    close_all();
}

TEST(what_would_become_too_large_is_computed_in_each_run)
{
    struct onnx_options options = {.max_folded_bytes = 8};

    load_with(make_model(graph_of_constants(), 13), &options, ASSAY_OK);
    CHECK_INT(graph_node_count(graph), 2);
    close_all();
}

/* ---- functions ---------------------------------------------------------- */

/* A function of one input and output: Concat(a, a) along an axis that the
 * caller gives. */
static struct str doubling_function(void)
{
    struct str function = {0}, node = make_node("Concat", "", "a a", "b");
    struct str attribute = {0}, set = {0};

    put_text(&attribute, 1, "axis");
    put_text(&attribute, 21, "along");
    put_message(&node, NODE_ATTRIBUTE, attribute);
    put_text(&function, 1, "Double");
    put_text(&function, 4, "a");
    put_text(&function, 5, "b");
    put_text(&function, 6, "along");
    put_message(&function, 7, node);
    put_int(&set, 2, 13);
    put_message(&function, 9, set);
    put_text(&function, 10, "local");
    return function;
}

TEST(a_function_runs_as_what_it_is_made_of)
{
    struct str made = {0}, model, call = make_node("Double", "twice", "x", "y");
    const struct node *node;

    put_text(&call, 7, "local");
    put_int_attribute(&call, "along", 1);
    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "2x3"));
    put_message(&made, GRAPH_NODE, call);
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "2x6"));
    model = make_model(made, 13);
    put_message(&model, MODEL_FUNCTION, doubling_function());
    load(model, ASSAY_OK);
    CHECK_INT(graph_node_count(graph), 1);
    node = graph_node(graph, 0);
    CHECK_STR(node->op->name, "Concat");
    CHECK_STR(scope_of(0)->path, "twice.Concat_0");
    CHECK_INT(*(const int *)node->attrs, 1); /* axis, the first attribute */
    close_all();
}

TEST(functions_that_call_each_other_for_ever_are_refused)
{
    struct str function = {0}, made = {0}, model;
    struct str inner = make_node("Round", "", "a", "b");
    struct str call = make_node("Round", "start", "x", "y");

    put_text(&inner, 7, "local");
    put_text(&call, 7, "local");
    put_text(&function, 1, "Round");
    put_text(&function, 4, "a");
    put_text(&function, 5, "b");
    put_message(&function, 7, inner);
    put_text(&function, 10, "local");
    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "4"));
    put_message(&made, GRAPH_NODE, call);
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "4"));
    model = make_model(made, 13);
    put_message(&model, MODEL_FUNCTION, function);
    check_refused(model, ASSAY_UNSUPPORTED,
                  (const char *const[]){"start", "16 deep", NULL});
}

/* ---- the shapes of inputs ----------------------------------------------- */

TEST(free_sizes_are_minus_one_until_they_are_chosen)
{
    struct onnx_shape_choice choice = {
        .input = "x", .shape = shape_of(2, (int64_t)5, (int64_t)3)};
    struct onnx_options options = {.shapes = &choice, .n_shapes = 1};

    for (int i = 0; i < 2; i++) {
        struct str made = {0};

        put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "?x3"));
        put_message(&made, GRAPH_NODE, make_node("Relu", "", "x", "y"));
        put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "?x3"));
        load_with(make_model(made, 13),
                  i ? &options : &(struct onnx_options){0}, ASSAY_OK);
        CHECK_INT(graph_input_shape(graph, 0)->dims[0], i ? 5 : -1);
        CHECK_INT(graph_input_shape(graph, 0)->dims[1], 3);
        close_all();
    }
}

TEST(a_chosen_shape_that_contradicts_the_file_is_refused)
{
    static const char *const names[] = {"act"};
    struct onnx_shape_choice choice = {
        .input = "x", .shape = shape_of(2, (int64_t)1, (int64_t)5)};
    struct onnx_options options = {.shapes = &choice, .n_shapes = 1};

    load_with(make_model(chain_of(names, 1), 13), &options, ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "'x'");
    CHECK_HAS(err.text, "1x4");
    CHECK_HAS(err.text, "1x5");
    close_all();
    choice.input = "images";
    load_with(make_model(chain_of(names, 1), 13), &options, ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "'images'");
    CHECK_HAS(err.text, "'x'");
    close_all();
}

TEST(a_negative_size_of_an_input_is_refused)
{
    struct str made = {0};

    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "2x-3"));
    put_message(&made, GRAPH_OUTPUT, make_value("x", ONNX_FLOAT, "2x3"));
    check_refused(make_model(made, 13), ASSAY_BAD_INPUT,
                  (const char *const[]){"'x'", "-3", NULL});
}

/* ---- products ----------------------------------------------------------- */

/* Some rows of x [4,2], by a mask that is an input, through a layer of 3. */
static struct str make_layer(int weight_type)
{
    static const float weight[6] = {1, 2, 3, 4, 5, 6}, bias[3] = {1, 2, 3};
    static const int64_t dims[2] = {3, 2};
    struct str made = {0}, tensor, node;

    put_message(&made, GRAPH_INPUT, make_value("x", weight_type, "4x2"));
    put_message(&made, GRAPH_INPUT, make_value("mask", ONNX_BOOL, "4"));
    tensor = make_tensor("w", weight_type, dims, 2);
    for (size_t i = 0; i < 6; i++) {
        double wide = weight[i];

        if (weight_type == ONNX_FLOAT)
            put_float(&tensor, TENSOR_FLOATS, weight[i]);
        else
            put_bytes(&tensor, TENSOR_DOUBLES, &wide, sizeof wide);
    }
    put_message(&made, GRAPH_INITIALIZER, tensor);
    if (weight_type == ONNX_FLOAT)
        put_message(&made, GRAPH_INITIALIZER, make_floats("b", bias, 3));
    node = make_node("Compress", "some", "x mask", "rows");
    put_int_attribute(&node, "axis", 0);
    put_message(&made, GRAPH_NODE, node);
    node = make_node("Gemm", "fc",
                     weight_type == ONNX_FLOAT ? "rows w b" : "rows w", "y");
    put_int_attribute(&node, "transB", 1);
    put_message(&made, GRAPH_NODE, node);
    put_message(&made, GRAPH_OUTPUT, make_value("y", weight_type, "?x3"));
    return make_model(made, 13);
}

TEST(a_layer_of_rows_that_only_running_tells_is_a_linear_one)
{
    load(make_layer(ONNX_FLOAT), ASSAY_OK);
    CHECK_STR(graph_node(graph, 1)->op->name, "Linear");
    close_all();
}

/* Backends know it in float32 alone. */
TEST(a_layer_of_doubles_stays_a_product)
{
    enum { onnx_double = 11 };

    load(make_layer(onnx_double), ASSAY_OK);
    CHECK_STR(graph_node(graph, 1)->op->name, "Gemm");
    close_all();
}
