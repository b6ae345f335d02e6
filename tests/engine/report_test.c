/* tests/engine/report_test.c - what an engine reports to the recorder besides
 * spans: work, memory, and when a device ran what. */
#include "backend/far.h"
#include "engine/optimizer.h"
#include "record/recorded.h"
#include "run/device_balance.h"
#include "small_graph.h"

#include <math.h>
#include <string.h>

static struct error err;

/* conv (one weight) and relu, then a sum as a loss, 4 by 4 elements. */
struct scene {
    struct small small;
    struct far_device *far;
    struct engine *engine;
    struct tensor x;
};

static void scene_open(struct scene *scene, bool is_training)
{
    struct engine_options options = {
        .device = scene->far ? far_device(scene->far) : NULL,
        .backend_options = {.n_threads = 1, .is_training = is_training},
        .detail = ENGINE_MODULES};

    err = (struct error){0};
    CHECK_STATUS(engine_new(scene->small.graph, scene->small.pool, &options,
                            &scene->engine, &err),
                 ASSAY_OK, &err);
}

static uint32_t scene_relu(struct scene *scene, uint32_t value)
{
    return small_op(&scene->small, &op_relu,
                    small_module(&scene->small, GRAPH_NONE, "relu", "ReLU"),
                    NULL, value);
}

static struct scene scene_new(struct far_device *far, bool is_training)
{
    struct scene scene = {.small = small_new(), .far = far};
    uint32_t value = small_input(&scene.small);

    value = small_conv(&scene.small, GRAPH_NONE, value);
    value = scene_relu(&scene, value);
    small_output(&scene.small,
                 small_op(&scene.small, &small_total_op,
                          small_module(&scene.small, GRAPH_NONE, "sum", "Sum"),
                          NULL, value));
    scene.x = small_ones(&scene.small,
                         (struct shape){.rank = 4, .dims = {1, 1, 4, 4}});
    scene_open(&scene, is_training);
    return scene;
}

static void scene_run(struct scene *scene, const char *name)
{
    struct tensor y;

    assay_begin_class(name, "Small");
    CHECK_STATUS(engine_run(scene->engine, &scene->x, &y, &err), ASSAY_OK,
                 &err);
    assay_end();
    tensor_release(&y);
}

static void scene_free(struct scene *scene)
{
    tensor_release(&scene->x);
    engine_free(scene->engine);
    small_free(&scene->small);
    if (scene->far)
        far_device_free(scene->far);
}

static const struct scope_work *work_of(const struct run *run, const char *path)
{
    uint32_t scope = scope_at(run, path);

    CHECK(scope != RUN_NONE && run_work(run, scope) != NULL);
    return run_work(run, scope);
}

TEST(an_engine_reports_the_work_of_each_module)
{
    struct scene scene = scene_new(NULL, false);
    const struct scope_work *conv;
    struct run *run;

    recorded_start(&(struct assay_options){.warm_up = 1});
    for (int i = 0; i < 3; i++) {
        assay_iteration_begin();
        scene_run(&scene, "model");
        assay_iteration_end();
    }
    run = recorded_stop();
    conv = work_of(run, "model.conv");
    CHECK_NEAR(conv->macs, 16, 0);
    CHECK_NEAR(conv->read_bytes, 16 * 4 + 4, 0);
    CHECK_NEAR(conv->write_bytes, 16 * 4, 0);
    CHECK_NEAR(conv->done_flops, 32, 0);
    CHECK_NEAR(conv->parameters, 1, 0);
    CHECK_STR(run_text(run, scope_at(run, "model.conv"))->shapes,
              "1x1x4x4 -> 1x1x4x4");
    CHECK_NEAR(work_of(run, "model.relu")->macs, 0, 0);
    CHECK(isnan(work_of(run, "model.relu")->parameters));
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    run_free(run);
    scene_free(&scene);
}

TEST(a_second_recording_is_told_of_the_model_again)
{
    struct scene scene = scene_new(NULL, false);

    for (int i = 0; i < 2; i++) {
        struct run *run;

        recorded_start(NULL);
        scene_run(&scene, i ? "second" : "first");
        run = recorded_stop();
        CHECK_NEAR(work_of(run, i ? "second.conv" : "first.conv")->parameters,
                   1, 0);
        CHECK(run_text(run, scope_at(run, i ? "second.conv" : "first.conv")) !=
              NULL);
        run_free(run);
    }
    scene_free(&scene);
}

