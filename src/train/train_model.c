/* train/train_model.c - see train_internal.h. */
#include "train/train_internal.h"

#include "formats/weights/load_weights.h"
#include "formats/weights/published.h"
#include "passes/fuse.h"
#include "passes/train_pass.h"

#include <inttypes.h>
#include <string.h>

static enum model_variant variant_of(const struct train_config *config)
{
    switch ((enum train_dataset)config->dataset.kind) {
    case TRAIN_CIFAR10:
        return MODEL_CIFAR10;
    case TRAIN_CIFAR100:
        return MODEL_CIFAR100;
    case TRAIN_PETS:
    case TRAIN_COCO:
    case TRAIN_VOC:
    case TRAIN_IMAGEFOLDER:
    case TRAIN_SYNTHETIC:
        break;
    }
    return MODEL_IMAGENET;
}

/* ---- weights ----------------------------------------------------------- */

/* The published weights if they were fetched before; else nothing. */
static enum assay_status find_published(const struct train_plan *plan,
                                        struct str *path, struct error *err)
{
    const struct published *published = published_find(plan->model);
    bool is_here = false;
    enum assay_status st;

    if (!published || plan->build.variant != MODEL_IMAGENET)
        return ASSAY_OK;
    st = published_path(published, path, &is_here, err);
    if (!st && !is_here)
        str_clear(path);
    return st;
}

static enum assay_status find_weights(const struct train_config *config,
                                      struct train_plan *plan, struct str *path,
                                      struct error *err)
{
    const char *weights = config->model.weights;
    bool is_auto = strcmp(weights, "auto") == 0;
    enum assay_status st = ASSAY_OK;

    if (is_auto && plan->is_file)
        return ASSAY_OK; /* its own: train_file_read() */
    if (is_auto)
        st = find_published(plan, path, err);
    else if (strcmp(weights, "random") != 0 && str_append(path, weights))
        st = error_nomem(err, strlen(weights), "a file name");
    if (st)
        return st;
    if (path->n)
        st = str_append(&plan->weights, path->text);
    else
        st =
            str_printf(&plan->weights, "random (seed %" PRIu64 ")", plan->seed);
    return st ? error_nomem(err, path->n, "the name of the weights") : st;
}

/* ---- the model --------------------------------------------------------- */

static void set_norm(const struct train_config *config, const char *path,
                     struct model_options *build)
{
    bool is_frozen = config->model.norm == TRAIN_NORM_AUTO
                         ? path[0] != '\0'
                         : config->model.norm == TRAIN_NORM_FROZEN;

    build->norm = is_frozen ? NORM_FROZEN : NORM_BATCH;
    if (path[0])
        build->norm_eps = weights_norm_eps(path);
}

static void set_size(const struct train_config *config,
                     struct model_options *build)
{
    int64_t side = config->dataset.image_size;

    build->max_size = config->dataset.max_size;
    if (side > 0)
        build->image_size = build->min_size = side;
}

enum assay_status train_model_plan(const struct train_config *config,
                                   int64_t n_classes, struct train_plan *plan,
                                   struct str *path, struct error *err)
{
    struct model_options *build = &plan->build;
    enum assay_status st;

    *build = model_options_for(plan->model, variant_of(config));
    build->is_training = true;
    build->n_images = config->training.batch_size;
    build->n_classes = n_classes;
    build->trainable_layers = config->model.trainable_backbone_layers;
    st = find_weights(config, plan, path, err);
    if (st)
        return st;
    set_size(config, build);
    if (plan->task == TASK_DETECTION)
        set_norm(config, str_text(path), build);
    return ASSAY_OK;
}

static void plan_parameters(const struct graph *graph, struct train_plan *plan)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);
        size_t n;

        if (value->kind != VALUE_PARAMETER ||
            !shape_elements(&value->shape, &n))
            continue;
        plan->parameters += n;
        if (!value->is_frozen)
            plan->trainable_parameters += n;
    }
}

enum assay_status train_model_build(struct train_plan *plan, struct graph **out,
                                    struct error *err)
{
    enum assay_status st =
        plan->is_file ? graph_make_training(*out, NULL, err)
                      : model_build(plan->model, &plan->build, out, err);

    if (!st)
        st = fuse_training(*out, err);
    if (!st)
        plan_parameters(*out, plan);
    return st;
}

enum assay_status train_model_fill(struct train_plan *plan, const char *path,
                                   struct pool *pool, struct sink *warnings,
                                   struct graph *graph, struct error *err)
{
    enum { most_told = 10 };
    const struct weights_problems problems = {warnings, most_told};
    uint32_t owner = pool_set_owner(pool, OWNER_WEIGHTS);
    enum assay_status st = ASSAY_OK;

    if (path[0])
        st = weights_load_to_train(graph, path, pool,
                                   warnings ? &problems : NULL, NULL,
                                   &plan->renewed, err);
    if (!st)
        st = model_fill(graph, pool, plan->seed, err);
    pool_set_owner(pool, owner);
    return st;
}
