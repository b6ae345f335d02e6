/* session/model_load.c - models of the public interface: opening and closing.
 */
#include "session/public_model.h"

#include "base/cache.h"
#include "base/mem.h"
#include "base/processor.h"
#include "formats/weights/published.h"
#include "run/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void model_forget_times(struct assay_model *model)
{
    mem_free(model->times);
    run_free(model->run);
    model->times = NULL;
    model->run = NULL;
}

void assay_model_free(struct assay_model *model)
{
    if (!model)
        return;
    model_stop(model);
    model_forget_times(model);
    str_release(&model->input_text);
    layers_release(&model->layers);
    survey_release(&model->survey);
    model_inputs_release(&model->inputs);
    graph_free(model->graph);
    pool_free(model->pool);
    str_release(&model->choices);
    arena_release(&model->memory);
    mem_free(model);
}

void lines_tell(const struct str *lines,
                void (*tell)(void *context, const char *line), void *context)
{
    const char *line = str_text(lines);
    char text[256];

    while (tell && *line) {
        size_t n = strcspn(line, "\n");

        snprintf(text, sizeof text, "%.*s", (int)n, line);
        tell(context, text);
        line += line[n] ? n + 1 : n;
    }
}

void model_tell(const struct assay_model *model, const struct str *lines)
{
    lines_tell(lines, model->tell, model->tell_context);
}

/* ---- options ------------------------------------------------------------ */

static enum assay_status
find_variant(const char *name, enum model_variant *variant, struct error *err)
{
    static const char *const names[] = {[MODEL_IMAGENET] = "imagenet",
                                        [MODEL_CIFAR10] = "cifar10",
                                        [MODEL_CIFAR100] = "cifar100"};

    *variant = MODEL_IMAGENET;
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            *variant = (enum model_variant)i;
            return ASSAY_OK;
        }
    }
    return name ? error_set(err, ASSAY_BAD_USAGE,
                            "unknown variant '%s'; it must be imagenet, "
                            "cifar10 or cifar100",
                            name)
                : ASSAY_OK;
}

static enum assay_status
model_load_copy_shapes(struct assay_model *model,
                       const struct assay_model_options *options,
                       struct error *err)
{
    size_t n = options->n_shapes;
    struct model_file_shape *copies =
        arena_alloc(&model->memory, (n + 1) * sizeof *copies);

    if (!copies)
        return error_nomem(err, n * sizeof *copies, "shapes of inputs");
    for (size_t i = 0; i < n; i++) {
        const struct assay_input_shape *shape = &options->shapes[i];

        if (shape->rank < 0 || shape->rank > SHAPE_MAX_RANK)
            return error_set(
                err, ASSAY_BAD_USAGE,
                "a shape of %d dimensions; at most %d are possible",
                shape->rank, SHAPE_MAX_RANK);
        copies[i] = (struct model_file_shape){.shape.rank = shape->rank};
        memcpy(copies[i].shape.dims, shape->dims, sizeof shape->dims);
        if (!shape->input)
            continue;
        copies[i].input = arena_strdup(&model->memory, shape->input);
        if (!copies[i].input)
            return error_nomem(err, strlen(shape->input), "an input's name");
    }
    model->options.model.file.shapes = copies;
    model->options.model.file.n_shapes = n;
    return ASSAY_OK;
}

/* A built-in model, or the path of a file. */
static enum assay_status choose_model(struct assay_model *model,
                                      const char *name, struct error *err)
{
    struct session_options *job = &model->options;

    job->model.name = model_full_name(name);
    if (job->model.name)
        return ASSAY_OK;
    if (access(name, F_OK) != 0)
        return error_set(err, ASSAY_NOT_FOUND,
                         "there is no built-in model and no file '%s'; 'assay "
                         "help run' lists the models",
                         name);
    job->model.is_file = true;
    job->model.name = arena_strdup(&model->memory, name);
    return job->model.name ? ASSAY_OK
                           : error_nomem(err, strlen(name), "a file name");
}

static enum assay_status
model_load_set_build(struct assay_model *model,
                     const struct assay_model_options *options,
                     struct error *err)
{
    struct session_options *job = &model->options;
    bool is_classifier = model_is_classifier(&job->model);
    enum model_variant variant;
    enum assay_status st = find_variant(options->variant, &variant, err);

    if (st)
        return st;
    job->vision.recipe = recipe_defaults();
    job->vision.decode = DECODE_NONE;
    job->model.build = model_defaults();
    if (is_classifier)
        job->vision.recipe = recipe_of_variant(variant);
    if (!job->model.is_file) {
        job->vision.decode = is_classifier ? DECODE_CLASSES : DECODE_DETECTOR;
        job->model.build = model_options_for(job->model.name, variant);
    }
    job->model.build.n_images = options->batch > 0 ? options->batch : 1;
    if (options->classes > 0)
        job->model.build.n_classes = options->classes;
    if (options->min_size > 0)
        job->model.build.min_size = options->min_size;
    if (job->model.weights)
        job->model.build.norm_eps = weights_norm_eps(job->model.weights);
    if (options->width)
        job->vision.recipe.width = options->width;
    if (options->height)
        job->vision.recipe.height = options->height;
    return ASSAY_OK;
}

