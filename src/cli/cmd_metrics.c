/* cli/cmd_metrics.c - assay metrics: the figures of a model, or of two. */
#include "cli/command.h"

#include "base/mem.h"
#include "base/vec.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/metrics_dataset.h"
#include "cli/metrics_show.h"
#include "cli/nearest.h"
#include "cli/result.h"
#include "cli/run_settings.h"

#include <string.h>

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV, FORMAT_MARKDOWN };

static metrics_show *const formats[] = {
    [FORMAT_TABLE] = metrics_show_table,
    [FORMAT_JSON] = metrics_show_json,
    [FORMAT_CSV] = metrics_show_csv,
    [FORMAT_MARKDOWN] = metrics_show_markdown,
};

struct settings {
    const char *compare, *weights;
    int64_t seed, classes, batch, threads, iterations;
    struct dataset_settings dataset;
    struct words shapes;
    struct words plugins, arguments;
    bool is_override, has_no_weights;
    const char *only;
    bool is_short, has_notes;
    int format;
    const char *output;
};

static const struct settings defaults = {.batch = 1};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "The model"},
    {.name = "compare",
     .kind = OPTION_TEXT,
     .value = "MODEL",
     .help = "a second model, and what it does better",
     FIELD(compare)},
    {.name = "dataset",
     .kind = OPTION_CHOICE,
     .value = "NAME",
     .choices = metrics_datasets,
     .help = "what images a built-in classifier is for: their size, the "
             "classes, and the variant of the model; and what --data is",
     .shown_default = "imagenet; of a detector coco",
     FIELD(dataset.name)},
    {.name = "classes",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 100000,
     .help = "classes; of a detector the background included",
     .shown_default = "those of the dataset",
     FIELD(classes)},
    {.name = "batch",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 48,
     .help = "images of one pass",
     .shown_default = "1",
     FIELD(batch)},
    {.name = "shape",
     .kind = OPTION_LIST,
     .value = "[INPUT=]SHAPE",
     .help = "a shape for an input of an ONNX file that leaves sizes free",
     FIELD(shapes)},
    {.name = "weights",
     .letter = 'w',
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "a checkpoint of PyTorch, or safetensors",
     .shown_default = "random weights",
     FIELD(weights)},
    {.name = "seed",
     .kind = OPTION_INTEGER,
     .value = "N",
     .max = 0x1p53,
     .help = "of the random weights",
     .shown_default = "0",
     FIELD(seed)},
    {.name = "no-weights",
     .kind = OPTION_FLAG,
     .help = "neither load nor make weights: only what the graph tells",
     FIELD(has_no_weights)},
    {.kind = OPTION_SECTION, .help = "The dataset that it is evaluated on"},
    {.name = "data",
     .kind = OPTION_FILE,
     .value = "PATH",
     .help = "where it is: a folder, or a file of COCO annotations",
     .shown_default = "nothing is evaluated",
     FIELD(dataset.path)},
    {.name = "split",
     .kind = OPTION_CHOICE,
     .value = "NAME",
     .choices = metrics_splits,
     .help = "which part of it",
     .shown_default = "test",
     FIELD(dataset.split)},
    {.name = "limit",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1e9,
     .help = "samples, at most",
     .shown_default = "all of them",
     FIELD(dataset.limit)},
    {.name = "input",
     .kind = OPTION_TEXT,
     .value = "KEY=VALUE,...",
     .help = "how a picture becomes the input of an ONNX file, as in `assay "
             "run`",
     FIELD(dataset.input)},
    {.name = "decode",
     .kind = OPTION_CHOICE,
     .value = "KIND",
     .choices = run_decodes,
     .help = "what the outputs of an ONNX file are",
     .shown_default = "none",
     FIELD(dataset.decode)},
    {.kind = OPTION_SECTION, .help = "The metrics"},
    {.name = "only",
     .kind = OPTION_TEXT,
     .value = "KEY,...",
     .help = "compute and show these alone",
     FIELD(only)},
    {.name = "metric",
     .kind = OPTION_LIST,
     .value = "FILE",
     .help = "a plug-in with metrics (.so), or a folder of them",
     FIELD(plugins)},
    {.name = "override",
     .kind = OPTION_FLAG,
     .help = "metrics of the plug-ins take the place of others for good",
     FIELD(is_override)},
    {.name = "set",
     .kind = OPTION_LIST,
     .value = "NAME=VALUE",
     .help = "an argument that a metric takes",
     FIELD(arguments)},
    {.name = "iters",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1e9,
     .help = "passes to measure",
     .shown_default = "until the median is known to 2 %, or for 5 seconds",
     FIELD(iterations)},
    {.name = "threads",
     .letter = 't',
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1024,
     .help = "threads to compute with",
     .shown_default = "the processors of this machine",
     FIELD(threads)},
    {.kind = OPTION_SECTION, .help = "How it is shown"},
    {.name = "short",
     .kind = OPTION_FLAG,
     .help = "without the layers",
     FIELD(is_short)},
    {.name = "notes",
     .kind = OPTION_FLAG,
     .help = "say below what each metric is",
     FIELD(has_notes)},
    {.name = "json",
     .kind = OPTION_MODE,
     .mode = FORMAT_JSON,
     .help = "as JSON",
     FIELD(format)},
    {.name = "csv",
     .kind = OPTION_MODE,
     .mode = FORMAT_CSV,
     .help = "as comma-separated values",
     FIELD(format)},
    {.name = "md",
     .kind = OPTION_MODE,
     .mode = FORMAT_MARKDOWN,
     .help = "as Markdown, for reports",
     FIELD(format)},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "write there instead of to standard output",
     FIELD(output)},
    {.kind = OPTION_END},
};

