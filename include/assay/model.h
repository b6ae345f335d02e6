/* assay/model.h - models: built-in ones and ONNX files, loaded and run.
 *
 *     struct assay_model *model;
 *     struct assay_error error = {0};
 *
 *     if (assay_model_load("resnet18", NULL, &model, &error))
 *         fprintf(stderr, "%s\n", error.text);
 *
 * Link with `pkg-config --libs assay-models`. Use a model from one thread at a
 * time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASSAY_MODEL_H
#define ASSAY_MODEL_H

#include <assay/metric.h>
#include <assay/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_model;

/* A shape for an input whose sizes the file leaves open. */
struct assay_input_shape {
    const char *input; /* NULL: the only input */
    int rank;
    int64_t dims[ASSAY_MAX_RANK];
};

/* {0} is fine. */
struct assay_model_options {
    const char *variant; /* of a built-in classifier: "imagenet", "cifar10",
                            "cifar100"; NULL: imagenet */
    int64_t classes;     /* 0: those of the variant */
    int64_t batch;       /* images per pass; 0: 1 */
    int width, height;   /* of images, if the model leaves them open; 0: the
                            model's */
    int64_t min_size;    /* of a detector: pixels that the shorter side of
                            images is resized to; 0: 800 */
    const char *weights; /* checkpoint for a built-in model; NULL: random */
    uint64_t seed;       /* for random weights */
    int has_no_weights;  /* not 0: neither load nor make any; the model then
                            cannot be run */
    const char *device;  /* "cpu", "cuda:0", or "auto" for a GPU if one
                            works; NULL: cpu */
    int threads;         /* 0: one per processor */
    const struct assay_input_shape *shapes; /* of an ONNX file */
    size_t n_shapes;
    /* Gets a line for each missing op, or tensor that does not fit. NULL: only
     * the first is named, in the error. */
    void (*tell)(void *context, const char *line);
    void *tell_context;
};

/* name: a built-in model, or the path of an ONNX file. Weights are loaded when
 * first needed. The caller frees *out.
 *
 * Files of more than 1 MiB are mapped, so they must not shrink while the model
 * is in use: that raises SIGBUS, which the library leaves to the program. */
ASSAY_API enum assay_status
assay_model_load(const char *name, const struct assay_model_options *options,
                 struct assay_model **out, struct assay_error *error);
ASSAY_API void assay_model_free(struct assay_model *model); /* accepts NULL */

/* "resnet18", "ResNet"; the compute library: "oneDNN 2.6.3". */
ASSAY_API const char *assay_model_name(const struct assay_model *model);
ASSAY_API const char *assay_model_class(const struct assay_model *model);
ASSAY_API const char *assay_model_backend(const struct assay_model *model);

/* Owned by the model; valid until it is freed. */
ASSAY_API const struct assay_totals *
assay_model_totals(const struct assay_model *model);
ASSAY_API const struct assay_layer *
assay_model_layers(const struct assay_model *model, size_t *n);
ASSAY_API const struct assay_parameter *
assay_model_parameters(const struct assay_model *model, size_t *n);
/* Loads or makes the weights unless that is done already; the parameters then
 * have data. */
ASSAY_API enum assay_status assay_model_fill(struct assay_model *model,
                                             struct assay_error *error);

/* Type and shape of an input; it has no data. */
ASSAY_API size_t assay_model_input_count(const struct assay_model *model);
ASSAY_API const struct assay_tensor *
assay_model_input(const struct assay_model *model, size_t i, const char **name);

/* One forward pass. inputs: as many as the model has, of its types and shapes.
 * *outputs is valid until the next run. */
ASSAY_API enum assay_status assay_model_run(struct assay_model *model,
                                            const struct assay_tensor *inputs,
                                            const struct assay_tensor **outputs,
                                            size_t *n_outputs,
                                            struct assay_error *error);

/* Passes in flight, for inputs that follow each other: while a GPU runs one
 * pass, the inputs of the next are copied to it, and the results of the one
 * before are copied back. The results are those of assay_model_run(), bit for
 * bit. A pass over sizes that the model has not seen yet, and any pass on the
 * processors, runs when it is submitted.
 *
 * Starts a pass; its inputs may be changed as soon as it returns. At most
 * ASSAY_MODEL_MOST_IN_FLIGHT may be in flight, each with memory of its own on
 * the GPU: one more is ASSAY_BAD_USAGE. After a failure there is no such
 * pass. */
enum { ASSAY_MODEL_MOST_IN_FLIGHT = 16 };
ASSAY_API enum assay_status
assay_model_submit(struct assay_model *model, const struct assay_tensor *inputs,
                   struct assay_error *error);
/* Waits for the pass that was submitted first of those in flight, which also
 * ends if it failed. *outputs is valid until the next run or the next that is
 * collected. ASSAY_BAD_USAGE if there is none. */
ASSAY_API enum assay_status
assay_model_collect(struct assay_model *model,
                    const struct assay_tensor **outputs, size_t *n_outputs,
                    struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
