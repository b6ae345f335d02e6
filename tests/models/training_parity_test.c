/* Compares models in training with torchvision's, with the same weights, images
 * and targets: losses, the gradient of every parameter, running statistics, and
 * some steps of SGD. make_training.py runs torchvision. */
#include "backend/backend.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/optimizer.h"
#include "models/models.h"
#include "passes/fuse.h"
#include "passes/train_pass.h"
#include "test.h"
#include "torchvision.h"
#include "zoo_fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_inputs = 16, all = 1 << 20 };

static struct error err;
static struct pool *pool;

struct training {
    const char *model;   /* of ours */
    const char *of_them; /* the case of make_training.py */
    enum model_norm norm;
    int n_steps;
    bool is_used;                /* what it finds then is compared, too */
    const struct device *device; /* NULL: the host */
};

/* The largest differences, as measured. */
struct errors {
    double loss, gradient, statistic; /* of the first step */
    double later_loss, parameter;     /* after some steps */
    const char *worst_gradient;
};

static struct model_options options_of(const struct training *training)
{
    struct model_options options =
        model_options_for(training->model, MODEL_IMAGENET);

    options.norm = training->norm;
    if (model_task(training->model) == TASK_CLASSIFICATION) {
        options.n_classes = 20;
        return options;
    }
    options.is_training = true;
    options.n_images = 2;
    options.n_classes = 7;
    options.min_size = 96;
    options.max_size = 160;
    options.sampling.proposals = all;
    options.sampling.kept_proposals = 60;
    options.sampling.anchors = all;
    options.sampling.boxes = all;
    options.score = 0.01F;
    return options;
}

/* Turns dropout off: random choices would differ. */
static struct graph *build(const struct training *training)
{
    struct train_pass_options nothing = {.drops_nothing = true};
    struct model_options options = options_of(training);
    struct graph *graph;

    CHECK_STATUS(model_build(training->model, &options, &graph, &err), ASSAY_OK,
                 &err);
    if (!options.is_training)
        CHECK_STATUS(graph_make_training(graph, &nothing, &err), ASSAY_OK,
                     &err);
    CHECK_STATUS(fuse_training(graph, &err), ASSAY_OK, &err); /* as it runs */
    return graph;
}

/* ---- comparing ---------------------------------------------------------- */

static double tensor_norm(const struct tensor *tensor)
{
    double sum = 0;

    for (size_t i = 0; i < tensor_elements(tensor); i++)
        sum += pow((double)tensor_f32(tensor)[i], 2);
    return sqrt(sum);
}

/* The norm of the difference relative to that of the expected tensor. */
static double norm_error(const struct tensor *got, const struct tensor *want)
{
    double norm = tensor_norm(want), sum = 0;

    CHECK(shape_equal(&got->shape, &want->shape));
    for (size_t i = 0; i < tensor_elements(want); i++)
        sum += pow((double)tensor_f32(got)[i] - (double)tensor_f32(want)[i], 2);
    return norm > 0 ? sqrt(sum) / norm : sqrt(sum);
}

/* Compares "PREFIX.NAME" of torchvision's results with a tensor; 0 if there is
 * none. */
static double answer_error(const struct checkpoint *answers, const char *prefix,
                           const char *name, const struct tensor *got)
{
    struct tensor want;
    char key[256];
    double off;
    size_t i;

    snprintf(key, sizeof key, "%s.%s", prefix, name);
    if (!checkpoint_find(answers, key, &i))
        return 0;
    want = answer_tensor(answers, pool, key);
    off = norm_error(got, &want);
    tensor_release(&want);
    return off;
}

