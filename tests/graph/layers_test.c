/* Shapes and costs without running, layer by layer. */
#include "graph/layers.h"

#include "base/mem.h"
#include "models/models.h"
#include "ops/math/cast.h"
#include "ops/ops.h"
#include "test.h"

#include <string.h>

static struct error err;

static struct graph *model(void)
{
    struct model_options options =
        model_options_for("resnet18", MODEL_CIFAR100);
    struct graph *graph;

    err = (struct error){0};
    CHECK_STATUS(model_build("resnet18", &options, &graph, &err), ASSAY_OK,
                 &err);
    return graph;
}

static const struct layer *find(const struct layers *layers, const char *path)
{
    for (size_t i = 0; i < layers->n; i++) {
        if (strcmp(layers->items[i].path, path) == 0)
            return &layers->items[i];
    }
    fail_msg("there is no layer %s", path);
    return NULL;
}

TEST(a_layer_has_its_shape_parameters_and_work)
{
    struct shape input =
        shape_of(4, (int64_t)2, (int64_t)3, (int64_t)32, (int64_t)32);
    struct graph *graph = model();
    struct survey survey = {0};
    struct layers layers = {0};
    const struct layer *layer;
    char text[64];

    CHECK_STATUS(survey_graph(&survey, graph, &input, &err), ASSAY_OK, &err);
    CHECK_STATUS(layers_list(&layers, graph, &survey, &err), ASSAY_OK, &err);
    layer = find(&layers, "conv1");
    CHECK_STR(layer->class_name, "Conv2d");
    CHECK_STR(shape_text(&layer->output, text, sizeof text), "2x64x32x32");
    CHECK_INT(layer->parameters, 64 * 3 * 3 * 3);
    CHECK_INT(layer->macs, (uint64_t)2 * 64 * 32 * 32 * 27);
    CHECK_INT(layer->output_bytes, (uint64_t)2 * 64 * 32 * 32 * 4);
    layer = find(&layers, "bn1");
    CHECK_INT(layer->parameters, 128);
    CHECK_INT(layer->parameter_bytes, 4 * 64 * 4);
    layer = find(&layers, "layer1.0.relu");
    CHECK_INT(layer->calls, 2);
    layer = find(&layers, "layer1.0.add");
    CHECK_STR(layer->class_name, "Add");
    layer = find(&layers, "flatten");
    CHECK_INT(layer->output_bytes, 0);
    CHECK_INT(layers.total.parameters, 11220132);
    layers_release(&layers);
    survey_release(&survey);
    graph_free(graph);
}

/* x reshaped to the shape of another input, or to one that an input holds. */
static struct graph *reshaping(bool is_by_data)
{
    const struct shape_of_attrs all = {.end = INT64_MAX};
    struct graph *graph;
    uint32_t x, other, shape[2], reshaped;
    struct node_description shape_of = {.op = &op_shape_of,
                                        .attrs = &all,
                                        .scope = GRAPH_NONE,
                                        .inputs = &other,
                                        .n_inputs = 1,
                                        .n_outputs = 1};
    struct node_description reshape = {.op = &op_reshape,
                                       .scope = GRAPH_NONE,
                                       .inputs = shape,
                                       .n_inputs = 2,
                                       .n_outputs = 1};

    err = (struct error){0};
    CHECK_INT(graph_new(&graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    CHECK_INT(graph_input(graph, "other", is_by_data ? DTYPE_I64 : DTYPE_F32,
                          &other, &err),
              ASSAY_OK);
    shape[0] = x;
    shape[1] = other;
    if (!is_by_data)
        CHECK_INT(graph_node_add(graph, &shape_of, &shape[1], &err), ASSAY_OK);
    CHECK_INT(graph_node_add(graph, &reshape, &reshaped, &err), ASSAY_OK);
    CHECK_INT(graph_output(graph, "y", reshaped, &err), ASSAY_OK);
    return graph;
}

TEST(sizes_that_are_computed_from_shapes_are_known)
{
    const struct shape inputs[] = {shape_of(1, (int64_t)6),
                                   shape_of(2, (int64_t)2, (int64_t)3)};
    struct graph *graph = reshaping(false);
    struct survey survey = {0};
    uint32_t output = graph_output_at(graph, 0, NULL);
    char text[64];

    CHECK_STATUS(survey_graph(&survey, graph, inputs, &err), ASSAY_OK, &err);
    CHECK_INT(survey.n_unknown, 0);
    CHECK_STR(shape_text(&survey.values[output].shape, text, sizeof text),
              "2x3");
    survey_release(&survey);
    graph_free(graph);
}

TEST(sizes_that_an_input_holds_are_unknown_without_failure)
{
    const struct shape inputs[] = {shape_of(1, (int64_t)6),
                                   shape_of(1, (int64_t)2)};
    struct graph *graph = reshaping(true);
    struct survey survey = {0};

    CHECK_STATUS(survey_graph(&survey, graph, inputs, &err), ASSAY_OK, &err);
    CHECK_INT(survey.n_unknown, 1);
    survey_release(&survey);
    graph_free(graph);
}

TEST(shapes_that_depend_on_data_stay_unknown)
{
    struct model_options options = model_defaults();
    struct shape input = shape_of(3, (int64_t)3, (int64_t)64, (int64_t)64);
    struct survey survey = {0};
    struct layers layers = {0};
    struct graph *graph;

    CHECK_INT(model_build("faster-rcnn", &options, &graph, &err), ASSAY_OK);
    CHECK_STATUS(survey_graph(&survey, graph, &input, &err), ASSAY_OK, &err);
    CHECK_STATUS(layers_list(&layers, graph, &survey, &err), ASSAY_OK, &err);
    CHECK(find(&layers, "backbone.body.conv1")->is_known);
    CHECK(!find(&layers, "roi_heads.box_head.fc6")->is_known);
    CHECK_INT(find(&layers, "roi_heads.box_head.fc6")->macs, 0);
    CHECK_INT(layers.total.parameters, 41755286);
    layers_release(&layers);
    survey_release(&survey);
    graph_free(graph);
}

TEST(nothing_leaks_whichever_allocation_fails)
{
    struct shape input =
        shape_of(4, (int64_t)1, (int64_t)3, (int64_t)32, (int64_t)32);
    struct graph *graph = model();
    enum assay_status st = ASSAY_NOMEM;

    for (long n = 0; st; n++) {
        struct survey survey = {0};
        struct layers layers = {0};
        long blocks = mem_live();

        mem_fail_at(n);
        st = survey_graph(&survey, graph, &input, &err);
        if (!st)
            st = layers_list(&layers, graph, &survey, &err);
        mem_fail_at(-1);
        layers_release(&layers);
        survey_release(&survey);
        CHECK_INT(mem_live(), blocks);
        CHECK(!st || st == ASSAY_NOMEM);
    }
    graph_free(graph);
}
