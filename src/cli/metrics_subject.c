/* cli/metrics_subject.c - see metrics_subject.h. */
#include "cli/metrics_subject.h"

#include "base/mem.h"
#include "base/vec.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/recipe_text.h"
#include "cli/run_settings.h"
#include "session/public_model.h"
#include "vision/decoder.h"

#include <string.h>

void metrics_subject_release(struct metrics_subject *subject)
{
    mem_free(subject->keys);
    assay_profiler_free(subject->profiler);
    feed_close(subject->feed);
    assay_model_free(subject->model);
    input_words_release(&subject->inputs);
}

/* Turns an error of the public interface into one of ours. */
static enum assay_status metrics_take(enum assay_status st,
                                      const struct assay_error *error,
                                      struct error *err)
{
    return st ? error_set(err, st, "%s", error->text) : ASSAY_OK;
}

static void metrics_say(void *context, const char *line)
{
    (void)context;
    message_note("%s", line);
}

/* ---- the dataset -------------------------------------------------------- */

enum metrics_name {
    NAME_IMAGENET, /* also the default */
    NAME_CIFAR10,
    NAME_CIFAR100,
    NAME_IMAGEFOLDER,
    NAME_COCO,
    NAME_VOC,
    NAME_PETS,
    NAME_SYNTHETIC,
    N_NAMES
};

const char *const metrics_datasets[N_NAMES + 1] = {
    [NAME_IMAGENET] = "imagenet",
    [NAME_CIFAR10] = "cifar10",
    [NAME_CIFAR100] = "cifar100",
    [NAME_IMAGEFOLDER] = "imagefolder",
    [NAME_COCO] = "coco",
    [NAME_VOC] = "voc",
    [NAME_PETS] = "oxford-iiit-pet",
    [NAME_SYNTHETIC] = "synthetic",
};

const char *const metrics_splits[] = {"test", "train", NULL};

static const struct {
    enum dataset_kind kind;
    enum model_variant variant;
} meanings[N_NAMES] = {
    [NAME_IMAGENET] = {DATASET_IMAGEFOLDER, MODEL_IMAGENET},
    [NAME_CIFAR10] = {DATASET_CIFAR10, MODEL_CIFAR10},
    [NAME_CIFAR100] = {DATASET_CIFAR100, MODEL_CIFAR100},
    [NAME_IMAGEFOLDER] = {DATASET_IMAGEFOLDER, MODEL_IMAGENET},
    [NAME_COCO] = {DATASET_COCO, MODEL_IMAGENET},
    [NAME_VOC] = {DATASET_VOC, MODEL_IMAGENET},
    [NAME_PETS] = {DATASET_PETS, MODEL_IMAGENET},
    [NAME_SYNTHETIC] = {DATASET_SYNTHETIC, MODEL_IMAGENET},
};

/* The variant of a built-in classifier that fits the dataset. */
static const char *metrics_variant(const struct dataset_settings *settings)
{
    return run_variants[meanings[settings->name].variant];
}

static enum assay_status
metrics_check_unused(const struct dataset_settings *settings, struct error *err)
{
    const char *unused = settings->limit    ? "limit"
                         : settings->split  ? "split"
                         : settings->input  ? "input"
                         : settings->decode ? "decode"
                                            : NULL;

    if (!unused)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "--%s needs a dataset; name it with --data", unused);
}

static enum dataset_kind
metrics_choose_kind(const struct dataset_settings *settings,
                    const struct model_source *model)
{
    const struct decoder *decoder = decoder_of(run_decode(settings->decode));
    bool is_detector = model->is_file ? decoder && decoder->has_boxes
                                      : model_is_detector(model);

    if (settings->name == NAME_IMAGENET && is_detector)
        return DATASET_COCO;
    return meanings[settings->name].kind;
}

static enum assay_status
metrics_set_ends(const struct dataset_settings *settings, bool is_file,
                 struct feed_options *options, struct error *err)
{
    const char *recipe = input_words_recipe(settings->input);

    if (!is_file && (settings->input || settings->decode))
        return error_set(err, ASSAY_BAD_USAGE,
                         "--%s is for model files; built-in models need no "
                         "such option",
                         settings->input ? "input" : "decode");
    options->decode = run_decode(settings->decode);
    options->recipe = options->decode == DECODE_NONE
                          ? recipe_defaults()
                          : decoder_of(options->decode)->recipe;
    return recipe ? recipe_read(recipe, &options->recipe, err) : ASSAY_OK;
}

/* made: options for generated images. Without a dataset there is no feed, and
 * options about one are refused. */
static enum assay_status
metrics_open_feed(const struct dataset_settings *settings,
                  const struct model_source *model,
                  const struct synthetic_options *made,
                  struct metrics_subject *subject, struct error *err)
{
    struct feed_options options = {
        .image_input = subject->inputs.image,
        .data = {.kind = metrics_choose_kind(settings, model),
                 .split = settings->split ? DATASET_TRAIN : DATASET_TEST,
                 .path = settings->path,
                 .limit = (size_t)settings->limit,
                 .keeps_shapes = true,
                 .synthetic = *made},
    };
    enum assay_status st;

