/* data/mask.h - which pixels of an image an object covers, as COCO keeps it.
 *
 * A mask is a list of runs that goes down the columns, from left to right: so
 * many pixels off, so many on, and so forth. Polygons become the same pixels
 * as with COCO's own tools, so that overlaps agree with theirs.
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
    uint32_t *runs; /* of pixels off and on in turn; none but the first is 0 */
    size_t n, capacity;
};

/* Corners x0 y0 x1 y1 ..., in pixels; the last is joined to the first. */
struct polygon {
    const double *corners;
    size_t n; /* corners; two numbers each */
};

void mask_release(struct mask *mask);

/* All of these set *out, which was {0} or made by one of them; on failure it is
 * as good as {0}. Sizes up to those of a picture. */

/* As they are written in an annotation file. Runs that do not add up to the
 * image are ASSAY_BAD_INPUT. */
enum assay_status mask_from_runs(const uint32_t *runs, size_t n, int width,
                                 int height, struct mask *out,
                                 struct error *err);
/* The same in COCO's compressed text. */
enum assay_status mask_from_text(const char *text, size_t n, int width,
                                 int height, struct mask *out,
                                 struct error *err);
/* What any of the polygons covers. Those of fewer than three corners cover
 * nothing. */
enum assay_status mask_from_polygons(const struct polygon *polygons, size_t n,
                                     int width, int height, struct mask *out,
                                     struct error *err);
/* Rows top down; what is not 0 is on. */
enum assay_status mask_from_pixels(const uint8_t *pixels, int width, int height,
                                   struct mask *out, struct error *err);

/* Writes 0 and 1, rows top down, width * height of them. */
void mask_to_pixels(const struct mask *mask, uint8_t *pixels);
/* Appends the compressed text. */
enum assay_status mask_to_text(const struct mask *mask, struct str *text);

uint64_t mask_area(const struct mask *mask);
/* Pixels that are on in both; 0 where the sizes differ. */
uint64_t mask_shared(const struct mask *a, const struct mask *b);

#endif
