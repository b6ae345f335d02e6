/* Models give on a device with memory and a queue of its own, bit for bit, what
 * they give on the host: in use and in training. */
#include "backend/far.h"
#include "base/mem.h"
#include "engine/optimizer.h"
#include "models/models.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { most_inputs = 8 };

static struct error err;

/* ---- one model on one device -----------------------------------------------
 */

struct subject {
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    struct tensor inputs[most_inputs];
    struct tensor *outputs;
    size_t n_outputs;
};

static void subject_open(struct subject *subject, const char *name,
                         const struct model_options *options)
{
    *subject = (struct subject){0};
    err = (struct error){0};
    CHECK_STATUS(pool_new(&subject->pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(model_build(name, options, &subject->graph, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(model_fill(subject->graph, subject->pool, 7, &err), ASSAY_OK,
                 &err);
    CHECK(graph_input_count(subject->graph) <= most_inputs);
    subject->n_outputs = graph_output_count(subject->graph);
    subject->outputs = mem_array(subject->n_outputs, sizeof *subject->outputs);
    CHECK(subject->outputs);
}

static void subject_start(struct subject *subject, const struct device *device,
                          bool is_training)
{
    struct engine_options options = {
        .device = device,
        .backend_options = {.n_threads = 1, .is_training = is_training},
        .detail = ENGINE_MODULES};

    CHECK_STATUS(engine_new(subject->graph, subject->pool, &options,
                            &subject->engine, &err),
                 ASSAY_OK, &err);
}

static void subject_forget(struct subject *subject)
{
    for (size_t i = 0; i < subject->n_outputs; i++)
        tensor_release(&subject->outputs[i]);
}

static void subject_close(struct subject *subject)
{
    subject_forget(subject);
    for (size_t i = 0; i < most_inputs; i++)
        tensor_release(&subject->inputs[i]);
    engine_free(subject->engine);
    graph_free(subject->graph);
    mem_free(subject->outputs);
    pool_free(subject->pool);
}

/* ---- inputs ----------------------------------------------------------------
 */

static float *put_floats(struct subject *subject, size_t i, struct shape shape)
{
    CHECK_STATUS(
        tensor_new(subject->pool, DTYPE_F32, &shape, &subject->inputs[i], &err),
        ASSAY_OK, &err);
    return tensor_f32(&subject->inputs[i]);
}

static int64_t *put_ints(struct subject *subject, size_t i, int64_t n)
{
    struct shape shape = shape_of(1, n);

    CHECK_STATUS(
        tensor_new(subject->pool, DTYPE_I64, &shape, &subject->inputs[i], &err),
        ASSAY_OK, &err);
    return tensor_i64(&subject->inputs[i]);
}

static void put_image(struct subject *subject, struct shape shape)
{
    float *x = put_floats(subject, 0, shape);
    size_t n = tensor_elements(&subject->inputs[0]);
    uint32_t state = 12345;

    for (size_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        x[i] = (float)(state >> 8) / (float)(1 << 24);
    }
}

static void check_equal(const char *name, const struct tensor *a,
                        const struct tensor *b)
{
    CHECK(shape_equal(&a->shape, &b->shape));
    CHECK_INT(a->dtype, b->dtype);
    if (memcmp(tensor_data(a), tensor_data(b), tensor_bytes(a)) != 0)
        print_message("%s differs\n", name);
    CHECK(memcmp(tensor_data(a), tensor_data(b), tensor_bytes(a)) == 0);
}

/* ---- in use ----------------------------------------------------------------
 */

static void run_on(struct subject *subject, const char *name,
                   const struct model_options *options, struct shape image,
                   const struct device *device, int n_runs)
{
    subject_open(subject, name, options);
    put_image(subject, image);
    subject_start(subject, device, false);
    for (int i = 0; i < n_runs; i++) {
        subject_forget(subject);
        CHECK_STATUS(engine_run(subject->engine, subject->inputs,
                                subject->outputs, &err),
                     ASSAY_OK, &err);
    }
}

/* The second run has the weights there already, and memory that was used. */
static void compare_runs(const char *name, const struct model_options *options,
                         struct shape image, const char *refused)
{
    struct far_device *far = far_device_new(refused);
    struct subject here, there;

    run_on(&here, name, options, image, NULL, 1);
    run_on(&there, name, options, image, far_device(far), 2);
    for (size_t i = 0; i < here.n_outputs; i++)
        check_equal(name, &here.outputs[i], &there.outputs[i]);
    CHECK(far_device_jobs(far) > graph_node_count(there.graph));
    subject_close(&here);
    subject_close(&there);
    far_device_free(far);
}

TEST(classifiers_give_the_same_far_away)
{
    /* Deeper ones repeat the blocks of these. */
    static const char *const names[] = {
        "mobilenet_v2",
        "mobilenet_v2",
#if !TEST_IS_SANITIZED
        "alexnet",
        "googlenet",
        "mnasnet1_0",
        "resnet18",
        "resnet50",
        "vgg11_bn",
#endif
    };
    struct shape image =
        shape_of(4, (int64_t)1, (int64_t)3, (int64_t)64, (int64_t)64);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct model_options options =
            model_options_for(names[i], MODEL_IMAGENET);

        compare_runs(names[i], &options, image, NULL);
    }
}

static struct model_options small_detector(void)
{
    struct model_options options = model_defaults();

    options.min_size = options.max_size = 32;
    options.n_classes = 5;
    options.score = 0;
    options.detections = 3;
    options.sampling = (struct model_sampling){.proposals = 20,
                                               .kept_proposals = 10,
                                               .anchors = 16,
                                               .anchor_objects = 0.5F,
                                               .boxes = 6,
                                               .box_objects = 0.5F};
    return options;
}

static const struct shape small_photo = {.rank = 3, .dims = {3, 32, 32}};

TEST(detectors_give_the_same_far_away)
{
    struct model_options options = small_detector();

    compare_runs("fasterrcnn_resnet50_fpn", &options, small_photo, NULL);
    if (!TEST_IS_SANITIZED)
        compare_runs("maskrcnn_resnet50_fpn", &options, small_photo, NULL);
}

TEST(ops_that_a_device_refuses_run_on_the_host)
{
    struct model_options options =
        model_options_for("mobilenet_v2", MODEL_IMAGENET);
    struct shape image =
        shape_of(4, (int64_t)2, (int64_t)3, (int64_t)32, (int64_t)32);

    compare_runs("mobilenet_v2", &options, image, "BatchNorm");
    compare_runs("mobilenet_v2", &options, image, "Conv2d Add Linear");
}

/* ---- in training -----------------------------------------------------------
 */

static void put_detector_answers(struct subject *subject)
{
    static const float boxes[] = {2, 3, 20, 25, 8, 8, 30, 30};

    memcpy(put_floats(subject, 1, shape_of(2, (int64_t)2, (int64_t)4)), boxes,
           sizeof boxes);
    put_ints(subject, 2, 2)[0] = 1;
    tensor_i64(&subject->inputs[2])[1] = 3;
    put_ints(subject, 3, 1)[0] = 2;
    put_ints(subject, 4, 1)[0] = 11;
}

static void put_classes(struct subject *subject)
{
    put_ints(subject, 1, 2)[0] = 4;
    tensor_i64(&subject->inputs[1])[1] = 7;
    put_ints(subject, 2, 1)[0] = 11;
}

struct course {
    const char *model;
    struct model_options options;
    struct shape image;
    enum optimizer_kind optimizer;
    const char *const *recompute;
    int n_steps;
};

/* Some steps; the graph has what was learnt at the end. */
static void train_on(struct subject *subject, const struct course *course,
                     const struct device *device)
{
    struct engine_options options = {
        .device = device,
        .backend_options = {.n_threads = 1, .is_training = true},
        .recompute = course->recompute};
    struct optimizer_options with = optimizer_defaults(course->optimizer);
    struct optimizer *optimizer;
    double norm;

    subject_open(subject, course->model, &course->options);
    put_image(subject, course->image);
    if (model_task(course->model) == TASK_DETECTION)
        put_detector_answers(subject);
    else
        put_classes(subject);
    with.momentum = course->optimizer == OPTIMIZER_SGD ? 0.9 : 0;
    CHECK_STATUS(engine_new(subject->graph, subject->pool, &options,
                            &subject->engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(optimizer_new(subject->engine, &with, &optimizer, &err),
                 ASSAY_OK, &err);
    for (int step = 0; step < course->n_steps; step++) {
        subject_forget(subject);
        CHECK_STATUS(engine_run(subject->engine, subject->inputs,
                                subject->outputs, &err),
                     ASSAY_OK, &err);
        CHECK_STATUS(engine_backward(subject->engine, &err), ASSAY_OK, &err);
        CHECK_STATUS(optimizer_gradient_norm(optimizer, &norm, &err), ASSAY_OK,
                     &err);
        CHECK(norm > 0);
        CHECK_STATUS(optimizer_step(optimizer, 0.01, &err), ASSAY_OK, &err);
        CHECK_STATUS(engine_renew(subject->engine, subject->outputs, &err),
                     ASSAY_OK, &err);
    }
    CHECK_STATUS(engine_store_parameters(subject->engine, &err), ASSAY_OK,
                 &err);
    optimizer_free(optimizer);
}

static void compare_learnt(const struct subject *here,
                           const struct subject *there)
{
    for (uint32_t i = 0; i < graph_value_count(here->graph); i++) {
        const struct value *value = graph_value(here->graph, i);

        if (value->data.buffer)
            check_equal(value->name, &value->data,
                        &graph_value(there->graph, i)->data);
    }
    for (size_t i = 0; i < here->n_outputs; i++) {
        const char *name;

        graph_output_at(here->graph, i, &name);
        if (here->outputs[i].shape.rank == 0) /* a loss */
            check_equal(name, &here->outputs[i], &there->outputs[i]);
    }
}

static void compare_training(const struct course *course, const char *refused)
{
    struct far_device *far = far_device_new(refused);
    struct subject here, there;

    train_on(&here, course, NULL);
    train_on(&there, course, far_device(far));
    compare_learnt(&here, &there);
    subject_close(&here);
    subject_close(&there);
    far_device_free(far);
}

static struct course small_course(const char *model)
{
    struct course course = {
        .model = model,
        .options = model_options_for(model, MODEL_IMAGENET),
        .image = shape_of(4, (int64_t)2, (int64_t)3, (int64_t)32, (int64_t)32),
        .n_steps = 2};

    course.options.is_training = true;
    return course;
}

TEST(a_classifier_learns_the_same_far_away)
{
    struct course course = small_course("mobilenet_v2");

    compare_training(&course, NULL);
    course.optimizer = OPTIMIZER_ADAMW;
    if (!TEST_IS_SANITIZED)
        compare_training(&course, NULL);
}

TEST(a_classifier_learns_the_same_with_parts_of_it_on_the_host)
{
    struct course course = small_course("mobilenet_v2");

    compare_training(&course, "BatchNormTraining");
    compare_training(&course, "Conv2d Add SoftmaxCrossEntropyLoss");
}

TEST(what_is_recomputed_is_the_same_far_away)
{
    static const char *const modules[] = {"features.3", "features.5", NULL};
    struct course course = small_course("mobilenet_v2");

    course.recompute = modules;
    compare_training(&course, NULL);
}

TEST(a_detector_learns_the_same_far_away)
{
    struct course course = {.model = "fasterrcnn_resnet50_fpn",
                            .options = small_detector(),
                            .image = small_photo,
                            .n_steps = TEST_IS_SANITIZED ? 1 : 2};

    course.options.is_training = true;
    course.options.norm = NORM_BATCH;
    compare_training(&course, NULL);
}
