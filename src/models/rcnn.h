/* models/rcnn.h - Faster R-CNN and Mask R-CNN.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_RCNN_H
#define MODELS_RCNN_H

#include "models/models.h"

/* With a ResNet-50 feature pyramid. */
enum assay_status rcnn_build(const char *name, bool has_masks,
                             const struct model_options *options,
                             struct graph **out, struct error *err);

#endif
