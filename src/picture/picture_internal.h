/* picture/picture_internal.h - what the decoders share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_PICTURE_INTERNAL_H
#define PICTURE_PICTURE_INTERNAL_H

#include "picture/picture.h"

/* The input of a decoder. */
struct picture_source {
    const uint8_t *bytes;
    size_t n;
    const char *name; /* for messages */
    uint64_t max_pixels;
};

/* Decoders: on failure *out is {0}. */
enum assay_status jpeg_decode(const struct picture_source *source,
                              struct picture *out, struct error *err);
enum assay_status png_decode(const struct picture_source *source,
                             struct picture *out, struct error *err);

/* Refuses unusable sizes: "NAME is 20000x20000 pixels, ...". */
enum assay_status picture_check_size(const struct picture_source *source,
                                     uint64_t width, uint64_t height,
                                     struct error *err);

/* Checks the size and allocates memory for it. */
enum assay_status picture_reserve(const struct picture_source *source,
                                  uint64_t width, uint64_t height,
                                  struct picture *out, struct error *err);

/* "NAME is cut off; ..." */
enum assay_status picture_cut_off(const struct picture_source *source,
                                  struct error *err);

/* EXIF's orientation, 1 to 8; 1 is upright. */
enum { ORIENTATION_UPRIGHT = 1 };

/* Looks it up in an EXIF block, which begins with its TIFF header. Upright if
 * there is none or the block is damaged. */
int orientation_find(const uint8_t *bytes, size_t n);

/* Turns the picture upright. On failure it is unchanged. */
enum assay_status orientation_apply(struct picture *picture, int orientation,
                                    struct error *err);

#endif
