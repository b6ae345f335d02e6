/* tests/picture/encoded.h - pictures as files in memory, for the tests.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_PICTURE_ENCODED_H
#define TESTS_PICTURE_ENCODED_H

#include "picture/picture.h"
#include "test.h"

#include <string.h>

/* Four even quarters: red, green / blue, white. */
static inline struct picture quarters(int width, int height)
{
    static const uint8_t colours[4][3] = {
        {255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {255, 255, 255}};
    struct picture picture;
    uint8_t *rgb;

    CHECK_INT(picture_init(&picture, width, height, NULL), ASSAY_OK);
    rgb = picture.rgb;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++, rgb += 3)
            memcpy(rgb, colours[(y >= height / 2) * 2 + (x >= width / 2)], 3);
    }
    return picture;
}

static inline const uint8_t *pixel(const struct picture *picture, int x, int y)
{
    return picture->rgb + 3 * ((size_t)y * (size_t)picture->width + (size_t)x);
}

/* The caller releases it. */
static inline struct str as_png(struct picture picture)
{
    struct str file = {0};
    struct sink sink = sink_to_str(&file);

    CHECK_INT(picture_write_png(&picture, &sink, NULL), ASSAY_OK);
    picture_release(&picture);
    return file;
}

static inline struct str as_jpeg(struct picture picture)
{
    struct str file = {0};
    struct sink sink = sink_to_str(&file);

    CHECK_INT(picture_write_jpeg(&picture, 95, &sink, NULL), ASSAY_OK);
    picture_release(&picture);
    return file;
}

static inline enum assay_status decode(const struct str *file,
                                       struct picture *out, struct error *err)
{
    *err = (struct error){0};
    return picture_decode(file->text, file->n, "x.jpg", PICTURE_MAX_PIXELS, out,
                          err);
}

/* Puts bytes into the file before those at the place. */
static inline void insert(struct str *file, size_t at, const void *bytes,
                          size_t n)
{
    struct str whole = {0};

    CHECK_INT(str_append_n(&whole, file->text, at), ASSAY_OK);
    CHECK_INT(str_append_n(&whole, bytes, n), ASSAY_OK);
    CHECK_INT(str_append_n(&whole, file->text + at, file->n - at), ASSAY_OK);
    str_release(file);
    *file = whole;
}

/* As a camera writes it: an EXIF block behind JPEG's first marker. */
static inline void set_orientation(struct str *file, uint8_t orientation)
{
    const uint8_t block[] = {
        0xff, 0xe1,        0,    34,   'E', 'x', 'i', 'f', 0, 0, /* APP1 */
        'M',  'M',         0,    '*',  0,   0,   0,   8,         /* TIFF */
        0,    1,           0x01, 0x12, 0,   3,   0,   0,   0, 1,
        0,    orientation, 0,    0,    0,   0,   0,   0};

    insert(file, 2, block, sizeof block);
}

#endif
