/* ops/movement/col2im.h - sums columns of patches back into a picture.
 *
 * Inputs: columns [n, c * elements of a patch, patches], the sizes of the
 * picture, the sizes of a patch. Makes [n, c, sizes...].
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_COL2IM_H
#define OPS_MOVEMENT_COL2IM_H

#include "ops/convolution/window.h"

struct col2im_attrs {
    struct window window; /* the kernel's sizes are an input */
};

#endif
