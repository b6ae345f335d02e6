/* See small_model.h. */
#include "small_model.h"

#include "test.h"

#include <string.h>
#include <unistd.h>

#define MODEL                                                                  \
    "/usr/share/libonnx-testdata/data/pytorch-converted/test_Softmax/"         \
    "model.onnx"

struct assay_model *small_model(void)
{
    const struct assay_model_options options = {.batch = 10};
    struct assay_error error = {0};
    struct assay_model *model;

    if (access(MODEL, R_OK) != 0)
        SKIP("libonnx-testdata is not installed");
    CHECK_STATUS(assay_model_load(MODEL, &options, &model, &error), ASSAY_OK,
                 &error);
    return model;
}

/* The number of classes more likely than the right one. */
static size_t rank_of(size_t i)
{
    return i < 7 ? 0 : i < 11 ? 3 : 5;
}

static enum assay_status read_sample(void *context, size_t i,
                                     struct assay_tensor *inputs, size_t at,
                                     struct assay_target *target,
                                     struct assay_error *error)
{
    enum { n_classes = 20 };
    static struct assay_box boxes[10];
    float *scores = (float *)inputs[0].data + at * n_classes;

    (void)context, (void)error;
    memset(scores, 0, n_classes * sizeof *scores);
    scores[i] = 1;
    for (size_t k = 0; k < rank_of(i); k++)
        scores[n_classes - 1 - k] = 2;
    boxes[at] = (struct assay_box){.width = (double)i};
    target->label = (int64_t)i;
    target->boxes = &boxes[at];
    target->n_boxes = 1;
    return ASSAY_OK;
}

const struct assay_dataset small_dataset = {
    .name = "thirteen", .split = "test", .n = 13, .read = read_sample};

struct assay_profiler *
small_profiler(struct assay_model *model,
               const struct assay_profiler_options *options)
{
    struct assay_error error = {0};
    struct assay_profiler *profiler;

    CHECK_STATUS(assay_profiler_new(model, options, &profiler, &error),
                 ASSAY_OK, &error);
    return profiler;
}
