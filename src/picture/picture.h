/* picture/picture.h - reads and writes photographs: JPEG and PNG.
 *
 * Whatever a file has (grey, palette, alpha, 16 bits, CMYK, a camera held
 * sideways), the result is upright 8-bit RGB. Stands on base. No shared state:
 * several threads may decode at once.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_PICTURE_H
#define PICTURE_PICTURE_H

#include "base/error.h"
#include "base/sink.h"

#include <stdint.h>

/* The most that a picture may have: 16384x16384, 768 MiB. */
#define PICTURE_MAX_PIXELS ((uint64_t)1 << 28)

struct picture {
    int width, height;   /* at least 1 */
    uint8_t *rgb;        /* width * height * 3, rows top down */
    unsigned n_warnings; /* damage that the decoder could work around */
};

/* A black picture. Refuses empty ones and more than PICTURE_MAX_PIXELS. */
enum assay_status picture_init(struct picture *picture, int width, int height,
                               struct error *err);
void picture_release(struct picture *picture); /* accepts {0} */

/* Reads a file by its contents, whatever its suffix. Other formats are refused
 * by name (ASSAY_UNSUPPORTED), truncated files with ASSAY_BAD_INPUT. On failure
 * *out is {0}.
 *
 * EXIF's orientation is applied. Alpha is dropped and 16 bits are cut to their
 * upper 8, as in Pillow and torchvision. */
enum assay_status picture_read(const char *path, struct picture *out,
                               struct error *err);

/* The same for bytes in memory; name is for messages. More than max_pixels are
 * refused before memory is allocated. */
enum assay_status picture_decode(const void *bytes, size_t n, const char *name,
                                 uint64_t max_pixels, struct picture *out,
                                 struct error *err);

/* The format by the first bytes of a file (16 are enough): "JPEG", "WebP"; NULL
 * if it is not an image that we know. */
const char *picture_kind(const void *bytes, size_t n);

/* Write to a sink, such as that of a base/file.h output, whose owner commits or
 * discards it. JPEG has no chroma subsampling, so that thin lines stay sharp;
 * quality is 1 to 100. */
enum assay_status picture_write_jpeg(const struct picture *picture, int quality,
                                     struct sink *sink, struct error *err);
/* The same with a comment of at most 65533 bytes. */
enum assay_status picture_write_jpeg_with(const struct picture *picture,
                                          int quality, const char *comment,
                                          struct sink *sink, struct error *err);
/* The first comment of a JPEG image, cut to size; false if there is none, or
 * the bytes are not JPEG. They may end early: it comes before the picture. */
bool picture_comment(const void *bytes, size_t n, char *text, size_t size);
enum assay_status picture_write_png(const struct picture *picture,
                                    struct sink *sink, struct error *err);

#endif
