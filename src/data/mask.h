/* data/mask.h - the pixels that an object covers, as COCO stores them.
 *
 * A mask is a list of runs down the columns, from left to right: so many pixels
 * off, so many on, and so on. Polygons cover the same pixels as with COCO's own
 * tools, so that overlaps agree with theirs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_MASK_H
#define DATA_MASK_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Start from {0}. */
struct mask {
    int width, height;
    uint32_t *runs; /* of pixels off and on in turn; only the first may be 0 */
    size_t n, capacity;
};

/* Corners x0 y0 x1 y1 ..., in pixels; the last connects to the first. */
struct polygon {
    const double *corners;
    size_t n; /* corners; two numbers each */
};

void mask_release(struct mask *mask);

/* All of these set *out, which must be {0} or made by one of them; on failure
 * it is empty. Sizes are limited to those of a picture. */

/* From runs as in an annotation file. ASSAY_BAD_INPUT if they do not add up to
 * the image. */
enum assay_status mask_from_runs(const uint32_t *runs, size_t n, int width,
                                 int height, struct mask *out,
                                 struct error *err);
/* The same in COCO's compressed text. */
enum assay_status mask_from_text(const char *text, size_t n, int width,
                                 int height, struct mask *out,
                                 struct error *err);
/* The union of the polygons. Those with fewer than three corners are empty. */
enum assay_status mask_from_polygons(const struct polygon *polygons, size_t n,
                                     int width, int height, struct mask *out,
                                     struct error *err);
/* Rows from the top; pixels that are not 0 are on. */
enum assay_status mask_from_pixels(const uint8_t *pixels, int width, int height,
                                   struct mask *out, struct error *err);

/* Writes width * height values of 0 and 1, rows from the top. */
void mask_to_pixels(const struct mask *mask, uint8_t *pixels);
/* Appends the compressed text. */
enum assay_status mask_to_text(const struct mask *mask, struct str *text);

uint64_t mask_area(const struct mask *mask);
/* The smallest box around the pixels that are on: x, y, width, height; all 0 if
 * there are none. */
void mask_box(const struct mask *mask, double box[4]);
/* Pixels that are on in both; 0 if the sizes differ. */
uint64_t mask_shared(const struct mask *a, const struct mask *b);

#endif