/* One model that is looked at. Start from {0}. */
struct subject {
    struct assay_model *model;
    struct feed *feed; /* NULL: there is no dataset */
    struct assay_profiler *profiler;
    size_t n_standard; /* keys that are built in, the first ones */
    size_t *keys;      /* what is shown */
    size_t n_keys, keys_capacity;
};

static void subject_release(struct subject *subject)
{
    mem_free(subject->keys);
    assay_profiler_free(subject->profiler);
    feed_close(subject->feed);
    assay_model_free(subject->model);
}

/* A failure of the public interface, for those above. */
static enum assay_status
take(enum assay_status st, const struct assay_error *error, struct error *err)
{
    return st ? error_set(err, st, "%s", error->text) : ASSAY_OK;
}

static void say(void *context, const char *line)
{
    (void)context;
    message_note("%s", line);
}

/* ---- the models ----------------------------------------------------------
 */

static enum assay_status copy_shapes(const struct shape_list *list,
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

static enum assay_status load_model(const struct settings *settings,
                                    const struct assay_input_shape *shapes,
                                    const char *word, struct subject *subject,
                                    struct error *err)
{
    struct assay_model_options wanted = {
        .variant = metrics_variant(&settings->dataset),
        .classes = settings->classes,
        .batch = settings->batch,
        .seed = (uint64_t)settings->seed,
        .has_no_weights = settings->has_no_weights,
        .threads = (int)settings->threads,
        .tell = say,
    };
    struct assay_error error = {0};
    const char *name;
    bool is_onnx;
    enum assay_status st = run_find_model(word, &name, &is_onnx, err);

    if (st)
        return st;
    if (is_onnx) {
        wanted.shapes = shapes;
        wanted.n_shapes = settings->shapes.n;
    } else {
        wanted.weights = settings->weights;
    }
    st = take(assay_model_load(name, &wanted, &subject->model, &error), &error,
              err);
    return st ? st
              : metrics_open_feed(&settings->dataset, name, is_onnx,
                                  subject->model, &subject->feed, err);
}

/* ---- the metrics ---------------------------------------------------------
 */

static enum assay_status set_argument(struct assay_profiler *profiler,
                                      const char *word, struct error *err)
{
    const char *sign = strchr(word, '=');
    struct assay_error error = {0};
    char *name;
    enum assay_status st;

    if (!sign || sign == word)
        return error_set(err, ASSAY_BAD_USAGE, "--set %s: NAME=VALUE is wanted",
                         word);
    name = mem_strndup(word, (size_t)(sign - word));
    if (!name)
        return error_nomem(err, strlen(word), "an argument");
    st =
        take(assay_profiler_set(profiler, name, sign + 1, &error), &error, err);
    mem_free(name);
    return st;
}

static enum assay_status open_profiler(const struct settings *settings,
                                       struct subject *subject,
                                       struct error *err)
{
    const struct assay_profiler_options wanted = {
        .iterations = (uint64_t)settings->iterations,
        .stop = interrupt_watch(),
        .warn = say,
    };
    unsigned flags = settings->is_override ? ASSAY_OVERRIDE : 0;
    struct assay_error error = {0};
    enum assay_status st = take(
        assay_profiler_new(subject->model, &wanted, &subject->profiler, &error),
        &error, err);

    if (!st && subject->feed)
        profiler_set_feed(subject->profiler, subject->feed);
    if (!st)
        st = take(assay_profiler_register_standard(subject->profiler, &error),
                  &error, err);
    if (!st)
        subject->n_standard = assay_profiler_count(subject->profiler);
    for (size_t i = 0; !st && i < settings->plugins.n; i++)
        st = take(assay_profiler_load_plugin(subject->profiler,
                                             settings->plugins.items[i], flags,
                                             &error),
                  &error, err);
    for (size_t i = 0; !st && i < settings->arguments.n; i++)
        st = set_argument(subject->profiler, settings->arguments.items[i], err);
    return st;
}

static enum assay_status add_key(struct subject *subject, size_t key,
                                 struct error *err)
{
    size_t *moved = vec_reserve(subject->keys, &subject->keys_capacity,
                                subject->n_keys + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "a list of metrics");
    subject->keys = moved;
    subject->keys[subject->n_keys++] = key;
    return ASSAY_OK;
}

static enum assay_status find_key(const struct assay_profiler *profiler,
                                  const char *name, size_t n, size_t *key,
                                  struct error *err)
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
    if (nearest.candidate)
        return error_set(err, ASSAY_BAD_USAGE,
                         "there is no metric '%s'; did you mean '%s'?", word,
                         nearest.candidate);
    return error_set(err, ASSAY_BAD_USAGE,
                     "there is no metric '%s'; --notes names those that are",
                     word);
}

