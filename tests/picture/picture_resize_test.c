/* Resized pictures: compared with Pillow's, and by hand. */
#include "picture/picture_resize.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct error err;

static struct picture read_png(const char *folder, const char *name)
{
    struct picture picture;
    char path[1024];

    snprintf(path, sizeof path, "%s/%s.png", folder, name);
    CHECK_STATUS(picture_read(path, &picture, &err), ASSAY_OK, &err);
    return picture;
}

static void check_equal(const struct picture *got, const struct picture *want)
{
    CHECK_INT(got->width, want->width);
    CHECK_INT(got->height, want->height);
    CHECK(memcmp(got->rgb, want->rgb,
                 (size_t)want->width * (size_t)want->height * 3) == 0);
}

TEST(every_size_matches_pillow_bit_for_bit)
{
    static const char *const sizes[] = {"61x43",  "30x21",  "7x5",
                                        "61x20",  "20x43",  "1x1",
                                        "122x86", "200x13", "13x200"};
    char command[2048], *folder = strdup(test_path("resized"));
    struct picture original;
    int at, status;

    CHECK_INT(mkdir(folder, 0700), 0);
    at = snprintf(command, sizeof command,
                  "/usr/bin/python3 -B -W ignore "
                  "%s/tests/picture/make_resized.py %s",
                  TEST_SOURCE_DIR, folder);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        at += snprintf(command + at, sizeof command - (size_t)at, " %s",
                       sizes[i]);
    status = system(command);
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
        free(folder);
        SKIP("pillow: /usr/bin/python3 has no PIL (Debian: python3-pil)");
    }
    CHECK_INT(status, 0);
    original = read_png(folder, "original");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct picture want = read_png(folder, sizes[i]), got;

        CHECK_STATUS(picture_resize(&original, want.width, want.height,
                                    RESIZE_AREA, &got, &err),
                     ASSAY_OK, &err);
        check_equal(&got, &want);
        picture_release(&got);
        picture_release(&want);
    }
    picture_release(&original);
    free(folder);
}

TEST(points_use_only_the_nearest_pixels)
{
    /* 4 into 2: the centre of the first half lies between pixels 0 and 1. */
    static const uint8_t values[] = {10, 30, 200, 100};
    static const uint8_t halves[] = {20, 150};
    struct picture row, got;

    CHECK_INT(picture_init(&row, 4, 1, &err), ASSAY_OK);
    for (int i = 0; i < 12; i++)
        row.rgb[i] = values[i / 3];
    CHECK_INT(picture_resize(&row, 2, 1, RESIZE_POINTS, &got, &err), ASSAY_OK);
    for (int i = 0; i < 6; i++)
        CHECK_INT(got.rgb[i], halves[i / 3]);
    picture_release(&got);
    /* 4 into 1: between the two in the middle; the outer ones do not count. */
    CHECK_INT(picture_resize(&row, 1, 1, RESIZE_POINTS, &got, &err), ASSAY_OK);
    CHECK_INT(got.rgb[0], 115);
    picture_release(&got);
    picture_release(&row);
}

TEST(an_impossible_size_is_refused)
{
    struct picture picture, got;

    CHECK_INT(picture_init(&picture, 4, 1, &err), ASSAY_OK);
    CHECK(picture_resize(&picture, 0, 3, RESIZE_AREA, &got, &err) != ASSAY_OK);
    CHECK(got.rgb == NULL);
    picture_release(&picture);
}
