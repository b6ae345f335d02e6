/* models/models.c - see models.h: models by name, and COCO's classes. */
#include "models/models.h"

#include "models/family_internal.h"

#include <string.h>

/* clang-format off */
static const struct model_entry {
    const struct family *family;
    struct member member;
    const char *alias; /* may be NULL */
} entries[] = {
    {&family_alexnet, {.name = "alexnet"}, NULL},
    {&family_googlenet, {.name = "googlenet"}, NULL},
    {&family_mnasnet, {.name = "mnasnet1_0"}, NULL},
    {&family_mobilenet, {.name = "mobilenet_v2"}, NULL},
    {&family_rcnn, {.name = "fasterrcnn_resnet18_fpn", .depth = 18}, NULL},
    {&family_rcnn, {.name = "fasterrcnn_resnet50_fpn", .depth = 50},
     "faster-rcnn"},
    {&family_rcnn,
     {.name = "maskrcnn_resnet50_fpn", .depth = 50, .has_masks = true},
     "mask-rcnn"},
    {&family_resnet, {.name = "resnet18", .depth = 18}, NULL},
    {&family_resnet, {.name = "resnet34", .depth = 34}, NULL},
    {&family_resnet, {.name = "resnet50", .depth = 50}, NULL},
    {&family_resnet, {.name = "resnet101", .depth = 101}, NULL},
    {&family_squeezenet, {.name = "squeezenet1_0", .depth = 10}, NULL},
    {&family_squeezenet, {.name = "squeezenet1_1", .depth = 11}, NULL},
    {&family_vgg, {.name = "vgg11", .depth = 11}, NULL},
    {&family_vgg, {.name = "vgg16", .depth = 16}, NULL},
    {&family_vgg, {.name = "vgg19", .depth = 19}, NULL},
    {&family_vgg, {.name = "vgg11_bn", .depth = 11, .has_norm = true}, NULL},
    {&family_vgg, {.name = "vgg16_bn", .depth = 16, .has_norm = true}, NULL},
    {&family_vgg, {.name = "vgg19_bn", .depth = 19, .has_norm = true}, NULL},
};
/* clang-format on */

enum { n_entries = sizeof entries / sizeof entries[0] };

static const struct model_entry *models_find_entry(const char *name)
{
    for (int i = 0; i < n_entries; i++) {
        if (strcmp(entries[i].member.name, name) == 0 ||
            (entries[i].alias && strcmp(entries[i].alias, name) == 0))
            return &entries[i];
    }
    return NULL;
}

const char *model_full_name(const char *name)
{
    const struct model_entry *entry = models_find_entry(name);

    return entry ? entry->member.name : NULL;
}

enum model_task model_task(const char *name)
{
    const struct model_entry *entry = models_find_entry(name);

    return entry ? entry->family->task : TASK_DETECTION;
}

const char *const *model_names(void)
{
    /* clang-format off */
    static const char *const names[] = {
        "alexnet", "faster-rcnn", "fasterrcnn_resnet18_fpn",
        "fasterrcnn_resnet50_fpn", "googlenet", "mask-rcnn",
        "maskrcnn_resnet50_fpn", "mnasnet1_0", "mobilenet_v2", "resnet101",
        "resnet18", "resnet34", "resnet50", "squeezenet1_0", "squeezenet1_1",
        "vgg11", "vgg11_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn", NULL,
    };
    /* clang-format on */

    return names;
}

struct model_options model_defaults(void)
{
    return (struct model_options){
        .n_images = 1,
        .n_classes = 91,
        .min_size = 800,
        .max_size = 1333,
        .norm = NORM_FROZEN,
        .norm_eps = 1e-5f,
        .score = 0.05f,
        .detections = 100,
        .trainable_layers = MODEL_TRAINABLE_DEFAULT,
        .sampling = {.proposals = 2000,
                     .kept_proposals = 2000,
                     .anchors = 256,
                     .anchor_objects = 0.5f,
                     .boxes = 512,
                     .box_objects = 0.25f},
    };
}

struct model_options model_options_for(const char *name,
                                       enum model_variant variant)
{
    static const struct {
        int64_t n_classes, image_size;
    } variants[] = {[MODEL_IMAGENET] = {1000, 224},
                    [MODEL_CIFAR10] = {10, 32},
                    [MODEL_CIFAR100] = {100, 32}};
    struct model_options options = model_defaults();

    options.variant = variant;
    if (model_task(name) == TASK_CLASSIFICATION) {
        options.n_classes = variants[variant].n_classes;
        options.image_size = variants[variant].image_size;
    }
    return options;
}

enum assay_status model_build(const char *name,
                              const struct model_options *options,
                              struct graph **out, struct error *err)
{
    const struct model_entry *entry = models_find_entry(name);

    *out = NULL;
    if (!entry)
        return error_set(err, ASSAY_NOT_FOUND, "there is no model '%s'", name);
    if (options->variant != MODEL_IMAGENET && !entry->family->has_cifar)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s has no variant for CIFAR; the resnets, vggs and "
                         "mobilenet_v2 have one",
                         entry->member.name);
    return entry->family->build(&entry->member, options, out, err);
}

const char *model_coco_class(int64_t label)
{
    /* clang-format off */
    static const char *const classes[] = {
        "__background__", "person", "bicycle", "car", "motorcycle",
        "airplane", "bus", "train", "truck", "boat", "traffic light",
        "fire hydrant", "N/A", "stop sign", "parking meter", "bench", "bird",
        "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra",
        "giraffe", "N/A", "backpack", "umbrella", "N/A", "N/A", "handbag",
        "tie", "suitcase", "frisbee", "skis", "snowboard", "sports ball",
        "kite", "baseball bat", "baseball glove", "skateboard", "surfboard",
        "tennis racket", "bottle", "N/A", "wine glass", "cup", "fork",
        "knife", "spoon", "bowl", "banana", "apple", "sandwich", "orange",
        "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair",
        "couch", "potted plant", "bed", "N/A", "dining table", "N/A", "N/A",
        "toilet", "N/A", "tv", "laptop", "mouse", "remote", "keyboard",
        "cell phone", "microwave", "oven", "toaster", "sink", "refrigerator",
        "N/A", "book", "clock", "vase", "scissors", "teddy bear",
        "hair drier", "toothbrush",
    };
    /* clang-format on */
    const int64_t n = sizeof classes / sizeof classes[0];

    return label >= 0 && label < n ? classes[label] : "N/A";
}