static enum assay_status compute_key(struct subject *subject, const char *name,
                                     size_t n, struct error *err)
{
    const struct assay_result *result;
    struct assay_error error = {0};
    size_t key = 0;
    enum assay_status st = find_key(subject->profiler, name, n, &key, err);

    if (st)
        return st;
    st = assay_profiler_compute(
        subject->profiler, assay_profiler_metric(subject->profiler, key)->key,
        0, &result, &error);
    if (!result || st == ASSAY_NOMEM)
        return take(st, &error, err);
    return add_key(subject, key, err);
}

/* The keys of --only, or all of them; what has no value says why. */
static enum assay_status compute(const struct settings *settings,
                                 struct subject *subject, struct error *err)
{
    const char *next = settings->only;
    struct assay_error error = {0};
    enum assay_status st = ASSAY_OK;

    if (!next)
        st = take(assay_profiler_compute_all(subject->profiler, 0, &error),
                  &error, err);
    for (size_t i = 0;
         !st && !next && i < assay_profiler_count(subject->profiler); i++)
        st = add_key(subject, i, err);
    while (!st && next && *next) {
        size_t n = strcspn(next, ",");

        if (n)
            st = compute_key(subject, next, n, err);
        next += next[n] ? n + 1 : n;
    }
    if (!st && !subject->n_keys)
        return error_set(err, ASSAY_BAD_USAGE, "--only names no metric");
    return st;
}

/* With a line on the screen that says how far the evaluation is. */
static enum assay_status compute_seen(const struct settings *settings,
                                      struct subject *subject,
                                      struct error *err)
{
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct progress progress;
    enum assay_status st;

    if (!subject->feed)
        return compute(settings, subject, err);
    progress = progress_start(&screen, &term, clock_real(), "evaluating",
                              "images", feed_count(subject->feed));
    feed_set_progress(subject->feed, &progress);
    st = compute(settings, subject, err);
    feed_set_progress(subject->feed, NULL);
    progress_finish(&progress);
    return st;
}

/* ---- the command ---------------------------------------------------------
 */

static bool shows_layers(const struct settings *settings,
                         const struct subject *subject)
{
    static const char key[] = "layerwise_summary";

    for (size_t i = 0; i < subject->n_keys; i++) {
        size_t at = subject->keys[i];

        if (strcmp(assay_profiler_metric(subject->profiler, at)->key, key) == 0)
            return !settings->is_short;
    }
    return false;
}

