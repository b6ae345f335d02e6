/* ONNX files become graphs: names, order, data, shapes, refusals. */
#include "onnx_build.h"

#include <stdio.h>
#include <stdlib.h>

static struct pool *pool;
static struct graph *graph;
static struct error err;

static void load_with(struct str model,
                      const struct model_file_options *options,
                      enum assay_status wanted)
{
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(load_bytes(model, options, pool, &graph, &err), wanted, &err);
}

static void load(struct str model, enum assay_status wanted)
{
    load_with(model, &(struct model_file_options){0}, wanted);
}

static void close_all(void)
{
    graph_free(graph);
    pool_free(pool);
    graph = NULL;
    pool = NULL;
}

/* Checks that the model is refused with a message that has all parts. */
static void check_refused(struct str model, enum assay_status wanted,
                          const char *const *parts)
{
    load(model, wanted);
    CHECK(!graph);
    for (; *parts; parts++)
        CHECK_HAS(err.text, *parts);
    close_all();
}

/* x of 1x4 through a chain of ReLUs with these names to y. */
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

/* What torch.onnx.export notes with a node. */
static void put_scopes(struct str *node, const char *names, const char *classes)
{
    struct str entry = {0};

    put_text(&entry, 1, "pkg.torch.onnx.name_scopes");
    put_text(&entry, 2, names);
    put_message(node, NODE_METADATA, entry);
    entry = (struct str){0};
    put_text(&entry, 1, "pkg.torch.onnx.class_hierarchy");
    put_text(&entry, 2, classes);
    put_message(node, NODE_METADATA, entry);
}

TEST(modules_and_classes_come_from_what_the_exporter_notes)
{
    struct str made = {0}, node = make_node("Relu", "n0", "x", "a");

    put_scopes(&node, "['', 'b.stage', 'b.stage.0@1', 'relu']",
               "['__main__.Detr', 'torch.nn.Sequential', 'torch.nn.ReLU', "
               "'aten.relu.default']");
    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "4"));
    put_message(&made, GRAPH_NODE, node);
    node = make_node("Add", "n1", "a a", "c");
    put_scopes(&node, "['', 'b.stage', \"add\"]",
               "['__main__.Detr', 'torch.nn.Sequential', 'aten.add']");
    put_message(&made, GRAPH_NODE, node);
    /* One that says nothing is where its input comes from. */
    put_message(&made, GRAPH_NODE, make_node("Neg", "n2", "c", "d"));
    node = make_node("Abs", "n3", "d", "y");
    put_scopes(&node, "['', 'abs_1']", "['__main__.Detr', 'aten.abs']");
    put_message(&made, GRAPH_NODE, node);
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "4"));
    load(make_model(made, 18), ASSAY_OK);
    CHECK_STR(graph_class(graph), "Detr");
    CHECK_STR(scope_of(0)->path, "b.stage.0");
    CHECK_STR(scope_of(0)->class_name, "ReLU");
    CHECK_STR(graph_node(graph, 0)->name, "");
    CHECK_STR(scope_of(1)->path, "b.stage");
    CHECK_STR(scope_of(1)->class_name, "Sequential");
    CHECK(graph_scope(graph, scope_of(1)->parent)->is_container);
    CHECK_STR(graph_node(graph, 1)->name, "add");
    CHECK_STR(scope_of(2)->path, "b.stage");
    CHECK_STR(graph_node(graph, 2)->name, "n2");
    CHECK_STR(scope_of(3)->path, "abs_1");
    close_all();
}

TEST(a_norm_that_the_exporter_fused_stays_in_the_tree)
{
    static const int64_t dims[] = {2, 2, 1, 1};
    static const float numbers[4] = {1, 0, 0, 1};
    struct str made = {0}, node = make_node("Conv", "", "x f.0.weight", "y");
    struct str weight = make_tensor("f.0.weight", ONNX_FLOAT, dims, 4);
    const struct node *conv;

    put_bytes(&weight, TENSOR_RAW, numbers, sizeof numbers);
    put_scopes(&node, "['', 'f', 'f.1', 'batch_norm']",
               "['M', 'torch.nn.Sequential', 'torch.nn.BatchNorm2d', 'aten']");
    put_message(&made, GRAPH_INITIALIZER, weight);
    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "1x2x3x3"));
    put_message(&made, GRAPH_NODE, node);
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "1x2x3x3"));
    load(make_model(made, 18), ASSAY_OK);
    conv = graph_node(graph, 0);
    CHECK_STR(scope_of(0)->path, "f.0");
    CHECK_STR(scope_of(0)->class_name, "Conv2d");
    CHECK_INT(conv->n_stands_for, 1);
    CHECK_STR(graph_scope(graph, conv->stands_for[0])->path, "f.1");
    CHECK_STR(graph_scope(graph, conv->stands_for[0])->class_name,
              "BatchNorm2d");
    close_all();
}