    if (!settings->path && options.data.kind != DATASET_SYNTHETIC)
        return metrics_check_unused(settings, err);
    st = metrics_set_ends(settings, model->is_file, &options, err);
    return st ? st : feed_open(subject->model, &options, &subject->feed, err);
}

/* ---- the models --------------------------------------------------------- */

static enum assay_status metrics_copy_shapes(const struct shape_list *list,
                                             struct assay_input_shape **out,
                                             struct error *err)
{
    struct assay_input_shape *shapes = mem_array(list->n, sizeof *shapes);

    *out = shapes;
    if (!shapes)
        return error_nomem(err, list->n * sizeof *shapes, "shapes of inputs");
    for (size_t i = 0; i < list->n; i++) {
        shapes[i].input = list->items[i].input;
        shapes[i].rank = list->items[i].shape.rank;
        memcpy(shapes[i].dims, list->items[i].shape.dims,
               sizeof shapes[i].dims);
    }
    return ASSAY_OK;
}

/* The same images that `assay train` generates for these settings. */
static struct synthetic_options
metrics_made_images(const struct metrics_settings *settings,
                    const struct model_source *model)
{
    bool is_detector = model_is_detector(model);
    int64_t n = settings->classes;

    return (struct synthetic_options){
        .width = (int)settings->min_size,
        .height = (int)settings->min_size,
        .n_classes = n > 0 ? (size_t)(n - is_detector) : 0,
        .seed = (uint64_t)settings->seed,
        .has_one = !is_detector,
    };
}

/* Whether a word of --set is for an input of the model, not for a metric. */
static bool metrics_is_input(const struct assay_model *model, const char *word)
{
    size_t n = strcspn(word, "=");

    for (size_t i = 0; i < assay_model_input_count(model); i++) {
        const char *name = NULL;

        (void)assay_model_input(model, i, &name);
        if (strlen(name) == n && memcmp(name, word, n) == 0)
            return true;
    }
    return false;
}

/* The model keeps what is borrowed from the subject. */
static enum assay_status
metrics_set_inputs(const struct metrics_settings *settings,
                   struct metrics_subject *subject, struct error *err)
{
    const struct words *given = &settings->arguments;
    struct vision_options *vision = &subject->model->options.vision;
    struct words set = {.items = mem_array(given->n, sizeof *set.items)};
    enum assay_status st;

    if (!set.items)
        return error_nomem(err, given->n * sizeof *set.items, "a list");
    for (size_t i = 0; i < given->n; i++) {
        if (metrics_is_input(subject->model, given->items[i]))
            set.items[set.n++] = given->items[i];
    }
    st = input_words_read(&subject->inputs, settings->dataset.input, &set, err);
    vision->settings = subject->inputs.settings;
    vision->n_settings = subject->inputs.n_settings;
    mem_free(set.items);
    return st;
}

static enum assay_status
metrics_load_model(const struct metrics_settings *settings,
                   const struct assay_input_shape *shapes, const char *word,
                   const char *weights, struct metrics_subject *subject,
                   struct error *err)
{
    struct assay_model_options wanted = {
        .variant = metrics_variant(&settings->dataset),
        .classes = settings->classes,
        .batch = settings->batch,
        .min_size = settings->min_size,
        .seed = (uint64_t)settings->seed,
        .weights = weights,
        .has_no_weights = settings->has_no_weights,
        .device = settings->device,
        .threads = (int)settings->threads,
        .tell = metrics_say,
    };
    struct assay_error error = {0};
    struct synthetic_options made;
    struct model_source model;
    enum assay_status st = run_find_model(word, &model, err);

    if (st)
        return st;
    made = metrics_made_images(settings, &model);
    if (model.is_file) {
        wanted.shapes = shapes;
        wanted.n_shapes = settings->shapes.n;
    }
    st = metrics_take(
        assay_model_load(model.name, &wanted, &subject->model, &error), &error,
        err);
    if (!st)
        st = metrics_set_inputs(settings, subject, err);
    return st ? st
              : metrics_open_feed(&settings->dataset, &model, &made, subject,
                                  err);
}

/* ---- the metrics -------------------------------------------------------- */

static enum assay_status metrics_set_argument(struct assay_profiler *profiler,
                                              const char *word,
                                              struct error *err)
{
    const char *sign = strchr(word, '=');
    struct assay_error error = {0};
    char *name;
    enum assay_status st;

    if (!sign || sign == word)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--set needs NAME=VALUE, not '%s'", word);
    name = mem_strndup(word, (size_t)(sign - word));
    if (!name)
        return error_nomem(err, strlen(word), "an argument");
    st = metrics_take(assay_profiler_set(profiler, name, sign + 1, &error),
                      &error, err);
    if (st)
        error_context(err, "--set %s", word);
    mem_free(name);
    return st;
}

