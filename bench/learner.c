/* bench/learner.c - see learner.h. */
#include "learner.h"

#include "base/mem.h"
#include "models/models.h"
#include "passes/fuse.h"

#include <string.h>

enum { classifier_size = 224, detector_size = 500 };

/* ---- the batch ---------------------------------------------------------- */

static enum assay_status add_input(struct learner *learner, size_t i,
                                   enum dtype dtype, struct shape shape,
                                   struct error *err)
{
    return tensor_new(learner->pool, dtype, &shape, &learner->inputs[i], err);
}

static void fill_image(const struct tensor *image)
{
    uint32_t state = 1;

    for (size_t i = 0; i < tensor_elements(image); i++) {
        state = state * 1664525 + 1013904223;
        tensor_f32(image)[i] = (float)(state >> 8) / (float)(1 << 24);
    }
}

static enum assay_status make_labels(struct learner *learner, size_t i,
                                     int64_t n, int64_t first,
                                     struct error *err)
{
    enum assay_status st =
        add_input(learner, i, DTYPE_I64, shape_of(1, n), err);

    for (int64_t k = 0; !st && k < n; k++)
        tensor_i64(&learner->inputs[i])[k] = first + k;
    return st;
}

static enum assay_status make_boxes(struct learner *learner, size_t i,
                                    struct error *err)
{
    static const float boxes[] = {50, 60, 300, 400, 200, 20, 480, 250};
    int64_t n = learner->n_images;
    enum assay_status st =
        add_input(learner, i, DTYPE_F32, shape_of(2, 2 * n, (int64_t)4), err);

    for (int64_t k = 0; !st && k < n; k++)
        memcpy(tensor_f32(&learner->inputs[i]) + 8 * k, boxes, sizeof boxes);
    return st;
}

/* Images, boxes, labels, counts, seed. */
static enum assay_status make_detector_batch(struct learner *learner,
                                             struct error *err)
{
    size_t at = 0, n = (size_t)learner->n_images;
    enum assay_status st = ASSAY_OK;

    for (; !st && at < n; at++) {
        st = add_input(learner, at, DTYPE_F32,
                       shape_of(3, (int64_t)3, (int64_t)detector_size,
                                (int64_t)detector_size),
                       err);
        if (!st)
            fill_image(&learner->inputs[at]);
    }
    if (!st)
        st = make_boxes(learner, at++, err);
    if (!st)
        st = make_labels(learner, at, 2 * learner->n_images, 1, err);
    for (size_t k = 0; !st && k < 2 * n; k++)
        tensor_i64(&learner->inputs[at])[k] = 1 + (int64_t)k % 2;
    if (!st)
        st = make_labels(learner, ++at, learner->n_images, 2, err);
    for (size_t k = 0; !st && k < n; k++)
        tensor_i64(&learner->inputs[at])[k] = 2;
    return st ? st : make_labels(learner, ++at, 1, 7, err);
}

/* Images, labels, seed. */
static enum assay_status make_classifier_batch(struct learner *learner,
                                               struct error *err)
{
    enum assay_status st =
        add_input(learner, 0, DTYPE_F32,
                  shape_of(4, learner->n_images, (int64_t)3,
                           (int64_t)classifier_size, (int64_t)classifier_size),
                  err);

    if (st)
        return st;
    fill_image(&learner->inputs[0]);
    st = make_labels(learner, 1, learner->n_images, 0, err);
    if (!st && graph_input_count(learner->graph) > 2)
        st = make_labels(learner, 2, 1, 7, err);
    return st;
}

/* ---- the model ---------------------------------------------------------- */

/* As torchvision makes it without weights: everything is trained. */
static enum assay_status build(struct learner *learner, const char *model,
                               bool is_detector, struct error *err)
{
    struct model_options options = model_options_for(model, MODEL_IMAGENET);
    enum assay_status st;

    options.is_training = true;
    if (is_detector) {
        options.n_images = learner->n_images;
        options.norm = NORM_BATCH;
        options.trainable_layers = MODEL_BACKBONE_LAYERS;
    }
    st = model_build(model, &options, &learner->graph, err);
    if (!st)
        st = fuse_training(learner->graph, err);
    return st ? st : model_fill(learner->graph, learner->pool, 0, err);
}

enum assay_status learner_open(struct learner *learner,
                               const struct learner_options *options,
                               struct error *err)
{
    struct engine_options engine = {
        .device = options->device,
        .backend_options = {.n_threads = options->n_threads,
                            .precision = options->precision,
                            .is_training = true,
                            .tuning_seconds = options->tuning_seconds,
                            .choices_path = options->choices},
        .detail = ENGINE_MODULES};
    struct optimizer_options optimizer = optimizer_defaults(OPTIMIZER_SGD);
    bool is_detector = model_task(options->model) == TASK_DETECTION;
    enum assay_status st;

    *learner = (struct learner){.n_images = options->n_images};
    optimizer.momentum = 0.9;
    optimizer.weight_decay = 1e-4;
    st = pool_new(&learner->pool, err);
    if (!st)
        st = build(learner, options->model, is_detector, err);
    if (!st)
        st = engine_new(learner->graph, learner->pool, &engine,
                        &learner->engine, err);
    if (!st)
        st = optimizer_new(learner->engine, &optimizer, &learner->optimizer,
                           err);
    if (!st)
        st = is_detector ? make_detector_batch(learner, err)
                         : make_classifier_batch(learner, err);
    if (st)
        return st;
    learner->outputs =
        mem_array(graph_output_count(learner->graph), sizeof *learner->outputs);
    return learner->outputs ? ASSAY_OK : error_nomem(err, 1, "outputs");
}

void learner_close(struct learner *learner)
{
    for (size_t i = 0; i < LEARNER_INPUTS; i++)
        tensor_release(&learner->inputs[i]);
    mem_free(learner->outputs);
    optimizer_free(learner->optimizer);
    engine_free(learner->engine);
    graph_free(learner->graph);
    pool_free(learner->pool);
}

enum assay_status learner_step(struct learner *learner, struct error *err)
{
    size_t n = graph_output_count(learner->graph);
    enum assay_status st =
        engine_run(learner->engine, learner->inputs, learner->outputs, err);

    if (st)
        return st;
    learner->loss = 0;
    for (size_t i = 0; i < n; i++) {
        if (learner->outputs[i].shape.rank == 0)
            learner->loss += *tensor_f32(&learner->outputs[i]);
        tensor_release(&learner->outputs[i]);
    }
    /* The next batch goes ahead, as in a training. */
    st = engine_send(learner->engine, learner->inputs, err);
    if (!st)
        st = engine_backward(learner->engine, err);
    return st ? st : optimizer_step(learner->optimizer, 0.001, err);
}
