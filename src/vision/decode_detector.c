/* vision/decode_detector.c - boxes, scores, labels and masks of a built-in
 * detector. */
#include "vision/decoder.h"

enum assay_status decode_detector(const struct found_source *source,
                                  struct found *found, struct error *err)
{
    const struct tensor *outputs = source->outputs;
    const int64_t *counts = tensor_i64(&outputs[DETECTOR_COUNTS]);
    size_t pixels = (size_t)source->width * (size_t)source->height;
    size_t before = 0, n = (size_t)counts[source->image];
    const uint8_t *masks = NULL;
    enum assay_status st = found_reserve(found, n, err);

    for (size_t i = 0; i < source->image; i++)
        before += (size_t)counts[i];
    if (source->n_outputs > DETECTOR_MASKS)
        masks = tensor_data(&outputs[DETECTOR_MASKS + source->image]);
    for (size_t i = 0; !st && i < n; i++)
        found->items[found->n++] = (struct found_item){
            .box = tensor_boxes(&outputs[DETECTOR_BOXES])[before + i],
            .score = tensor_f32(&outputs[DETECTOR_SCORES])[before + i],
            .label = tensor_i64(&outputs[DETECTOR_LABELS])[before + i],
            .mask = masks ? masks + i * pixels : NULL,
        };
    return st;
}
