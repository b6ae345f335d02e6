/* cli/cmd_metrics.c - assay metrics: the figures of a model, or of two. */
#include "cli/command.h"

#include "cli/metrics_show.h"
#include "cli/metrics_subject.h"
#include "cli/result.h"
#include "cli/run_settings.h"

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
    {.name = "compare",
     .kind = OPTION_TEXT,
     .role = ROLE_INPUT,
     .value = "MODEL",
     .is_once = true,
     .help = "a second model, and what it does better",
     FIELD(compare)},
    {.name = "compare-weights",
     .kind = OPTION_FILE,
     .value = "FILE",
     .is_once = true,
     .help = "a checkpoint for the second model",
     .shown_default = "random weights",
     FIELD(compare_weights)},
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
     .max = DETECT_MAX_BATCH,
     .help = "images of one pass",
     .shown_default = "1",
     FIELD(batch)},
    {.name = "min-size",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 16,
     .max = 10000,
     .help = "of a detector, pixels that the shorter side of images is "
             "resized to",
     .shown_default = "800",
     FIELD(min_size)},
    {.name = "shape",
     .kind = OPTION_LIST,
     .value = "[INPUT=]SHAPE",
     .help = "a shape for an input of a file that leaves sizes free",
     FIELD(shapes)},
    {.name = "weights",
     .letter = 'w',
     .kind = OPTION_FILE,
     .value = "FILE",
     .is_once = true,
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
     .help = "how a picture becomes the input of a model file, as in `assay "
             "run`",
     FIELD(dataset.input)},
    {.name = "decode",
     .kind = OPTION_CHOICE,
     .value = "KIND",
     .choices = run_decodes,
     .help = "what the outputs of a model file are",
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
     .role = ROLE_INPUT,
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
    OPTION_THREADS(FIELD(threads)),
    {.kind = OPTION_SECTION, .help = "How it is shown"},
    {.name = "short",
     .kind = OPTION_FLAG,
     .help = "without the layers",
     FIELD(is_short)},
    {.name = "notes",
     .kind = OPTION_FLAG,
     .help = "say below what each metric is",
     FIELD(has_notes)},
    OPTION_FORMATS(FIELD(format)),
    OPTION_RESULT(FIELD(output)),
    {.kind = OPTION_END},
};

/* ---- the command ---------------------------------------------------------
 */

static bool shows_layers(const struct metrics_settings *settings,
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

/* words: what the models are called on the command line, for two that have one
 * name. */
static enum assay_status show(const struct metrics_settings *settings,
                              const struct metrics_subject subjects[2],
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
        view.feeds[i] = subjects[i].feed;
        view.keys[i] = subjects[i].keys;
    }
    if (n == 2 && strcmp(view.names[0], view.names[1]) == 0)
        memcpy(view.names, words, sizeof view.names);
    formats[settings->format](&view, result.sink, &result.term);
    return result_close(&result, sink_status(result.sink, err), err);
}

/* Whoever asks for a value by name, or brings the metric along, wants to know
 * that there is none; the others are told in the table. */
static enum assay_status check_values(const struct metrics_settings *settings,
                                      const struct metrics_subject *subject,
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
    const struct metrics_settings *settings = arguments->settings;
    const char *words[2] = {arguments->operands.items[0], settings->compare};
    size_t n = settings->compare ? 2 : 1;
    struct metrics_subject subjects[2] = {{0}};
    const char *weights[2] = {settings->weights, settings->compare_weights};
    enum assay_status st = ASSAY_OK;

    if (settings->compare_weights && n == 1)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--compare-weights is for the model of --compare, "
                         "which is missing");
    for (size_t i = 0; !st && i < n; i++) {
        st = metrics_subject_open(settings, words[i], weights[i], &subjects[i],
                                  err);
        if (st == ASSAY_BAD_USAGE && i == 1)
            error_context(err, "--compare");
    }
    for (size_t i = 0; !st && i < n; i++)
        st = metrics_subject_compute(settings, &subjects[i], err);
    if (!st)
        st = show(settings, subjects, words, n, err);
    for (size_t i = 0; !st && i < n; i++)
        st = check_values(settings, &subjects[i], err);
    for (size_t i = 0; i < n; i++)
        metrics_subject_release(&subjects[i]);
    return st;
}

const struct command cmd_metrics = {
    .name = "metrics",
    .section = "Models",
    .purpose = "show the figures of a model, or of two side by side",
    .usage =
        (const char *const[]){"metrics [options] MODEL",
                              "metrics [options] MODEL --compare MODEL", NULL},
    .operands = RUN_MODEL_OPERAND,
    .description =
        (const char *const[]){
            "Size, multiply-adds, parameters, memory, times, and metrics of "
            "your own, in one table; then the layers. MODEL is one of those "
            "of `assay run`, or a file of ONNX or Keras. What has no value "
            "says why.",
            "With --data it is evaluated: a classifier on CIFAR or a folder a "
            "class, a detector on COCO or Pascal VOC (docs/datasets.md); with "
            "--dataset synthetic on shapes made up on the way, as `assay "
            "train --synthetic` does.",
            "Keys for --only: eval_metric, eval_top5, eval_missed, of "
            "detectors eval_map_50, eval_map_75, eval_map_small, "
            "eval_map_medium, eval_map_large and eval_mask_map..., "
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
            {"metrics yolo.onnx --decode yolov8 --dataset coco --data coco/",
             "how well it finds the objects of COCO"},
            {"metrics teacher.onnx --compare student.onnx --short",
             "two models, with the enhancement in between"},
            {"metrics resnet50 -w a.pth --compare resnet18 --compare-weights "
             "b.pth",
             "each with its own weights"},
            {"metrics vgg16 --only model_size,complexity --no-weights",
             "in milliseconds: nothing is run"},
            {"metrics resnet50 --metric ./libsparsity.so --set threshold=1e-3",
             "with a metric of your own: docs/metrics.md"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct metrics_settings),
    .defaults = &defaults,
    .run = show_metrics,
};
