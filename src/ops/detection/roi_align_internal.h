/* ops/detection/roi_align_internal.h - boxes on their way to being pooled; for
 * roi_align.c and roi_align_backward.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ROI_ALIGN_INTERNAL_H
#define OPS_DETECTION_ROI_ALIGN_INTERNAL_H

#include "ops/detection/roi_pool_internal.h"

/* All boxes, each with room for its plan; scratch a thread. */
struct roi_work {
    struct buffer *memory; /* of all that follows; released by the caller */
    struct roi *rois;
    char *plans, *scratch;
    size_t plan_bytes, scratch_bytes;
    int64_t n, n_blocks;
};

/* Places the boxes on the maps, which must outlive it; plans are still to be
 * made. */
enum assay_status roi_work_start(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 const struct roi_map *maps, size_t n_maps,
                                 struct roi_work *work, struct error *err);

/* The maps among the inputs of a node, with or without data; how many. */
size_t roi_align_list_maps(const struct node *node,
                           const struct tensor *const *inputs,
                           struct roi_map *maps);

/* For the class. */
enum assay_status roi_align_backward(const struct op_context *context,
                                     const struct node *node,
                                     const struct op_backward *pass,
                                     struct error *err);
struct op_reads roi_align_backward_reads(const struct node *node,
                                         uint64_t wanted);
void roi_align_backward_cost(const struct node *node,
                             const struct op_backward *pass, struct cost *cost);

#endif
