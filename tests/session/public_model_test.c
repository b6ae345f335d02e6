/* Models of the public interface: what is loaded, and what running them
 * takes. */
#include "session/session.h"
#include "test.h"

#include <assay/model.h>
#include <stdio.h>
#include <string.h>

/* A norm that is fused into its convolution. */
static const char text[] =
    "assay-net 1\n"
    "model tiny Tiny\n"
    "module conv Conv2d\n"
    "module bn BatchNorm2d\n"
    "input x float32 1x3x8x8\n"
    "parameter conv.weight float32 4x3x3x3 normal 0.5\n"
    "parameter bn.weight float32 4 one\n"
    "parameter bn.bias float32 4 normal 0.5\n"
    "buffer bn.running_mean float32 4 normal 0.5\n"
    "buffer bn.running_var float32 4 one\n"
    "%0 = Conv2d(x, conv.weight, -, -) in conv stride=1,1 dilation=1,1 "
    "before=1,1 after=1,1 groups=1\n"
    "%1 = BatchNorm(%0, bn.weight, bn.bias, bn.running_mean, bn.running_var) "
    "in bn eps=1e-05\n"
    "output y %1\n";

enum { n_values = 3 * 8 * 8 };

static float values[n_values];

static const char *write_net(void)
{
    const char *path = test_path("tiny.net");
    FILE *file = fopen(path, "w");

    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    for (int i = 0; i < n_values; i++)
        values[i] = (float)(i % 7) - 3;
    return path;
}

static struct assay_model *load(const char *path)
{
    const struct assay_model_options options = {.seed = 5, .threads = 1};
    struct assay_error error = {0};
    struct assay_model *model;

    CHECK_STATUS(assay_model_load(path, &options, &model, &error), ASSAY_OK,
                 &error);
    return model;
}

static const struct assay_tensor *run(struct assay_model *model)
{
    struct assay_tensor input = *assay_model_input(model, 0, NULL);
    const struct assay_tensor *outputs;
    struct assay_error error = {0};
    size_t n;

    input.data = values;
    CHECK_STATUS(assay_model_run(model, &input, &outputs, &n, &error), ASSAY_OK,
                 &error);
    CHECK_INT(n, 1);
    return outputs;
}

TEST(a_model_that_runs_is_read_once)
{
    struct assay_model *model = load(write_net());

    CHECK_INT(remove(test_path("tiny.net")), 0);
    CHECK_INT(run(model)->n_elements, 4 * 8 * 8);
    assay_model_free(model);
}

TEST(running_a_model_leaves_its_parameters_unchanged)
{
    struct assay_model *model = load(write_net());
    const struct assay_parameter *parameters;
    struct assay_error error = {0};
    float before[4 * 3 * 3 * 3];
    size_t n;

    CHECK_STATUS(assay_model_fill(model, &error), ASSAY_OK, &error);
    parameters = assay_model_parameters(model, &n);
    CHECK_INT(n, 5);
    CHECK_INT(parameters[0].tensor.n_bytes, sizeof before);
    memcpy(before, parameters[0].tensor.data, sizeof before);
    run(model);
    for (size_t i = 0; i < n; i++)
        CHECK(parameters[i].tensor.data != NULL);
    CHECK(memcmp(before, parameters[0].tensor.data, sizeof before) == 0);
    assay_model_free(model);
}

static enum assay_status submit(struct assay_model *model, float first,
                                struct assay_error *error)
{
    struct assay_tensor input = *assay_model_input(model, 0, NULL);

    values[0] = first;
    input.data = values;
    return assay_model_submit(model, &input, error);
}

TEST(passes_are_collected_in_the_order_they_were_submitted_in)
{
    enum { n_passes = 3, n_results = 4 * 8 * 8 };
    struct assay_model *model = load(write_net());
    const struct assay_tensor *outputs;
    struct assay_error error = {0};
    float results[n_passes][n_results];
    size_t n;

    CHECK_INT(assay_model_collect(model, &outputs, &n, &error),
              ASSAY_BAD_USAGE);
    CHECK(!outputs && !n);
    for (int i = 0; i < n_passes; i++) {
        values[0] = (float)i;
        memcpy(results[i], run(model)->data, sizeof results[i]);
    }
    CHECK(memcmp(results[0], results[1], sizeof results[0]) != 0);
    for (int i = 0; i < n_passes; i++)
        CHECK_STATUS(submit(model, (float)i, &error), ASSAY_OK, &error);
    for (int i = 0; i < n_passes; i++) {
        CHECK_STATUS(assay_model_collect(model, &outputs, &n, &error), ASSAY_OK,
                     &error);
        CHECK_INT(n, 1);
        CHECK(memcmp(outputs->data, results[i], sizeof results[i]) == 0);
    }
    for (int i = 0; i < ASSAY_MODEL_MOST_IN_FLIGHT; i++)
        CHECK_STATUS(submit(model, (float)i, &error), ASSAY_OK, &error);
    CHECK_INT(submit(model, 1, &error), ASSAY_BAD_USAGE);
    assay_model_free(model); /* with those in flight */
}

TEST(a_public_model_computes_what_a_session_does)
{
    const char *path = write_net();
    struct assay_model *model = load(path);
    const struct session_options options = {
        .model = {.name = path,
                  .is_file = true,
                  .build = {.n_images = 1},
                  .seed = 5},
        .vision = {.decode = DECODE_NONE, .is_random = true},
        .n_threads = 1,
    };
    const struct assay_tensor *output = run(model);
    struct session session;
    struct error err = {0};

    CHECK_STATUS(session_open(&options, &session, &err), ASSAY_OK, &err);
    memcpy(tensor_f32(&session.inputs.values[0]), values, sizeof values);
    CHECK_STATUS(session_run(&session, session.inputs.values, &err), ASSAY_OK,
                 &err);
    CHECK_INT(output->n_bytes, tensor_bytes(&session.outputs[0]));
    /* Each side measures its kernels itself, and another one may win. */
    for (size_t i = 0; i < output->n_bytes / sizeof(float); i++)
        CHECK_NEAR(((const float *)output->data)[i],
                   tensor_f32(&session.outputs[0])[i], 1e-4);
    session_close(&session);
    assay_model_free(model);
}
