/* Damaged files: refused with a sentence, or read with a warning. */
#include "base/mem.h"
#include "encoded.h"

#include <stdio.h>

static enum assay_status read_shared(const char *name, struct picture *picture,
                                     struct error *err)
{
    char path[512];
    const char *found;

    snprintf(path, sizeof path, "photos/decoder-corner-cases/%s", name);
    found = test_shared(path);
    if (!found)
        SKIP("decoder-corner-cases: ../shared/data is not here");
    *err = (struct error){0};
    return picture_read(found, picture, err);
}

TEST(published_corner_cases_are_read_or_refused_correctly)
{
    static const struct {
        const char *name;
        enum assay_status status;
        const char *says; /* NULL: it is read */
    } cases[] = {
        {"damaged_jpeg_corrupt.jpg", ASSAY_BAD_INPUT, "decoded as JPEG: "},
        {"damaged_jpeg_corrupt34_2.jpg", ASSAY_BAD_INPUT, "is cut off"},
        {"damaged_jpeg_corrupt34_3.jpg", ASSAY_BAD_INPUT, "is cut off"},
        {"damaged_jpeg_corrupt34_4.jpg", ASSAY_BAD_INPUT, "is cut off"},
        {"damaged_png_sigsegv.png", ASSAY_BAD_INPUT, "png"},
        {"toosmall_png_heapbof.png", ASSAY_BAD_INPUT, "is cut off after 7"},
        {"damaged_jpeg_TensorFlow-LICENSE", ASSAY_BAD_INPUT, "not an image"},
        {"fakedata_logos_rgb_pytorch.webp", ASSAY_UNSUPPORTED, "a WebP image"},
        {"fakedata_logos_rgb_pytorch.avif", ASSAY_UNSUPPORTED, "an AVIF image"},
        {"fakedata_logos_rgb_pytorch_incorrectly_encoded_but_who_cares.heic",
         ASSAY_UNSUPPORTED, "a HEIC image"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        long before = mem_live();
        struct picture picture;
        struct error err;

        CHECK_STATUS(read_shared(cases[i].name, &picture, &err),
                     cases[i].status, &err);
        CHECK_HAS(err.text, cases[i].says);
        CHECK_INT(mem_live(), before);
    }
}

TEST(a_wrong_code_inside_a_jpeg_is_a_warning)
{
    struct picture picture;
    struct error err;

    CHECK_STATUS(read_shared("damaged_jpeg_bad_huffman.jpg", &picture, &err),
                 ASSAY_OK, &err);
    CHECK_INT(picture.width, 1024);
    CHECK_INT(picture.height, 768);
    CHECK(picture.n_warnings > 0);
    picture_release(&picture);
}

TEST(interlaced_and_plain_rows_give_the_same_picture)
{
    struct picture plain, interlaced;
    struct error err;

    CHECK_STATUS(read_shared("interlaced_png_wizard_low.png", &plain, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(read_shared("interlaced_png_wizard_low-interlaced.png",
                             &interlaced, &err),
                 ASSAY_OK, &err);
    CHECK_INT(plain.width, 354);
    CHECK_INT(plain.height, 471);
    CHECK(memcmp(plain.rgb, interlaced.rgb, (size_t)354 * 471 * 3) == 0);
    picture_release(&plain);
    picture_release(&interlaced);
}

/* A file cut after the last pixel may be read. */
static void check_prefixes(struct str file, size_t n_behind_pixels)
{
    for (size_t n = 4; n < file.n; n++) {
        long before = mem_live();
        struct error err = {0};
        struct picture picture;
        enum assay_status st = picture_decode(
            file.text, n, "cut", PICTURE_MAX_PIXELS, &picture, &err);

        if (n + n_behind_pixels < file.n) {
            CHECK_INT(st, ASSAY_BAD_INPUT);
            CHECK_HAS(err.text, "cut is cut off after");
        }
        picture_release(&picture);
        CHECK_INT(mem_live(), before);
    }
    str_release(&file);
}

TEST(a_file_truncated_anywhere_is_refused)
{
    enum { checksums_and_end = 4 + 4 + 12 }; /* of zlib, IDAT; IEND */

    check_prefixes(as_jpeg(quarters(40, 40)), 0);
    check_prefixes(as_png(quarters(40, 40)), checksums_and_end);
}

TEST(a_wrong_byte_is_harmless)
{
    struct str files[] = {as_jpeg(quarters(20, 20)), as_png(quarters(20, 20))};

    set_orientation(&files[0], 6);
    for (size_t i = 0; i < 2; i++) {
        for (size_t at = 4; at < files[i].n; at++) {
            char right = files[i].text[at];
            long before = mem_live();
            struct error err = {0};
            struct picture picture;

            files[i].text[at] = (char)~right;
            if (picture_decode(files[i].text, files[i].n, "wrong", 1 << 20,
                               &picture, &err))
                CHECK(err.text[0] && !picture.rgb);
            picture_release(&picture);
            files[i].text[at] = right;
            CHECK_INT(mem_live(), before);
        }
        str_release(&files[i]);
    }
}

/* Repeating a scan adds nothing, and takes as long as the first. */
TEST(a_jpeg_that_would_take_hours_is_refused)
{
    enum { last_coefficient = 12, end_marker = 2 }; /* in SOS; at the end */
    struct str file = as_jpeg(quarters(16, 16)), scan = {0};
    char *frame = memmem(file.text, file.n, "\xff\xc0", 2);
    char *start = memmem(file.text, file.n, "\xff\xda", 2);
    struct picture picture;
    struct error err;

    CHECK(frame != NULL && start != NULL);
    frame[1] = '\xc2';           /* progressive, which may have many scans, */
    start[last_coefficient] = 0; /* of the mean values alone */
    CHECK_INT(str_append_n(&scan, start,
                           file.n - end_marker - (size_t)(start - file.text)),
              ASSAY_OK);
    for (int i = 0; i < 600; i++)
        insert(&file, file.n - end_marker, scan.text, scan.n);
    CHECK_INT(decode(&file, &picture, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "more than 500 scans");
    str_release(&file);
    str_release(&scan);
}