static enum assay_status
model_load_set_options(struct assay_model *model, const char *name,
                       const struct assay_model_options *options,
                       struct error *err)
{
    struct session_options *job = &model->options;
    enum assay_status st = choose_model(model, name, err);

    if (st)
        return st;
    job->model.seed = options->seed;
    job->n_threads =
        options->threads > 0 ? options->threads : processor_count();
    st = device_find(options->device, &job->device, err);
    if (st)
        return st;
    job->detail = ENGINE_OPS;
    job->may_replay = true;
    job->tuning_seconds = 4;
    job->vision.is_random = true;
    if (options->weights && job->model.is_file)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s has its own weights; weights from another file "
                         "are only for built-in models",
                         name);
    if (options->weights) {
        job->model.weights = arena_strdup(&model->memory, options->weights);
        if (!job->model.weights)
            return error_nomem(err, strlen(options->weights), "a file name");
    }
    model->may_fill = !options->has_no_weights;
    snprintf(model->random_text, sizeof model->random_text,
             "random (seed %" PRIu64 ")", options->seed);
    model->tell = options->tell;
    model->tell_context = options->tell_context;
    st = model_load_set_build(model, options, err);
    return st ? st : model_load_copy_shapes(model, options, err);
}

/* Without a home folder, or if it is not writable, kernels are chosen again. */
static void find_choices(struct assay_model *model)
{
    if (cache_path("kernels.txt", &model->choices, NULL) ||
        cache_make_folders(model->choices.text, NULL))
        str_clear(&model->choices);
    if (model->choices.n)
        model->options.choices_path = model->choices.text;
}

/* ---- the graph ---------------------------------------------------------- */

static enum assay_status model_load_open_graph(struct assay_model *model,
                                               struct error *err)
{
    struct model_source source = model->options.model;
    struct str lines = {0};
    struct sink problems = sink_to_str(&lines);
    enum assay_status st = pool_new(&model->pool, err);

    source.file.problems = &problems;
    if (!st) {
        pool_report(model->pool, true);
        st = model_open(&source, model->pool, &model->graph, err);
    }
    model->is_filled = !st && graph_has_data(model->graph);
    model->is_random = !model->is_filled && !source.weights;
    if (st)
        model_tell(model, &lines);
    str_release(&lines);
    return st;
}

/* A file may fix how many images it takes. */
static enum assay_status model_load_check_batch(const struct assay_model *model,
                                                struct error *err)
{
    int64_t batch = model->options.model.build.n_images;
    const struct shape *shape = &model->inputs.shapes[0];
    char text[64];

    if (!model->options.model.is_file || batch == 1 ||
        (model->inputs.n && model_inputs_images(shape) == batch))
        return ASSAY_OK;
    if (!model->inputs.n)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s has no inputs; it cannot take a batch of %lld",
                         model->options.model.name, (long long)batch);
    return error_set(err, ASSAY_BAD_USAGE,
                     "the input of %s is %s; a batch of %lld does not fit",
                     model->options.model.name,
                     shape_text(shape, text, sizeof text), (long long)batch);
}

static enum assay_status look_over(struct assay_model *model, struct error *err)
{
    enum assay_status st =
        model_inputs_shapes(&model->inputs, &model->options.model,
                            &model->options.vision, model->graph, err);

    if (!st)
        st = model_load_check_batch(model, err);
    if (!st)
        st = survey_graph(&model->survey, model->graph, model->inputs.shapes,
                          err);
    if (!st)
        st = layers_list(&model->layers, model->graph, &model->survey, err);
    if (!st)
        st = model_inputs_text(&model->inputs, model->graph, &model->input_text,
                               err);
    return st ? st : model_describe(model, err);
}

enum assay_status assay_model_load(const char *name,
                                   const struct assay_model_options *options,
                                   struct assay_model **out,
                                   struct assay_error *error)
{
    static const struct assay_model_options defaults;
    struct assay_model *model = mem_zalloc(sizeof *model);
    struct error err = {0};
    enum assay_status st;

    *out = NULL;
    if (!model)
        return error_export(&err, error_nomem(&err, sizeof *model, "a model"),
                            error);
    st = model_load_set_options(model, name, options ? options : &defaults,
                                &err);
    if (!st) {
        find_choices(model);
        st = model_load_open_graph(model, &err);
    }
    if (!st)
        st = look_over(model, &err);
    if (st)
        assay_model_free(model);
    else
        *out = model;
    return error_export(&err, st, error);
}

/* ---- the weights -------------------------------------------------------- */

enum assay_status model_weights(struct assay_model *model, struct error *err)
{
    struct str lines = {0};
    struct sink problems = sink_to_str(&lines);
    enum assay_status st;

    if (model->is_filled)
        return ASSAY_OK;
    if (!model->may_fill)
        return error_set(err, ASSAY_BAD_USAGE, "%s was loaded without weights",
                         graph_name(model->graph));
    st = model_load_weights(&model->options.model, model->graph, model->pool,
                            &problems, err);
    model->is_filled = !st;
    if (st)
        model_tell(model, &lines);
    else
        model_describe_data(model);
    str_release(&lines);
    return st;
}

enum assay_status assay_model_fill(struct assay_model *model,
                                   struct assay_error *error)
{
    struct error err = {0};

    return error_export(&err, model_weights(model, &err), error);
}
