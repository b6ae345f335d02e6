/* Prunes imported models: they still run, and compute the same if only zeros
 * were removed. */
#include "backend/backend.h"
#include "base/random.h"
#include "engine/engine.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/onnx_write.h"
#include "passes/prune.h"
#include "passes/prune_zeros.h"
#include "test.h"

#include <stdio.h>

enum { most_outputs = 16 };

static struct error err;
static struct pool *pool;

static void open_pool(void)
{
    err = (struct error){0};
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
}

static struct graph *load(const char *name)
{
    const struct model_file_options options = {0};
    const char *path;
    char file[128];
    struct graph *graph;

    snprintf(file, sizeof file, "models/onnx/%s/model.onnx", name);
    path = test_shared(file);
    if (!path)
        SKIP("../shared/data is missing");
    CHECK_STATUS(onnx_load(path, &options, pool, &graph, &err), ASSAY_OK, &err);
    return graph;
}

static struct shape input_shape(const struct graph *graph)
{
    struct shape shape = *graph_input_shape(graph, 0);

    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0)
            shape.dims[i] = i == 0 ? 1 : 224;
    }
    return shape;
}

static void run(const struct graph *graph, struct tensor *outputs)
{
    struct engine_options options = {
        .device = device_cpu(),
        .backend_options = {.n_threads = 2, .is_plain = true}};
    struct shape shape = input_shape(graph);
    struct random random = random_seed(5);
    struct engine *engine;
    struct tensor image;

    CHECK(graph_output_count(graph) <= most_outputs);
    CHECK_INT(tensor_new(pool, DTYPE_F32, &shape, &image, &err), ASSAY_OK);
    for (size_t i = 0; i < tensor_elements(&image); i++)
        tensor_f32(&image)[i] = (float)random_unit(&random);
    CHECK_STATUS(engine_new(graph, pool, &options, &engine, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(engine_run(engine, &image, outputs, &err), ASSAY_OK, &err);
    tensor_release(&image);
    engine_free(engine);
}

static void release(const struct graph *graph, struct tensor *outputs)
{
    for (size_t i = 0; i < graph_output_count(graph); i++)
        tensor_release(&outputs[i]);
}

static struct graph *prune(const struct graph *graph,
                           const struct prune_options *options)
{
    struct shape shape = input_shape(graph);
    struct prune_report report = {0};
    struct graph *pruned;

    CHECK_STATUS(
        graph_prune(graph, &shape, options, pool, &pruned, &report, &err),
        ASSAY_OK, &err);
    CHECK(report.kept_filters < report.filters);
    prune_report_release(&report);
    return pruned;
}

static void check_runs(const char *name, double percent)
{
    struct prune_options options = {.percent = percent, .seed = 3};
    struct tensor outputs[most_outputs];
    struct graph *graph, *pruned;

    open_pool();
    graph = load(name);
    pruned = prune(graph, &options);
    run(pruned, outputs);
    release(pruned, outputs);
    graph_free(pruned);
    graph_free(graph);
    pool_free(pool);
}

TEST(detectors_and_segmenters_run_without_half_of_their_filters)
{
    check_runs("yolov8n", 50);
    check_runs("yolox_nano", 50);
    check_runs("nanodet", 50);
    check_runs("ultraface_rfb320", 50);
    check_runs("yunet", 50);
    check_runs("fastestdet", 50);
    check_runs("u2netp", 50);
}

TEST(classifiers_run_without_most_of_their_filters)
{
    check_runs("mnist_cntk", 75);
    check_runs("light_densenet121", 90);
    check_runs("light_inception_v1", 90);
    check_runs("light_inception_v2", 90);
    check_runs("light_resnet50", 90);
    check_runs("light_squeezenet", 90);
    check_runs("light_shufflenet", 80);
    check_runs("light_bvlc_alexnet", 90);
    check_runs("light_zfnet512", 90);
    check_runs("light_vgg19", 90);
}

TEST(dequantized_weights_are_pruned_too)
{
    check_runs("mobilenetv2_qdq", 50);
}

static void check_zeros(const char *name)
{
    struct prune_options options = {.percent = 40, .seed = 11};
    struct tensor want[most_outputs], got[most_outputs];
    struct graph *graph, *pruned;

    open_pool();
    graph = load(name);
    number_rows(graph);
    pruned = prune(graph, &options);
    graph_free(graph);
    graph = load(name);
    CHECK(clear_removed_rows(graph, pruned) > 0);
    graph_free(pruned);
    pruned = prune(graph, &options);
    run(graph, want);
    run(pruned, got);
    for (size_t i = 0; i < graph_output_count(graph); i++)
        check_same(&got[i], &want[i]);
    release(graph, want);
    release(pruned, got);
    graph_free(pruned);
    graph_free(graph);
    pool_free(pool);
}

TEST(zero_channels_of_imported_models_can_be_pruned_without_effect)
{
    check_zeros("yolov8n");
    check_zeros("nanodet");
    check_zeros("ultraface_rfb320");
}

/* ---- written as ONNX again ------------------------------------------------
 */

static void check_export(const char *name)
{
    struct prune_options options = {.percent = 25, .seed = 2};
    struct tensor want[most_outputs], got[most_outputs];
    const struct model_file_options none = {0};
    struct survey survey = {0};
    struct graph *graph, *pruned, *again;
    struct shape shape;

    open_pool();
    graph = load(name);
    shape = input_shape(graph);
    pruned = prune(graph, &options);
    CHECK_STATUS(survey_graph(&survey, pruned, &shape, &err), ASSAY_OK, &err);
    CHECK_STATUS(
        onnx_save(pruned, &shape, &survey, test_path("again.onnx"), &err),
        ASSAY_OK, &err);
    CHECK_STATUS(onnx_load(test_path("again.onnx"), &none, pool, &again, &err),
                 ASSAY_OK, &err);
    run(pruned, want);
    run(again, got);
    CHECK_INT(graph_output_count(again), graph_output_count(pruned));
    for (size_t i = 0; i < graph_output_count(pruned); i++)
        check_same(&got[i], &want[i]);
    release(pruned, want);
    release(again, got);
    survey_release(&survey);
    graph_free(again);
    graph_free(pruned);
    graph_free(graph);
    pool_free(pool);
}

TEST(a_pruned_model_computes_the_same_after_export_to_onnx)
{
    check_export("nanodet");
    check_export("ultraface_rfb320");
    check_export("yunet");
    check_export("fastestdet");
    check_export("light_inception_v1");
    check_export("light_shufflenet");
    check_export("mnist_cntk");
    check_export("mobilenetv2_qdq");
}
