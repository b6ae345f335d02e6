/* models/resnet.h - the residual networks as a detector's body.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_RESNET_H
#define MODELS_RESNET_H

#include "models/builder.h"

enum { RESNET_LEVELS = 4 };

/* ResNet-50 without its head: the outputs of layer1 to layer4, with 256, 512,
 * 1024 and 2048 channels. */
void resnet50_body(struct builder *builder, uint32_t x,
                   uint32_t levels[RESNET_LEVELS]);

#endif
