/* Any bytes as result files, COCO's and VOC's: they are read or refused, what
 * was read belongs to the dataset, and nothing leaks. */
#include "base/mem.h"
#include "data/dataset_internal.h"
#include "data/detections.h"
#include "fuzz.h"

#include <math.h>

static const char annotations[] =
    "{\"images\":[{\"id\":7,\"file_name\":\"7\",\"width\":5,\"height\":4},"
    "{\"id\":9,\"file_name\":\"9\",\"width\":6,\"height\":4}],"
    "\"annotations\":[],\"categories\":[{\"id\":3,\"name\":\"car\"}]}";

static void look_at(const struct dataset *dataset, struct detections *read)
{
    for (size_t i = 0; i < read->n; i++) {
        const struct detection *item = &read->items[i];
        const struct dataset_target *image;
        struct mask mask = {0};
        double box[4];

        if (item->image >= dataset_count(dataset) ||
            item->object.label >= dataset_class_count(dataset) ||
            !isfinite(item->score) ||
            (i > 0 && item->image < read->items[i - 1].image))
            __builtin_trap();
        image = &dataset->images[item->image];
        if (!dataset_object_mask(&item->object, image->width, image->height,
                                 &mask, NULL)) {
            mask_box(&mask, box);
            if (box[0] + box[2] > image->width ||
                box[1] + box[3] > image->height ||
                box[2] * box[3] < (double)mask_area(&mask))
                __builtin_trap();
        }
        mask_release(&mask);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = n ? (const char *)data : "";
    const struct coco_source source = {"fuzz", text, n};
    const struct coco_source truth = {"gt", annotations,
                                      sizeof annotations - 1};
    const struct dataset_options options = {.has_no_pictures = true};
    long before = mem_live();
    struct dataset *dataset = mem_zalloc(sizeof *dataset);
    struct detections read = {0};
    struct error err = {0};

    if (!dataset)
        return 0;
    dataset->class = &coco_class;
    if (coco_read(dataset, &truth, &options, NULL))
        __builtin_trap();
    if (!coco_results_read(dataset, &source, true, &read, &err))
        look_at(dataset, &read);
    else if (!err.text[0])
        __builtin_trap();
    detections_release(&read);
    err = (struct error){0};
    if (voc_results_read_text(dataset, text, n, 0, "fuzz", &read, &err)) {
        if (!err.text[0])
            __builtin_trap();
    } else {
        detections_settle(&read);
        look_at(dataset, &read);
    }
    detections_release(&read);
    dataset_close(dataset);
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}
