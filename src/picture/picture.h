/* picture/picture.h - photographs: JPEG and PNG in and out.
 *
 * Whatever a file holds (grey, palette, alpha, 16 bits, CMYK, a camera held
 * sideways) comes out as upright 8-bit RGB. Stands on base. No shared state:
 * several threads may decode at once.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_PICTURE_H
#define PICTURE_PICTURE_H

#include "base/error.h"
#include "base/sink.h"

#include <stdint.h>

/* As much as a picture may have: 16384x16384, 768 MiB. */
#define PICTURE_MAX_PIXELS ((uint64_t)1 << 28)

struct picture {
    int width, height;   /* at least 1 */
    uint8_t *rgb;        /* width * height * 3, rows top down */
    unsigned n_warnings; /* damage that the decoder could work around */
};

/* A black picture. Refuses what is empty or above PICTURE_MAX_PIXELS. */
enum assay_status picture_init(struct picture *picture, int width, int height,
                               struct error *err);
void picture_release(struct picture *picture); /* accepts {0} */

/* Reads a file for what it holds, whatever its name ends with. Other formats
 * are refused by name (ASSAY_UNSUPPORTED), and so is a file that is cut off
 * (ASSAY_BAD_INPUT). On failure *out is {0}.
 *
 * EXIF's orientation is applied. Alpha is dropped and 16 bits are cut to their
 * upper 8, as Pillow and torchvision do. */
enum assay_status picture_read(const char *path, struct picture *out,
                               struct error *err);

/* The same for bytes in memory; name is for messages. What has more than
 * max_pixels is refused before memory is taken for it. */
enum assay_status picture_decode(const void *bytes, size_t n, const char *name,
                                 uint64_t max_pixels, struct picture *out,
                                 struct error *err);

/* What the first bytes of a file (16 are enough) say it is: "JPEG", "WebP";
 * NULL where it is no image that we know of. */
const char *picture_kind(const void *bytes, size_t n);

/* Write to a sink, such as that of a base/file.h output, whose owner commits
 * or discards it. JPEG without chroma subsampling, so that thin lines stay
 * sharp; quality is 1 to 100. */
enum assay_status picture_write_jpeg(const struct picture *picture, int quality,
                                     struct sink *sink, struct error *err);
enum assay_status picture_write_png(const struct picture *picture,
                                    struct sink *sink, struct error *err);

#endif
