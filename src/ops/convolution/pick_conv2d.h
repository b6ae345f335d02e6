/* ops/convolution/pick_conv2d.h - PickConv2d: a Conv2d whose x is channels of
 * one map or several, in any order, as PickChannels puts them together.
 *
 * Inputs and attributes are those of Conv2d, where x is the first map; a scale
 * may be left out. Then the list of PickChannels, and the other maps.
 * passes/pick_convolutions.h makes it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_PICK_CONV2D_H
#define OPS_CONVOLUTION_PICK_CONV2D_H

#include "ops/convolution/conv2d.h"

enum pick_conv2d_input {
    PICK_CONV2D_CHANNELS = CONV2D_SCALE + 1,
    PICK_CONV2D_MAPS /* the second map and those after it */
};

/* The Conv2d and the PickChannels that a node stands for. Their inputs are
 * those of the node; the first one of the convolution is what is picked. */
struct pick_conv2d {
    struct node conv, pick;
    uint32_t pick_inputs[OP_MAX_VALUES];
};

void pick_conv2d_parts(const struct node *node, struct pick_conv2d *parts);
/* Tensors in the order of the inputs of the PickChannels. */
void pick_conv2d_maps(const struct node *node,
                      const struct tensor *const *inputs,
                      const struct tensor **list);

#endif