/* Whatever the lists hold, nothing is read past their ends. */
TEST(notes_that_are_no_lists_are_left_aside)
{
    static const char *const notes[] = {
        "",  "[",    "['a",          "['a', 'b]",
        "'", "['']", "['', '', '']", "['', '.', 'x']"};

    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        struct str made = {0}, node = make_node("Relu", "/m/Relu", "x", "y");

        put_scopes(&node, notes[i], notes[(i + 3) % 8]);
        put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "4"));
        put_message(&made, GRAPH_NODE, node);
        put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "4"));
        load(make_model(made, 18), ASSAY_OK);
        CHECK_INT(graph_node_count(graph), 1);
        close_all();
    }
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

TEST(names_that_are_used_twice_become_unique)
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

TEST(a_cycle_is_refused_and_names_a_node)
{
    struct str made = {0};

    put_message(&made, GRAPH_NODE, make_node("Relu", "one", "b", "a"));
    put_message(&made, GRAPH_NODE, make_node("Relu", "two", "a", "b"));
    put_message(&made, GRAPH_OUTPUT, make_value("a", ONNX_FLOAT, "4"));
    check_refused(
        make_model(made, 13), ASSAY_BAD_INPUT,
        (const char *const[]){"a cycle through node", "one (Relu)", NULL});
}

TEST(a_value_that_no_node_makes_is_named_with_its_reader)
{
    struct str made = {0};

    put_message(&made, GRAPH_NODE, make_node("Relu", "act", "weight", "y"));
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "4"));
    check_refused(make_model(made, 13), ASSAY_BAD_INPUT,
                  (const char *const[]){"act (Relu)", "'weight'", NULL});
}

TEST(an_output_that_no_node_makes_is_named)
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
    struct model_file_options options = {.problems = &sink};

    put_message(&inner, GRAPH_NODE, make_node("Nowhere", "", "x", "q"));
    put_graph_attribute(&branch, "then_branch", inner);
    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "4"));
    put_message(&made, GRAPH_NODE, make_node("Unheard", "a/b", "x", "y"));
    put_message(&made, GRAPH_NODE, make_node("Unheard", "a/c", "x", "w"));
    put_message(&made, GRAPH_NODE, branch);
    load_with(make_model(made, 11), &options, ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "2 of its ops");
    CHECK_HAS(err.text, "Unheard (opset 11, node a/b)");
    CHECK_HAS(err.text, "Nowhere (opset 11, node q)");
    CHECK_STR(told.text, "missing  Unheard  opset 11  2 nodes, first a/b\n"
                         "missing  Nowhere  opset 11  1 node, first q\n");
    str_release(&told);
    close_all();
}

TEST(a_newer_opset_is_tried_and_told)
{
    static const char *const names[] = {"act"};
    struct str told = {0};
    struct sink sink = sink_to_str(&told);
    struct model_file_options options = {.problems = &sink};

    load_with(make_model(chain_of(names, 1), 99), &options, ASSAY_OK);
    CHECK_INT(graph_node_count(graph), 1);
    CHECK_HAS(told.text, "opset 99");
    CHECK_HAS(told.text, "opset 27, the newest that is known");
    str_release(&told);
    close_all();
}

TEST(an_attribute_that_nobody_knows_is_refused_at_its_node)
{
    struct str made = {0}, node = make_node("Relu", "act", "x", "y");

    put_int_attribute(&node, "steepness", 2);
    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "4"));
    put_message(&made, GRAPH_NODE, node);
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "4"));
    check_refused(make_model(made, 99), ASSAY_UNSUPPORTED,
                  (const char *const[]){"act (Relu)", "'steepness'", NULL});
}

