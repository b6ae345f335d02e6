/* ops/detection/nms.h - non-maximum suppression: removes boxes that overlap
 * better ones of their group, with the results of torchvision's batched_nms().
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_NMS_H
#define OPS_DETECTION_NMS_H

#include "graph/op_class.h"
#include "ops/detection/boxes.h"

struct nms_input {
    const struct box *boxes;
    const float *scores;   /* none is NaN */
    const int64_t *groups; /* 0 to n_groups - 1 */
    size_t n, n_groups;
    float iou; /* removes boxes with more overlap than this */
};

/* Writes the indices of the boxes that stay to kept, which has room for n, by
 * descending score; equal scores keep their order. */
enum assay_status nms_run(const struct op_context *context,
                          const struct nms_input *input, uint32_t *kept,
                          size_t *n_kept, struct error *err);

#endif
