/* picture/picture_resize.h - resizes photographs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_PICTURE_RESIZE_H
#define PICTURE_PICTURE_RESIZE_H

#include "picture/picture.h"

enum resize_filter {
    RESIZE_POINTS, /* bilinear between the centres of the nearest pixels */
    RESIZE_AREA    /* bilinear over all pixels that one covers: Pillow's */
};

/* A new picture; on failure *out is {0}. */
enum assay_status picture_resize(const struct picture *picture, int width,
                                 int height, enum resize_filter filter,
                                 struct picture *out, struct error *err);

#endif
