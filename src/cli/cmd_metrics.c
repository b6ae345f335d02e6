/* cli/cmd_metrics.c - assay metrics: the figures of one model, or of two. */
#include "cli/command.h"

#include "cli/metrics_show.h"
#include "cli/metrics_subject.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "session/model_parts.h"
#include "views/model_title.h"

#include <string.h>

static metrics_show *const formats[] = {
    [FORMAT_TABLE] = metrics_show_table,
    [FORMAT_JSON] = metrics_show_json,
    [FORMAT_CSV] = metrics_show_csv,
    [FORMAT_MARKDOWN] = metrics_show_markdown,
};

static const struct metrics_settings defaults = {.batch = 1};

#define FIELD(field) OPTION_FIELD(struct metrics_settings, field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "The model"},
    {OPT_TEXT("compare", "MODEL"), .role = ROLE_INPUT, .is_once = true,
     .help = "compare with this second model", FIELD(compare)},
    {OPT_FILE("compare-weights", "FILE"), .is_once = true,
     .help = "checkpoint of the second model",
     .shown_default = "random weights", FIELD(compare_weights)},
    {OPT_TEXT("name", "TEXT"), .is_once = true,
     .help = "what the model is called in the table",
     .shown_default = "its own name", FIELD(name)},
    {OPT_TEXT("compare-name", "TEXT"), .is_once = true,
     .help = "the same for the second model", FIELD(compare_name)},
    {OPT_CHOICE("dataset", "NAME", metrics_datasets),
     .help = "the images that a built-in classifier is built for (their size, "
             "the classes, the variant of the model), and the kind of --data",
     .shown_default = "imagenet, or coco for a detector", FIELD(dataset.name)},
    RUN_CLASSES_OPTION(.shown_default = "those of the dataset", FIELD(classes)),
    RUN_BATCH_OPTION(FIELD(batch)),
    {OPT_INTEGER("min-size", "N", 16, 10000),
     .help = "resize the shorter side of a detector's images to this many "
             "pixels",
     .shown_default = "800", FIELD(min_size)},
    RUN_SHAPE_OPTION(FIELD(shapes)),
    RUN_WEIGHTS_OPTION("a PyTorch checkpoint or safetensors file",
                       .shown_default = "random weights", FIELD(weights)),
    OPTION_SEED("seed for the random weights", FIELD(seed)),
    {OPT_FLAG("no-weights"),
     .help = "neither load nor make weights: only what the graph shows",
     FIELD(has_no_weights)},
    {.kind = OPTION_SECTION, .help = "The dataset to evaluate on"},
    {OPT_FILE("data", "PATH"),
     .help = "path of a folder, or of a file of COCO annotations",
     .shown_default = "nothing is evaluated", FIELD(dataset.path)},
    {OPT_CHOICE("split", "NAME", metrics_splits), .help = "part of the dataset",
     .shown_default = "test", FIELD(dataset.split)},
    {OPT_INTEGER("limit", "N", 1, 1e9), .help = "largest number of samples",
     .shown_default = "all of them", FIELD(dataset.limit)},
    {OPT_TEXT("input", "[NAME:]KEY=VALUE,..."),
     .help = "how an image becomes the input of a model file, as in `assay "
             "run`",
     FIELD(dataset.input)},
    RUN_DECODE_OPTION(FIELD(dataset.decode)),
    {.kind = OPTION_SECTION, .help = "The metrics"},
    {OPT_TEXT("only", "KEY,..."), .help = "compute and show only these",
     FIELD(only)},
    {OPT_LIST("metric", "FILE"), .role = ROLE_INPUT,
     .help = "plug-in with metrics (.so), or a folder of plug-ins",
     FIELD(plugins)},
    {OPT_FLAG("override"),
     .help = "let metrics of the plug-ins replace built-in ones",
     FIELD(is_override)},
    {OPT_LIST("set", "NAME=VALUE"),
     .help = "argument for a metric, or numbers for the input of that name, "
             "as in `assay run`",
     FIELD(arguments)},
    RUN_ITERS_OPTION("passes to measure",
                     .shown_default =
                         "until the median is known to 2 %, or for 5 seconds",
                     FIELD(iterations)),
    OPTION_DEVICE(FIELD(device)),
    OPTION_THREADS(FIELD(threads)),
    {.kind = OPTION_SECTION, .help = "Output"},
    {OPT_FLAG("short"), .help = "leave out the layers", FIELD(is_short)},
    {OPT_FLAG("notes"), .help = "explain each metric below the table",
     FIELD(has_notes)},
    OPTION_FORMATS(FIELD(format)),
    OPTION_RESULT(FIELD(output)),
    {.kind = OPTION_END},
};

/* ---- the command -------------------------------------------------------- */

static bool metrics_shows_layers(const struct metrics_settings *settings,
                                 const struct metrics_subject *subject)
{
    static const char key[] = "layerwise_summary";

    for (size_t i = 0; i < subject->n_keys; i++) {
        size_t at = subject->keys[i];

        if (strcmp(assay_profiler_metric(subject->profiler, at)->key, key) == 0)
            return !settings->is_short;
    }
    return false;
}