/* The norm of all gradients together, and how many there are. */
static double all_gradients(const struct checkpoint *answers, size_t *n)
{
    double sum = 0;

    *n = 0;
    for (size_t i = 0; i < checkpoint_count(answers); i++) {
        const char *name = checkpoint_tensor(answers, i)->name;
        struct tensor tensor;

        if (strncmp(name, "grad.", 5) != 0)
            continue;
        tensor = answer_tensor(answers, pool, name);
        sum += pow(tensor_norm(&tensor), 2);
        tensor_release(&tensor);
        ++*n;
    }
    return sqrt(sum);
}

/* The bias of a norm before another norm has no effect: its gradient is only
 * rounding, which must be small but is not compared. */
static double gradient_error(const struct checkpoint *answers, const char *name,
                             const struct tensor *got, double vanishing)
{
    struct tensor want;
    char key[256];
    double off;

    snprintf(key, sizeof key, "grad.%s", name);
    want = answer_tensor(answers, pool, key);
    off = norm_error(got, &want);
    if (tensor_norm(&want) < vanishing)
        off = tensor_norm(got) < vanishing ? 0 : 1;
    tensor_release(&want);
    return off;
}

/* Exactly the parameters with a gradient in torchvision have one. */
static void compare_gradients(const struct graph *graph, struct engine *engine,
                              const struct checkpoint *answers,
                              struct errors *errors)
{
    size_t n = 0, n_wanted;
    double vanishing = 1e-6 * all_gradients(answers, &n_wanted);

    for (uint32_t id = 0; id < graph_value_count(graph); id++) {
        const struct value *value = graph_value(graph, id);
        const struct tensor *gradient = engine_gradient(engine, id);
        struct tensor here;
        double off;

        if (value->kind != VALUE_PARAMETER || !gradient)
            continue;
        CHECK(!value->is_frozen);
        n++;
        CHECK_STATUS(engine_to_host(engine, gradient, &here, &err), ASSAY_OK,
                     &err);
        off = gradient_error(answers, value->name, &here, vanishing);
        tensor_release(&here);
        if (!(off <= errors->gradient)) {
            errors->gradient = off;
            errors->worst_gradient = value->name;
        }
    }
    CHECK_INT(n, n_wanted);
}

/* Norms start with the values of calm() in make_training.py. */
static void start_norms(struct graph *graph, const struct checkpoint *answers)
{
    for (size_t i = 0; i < checkpoint_count(answers); i++) {
        const char *name = checkpoint_tensor(answers, i)->name;
        uint32_t id;

        if (strncmp(name, "start.", 6) != 0)
            continue;
        id = graph_find_value(graph, name + 6);
        CHECK(id != GRAPH_NONE);
        CHECK_STATUS(
            graph_set_data(graph, id, answer_tensor(answers, pool, name), &err),
            ASSAY_OK, &err);
    }
}

/* ---- one step ----------------------------------------------------------- */

static const char *const loss_names[] = {"loss_classifier",  "loss_box_reg",
                                         "loss_mask",        "loss_objectness",
                                         "loss_rpn_box_reg", "loss"};

/* Our losses in torchvision's order. */
static size_t list_losses(const struct graph *graph,
                          const struct tensor *outputs, double *losses)
{
    size_t n = 0;

    for (size_t k = 0; k < sizeof loss_names / sizeof *loss_names; k++) {
        for (size_t i = 0; i < graph_output_count(graph); i++) {
            const char *name;

            graph_output_at(graph, i, &name);
            if (strcmp(name, loss_names[k]) == 0)
                losses[n++] = (double)*tensor_f32(&outputs[i]);
        }
    }
    return n;
}

static double compare_losses(const struct graph *graph,
                             const struct tensor *outputs,
                             const struct tensor *want, int step)
{
    double losses[8], worst = 0;
    size_t n = list_losses(graph, outputs, losses);

    CHECK_INT(n, want->shape.dims[1]);
    for (size_t i = 0; i < n; i++) {
        double w = (double)tensor_f32(want)[(size_t)step * n + i];

        worst = fmax(worst, fabs(losses[i] - w) / fabs(w));
        CHECK(isfinite(losses[i]));
    }
    return worst;
}

