/* models/models.c - the models by name, and COCO's classes. */
#include "models/models.h"

#include "models/rcnn.h"

#include <string.h>

struct model_entry {
    const char *name;
    const char *alias;
    enum assay_status (*build)(const char *name, bool has_masks,
                               const struct model_options *options,
                               struct graph **out, struct error *err);
    bool has_masks;
};

static const struct model_entry entries[] = {
    {"fasterrcnn_resnet50_fpn", "faster-rcnn", rcnn_build, false},
    {"maskrcnn_resnet50_fpn", "mask-rcnn", rcnn_build, true},
};

enum { n_entries = sizeof entries / sizeof entries[0] };

static const struct model_entry *find_entry(const char *name)
{
    for (int i = 0; i < n_entries; i++) {
        if (strcmp(entries[i].name, name) == 0 ||
            strcmp(entries[i].alias, name) == 0)
            return &entries[i];
    }
    return NULL;
}

const char *model_full_name(const char *name)
{
    const struct model_entry *entry = find_entry(name);

    return entry ? entry->name : NULL;
}

const char *const *model_names(void)
{
    static const char *const names[] = {
        "faster-rcnn", "fasterrcnn_resnet50_fpn",
        "mask-rcnn",   "maskrcnn_resnet50_fpn",
        NULL,
    };

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
    };
}

enum assay_status model_build(const char *name,
                              const struct model_options *options,
                              struct graph **out, struct error *err)
{
    const struct model_entry *entry = find_entry(name);

    *out = NULL;
    if (!entry)
        return error_set(err, ASSAY_NOT_FOUND, "there is no model '%s'", name);
    return entry->build(entry->name, entry->has_masks, options, out, err);
}

const char *model_coco_class(int64_t label)
{
    static const char *const classes[] = {"__background__",
                                          "person",
                                          "bicycle",
                                          "car",
                                          "motorcycle",
                                          "airplane",
                                          "bus",
                                          "train",
                                          "truck",
                                          "boat",
                                          "traffic light",
                                          "fire hydrant",
                                          "N/A",
                                          "stop sign",
                                          "parking meter",
                                          "bench",
                                          "bird",
                                          "cat",
                                          "dog",
                                          "horse",
                                          "sheep",
                                          "cow",
                                          "elephant",
                                          "bear",
                                          "zebra",
                                          "giraffe",
                                          "N/A",
                                          "backpack",
                                          "umbrella",
                                          "N/A",
                                          "N/A",
                                          "handbag",
                                          "tie",
                                          "suitcase",
                                          "frisbee",
                                          "skis",
                                          "snowboard",
                                          "sports ball",
                                          "kite",
                                          "baseball bat",
                                          "baseball glove",
                                          "skateboard",
                                          "surfboard",
                                          "tennis racket",
                                          "bottle",
                                          "N/A",
                                          "wine glass",
                                          "cup",
                                          "fork",
                                          "knife",
                                          "spoon",
                                          "bowl",
                                          "banana",
                                          "apple",
                                          "sandwich",
                                          "orange",
                                          "broccoli",
                                          "carrot",
                                          "hot dog",
                                          "pizza",
                                          "donut",
                                          "cake",
                                          "chair",
                                          "couch",
                                          "potted plant",
                                          "bed",
                                          "N/A",
                                          "dining table",
                                          "N/A",
                                          "N/A",
                                          "toilet",
                                          "N/A",
                                          "tv",
                                          "laptop",
                                          "mouse",
                                          "remote",
                                          "keyboard",
                                          "cell phone",
                                          "microwave",
                                          "oven",
                                          "toaster",
                                          "sink",
                                          "refrigerator",
                                          "N/A",
                                          "book",
                                          "clock",
                                          "vase",
                                          "scissors",
                                          "teddy bear",
                                          "hair drier",
                                          "toothbrush"};
    const int64_t n = sizeof classes / sizeof classes[0];

    return label >= 0 && label < n ? classes[label] : "N/A";
}
