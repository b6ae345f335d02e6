/* picture/canvas.h - draws detections on a photograph.
 *
 * Stands on base.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_CANVAS_H
#define PICTURE_CANVAS_H

#include "picture/picture.h"

/* One object in a photograph. */
struct target {
    float x1, y1, x2, y2; /* its box, in pixels from the top left */
    int class_index;      /* determines the colour; not negative */
    const char *name;     /* the class, for the label; UTF-8 */
    float score;          /* 0 to 1, for the label */
    const uint8_t *mask;  /* a byte per pixel of the photograph, not 0 where
                           * the object is; NULL: none */
};

/* Draws masks, boxes and labels in place. Lines and letters scale with the
 * picture. The target with the highest score comes first and is drawn on top.
 * On failure the picture may already have its masks. */
enum assay_status canvas_draw_targets(struct picture *picture,
                                      const struct target *targets, size_t n,
                                      struct error *err);

/* A new picture with the targets drawn on it. A photograph whose shorter side
 * has less than 256 pixels is enlarged first, so that lines are thin on it and
 * labels can be read; their sizes are those of the photograph here as well. On
 * failure *out is {0}. */
enum assay_status canvas_draw_photo(const struct picture *photo,
                                    const struct target *targets, size_t n,
                                    struct picture *out, struct error *err);

/* The colour of a class; the first hundred are distinguishable. */
struct colour {
    uint8_t red, green, blue;
};
struct colour canvas_colour(int class_index);

#endif
