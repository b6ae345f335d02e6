/* ops/detection/boxes.h - the arithmetic of boxes, in the order torchvision
 * does it.
 *
 * A tensor [n,4] of float32 is an array of n boxes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_BOXES_H
#define OPS_DETECTION_BOXES_H

#include "tensor/tensor.h"

struct box {
    float x1, y1, x2, y2;
};

/* The boxes of a tensor [n,4]. */
struct box *tensor_boxes(const struct tensor *tensor);

/* What deltas make of a box: its centre moves by parts of its size, its sides
 * are multiplied by the exponential. Each delta is divided by its weight. */
struct box box_decode(struct box from, const float deltas[4],
                      const float weights[4]);
/* The deltas that make `to` of `from`: what box_decode() undoes. */
void box_encode(struct box from, struct box to, const float weights[4],
                float deltas[4]);
struct box box_clip(struct box box, int64_t height, int64_t width);
float box_area(struct box box);
/* Both sides are at least that long. */
bool box_is_at_least(struct box box, float side);
/* Intersection over union, of boxes with the areas given. */
float box_overlap(struct box a, float a_area, struct box b, float b_area);

/* Counts [n] of each image's rows in a list of `rows`: none negative, in all
 * as many as there are. */
enum assay_status boxes_check_counts(const struct tensor *counts, int64_t rows,
                                     struct error *err);
/* boxes [n,4], float32. */
enum assay_status boxes_check_list(const struct tensor *boxes,
                                   struct error *err);
/* Heights and widths of n images: int64 [n,2]. */
enum assay_status boxes_check_sizes(const struct tensor *sizes, int64_t n,
                                    struct error *err);

#endif
