/* ops/movement/resize.h - resizes the axes of a tensor by interpolation.
 *
 * Inputs: x, the region to crop (for RESIZE_CROP: starts, then ends, as
 * fractions), the scales of the axes, the sizes of the result. Either scales or
 * sizes are left out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_RESIZE_H
#define OPS_MOVEMENT_RESIZE_H

#include "graph/graph.h"

enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };

/* Which place in x an element of the result comes from. */
enum resize_place {
    RESIZE_HALF_PIXEL, /* elements are squares: maps their centres */
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS, /* elements are points: maps the ends */
    RESIZE_ASYMMETRIC,    /* maps the left edges */
    RESIZE_HALF_PIXEL_FOR_NEAREST,
    RESIZE_CROP,
    RESIZE_HALF_PIXEL_SYMMETRIC /* the same from both ends, for any scale */
};

/* Whether the sizes that are given may be changed to keep the proportions. */
enum resize_aspect { RESIZE_STRETCH, RESIZE_NOT_LARGER, RESIZE_NOT_SMALLER };

/* Which element is nearest to a place between two. */
enum resize_nearest {
    RESIZE_ROUND_PREFER_FLOOR,
    RESIZE_ROUND_PREFER_CEIL,
    RESIZE_FLOOR,
    RESIZE_CEIL
};

struct resize_attrs {
    enum resize_mode mode;
    enum resize_place place;
    enum resize_nearest nearest;
    float cubic;           /* coefficient of the cubic: -0.75 */
    bool excludes_outside; /* elements outside x have weight 0 */
    float outside;         /* RESIZE_CROP: the value outside x */
    bool antialias;        /* a smaller result averages over all of x */
    enum resize_aspect aspect;
    size_t n_axes; /* which axes the inputs name; 0: all */
    int64_t axes[SHAPE_MAX_RANK];
};

/* Whether only the rows and columns of a map [n,c,h,w] change, and a channel
 * that is 0 stays so. */
bool resize_keeps_channels(const struct node *node,
                           const struct tensor *const *inputs);
/* The op for such a map that lies in channel blocks: x and y are seen as
 * float32 [n,blocks,h,w,block], inputs as the map is. */
enum assay_status resize_blocks(const struct op_context *context,
                                const struct node *node,
                                const struct tensor *const *inputs,
                                const struct tensor *x, const struct tensor *y,
                                struct error *err);

#endif