static enum assay_status
metrics_open_profiler(const struct metrics_settings *settings,
                      struct metrics_subject *subject, struct error *err)
{
    const struct assay_profiler_options wanted = {
        .iterations = (uint64_t)settings->iterations,
        .stop = interrupt_watch(),
        .warn = metrics_say,
    };
    unsigned flags = settings->is_override ? ASSAY_OVERRIDE : 0;
    struct assay_error error = {0};
    enum assay_status st = metrics_take(
        assay_profiler_new(subject->model, &wanted, &subject->profiler, &error),
        &error, err);

    if (!st && subject->feed)
        profiler_set_feed(subject->profiler, subject->feed);
    if (!st)
        st = metrics_take(
            assay_profiler_register_standard(subject->profiler, &error), &error,
            err);
    if (!st)
        subject->n_standard = assay_profiler_count(subject->profiler);
    for (size_t i = 0; !st && i < settings->plugins.n; i++)
        st = metrics_take(assay_profiler_load_plugin(subject->profiler,
                                                     settings->plugins.items[i],
                                                     flags, &error),
                          &error, err);
    for (size_t i = 0; !st && i < settings->arguments.n; i++) {
        const char *word = settings->arguments.items[i];

        if (!metrics_is_input(subject->model, word))
            st = metrics_set_argument(subject->profiler, word, err);
    }
    return st;
}

static enum assay_status metrics_add_key(struct metrics_subject *subject,
                                         size_t key, struct error *err)
{
    size_t *moved = vec_reserve(subject->keys, &subject->keys_capacity,
                                subject->n_keys + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "a list of metrics");
    subject->keys = moved;
    subject->keys[subject->n_keys++] = key;
    return ASSAY_OK;
}

static enum assay_status metrics_find_key(const struct assay_profiler *profiler,
                                          const char *name, size_t n,
                                          size_t *key, struct error *err)
{
    char word[64];
    struct nearest nearest;

    snprintf(word, sizeof word, "%.*s", (int)n, name);
    nearest = nearest_to(word);
    for (size_t i = 0; i < assay_profiler_count(profiler); i++) {
        const char *known = assay_profiler_metric(profiler, i)->key;

        nearest_offer(&nearest, known);
        if (strcmp(known, word) == 0) {
            *key = i;
            return ASSAY_OK;
        }
    }
    return message_unknown("unknown metric", &nearest, "--notes lists them",
                           err);
}

static enum assay_status metrics_compute_key(struct metrics_subject *subject,
                                             const char *name, size_t n,
                                             struct error *err)
{
    const struct assay_result *result;
    struct assay_error error = {0};
    size_t key = 0;
    enum assay_status st =
        metrics_find_key(subject->profiler, name, n, &key, err);

    if (st)
        return st;
    st = assay_profiler_compute(
        subject->profiler, assay_profiler_metric(subject->profiler, key)->key,
        0, &result, &error);
    if (!result || st == ASSAY_NOMEM)
        return metrics_take(st, &error, err);
    return metrics_add_key(subject, key, err);
}

static enum assay_status
metrics_compute(const struct metrics_settings *settings,
                struct metrics_subject *subject, struct error *err)
{
    const char *next = settings->only;
    struct assay_error error = {0};
    enum assay_status st = ASSAY_OK;

    if (!next)
        st = metrics_take(
            assay_profiler_compute_all(subject->profiler, 0, &error), &error,
            err);
    for (size_t i = 0;
         !st && !next && i < assay_profiler_count(subject->profiler); i++)
        st = metrics_add_key(subject, i, err);
    while (!st && next && *next) {
        size_t n = strcspn(next, ",");

        if (n)
            st = metrics_compute_key(subject, next, n, err);
        next += next[n] ? n + 1 : n;
    }
    if (!st && !subject->n_keys)
        return error_set(err, ASSAY_BAD_USAGE, "--only names no metric");
    return st;
}

/* Shows the progress of the evaluation. */
enum assay_status
metrics_subject_compute(const struct metrics_settings *settings,
                        struct metrics_subject *subject, struct error *err)
{
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct progress progress;
    enum assay_status st;

    if (!subject->feed)
        return metrics_compute(settings, subject, err);
    progress = progress_start(&screen, &term, clock_real(), "evaluating",
                              "images", feed_dataset(subject->feed)->n);
    feed_set_progress(subject->feed, &progress);
    st = metrics_compute(settings, subject, err);
    feed_set_progress(subject->feed, NULL);
    progress_finish(&progress);
    return st;
}

enum assay_status metrics_subject_open(const struct metrics_settings *settings,
                                       const char *word, const char *weights,
                                       struct metrics_subject *subject,
                                       struct error *err)
{
    struct assay_input_shape *shapes = NULL;
    struct shape_list list = {0};
    enum assay_status st = shapes_read(&settings->shapes, &list, err);

    if (!st)
        st = metrics_copy_shapes(&list, &shapes, err);
    if (!st)
        st = metrics_load_model(settings, shapes, word, weights, subject, err);
    if (!st)
        st = metrics_open_profiler(settings, subject, err);
    mem_free(shapes);
    shapes_release(&list);
    return st;
}