TEST(the_memory_of_a_space_is_known_by_category)
{
    struct scene scene = scene_new(NULL, false);
    const struct space_row *all, *weights;
    struct run *run;

    recorded_start(NULL);
    pool_report(scene.small.pool, true);
    scene_run(&scene, "model");
    run = recorded_stop();
    all = run_space_find(run, "host", "");
    weights = run_space_find(run, "host", "other"); /* made by hand here */
    CHECK(all && weights);
    CHECK_INT(weights->live_bytes, 4 + 16 * 4);
    CHECK(run_space_find(run, "host", "activations")->peak_bytes >= 16 * 4);
    CHECK_INT(run_space_find(run, "host", "activations")->live_bytes, 0);
    CHECK_INT(all->live_bytes, weights->live_bytes);
    run_free(run);
    scene_free(&scene);
}

/* ---- on a device ------------------------------------------------------------
 */

static double device_calls(const struct run *run, const char *path)
{
    struct scope_stats stats = scope_stats_unknown();
    struct error ignored = {0};
    uint32_t scope = scope_at(run, path);

    CHECK(scope != RUN_NONE);
    CHECK_INT(run_scope_device_stats(run, scope, RUN_ANY, &stats, &ignored),
              ASSAY_OK);
    return (double)stats.calls;
}

TEST(modules_have_the_times_of_their_kernels_on_the_device)
{
    struct scene scene = scene_new(far_device_new(NULL), false);
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < 3; i++) {
        assay_iteration_begin();
        scene_run(&scene, "model");
        assay_iteration_end();
    }
    run = recorded_stop();
    CHECK_NEAR(device_calls(run, "model.conv"), 3, 0);
    CHECK_NEAR(device_calls(run, "model.relu"), 3, 0);
    CHECK_INT(stats_of(run, "model.conv").calls, 3);
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    CHECK(run_space_find(run, "far:0", "weights") != NULL);
    run_free(run);
    scene_free(&scene);
}

TEST(asking_a_device_for_its_times_has_a_span_of_its_own)
{
    struct scene scene = scene_new(far_device_new(NULL), false);
    struct run *run;
    uint32_t times;

    recorded_start(NULL);
    scene_run(&scene, "model");
    run = recorded_stop();
    times = scope_at(run, "model.times");
    CHECK(times != RUN_NONE);
    CHECK_INT(stats_of(run, "model.times").calls, 2); /* before and after */
    CHECK_STR(run_scope(run, times)->class_name, RUN_RESULTS_CLASS);
    run_free(run);
    scene_free(&scene);
}

TEST(copying_photographs_to_a_device_has_a_span_of_its_own)
{
    struct shape pixels = shape_of(3, (int64_t)2, (int64_t)3, (int64_t)3);
    struct scene scene = {.small = small_new(), .far = far_device_new(NULL)};
    struct run *run;

    small_output(&scene.small, scene_relu(&scene, small_input(&scene.small)));
    CHECK_STATUS(
        tensor_new(scene.small.pool, DTYPE_U8, &pixels, &scene.x, &err),
        ASSAY_OK, &err);
    memset(tensor_data(&scene.x), 7, tensor_bytes(&scene.x));
    scene_open(&scene, false);
    recorded_start(NULL);
    scene_run(&scene, "model");
    run = recorded_stop();
    CHECK_INT(stats_of(run, "model.photographs").calls, 1);
    CHECK(device_calls(run, "model.photographs") >= 1);
    run_free(run);
    scene_free(&scene);
}

TEST(a_training_step_has_device_times_in_all_its_passes)
{
    struct scene scene = scene_new(far_device_new(NULL), true);
    struct optimizer_options options = optimizer_defaults(OPTIMIZER_SGD);
    struct optimizer *optimizer;
    struct run *run;

    CHECK_STATUS(optimizer_new(scene.engine, &options, &optimizer, &err),
                 ASSAY_OK, &err);
    recorded_start(NULL);
    for (int i = 0; i < 2; i++) {
        assay_iteration_begin();
        scene_run(&scene, "forward");
        assay_begin("backward");
        CHECK_STATUS(engine_backward(scene.engine, &err), ASSAY_OK, &err);
        assay_end();
        assay_begin("optimizer");
        CHECK_STATUS(optimizer_step(optimizer, 0.1, &err), ASSAY_OK, &err);
        assay_end();
        CHECK_STATUS(engine_finish(scene.engine, &err), ASSAY_OK, &err);
        assay_iteration_end();
    }
    run = recorded_stop();
    CHECK_NEAR(device_calls(run, "forward.conv"), 2, 0);
    CHECK_NEAR(device_calls(run, "backward.conv"), 2, 0);
    CHECK_NEAR(device_calls(run, "optimizer.conv"), 2, 0);
    CHECK(work_of(run, "backward.conv")->macs > 0);
    CHECK_NEAR(work_of(run, "optimizer.conv")->flops, 4, 0);
    CHECK(work_of(run, "forward.relu")->kept_bytes >= 64);
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    run_free(run);
    optimizer_free(optimizer);
    scene_free(&scene);
}
