/* vision/decoder.h - the ways to read a model's outputs, one row each.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VISION_DECODER_H
#define VISION_DECODER_H

#include "vision/found.h"

typedef enum assay_status decode_outputs(const struct found_source *source,
                                         struct found *found,
                                         struct error *err);
/* Whether the outputs have the shapes that the decoder reads. */
typedef bool decode_fits(const struct found_source *source);
typedef size_t decode_classes_of(const struct found_source *source);

struct decoder {
    const char *name; /* "yolov8"; of built-in detectors "" */
    decode_outputs *run;
    decode_fits *fits;
    decode_fits *is_likely;     /* fits, and nothing else would; NULL: if it
                                   fits */
    decode_classes_of *classes; /* without a background; NULL: unknown */
    const char *needs;          /* the shapes, for a refusal */
    bool has_boxes;
    bool has_background;    /* as class 0 */
    bool knows_torchvision; /* its labels are those of torchvision's models */
    double score, iou;      /* thresholds that its authors use */
    struct recipe recipe;   /* how they prepare photographs */
};

/* NULL for DECODE_NONE. */
const struct decoder *decoder_of(enum decode decode);

/* The decoder that surely fits the outputs; DECODE_NONE if none does. */
enum decode decoder_propose(const struct found_source *source);

/* ---- decode_boxes.c, decode_classes.c, decode_detector.c, decode_grid.c,
 * decode_lists.c ------------------------------------------------------------
 */

decode_outputs decode_detector, decode_classes, decode_yolov8, decode_ssd,
    decode_yolox, decode_nanodet, decode_detr, decode_torchvision,
    decode_rtdetr;
decode_fits decode_classes_fit, decode_yolov8_fits, decode_ssd_fits,
    decode_yolox_fits, decode_nanodet_fits, decode_detr_fits,
    decode_detr_is_likely, decode_torchvision_fits, decode_rtdetr_fits,
    decode_classes_is_likely;
decode_classes_of decode_yolov8_classes, decode_yolox_classes,
    decode_nanodet_classes, decode_rtdetr_classes;

/* Scores [images, rows, classes] and boxes [images, rows, 4], in either order.
 */
bool decode_find_lists(const struct found_source *source,
                       const struct tensor **scores,
                       const struct tensor **boxes);

#endif
