/* tests/data/made_files.h - files made by a test, with their folders.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_DATA_MADE_FILES_H
#define TESTS_DATA_MADE_FILES_H

#include "picture/picture.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Makes the folders of a path, and the file. */
static inline void write_file(const char *path, const void *bytes, size_t n)
{
    char folder[1024];
    FILE *file;

    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(folder, 0777);
        *slash = '/';
    }
    file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK_INT(fwrite(bytes, 1, n, file), n);
    CHECK_INT(fclose(file), 0);
}

static inline void write_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

/* A PNG of one colour. */
static inline void write_photo(const char *path, int width, int height,
                               const uint8_t rgb[3])
{
    struct picture picture;
    struct error err = {0};
    struct str bytes = {0};
    struct sink sink = sink_to_str(&bytes);

    CHECK_STATUS(picture_init(&picture, width, height, &err), ASSAY_OK, &err);
    for (int i = 0; i < width * height; i++)
        memcpy(picture.rgb + (size_t)i * 3, rgb, 3);
    CHECK_STATUS(picture_write_png(&picture, &sink, &err), ASSAY_OK, &err);
    write_file(path, bytes.text, bytes.n);
    picture_release(&picture);
    str_release(&bytes);
}

#endif
