/* Compares models of Keras 2 and 3 with what Keras itself computes: the files
 * in tests/formats/keras, whose README says how they were made. */
#include "test.h"

#include "engine/engine.h"
#include "formats/keras/keras.h"
#include "passes/fuse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FOLDER TEST_SOURCE_DIR "/tests/formats/keras/"

enum { max_values = 4 };

static struct pool *pool;
static struct graph *graph;
static struct error err;

static void load(const char *path, enum assay_status wanted)
{
    err = (struct error){0};
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(keras_load(path, NULL, pool, &graph, &err), wanted, &err);
}

static void close_all(void)
{
    graph_free(graph);
    pool_free(pool);
    graph = NULL;
    pool = NULL;
}

/* All weights, including those that are not trained, as in count_params(). */
static uint64_t count_weights(void)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if (value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER)
            n += tensor_elements(&value->data);
    }
    return n;
}

static void read_inputs(FILE *file, int64_t batch, struct tensor *inputs)
{
    for (size_t i = 0; i < graph_input_count(graph); i++) {
        struct shape shape = *graph_input_shape(graph, i);
        size_t n;

        CHECK_INT(shape.dims[0], -1);
        shape.dims[0] = batch;
        CHECK_INT(tensor_new(pool, DTYPE_F32, &shape, &inputs[i], &err),
                  ASSAY_OK);
        n = tensor_elements(&inputs[i]);
        CHECK_INT(fread(tensor_data(&inputs[i]), 4, n, file), n);
    }
}

static void compare(FILE *file, const struct tensor *output, const char *name)
{
    size_t n = tensor_elements(output), n_bad = 0;

    for (size_t i = 0; i < n; i++) {
        float got = tensor_f32(output)[i], want;

        CHECK_INT(fread(&want, 4, 1, file), 1);
        if (fabsf(got - want) > 1e-5F + 1e-4F * fabsf(want) && n_bad++ < 3)
            print_message("%s: element %zu is %g, Keras says %g\n", name, i,
                          (double)got, (double)want);
    }
    CHECK_INT(n_bad, 0);
}

static void check_answers(const char *io, int64_t batch,
                          const struct device *device)
{
    struct engine_options options = {.device = device,
                                     .backend_options = {.n_threads = 1}};
    struct tensor inputs[max_values] = {0}, outputs[max_values] = {0};
    struct engine *engine;
    FILE *file = fopen(io, "rb");

    CHECK(file);
    CHECK(graph_input_count(graph) <= max_values);
    read_inputs(file, batch, inputs);
    CHECK_STATUS(engine_new(graph, pool, &options, &engine, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(engine_run(engine, inputs, outputs, &err), ASSAY_OK, &err);
    for (size_t i = 0; i < graph_output_count(graph); i++)
        compare(file, &outputs[i], io);
    CHECK_INT(fgetc(file), EOF);
    fclose(file);
    for (size_t i = 0; i < max_values; i++) {
        tensor_release(&inputs[i]);
        tensor_release(&outputs[i]);
    }
    engine_free(engine);
}

static void check_model(const char *name, const char *suffix, int64_t batch,
                        uint64_t weights)
{
    char path[512];

    snprintf(path, sizeof path, FOLDER "%s.%s", name, suffix);
    load(path, ASSAY_OK);
    CHECK_INT(count_weights(), weights);
    snprintf(path, sizeof path, FOLDER "%s.io", name);
    check_answers(path, batch, NULL);
    CHECK_STATUS(fuse_graph(graph, pool, &err), ASSAY_OK, &err);
    check_answers(path, batch, device_cpu());
    close_all();
}

TEST(a_sequential_model_of_keras_2_computes_what_keras_does)
{
    check_model("sequential_k2", "h5", 2, 409);
    check_model("sequential_k2", "keras", 2, 409);
}

/* Keras stores its archives; whoever unpacks one and zips it again compresses.
 */
TEST(an_archive_that_was_compressed_computes_the_same)
{
    load(FOLDER "sequential_k2_zipped.keras", ASSAY_OK);
    CHECK_INT(count_weights(), 409);
    check_answers(FOLDER "sequential_k2.io", 2, NULL);
    close_all();
}

TEST(windows_are_padded_by_tensorflows_rule)
{
    check_model("windows_k2", "h5", 1, 535);
}

TEST(activations_by_name_and_as_layers_match_keras)
{
    check_model("activations_k2", "h5", 1, 168);
}

TEST(values_are_merged_along_keras_axes)
{
    check_model("merges_k3", "h5", 2, 279);
}

TEST(shapes_and_norms_have_the_channels_last)
{
    check_model("shapes_k3", "h5", 1, 290);
}

TEST(a_transfer_model_with_vgg19_inside_computes_what_keras_does)
{
    check_model("transfer_k2", "h5", 1, 3295);
    check_model("transfer_k3", "keras", 1, 3295);
}

TEST(a_model_that_is_called_twice_shares_its_weights)
{
    check_model("caffe_style_k2", "h5", 2, 84);
    check_model("caffe_style_k3", "keras", 2, 84);
}

/* ---- published models --------------------------------------------------- */

/* A line of NAME.tensors.tsv has "conv2d_1/conv2d_1_1/kernel:0", type, shape,
 * sum and mean absolute value; the optimizer's are not the model's. */
static size_t check_sums(const char *table)
{
    char line[512], layer[128], weight[128], name[300];
    double sum, mean;
    size_t n = 0;
    FILE *file = fopen(table, "r");

    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        double ours = 0;
        uint32_t id;

        if (sscanf(line, "%127[^/]/%*[^/]/%127[^:]:0\t%*s\t%*s\t%lf\t%lf",
                   layer, weight, &sum, &mean) != 4)
            continue;
        snprintf(name, sizeof name, "%s.%s", layer, weight);
        id = graph_find_value(graph, name);
        if (id == GRAPH_NONE)
            continue;
        for (size_t i = 0; i < tensor_elements(&graph_value(graph, id)->data);
             i++)
            ours += (double)tensor_f32(&graph_value(graph, id)->data)[i];
        CHECK_NEAR(ours, sum, 1e-4 + 1e-5 * fabs(sum));
        n++;
    }
    fclose(file);
    return n;
}

static void check_xception(const char *name, uint64_t weights)
{
    char file[200], table[512];
    const char *path;

    snprintf(file, sizeof file, "models/keras/%s", name);
    path = test_shared(file);
    if (!path)
        SKIP("../shared/data/models/keras is missing");
    load(path, ASSAY_OK);
    CHECK_INT(count_weights(), weights);
    CHECK_INT(graph_parameter_elements(graph), weights - 1472);
    snprintf(table, sizeof table, "%s.tensors.tsv", path);
    CHECK_INT(check_sums(table), 80);
    close_all();
}

TEST(published_models_of_keras_2_0_have_all_their_weights)
{
    check_xception("fer2013_mini_XCEPTION.102-0.66.hdf5", 58423);
    check_xception("gender_mini_XCEPTION.21-0.95.hdf5", 52658);
}

TEST(a_layer_becomes_a_module_with_its_name_and_class)
{
    const struct graph_scope *scope;

    load(FOLDER "transfer_k3.keras", ASSAY_OK);
    scope = graph_scope(
        graph,
        graph_value(graph, graph_find_value(graph, "vgg19.block1_conv1.kernel"))
            ->scope);
    CHECK_STR(scope->path, "vgg19.block1_conv1");
    CHECK_STR(scope->class_name, "Conv2D");
    CHECK_STR(graph_scope(graph, scope->parent)->class_name, "Functional");
    CHECK_STR(graph_name(graph), "transfer_k3");
    close_all();
}
