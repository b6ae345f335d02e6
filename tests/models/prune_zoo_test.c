/* Prunes every model of the zoo: the result is a valid network, and computes
 * the same if only zero channels were removed. */
#include "backend/backend.h"
#include "base/random.h"
#include "engine/engine.h"
#include "graph/survey.h"
#include "models/models.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"
#include "passes/prune.h"
#include "passes/prune_zeros.h"
#include "passes/train_pass.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct error err;
static struct pool *pool;

static struct graph *build(const char *name)
{
    struct model_options options = model_options_for(name, MODEL_IMAGENET);
    struct graph *graph;

    err = (struct error){0};
    options.n_classes = 10;
    CHECK_STATUS(model_build(name, &options, &graph, &err), ASSAY_OK, &err);
    return graph;
}

/* Repeats the same values: quick, and good enough to tell channels apart. */
static void fill(struct graph *graph)
{
    enum { n_values = 4099 };
    static float values[n_values];
    struct random random = random_seed(1);

    for (size_t i = 0; i < n_values; i++)
        values[i] = (float)random_unit(&random) - 0.5F;
    for (uint32_t id = 0; id < graph_value_count(graph); id++) {
        const struct value *value = graph_value(graph, id);
        bool is_matrix = value->shape.rank > 1;
        struct tensor data;
        size_t n, row;
        float *to, scale;

        if (value->kind != VALUE_PARAMETER && value->kind != VALUE_BUFFER)
            continue;
        CHECK_INT(tensor_new(pool, DTYPE_F32, &value->shape, &data, &err),
                  ASSAY_OK);
        n = tensor_elements(&data);
        row = n / (size_t)value->shape.dims[0];
        scale = is_matrix ? 2 / (float)sqrt((double)row) : 1;
        to = tensor_f32(&data);
        for (size_t i = 0; i < n; i++)
            to[i] = values[i % n_values] * scale + (is_matrix ? 0.0F : 1.0F);
        CHECK_INT(graph_set_data(graph, id, data, &err), ASSAY_OK);
    }
}

static struct shape image_shape(const char *name)
{
    return model_task(name) == TASK_DETECTION
               ? shape_of(3, (int64_t)3, (int64_t)96, (int64_t)128)
               : shape_of(4, (int64_t)1, (int64_t)3, (int64_t)64, (int64_t)64);
}

static struct graph *prune(const char *name, const struct graph *graph,
                           const struct prune_options *options,
                           struct prune_report *report)
{
    struct shape shape = image_shape(name);
    struct graph *pruned;

    *report = (struct prune_report){0};
    CHECK_STATUS(
        graph_prune(graph, &shape, options, pool, &pruned, report, &err),
        ASSAY_OK, &err);
    CHECK_STATUS(graph_check(pruned, &err), ASSAY_OK, &err);
    return pruned;
}

static void run(const char *name, const struct graph *graph,
                struct tensor *output)
{
    struct engine_options options = {
        .device = device_cpu(),
        .backend_options = {.n_threads = 2, .is_plain = true}};
    struct tensor image, outputs[8] = {{0}};
    struct shape shape = image_shape(name);
    struct random random = random_seed(5);
    struct engine *engine;

