/* train/train_file.c - see train_internal.h. */
#include "train/train_internal.h"

#include "graph/survey.h"
#include "models/model_open.h"

#include <inttypes.h>
#include <string.h>

enum { usual_side = 224 };

bool train_file_is(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && (strcmp(dot, ".net") == 0 || strcmp(dot, ".onnx") == 0);
}

static enum assay_status file_refuse(const struct train_plan *plan,
                                     const char *why, struct error *err)
{
    return error_set(
        err, ASSAY_UNSUPPORTED,
        "%s cannot be trained: %s; a model from a file must be a classifier",
        plan->model, why);
}

/* The settings apply where the file leaves a choice. */
static enum assay_status find_images(const struct train_config *config,
                                     struct train_plan *plan,
                                     const struct graph *graph,
                                     struct shape *images, struct error *err)
{
    const struct shape *declared =
        graph_input_count(graph) == 1 ? graph_input_shape(graph, 0) : NULL;
    int64_t side = config->dataset.image_size;

    if (!declared || declared->rank != 4 || declared->dims[1] != 3)
        return file_refuse(plan, "its input is not a batch of colour images",
                           err);
    if (declared->dims[2] != declared->dims[3])
        return file_refuse(plan, "its images are not square", err);
    if (declared->dims[2] > 0 && side > 0 && side != declared->dims[2])
        return error_set(
            err, ASSAY_BAD_USAGE,
            "dataset.image_size is %lld, but the images of %s have %lld pixels",
            (long long)side, plan->model, (long long)declared->dims[2]);
    if (declared->dims[2] > 0)
        side = declared->dims[2];
    plan->build.image_size = side > 0 ? side : usual_side;
    *images = shape_of(4, config->training.batch_size, (int64_t)3,
                       plan->build.image_size, plan->build.image_size);
    return ASSAY_OK;
}

static enum assay_status file_classes(struct train_plan *plan,
                                      const struct graph *graph,
                                      const struct shape *images,
                                      struct error *err)
{
    struct survey survey = {0};
    const struct shape *scores;
    enum assay_status st = survey_graph(&survey, graph, images, err);

    if (st)
        error_context(err, "%s with a batch of %lld", plan->model,
                      (long long)images->dims[0]);
    scores = st ? NULL : survey_output_shape(&survey, graph, 0);
    if (!st &&
        (!scores || scores->rank != 2 || scores->dims[0] != images->dims[0]))
        st = file_refuse(plan, "its first output is not one score per class",
                         err);
    if (!st)
        plan->build.n_classes = scores->dims[1];
    survey_release(&survey);
    return st;
}

static void file_forget_weights(struct graph *graph)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        enum value_kind kind = graph_value(graph, i)->kind;

        if (kind == VALUE_PARAMETER || kind == VALUE_BUFFER)
            graph_release_data(graph, i);
    }
}

/* ONNX files do not say how to draw weights; theirs would all be 0. */
static bool tells_how_drawn(const struct graph *graph)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if (value->kind == VALUE_PARAMETER && value->shape.rank > 1 &&
            value->fill == FILL_ZERO)
            return false;
    }
    return true;
}

/* The file's own weights; a .net file may have none. */
static enum assay_status name_weights(struct train_plan *plan,
                                      const struct graph *graph,
                                      struct error *err)
{
    enum assay_status st =
        graph_has_data(graph)
            ? str_append(&plan->weights, plan->model)
            : str_printf(&plan->weights, "random (seed %" PRIu64 ")",
                         plan->seed);

    return st ? error_nomem(err, 64, "the name of the weights") : ASSAY_OK;
}

/* Weights from another file, a checkpoint or the seed replace the file's
 * own. */
static enum assay_status settle_weights(const struct train_config *config,
                                        struct train_plan *plan,
                                        struct graph *graph, struct error *err)
{
    const char *wanted = config->model.weights;
    bool is_auto = strcmp(wanted, "auto") == 0;
    enum assay_status st = is_auto ? name_weights(plan, graph, err) : ASSAY_OK;

    if (st || (is_auto && !plan->first_step))
        return st;
    if (!plan->first_step && strcmp(wanted, "random") == 0 &&
        !tells_how_drawn(graph))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s does not say how to draw random weights; use "
                         "weights = \"auto\" to start from its own",
                         plan->model);
    file_forget_weights(graph);
    return ASSAY_OK;
}

enum assay_status train_file_read(const struct train_config *config,
                                  struct train_plan *plan, struct pool *pool,
                                  struct graph **out, struct error *err)
{
    const struct model_source source = {.name = plan->model, .is_file = true};
    uint32_t owner = pool_set_owner(pool, OWNER_WEIGHTS);
    struct shape images = {0};
    enum assay_status st = model_open(&source, pool, out, err);

    pool_set_owner(pool, owner);
    if (!st)
        st = find_images(config, plan, *out, &images, err);
    if (!st)
        st = file_classes(plan, *out, &images, err);
    return st ? st : settle_weights(config, plan, *out, err);
}

enum assay_status train_file_check_classes(const struct train_plan *plan,
                                           int64_t n_labels, struct error *err)
{
    if (n_labels <= plan->build.n_classes)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s has %lld classes, and the dataset has %lld; make one "
                     "with enough by 'assay prune MODEL --classes %lld'",
                     plan->model, (long long)plan->build.n_classes,
                     (long long)n_labels, (long long)n_labels);
}
