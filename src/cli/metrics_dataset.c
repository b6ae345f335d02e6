/* cli/metrics_dataset.c - see metrics_dataset.h. */
#include "cli/metrics_dataset.h"

#include "cli/recipe_text.h"
#include "cli/run_settings.h"

enum name {
    NAME_IMAGENET, /* also what holds where none is given */
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

const char *metrics_variant(const struct dataset_settings *settings)
{
    return run_variants[meanings[settings->name].variant];
}

static enum assay_status check_unused(const struct dataset_settings *settings,
                                      struct error *err)
{
    const char *unused = settings->limit    ? "limit"
                         : settings->split  ? "split"
                         : settings->input  ? "input"
                         : settings->decode ? "decode"
                                            : NULL;

    if (!unused)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "--%s is about a dataset; --data says where it is",
                     unused);
}

static enum dataset_kind choose_kind(const struct dataset_settings *settings,
                                     const char *model, bool is_onnx)
{
    enum decode decode = run_decode(settings->decode);
    bool is_detector = is_onnx ? decode == DECODE_YOLOV8 || decode == DECODE_SSD
                               : model_task(model) == TASK_DETECTION;

    if (settings->name == NAME_IMAGENET && is_detector)
        return DATASET_COCO;
    return meanings[settings->name].kind;
}

static enum assay_status set_ends(const struct dataset_settings *settings,
                                  bool is_onnx, struct feed_options *options,
                                  struct error *err)
{
    if (!is_onnx && (settings->input || settings->decode))
        return error_set(err, ASSAY_BAD_USAGE,
                         "--%s is for ONNX files; built-in models know how "
                         "they are fed",
                         settings->input ? "input" : "decode");
    options->decode = run_decode(settings->decode);
    options->recipe = recipe_defaults();
    if (options->decode == DECODE_YOLOV8)
        options->recipe.fit = FIT_LETTERBOX;
    return settings->input ? recipe_read(settings->input, &options->recipe, err)
                           : ASSAY_OK;
}

enum assay_status metrics_open_feed(const struct dataset_settings *settings,
                                    const char *model, bool is_onnx,
                                    const struct synthetic_options *made,
                                    struct assay_model *loaded,
                                    struct feed **out, struct error *err)
{
    struct feed_options options = {
        .data = {.kind = choose_kind(settings, model, is_onnx),
                 .split = settings->split ? DATASET_TRAIN : DATASET_TEST,
                 .path = settings->path,
                 .limit = (size_t)settings->limit,
                 .keeps_shapes = true,
                 .synthetic = *made},
    };
    enum assay_status st;

    *out = NULL;
    if (!settings->path && options.data.kind != DATASET_SYNTHETIC)
        return check_unused(settings, err);
    st = set_ends(settings, is_onnx, &options, err);
    return st ? st : feed_open(loaded, &options, out, err);
}
