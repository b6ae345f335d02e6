/* Trains imported models. */
#include "base/random.h"
#include "engine/engine.h"
#include "formats/onnx/onnx.h"
#include "passes/train_pass.h"
#include "test.h"

#include <math.h>
#include <string.h>

static struct error err;

struct training {
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    struct tensor inputs[3];
};

static struct tensor make(struct training *t, enum dtype dtype,
                          struct shape shape)
{
    struct tensor tensor;

    CHECK_STATUS(tensor_new(t->pool, dtype, &shape, &tensor, &err), ASSAY_OK,
                 &err);
    memset(tensor_data(&tensor), 0, tensor_bytes(&tensor));
    return tensor;
}

/* CNTK's digit classifier on one picture of noise. */
static struct training training_new(const char *path)
{
    struct engine_options options = {
        .device = &device_portable,
        .backend_options = {.n_threads = 2, .is_training = true}};
    struct model_file_options plain = {0};
    struct random random = random_seed(1);
    struct training t = {0};

    CHECK_STATUS(pool_new(&t.pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(onnx_load(path, &plain, t.pool, &t.graph, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(graph_make_training(t.graph, NULL, &err), ASSAY_OK, &err);
    CHECK_STATUS(engine_new(t.graph, t.pool, &options, &t.engine, &err),
                 ASSAY_OK, &err);
    t.inputs[0] =
        make(&t, DTYPE_F32,
             shape_of(4, (int64_t)1, (int64_t)1, (int64_t)28, (int64_t)28));
    for (size_t i = 0; i < tensor_elements(&t.inputs[0]); i++)
        tensor_f32(&t.inputs[0])[i] = (float)random_unit(&random);
    t.inputs[1] = make(&t, DTYPE_I64, shape_of(1, (int64_t)1));
    t.inputs[2] = make(&t, DTYPE_I64, shape_of(1, (int64_t)1));
    tensor_i64(&t.inputs[1])[0] = 7;
    return t;
}

static void training_free(struct training *t)
{
    engine_free(t->engine);
    graph_free(t->graph);
    for (int i = 0; i < 3; i++)
        tensor_release(&t->inputs[i]);
    pool_free(t->pool);
}

static double loss_of(struct training *t)
{
    struct tensor outputs[2];
    double loss;

    CHECK_STATUS(engine_run(t->engine, t->inputs, outputs, &err), ASSAY_OK,
                 &err);
    loss = (double)tensor_f32(&outputs[0])[0];
    tensor_release(&outputs[0]);
    tensor_release(&outputs[1]);
    return loss;
}

/* Moves every parameter by a distance along its gradient; returns the sum of
 * the squared steps divided by that distance. */
static double move(struct training *t, float distance)
{
    double squares = 0;

    for (uint32_t i = 0; i < graph_value_count(t->graph); i++) {
        const struct tensor *gradient = engine_gradient(t->engine, i);
        const struct tensor *data = &graph_value(t->graph, i)->data;

        for (size_t k = 0; gradient && k < tensor_elements(data); k++) {
            float slope = tensor_f32(gradient)[k];

            tensor_f32(data)[k] += distance * slope;
            squares += (double)slope * (double)slope;
        }
    }
    engine_parameters_changed(t->engine);
    return squares;
}

TEST(an_imported_model_descends_its_gradient)
{
    const char *path = test_shared("models/onnx/mnist_cntk/model.onnx");
    struct training t;
    double first, squares, lower;

    if (!path)
        SKIP("../shared/data is missing");
    t = training_new(path);
    first = loss_of(&t);
    CHECK_STATUS(engine_backward(t.engine, &err), ASSAY_OK, &err);
    squares = move(&t, -1e-5F);
    lower = loss_of(&t);
    /* By as much as the slope predicts, and then further. */
    CHECK(first > 0.1 && squares > 0);
    CHECK_NEAR((first - lower) / (1e-5 * squares), 1, 0.05);
    for (int i = 0; i < 5; i++) {
        CHECK(loss_of(&t) < first);
        CHECK_STATUS(engine_backward(t.engine, &err), ASSAY_OK, &err);
        move(&t, -2e-3F);
    }
    CHECK(loss_of(&t) < lower / 2);
    training_free(&t);
}
