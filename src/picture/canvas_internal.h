/* picture/canvas_internal.h - what the files that draw share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_CANVAS_INTERNAL_H
#define PICTURE_CANVAS_INTERNAL_H

#include "picture/canvas.h"

/* How thick and how large things are on a picture of this size, in pixels. */
struct canvas_scale {
    int line;
    double font;
};

/* Tints the picture where the mask is on, and draws its outline. */
void canvas_draw_mask(struct picture *picture, const uint8_t *on,
                      struct colour colour, const struct canvas_scale *scale);

#endif
