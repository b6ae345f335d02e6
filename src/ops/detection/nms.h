/* ops/detection/nms.h - boxes without those that overlap better ones
 * (non-maximum suppression), group by group, with the results of torchvision's
 * batched_nms().
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_NMS_H
#define OPS_DETECTION_NMS_H

#include "graph/op_class.h"
#include "ops/detection/boxes.h"

struct nms_input {
    const struct box *boxes;
    const float *scores;   /* none is NaN */
    const int64_t *groups; /* 0 to n_groups - 1; others do not compete */
    size_t n, n_groups;
    float iou; /* more overlap than that with a better one: out */
};

/* kept: room for n; gets the indexes of those that stay, in falling order of
 * score, equal scores in the order they came. */
enum assay_status nms_run(const struct op_context *context,
                          const struct nms_input *input, uint32_t *kept,
                          size_t *n_kept, struct error *err);

#endif