    CHECK_INT(tensor_new(pool, DTYPE_F32, &shape, &image, &err), ASSAY_OK);
    for (size_t i = 0; i < tensor_elements(&image); i++)
        tensor_f32(&image)[i] = (float)random_unit(&random);
    CHECK_STATUS(engine_new(graph, pool, &options, &engine, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(engine_run(engine, &image, outputs, &err), ASSAY_OK, &err);
    *output = outputs[0];
    for (size_t i = 1; i < graph_output_count(graph); i++)
        tensor_release(&outputs[i]);
    tensor_release(&image);
    engine_free(engine);
}

/* ---- every model at every level ------------------------------------------ */

static size_t count_filters(const struct graph *graph)
{
    size_t n = 0;

    for (uint32_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        if (node->op == &op_conv2d)
            n += (size_t)graph_value(graph, node->inputs[CONV2D_WEIGHT])
                     ->shape.dims[0];
    }
    return n;
}

static void check_level(const char *name, double percent, bool has_run)
{
    struct prune_options options = {
        .percent = percent, .seed = 7, .mode = PRUNE_RANDOM};
    struct graph *graph = build(name), *pruned;
    struct prune_report report;
    double share;

    pruned = prune(name, graph, &options, &report);
    /* The requested fraction of what may be removed; small layers are rounded.
     */
    share = (double)(report.filters - report.kept_filters) /
            (double)(report.filters - report.bound_filters);
    CHECK_NEAR(share, percent / 100, 0.02);
    if (model_task(name) == TASK_CLASSIFICATION) {
        CHECK_INT(count_filters(graph) - count_filters(pruned),
                  report.filters - report.kept_filters);
        CHECK(graph_parameter_elements(pruned) <=
              graph_parameter_elements(graph));
    }
    if (has_run) {
        struct tensor output;

        fill(pruned);
        run(name, pruned, &output);
        if (model_task(name) == TASK_CLASSIFICATION) {
            CHECK_INT(output.shape.dims[1], 10);
            CHECK(isfinite(tensor_f32(&output)[0]));
        }
        tensor_release(&output);
    }
    prune_report_release(&report);
    graph_free(pruned);
    graph_free(graph);
}

/* ---- training ------------------------------------------------------------ */

/* One step: a loss, and a gradient for every parameter. */
static void train(const struct graph *graph)
{
    struct engine_options options = {
        .device = device_cpu(),
        .backend_options = {.n_threads = 2, .is_training = true}};
    struct shape image =
        shape_of(4, (int64_t)2, (int64_t)3, (int64_t)64, (int64_t)64);
    struct shape list = shape_of(1, (int64_t)2), one = shape_of(1, (int64_t)1);
    struct tensor inputs[3], outputs[512] = {{0}};
    struct random random = random_seed(3);
    struct engine *engine;

    CHECK(graph_output_count(graph) <= sizeof outputs / sizeof *outputs);
    CHECK_INT(tensor_new(pool, DTYPE_F32, &image, &inputs[0], &err), 0);
    CHECK_INT(tensor_new(pool, DTYPE_I64, &list, &inputs[1], &err), 0);
    CHECK_INT(tensor_new(pool, DTYPE_I64, &one, &inputs[2], &err), 0);
    for (size_t i = 0; i < tensor_elements(&inputs[0]); i++)
        tensor_f32(&inputs[0])[i] = (float)random_unit(&random);
    tensor_i64(&inputs[1])[0] = 3;
    tensor_i64(&inputs[1])[1] = 7;
    tensor_i64(&inputs[2])[0] = 1;
    CHECK_STATUS(engine_new(graph, pool, &options, &engine, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(engine_run(engine, inputs, outputs, &err), ASSAY_OK, &err);
    CHECK(isfinite(tensor_f32(&outputs[0])[0]));
    CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        if (graph_value(graph, i)->kind == VALUE_PARAMETER)
            CHECK(engine_gradient(engine, i) != NULL);
    }
    for (size_t i = 0; i < graph_output_count(graph); i++)
        tensor_release(&outputs[i]);
    for (size_t i = 0; i < 3; i++)
        tensor_release(&inputs[i]);
    engine_free(engine);
}

static void check_training(const char *name)
{
    struct prune_options options = {.percent = 70, .seed = 5};
    struct graph *graph, *pruned;
    struct prune_report report;

    if (model_task(name) == TASK_DETECTION)
        return;
    graph = build(name);
    pruned = prune(name, graph, &options, &report);
    fill(pruned);
    CHECK_STATUS(graph_make_training(pruned, NULL, &err), ASSAY_OK, &err);
    train(pruned);
    prune_report_release(&report);
    graph_free(pruned);
    graph_free(graph);
}

static void for_each_model(void (*check)(const char *name))
{
    const char *const *names = model_names();

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(names[i], model_full_name(names[i])) == 0) {
            print_message("  %s\n", names[i]);
            check(names[i]);
        }
    }
    pool_free(pool);
}

static void check_levels(const char *name)
{
    static const double levels[] = {0, 5, 50, 95};

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        check_level(name, levels[i], false);
    check_level(name, 80, true);
}

TEST(every_model_is_a_valid_network_at_every_level)
{
    for_each_model(check_levels);
}

TEST(every_pruned_classifier_makes_a_training_step)
{
    for_each_model(check_training);
}

TEST(no_level_removes_what_makes_the_outputs)
{
    static const struct {
        const char *name;
        size_t n_bound;
    } cases[] = {
        {"resnet18", 0},
        {"googlenet", 0},
        {"mobilenet_v2", 0},
        {"squeezenet1_1", 10}, /* its classifier is a convolution */
    };

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct prune_options options = {.percent = 50};
        struct graph *graph = build(cases[i].name), *pruned;
        struct prune_report report;

        pruned = prune(cases[i].name, graph, &options, &report);
        CHECK_INT(report.bound_filters, cases[i].n_bound);
        CHECK_INT(report.filters, count_filters(graph));
        prune_report_release(&report);
        graph_free(pruned);
        graph_free(graph);
    }
    pool_free(pool);
}

TEST(a_residual_stage_is_one_group)
{
    struct prune_options options = {.percent = 50};
    struct graph *graph, *pruned;
    struct prune_report report;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    graph = build("resnet50");
    pruned = prune("resnet50", graph, &options, &report);
    /* conv1, then layer1.0: two of its own, and the sum of all three blocks. */
    CHECK_STR(report.groups[0].name, "conv1");
    CHECK_STR(report.groups[3].name, "layer1.0.conv3");
    CHECK_INT(report.groups[3].n_layers, 4); /* conv3 thrice, downsample */
    CHECK_INT(report.groups[3].channels, 256);
    CHECK_INT(report.groups[3].filters, 4 * 256);
    CHECK_INT(report.groups[3].kept_filters, 4 * 128);
    prune_report_release(&report);
    graph_free(pruned);
    graph_free(graph);
    pool_free(pool);
}

/* ---- zero channels ------------------------------------------------------- */

static void check_zeros(const char *name)
{
    struct prune_options options = {.percent = 40, .seed = 11};
    struct graph *graph, *pruned;
    struct prune_report report;
    struct tensor want, got;

    /* The deeper models of a family have the same parts. */
    if (model_task(name) == TASK_DETECTION || strstr(name, "vgg1") ||
        strcmp(name, "resnet101") == 0)
        return;
    graph = build(name);
    fill(graph);
    number_rows(graph);
    pruned = prune(name, graph, &options, &report);
    prune_report_release(&report);
    graph_free(graph);
    graph = build(name);
    fill(graph);
    CHECK(clear_removed_rows(graph, pruned) > 0);
    graph_free(pruned);
    pruned = prune(name, graph, &options, &report);
    run(name, graph, &want);
    run(name, pruned, &got);
    check_same(&got, &want);
    tensor_release(&want);
    tensor_release(&got);
    prune_report_release(&report);
    graph_free(pruned);
    graph_free(graph);
}

TEST(zero_channels_can_be_pruned_without_effect)
{
    for_each_model(check_zeros);
}
