/* ops/detection/boxes.h - the arithmetic of boxes, in torchvision's order.
 *
 * A float32 tensor [n,4] is an array of n boxes.
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

/* Applies deltas to a box: its centre moves by fractions of its size, its sides
 * are multiplied by exp(delta). Each delta is divided by its weight. */
struct box box_decode(struct box from, const float deltas[4],
                      const float weights[4]);
/* The deltas that turn `from` into `to`: the inverse of box_decode(). */
void box_encode(struct box from, struct box to, const float weights[4],
                float deltas[4]);
struct box box_clip(struct box box, int64_t height, int64_t width);
float box_area(struct box box);
/* Whether both sides are at least that long. */
bool box_is_at_least(struct box box, float side);
/* Intersection over union. */
float box_overlap(struct box a, float a_area, struct box b, float b_area);

/* A new tensor [n], or [n,width] if width is not 0. */
enum assay_status rows_new(struct pool *pool, enum dtype dtype, size_t n,
                           int64_t width, struct tensor *out,
                           struct error *err);

/* Scales the boxes of each image from its size in `from_sizes` to that in
 * `to_sizes`, both int64 [n,2]; checks these and the counts. */
enum assay_status boxes_rescale(const struct tensor *boxes,
                                const struct tensor *counts,
                                const struct tensor *from_sizes,
                                const struct tensor *to_sizes,
                                const struct tensor *out, struct error *err);

/* Counts int64 [n] of each image's rows: not negative, `rows` in all. */
enum assay_status boxes_check_counts(const struct tensor *counts, int64_t rows,
                                     struct error *err);
/* Boxes float32 [n,4]. */
enum assay_status boxes_check_list(const struct tensor *boxes,
                                   struct error *err);
/* Heights and widths of n images: int64 [n,2]. */
enum assay_status boxes_check_sizes(const struct tensor *sizes, int64_t n,
                                    struct error *err);

#endif