TEST(a_required_input_cannot_be_left_out)
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

TEST(nodes_of_constants_are_computed_once)
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

TEST(large_results_are_computed_in_each_run)
{
    struct model_file_options options = {.max_folded_bytes = 8};

    load_with(make_model(graph_of_constants(), 13), &options, ASSAY_OK);
    CHECK_INT(graph_node_count(graph), 2);
    close_all();
}

/* ---- functions ---------------------------------------------------------- */

/* A function with one input and output: Concat(a, a) along the caller's axis.
 */
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

TEST(a_function_is_replaced_by_its_nodes)
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

TEST(functions_that_call_each_other_forever_are_refused)
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
    struct model_file_shape choice = {
        .input = "x", .shape = shape_of(2, (int64_t)5, (int64_t)3)};
    struct model_file_options options = {.shapes = &choice, .n_shapes = 1};

    for (int i = 0; i < 2; i++) {
        struct str made = {0};

        put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "?x3"));
        put_message(&made, GRAPH_NODE, make_node("Relu", "", "x", "y"));
        put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "?x3"));
        load_with(make_model(made, 13),
                  i ? &options : &(struct model_file_options){0}, ASSAY_OK);
        CHECK_INT(graph_input_shape(graph, 0)->dims[0], i ? 5 : -1);
        CHECK_INT(graph_input_shape(graph, 0)->dims[1], 3);
        close_all();
    }
}

TEST(a_chosen_shape_that_contradicts_the_file_is_refused)
{
    static const char *const names[] = {"act"};
    struct model_file_shape choice = {
        .input = "x", .shape = shape_of(2, (int64_t)1, (int64_t)5)};
    struct model_file_options options = {.shapes = &choice, .n_shapes = 1};

    load_with(make_model(chain_of(names, 1), 13), &options, ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "'x'");
    CHECK_HAS(err.text, "1x4");
    CHECK_HAS(err.text, "1x5");
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

/* Some rows of x [4,2], chosen by an input, through a layer of 3. */
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

TEST(a_layer_of_unknown_rows_is_linear)
{
    load(make_layer(ONNX_FLOAT), ASSAY_OK);
    CHECK_STR(graph_node(graph, 1)->op->name, "Linear");
    close_all();
}

/* Backends have it only for float32. */
TEST(a_layer_of_doubles_stays_a_product)
{
    enum { onnx_double = 11 };

    load(make_layer(onnx_double), ASSAY_OK);
    CHECK_STR(graph_node(graph, 1)->op->name, "Gemm");
    close_all();
}

/* A ConvTranspose of 1x1 with a stride of 2. */
static struct str make_transposed(int64_t output_padding)
{
    static const int64_t dims[4] = {1, 1, 1, 1};
    struct str made = {0}, more = {0}, strides = {0}, tensor, node;

    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "1x1x3x3"));
    tensor = make_tensor("w", ONNX_FLOAT, dims, 4);
    put_float(&tensor, TENSOR_FLOATS, 2);
    put_message(&made, GRAPH_INITIALIZER, tensor);
    node = make_node("ConvTranspose", "up", "x w", "y");
    put_text(&strides, 1, "strides");
    put_text(&more, 1, "output_padding");
    for (int i = 0; i < 2; i++) {
        put_int(&strides, 8, 2);
        put_int(&more, 8, output_padding);
    }
    put_int(&strides, 20, 7);
    put_int(&more, 20, 7);
    put_message(&node, NODE_ATTRIBUTE, strides);
    put_message(&node, NODE_ATTRIBUTE, more);
    put_message(&made, GRAPH_NODE, node);
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "1x1x?x?"));
    return make_model(made, 13);
}

TEST(output_padding_of_a_whole_stride_is_left_to_the_general_op)
{
    load(make_transposed(1), ASSAY_OK);
    CHECK_STR(graph_node(graph, 0)->op->name, "ConvTranspose2d");
    close_all();
    load(make_transposed(2), ASSAY_OK);
    CHECK_STR(graph_node(graph, 0)->op->name, "ConvTransposeNd");
    close_all();
}