/* words: what the models are called on the command line, for two that have one
 * name. */
static enum assay_status show(const struct settings *settings,
                              const struct subject subjects[2],
                              const char *const words[2], size_t n,
                              struct error *err)
{
    struct metrics_view view = {.n_models = n,
                                .n_keys = subjects[0].n_keys,
                                .has_notes = settings->has_notes,
                                .has_layers =
                                    shows_layers(settings, &subjects[0])};
    struct result result;
    enum assay_status st = result_open(settings->output, &result, err);

    if (st)
        return st;
    for (size_t i = 0; i < n; i++) {
        view.models[i] = subjects[i].model;
        view.names[i] = assay_model_name(subjects[i].model);
        view.profilers[i] = subjects[i].profiler;
        view.keys[i] = subjects[i].keys;
    }
    if (n == 2 && strcmp(view.names[0], view.names[1]) == 0)
        memcpy(view.names, words, sizeof view.names);
    formats[settings->format](&view, result.sink, &result.term);
    return result_close(&result, sink_status(result.sink, err), err);
}

/* Whoever asks for a value by name, or brings the metric along, wants to know
 * that there is none; the others are told in the table. */
static enum assay_status check_values(const struct settings *settings,
                                      const struct subject *subject,
                                      struct error *err)
{
    for (size_t i = 0; i < subject->n_keys; i++) {
        const struct assay_result *result =
            assay_profiler_result(subject->profiler, subject->keys[i]);

        if (result->status &&
            (settings->only || subject->keys[i] >= subject->n_standard))
            return error_set(err, result->status, "no value for '%s': %s",
                             result->metric->key, result->reason);
    }
    return ASSAY_OK;
}

static enum assay_status show_metrics(const struct arguments *arguments,
                                      struct error *err)
{
    const struct settings *settings = arguments->settings;
    const char *words[2] = {arguments->operands.items[0], settings->compare};
    size_t n = settings->compare ? 2 : 1;
    struct subject subjects[2] = {{0}};
    struct assay_input_shape *shapes = NULL;
    struct shape_list list = {0};
    enum assay_status st = shapes_read(&settings->shapes, &list, err);

    if (!st)
        st = copy_shapes(&list, &shapes, err);
    for (size_t i = 0; !st && i < n; i++)
        st = load_model(settings, shapes, words[i], &subjects[i], err);
    for (size_t i = 0; !st && i < n; i++)
        st = open_profiler(settings, &subjects[i], err);
    for (size_t i = 0; !st && i < n; i++)
        st = compute_seen(settings, &subjects[i], err);
    if (!st)
        st = show(settings, subjects, words, n, err);
    for (size_t i = 0; !st && i < n; i++)
        st = check_values(settings, &subjects[i], err);
    for (size_t i = 0; i < n; i++)
        subject_release(&subjects[i]);
    mem_free(shapes);
    shapes_release(&list);
    return st;
}

const struct command cmd_metrics = {
    .name = "metrics",
    .section = "Models",
    .purpose = "show the figures of a model, or of two side by side",
    .usage =
        (const char *const[]){"metrics [options] MODEL",
                              "metrics [options] MODEL --compare MODEL", NULL},
    .operands = {.min = 1,
                 .max = 1,
                 .missing = "a model",
                 .endings = (const char *const[]){".onnx", NULL}},
    .description =
        (const char *const[]){
            "Size, multiply-adds, parameters, memory, times, and metrics of "
            "your own, in one table; then the layers. MODEL is one of those "
            "of `assay run`, or an ONNX file. What has no value says why.",
            "Keys for --only: eval_metric, eval_top5, eval_missed, "
            "model_size, complexity, complexity_products, total_params, "
            "memory_footprint, memory_measured, execution_time, throughput, "
            "inference_time, layerwise_summary, and those of plug-ins.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"metrics resnet18 --dataset cifar100",
             "as it is built for images of 32x32"},
            {"metrics teacher.onnx --compare student.onnx --short",
             "two models, with the enhancement in between"},
            {"metrics vgg16 --only model_size,complexity --no-weights",
             "in milliseconds: nothing is run"},
            {"metrics resnet50 --metric ./libsparsity.so --set threshold=1e-3",
             "with a metric of your own: docs/metrics.md"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = show_metrics,
};