/* words: the names of the models on the command line, used if both models have
 * the same name. */
static enum assay_status
cmd_metrics_show(const struct metrics_settings *settings,
                 const struct metrics_subject subjects[2],
                 const char *const words[2], size_t n, struct error *err)
{
    struct metrics_view view = {
        .n_models = n,
        .n_keys = subjects[0].n_keys,
        .has_notes = settings->has_notes,
        .has_layers = metrics_shows_layers(settings, &subjects[0])};
    struct result result;
    enum assay_status st = result_open(settings->output, &result, err);

    if (st)
        return st;
    for (size_t i = 0; i < n; i++) {
        const char *file =
            model_file_title(model_parts(subjects[i].model).weights);

        view.models[i] = subjects[i].model;
        view.names[i] = file ? file : assay_model_name(subjects[i].model);
        view.profilers[i] = subjects[i].profiler;
        view.feeds[i] = subjects[i].feed;
        view.keys[i] = subjects[i].keys;
    }
    if (n == 2 && strcmp(view.names[0], view.names[1]) == 0)
        memcpy(view.names, words, sizeof view.names);
    for (size_t i = 0; i < n; i++) {
        const char *given = i ? settings->compare_name : settings->name;

        if (given)
            view.names[i] = given;
    }
    formats[settings->format](&view, result.sink, &result.term);
    return result_close(&result, ASSAY_OK, err);
}

/* Whoever asks for a metric by name, or brings it along, should learn that it
 * has no value; for the others the table says so. */
static enum assay_status
metrics_check_values(const struct metrics_settings *settings,
                     const struct metrics_subject *subject, struct error *err)
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
    const struct metrics_settings *settings = arguments->settings;
    const char *words[2] = {arguments->operands.items[0], settings->compare};
    size_t n = settings->compare ? 2 : 1;
    struct metrics_subject subjects[2] = {{0}};
    const char *weights[2] = {settings->weights, settings->compare_weights};
    enum assay_status st = ASSAY_OK;

    if (settings->compare_weights && n == 1)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--compare-weights needs --compare, whose model it is "
                         "for");
    if (settings->compare_name && n == 1)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--compare-name needs --compare, whose model it is "
                         "for");
    for (size_t i = 0; !st && i < n; i++) {
        st = metrics_subject_open(settings, words[i], weights[i], &subjects[i],
                                  err);
        if (st == ASSAY_BAD_USAGE && i == 1)
            error_context(err, "--compare");
    }
    for (size_t i = 0; !st && i < n; i++)
        st = metrics_subject_compute(settings, &subjects[i], err);
    if (!st)
        st = cmd_metrics_show(settings, subjects, words, n, err);
    for (size_t i = 0; !st && i < n; i++)
        st = metrics_check_values(settings, &subjects[i], err);
    for (size_t i = 0; i < n; i++)
        metrics_subject_release(&subjects[i]);
    return st;
}

const struct command cmd_metrics = {
    .name = "metrics",
    .section = "Models",
    .purpose = "show the figures of a model, or of two side by side",
    .usage = TEXTS("metrics [options] MODEL",
                   "metrics [options] MODEL --compare MODEL"),
    .operands = RUN_MODEL_OPERAND,
    .description = TEXTS(
        "Size, multiply-adds, parameters, memory, times, and your own "
        "metrics in one table, followed by the layers. MODEL is any model "
        "of `assay run`, or an ONNX or Keras file. For a metric without a "
        "value the reason is given.",
        "With --data the model is evaluated: a classifier on CIFAR or on "
        "one folder per class, a detector on COCO or Pascal VOC "
        "(docs/datasets.md). --dataset synthetic evaluates on generated "
        "shapes, the same as `assay train --synthetic`.",
        "Keys for --only: eval_metric, eval_top5, eval_missed, for "
        "detectors eval_map_50, eval_map_75, eval_map_small, "
        "eval_map_medium, eval_map_large, eval_ar_1, eval_ar_10, "
        "eval_ar_100, eval_ar_small, eval_ar_medium, eval_ar_large and "
        "eval_mask_map..., eval_mask_ar..., "
        "model_size, complexity, complexity_products, total_params, "
        "params_and_buffers, memory_footprint, memory_measured, "
        "execution_time, throughput, "
        "inference_time, layerwise_summary, and those of plug-ins."),
    .options = options,
    .examples = EXAMPLES(
        {"metrics resnet18 --dataset cifar100", "built for images of 32x32"},
        {"metrics yolo.onnx --decode yolov8 --dataset coco --data coco/",
         "how well it finds the objects of COCO"},
        {"metrics teacher.onnx --compare student.onnx --short",
         "two models and the improvement from one to the other"},
        {"metrics resnet50 -w a.pth --compare resnet18 --compare-weights "
         "b.pth",
         "each with its own weights"},
        {"metrics vgg16 --only model_size,complexity --no-weights",
         "in milliseconds: nothing is run"},
        {"metrics resnet50 --metric ./libsparsity.so --set threshold=1e-3",
         "with a metric of your own, see docs/metrics.md"}),
    .settings_bytes = sizeof(struct metrics_settings),
    .defaults = &defaults,
    .run = show_metrics,
};