/* New statistics are outputs named after the buffers they replace. */
static void compare_statistics(const struct graph *graph, struct engine *engine,
                               const struct tensor *outputs,
                               const struct checkpoint *answers,
                               struct errors *errors)
{
    for (size_t i = 0; i < graph_output_count(graph); i++) {
        const char *name;
        struct tensor here;
        uint32_t id;

        graph_output_at(graph, i, &name);
        id = graph_find_value(graph, name);
        if (id == GRAPH_NONE || graph_value(graph, id)->kind != VALUE_BUFFER)
            continue;
        CHECK_STATUS(engine_to_host(engine, &outputs[i], &here, &err), ASSAY_OK,
                     &err);
        errors->statistic = fmax(errors->statistic,
                                 answer_error(answers, "step1", name, &here));
        tensor_release(&here);
    }
}

static size_t bring_inputs(const struct graph *graph,
                           const struct checkpoint *answers,
                           struct tensor *inputs)
{
    size_t n = graph_input_count(graph);

    CHECK(n <= max_inputs);
    for (size_t i = 0; i < n; i++)
        inputs[i] = answer_tensor(
            answers, pool, graph_value(graph, graph_input_at(graph, i))->name);
    return n;
}

static void train(const struct training *training, struct graph *graph,
                  const struct checkpoint *answers, struct errors *errors)
{
    struct engine_options engine_options = {
        .device = training->device ? training->device : device_cpu(),
        .backend_options = {.n_threads = 2,
                            .precision = PRECISION_FP32,
                            .is_training = true,
                            .is_plain = true}};
    struct optimizer_options sgd = optimizer_defaults(OPTIMIZER_SGD);
    size_t n_outputs = graph_output_count(graph), n_inputs;
    struct tensor *outputs = mem_array(n_outputs, sizeof *outputs);
    struct tensor inputs[max_inputs];
    struct tensor want = answer_tensor(answers, pool, "losses");
    struct tensor rate = answer_tensor(answers, pool, "rate");
    struct optimizer *optimizer;
    struct engine *engine;

    sgd.momentum = 0.9;
    sgd.weight_decay = 5e-4;
    CHECK(outputs != NULL);
    n_inputs = bring_inputs(graph, answers, inputs);
    CHECK_STATUS(engine_new(graph, pool, &engine_options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(optimizer_new(engine, &sgd, &optimizer, &err), ASSAY_OK, &err);
    for (int step = 0; step < training->n_steps; step++) {
        double off;

        CHECK_STATUS(engine_run(engine, inputs, outputs, &err), ASSAY_OK, &err);
        off = compare_losses(graph, outputs, &want, step);
        if (step == 0)
            errors->loss = off;
        errors->later_loss = fmax(errors->later_loss, off);
        CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
        if (step == 0) {
            compare_gradients(graph, engine, answers, errors);
            compare_statistics(graph, engine, outputs, answers, errors);
        }
        CHECK_STATUS(
            optimizer_step(optimizer, (double)*tensor_f32(&rate), &err),
            ASSAY_OK, &err);
        CHECK_STATUS(engine_renew(engine, outputs, &err), ASSAY_OK, &err);
        for (size_t i = 0; i < n_outputs; i++)
            tensor_release(&outputs[i]);
    }
    CHECK_STATUS(engine_store_parameters(engine, &err), ASSAY_OK, &err);
    optimizer_free(optimizer);
    engine_free(engine);
    for (size_t i = 0; i < n_inputs; i++)
        tensor_release(&inputs[i]);
    tensor_release(&want);
    tensor_release(&rate);
    mem_free(outputs);
}

static void compare_parameters(const struct graph *graph,
                               const struct checkpoint *answers,
                               struct errors *errors)
{
    for (uint32_t id = 0; id < graph_value_count(graph); id++) {
        const struct value *value = graph_value(graph, id);

        if (value->kind == VALUE_PARAMETER)
            errors->parameter =
                fmax(errors->parameter,
                     answer_error(answers, "last", value->name, &value->data));
    }
}

/* ---- detections afterwards ----------------------------------------------- */

enum { boxes_out, scores_out, labels_out, counts_out, n_found_out };

/* The distance in pixels to the nearest box of that class and score. */
static double nearest(const struct tensor *boxes, const struct tensor *scores,
                      const struct tensor *labels, const float *box,
                      float score, int64_t label)
{
    double least = INFINITY;

    for (size_t i = 0; i < tensor_elements(labels); i++) {
        double off = 0;

        if (tensor_i64(labels)[i] != label ||
            fabsf(tensor_f32(scores)[i] - score) > 1e-3F)
            continue;
        for (size_t k = 0; k < 4; k++)
            off = fmax(off, fabs((double)tensor_f32(boxes)[4 * i + k] -
                                 (double)box[k]));
        least = fmin(least, off);
    }
    return least;
}

static void compare_found(const struct tensor found[n_found_out],
                          const struct checkpoint *answers)
{
    static const char *const names[n_found_out] = {
        "found.boxes", "found.scores", "found.labels", "found.counts"};
    struct tensor want[n_found_out];
    size_t n;

    for (int i = 0; i < n_found_out; i++) {
        want[i] = answer_tensor(answers, pool, names[i]);
        CHECK(shape_equal(&found[i].shape, &want[i].shape));
    }
    n = tensor_elements(&want[labels_out]);
    CHECK(n > 0);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(nearest(&found[boxes_out], &found[scores_out],
                           &found[labels_out],
                           tensor_f32(&want[boxes_out]) + 4 * i,
                           tensor_f32(&want[scores_out])[i],
                           tensor_i64(&want[labels_out])[i]),
                   0, 0.05);
    for (int i = 0; i < n_found_out; i++)
        tensor_release(&want[i]);
}

/* The model for inference with the trained weights. */
static void check_found(const struct training *training,
                        const struct graph *learnt,
                        const struct checkpoint *answers)
{
    struct engine_options engine_options = {
        .device = device_cpu(),
        .backend_options = {.n_threads = 2, .is_plain = true}};
    struct model_options options = options_of(training);
    struct tensor inputs[max_inputs], found[n_found_out];
    struct engine *engine;
    struct graph *graph;
    size_t n;

    options.is_training = false;
    CHECK_STATUS(model_build(training->model, &options, &graph, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(model_copy_weights(graph, learnt, pool, &err), ASSAY_OK, &err);
    n = bring_inputs(graph, answers, inputs);
    CHECK_STATUS(engine_new(graph, pool, &engine_options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, inputs, found, &err), ASSAY_OK, &err);
    compare_found(found, answers);
    for (int i = 0; i < n_found_out; i++)
        tensor_release(&found[i]);
    for (size_t i = 0; i < n; i++)
        tensor_release(&inputs[i]);
    engine_free(engine);
    graph_free(graph);
}

static void check_training(const struct training *training)
{
    struct errors errors = {0};
    struct checkpoint *answers;
    struct graph *graph;
    char arguments[64], name[64];
    const char *folder;

    snprintf(arguments, sizeof arguments, "%s %d", training->of_them,
             training->n_steps);
    snprintf(name, sizeof name, "%s%s", training->of_them,
             training->device ? "-on-a-device" : "");
    folder = torchvision_ask(name, "models/make_training.py", arguments);
    answers = answer_open(folder, training->of_them);
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    graph = build(training);
    zoo_fill(graph, pool);
    start_norms(graph, answers);
    train(training, graph, answers, &errors);
    compare_parameters(graph, answers, &errors);
    print_message(
        "%s: losses %.1e, gradients %.1e (%s), statistics %.1e; after "
        "%d steps losses %.1e, parameters %.1e\n",
        training->of_them, errors.loss, errors.gradient,
        errors.worst_gradient ? errors.worst_gradient : "none",
        errors.statistic, training->n_steps, errors.later_loss,
        errors.parameter);
    CHECK_NEAR(errors.loss, 0, 1e-4);
    CHECK_NEAR(errors.gradient, 0, 1e-3);
    CHECK_NEAR(errors.statistic, 0, 1e-4);
    CHECK_NEAR(errors.later_loss, 0, 1e-2);
    CHECK_NEAR(errors.parameter, 0, 1e-2);
    if (training->is_used)
        check_found(training, graph, answers);
    graph_free(graph);
    pool_free(pool);
    checkpoint_free(answers);
    answer_remove(folder, training->of_them);
}

TEST(faster_rcnn_with_frozen_norms_trains_three_layers_as_in_torchvision)
{
    check_training(&(struct training){
        .model = "fasterrcnn_resnet50_fpn",
        .of_them = "fasterrcnn-50-frozen",
        .norm = NORM_FROZEN,
        .n_steps = 3,
    });
}

TEST(faster_rcnn_with_trained_norms_trains_all_layers_as_in_torchvision)
{
    check_training(&(struct training){
        .model = "fasterrcnn_resnet50_fpn",
        .of_them = "fasterrcnn-50-batch",
        .norm = NORM_BATCH,
        .n_steps = 3,
    });
}

TEST(the_small_faster_rcnn_trains_as_in_torchvision)
{
    check_training(&(struct training){
        .model = "fasterrcnn_resnet18_fpn",
        .of_them = "fasterrcnn-18-batch",
        .norm = NORM_BATCH,
        .n_steps = 3,
        .is_used = true,
    });
}

TEST(mask_rcnn_trains_as_in_torchvision)
{
    check_training(&(struct training){
        .model = "maskrcnn_resnet50_fpn",
        .of_them = "maskrcnn-50-frozen",
        .norm = NORM_FROZEN,
        .n_steps = 2,
    });
    check_training(&(struct training){
        .model = "maskrcnn_resnet50_fpn",
        .of_them = "maskrcnn-50-batch",
        .norm = NORM_BATCH,
        .n_steps = 2,
    });
}

TEST(classifiers_train_as_in_torchvision)
{
    static const char *const models[] = {"resnet18", "mobilenet_v2",
                                         "squeezenet1_1"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check_training(&(struct training){
            .model = models[i],
            .of_them = models[i],
            .norm = NORM_BATCH,
            .n_steps = 4,
        });
}

struct gpu_case {
    const char *model, *of_them;
    enum model_norm norm;
};

/* In fp32: the bars are those of the host. */
static void check_on_gpu(const struct gpu_case *cases, size_t n)
{
    const struct device *gpu;

    err = (struct error){0};
    if (device_find("cuda:0", &gpu, &err))
        SKIP("%s", err.text);
    for (size_t i = 0; i < n; i++)
        check_training(&(struct training){
            .model = cases[i].model,
            .of_them = cases[i].of_them,
            .norm = cases[i].norm,
            .n_steps = 10,
            .device = gpu,
        });
}

TEST(a_gpu_trains_classifiers_as_in_torchvision)
{
    static const struct gpu_case cases[] = {
        {"resnet18", "resnet18", NORM_BATCH},
        {"mobilenet_v2", "mobilenet_v2", NORM_BATCH}};

    check_on_gpu(cases, sizeof cases / sizeof *cases);
}

TEST(a_gpu_trains_detectors_as_in_torchvision)
{
    static const struct gpu_case cases[] = {
        {"fasterrcnn_resnet18_fpn", "fasterrcnn-18-batch", NORM_BATCH},
        {"fasterrcnn_resnet50_fpn", "fasterrcnn-50-frozen", NORM_FROZEN}};

    check_on_gpu(cases, sizeof cases / sizeof *cases);
}
