/* models/resnet_internal.h - residual networks without their heads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_RESNET_INTERNAL_H
#define MODELS_RESNET_INTERNAL_H

#include "models/builder_internal.h"

enum { RESNET_LEVELS = 4 };

/* Builds ResNet-18, 34, 50 or 101. levels: the outputs of layer1 to layer4,
 * with 64, 128, 256 and 512 channels, four times as many from 50 on. is_small:
 * for images of 32x32, with a 3x3 convolution and no pooling before layer1. */
void resnet_body(struct builder *builder, int depth, bool is_small, uint32_t x,
                 uint32_t levels[RESNET_LEVELS]);

/* Channels of layer1; each level after it has twice as many. */
int64_t resnet_channels(int depth);

#endif
