/* Photographs in and out: what picture/picture.h promises of sound files. */
#include "base/mem.h"
#include "encoded.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

static void check_colour(const struct picture *picture, int x, int y,
                         const char *want)
{
    static const struct {
        const char *name;
        int rgb[3];
    } colours[] = {{"red", {255, 0, 0}},  {"green", {0, 255, 0}},
                   {"blue", {0, 0, 255}}, {"white", {255, 255, 255}},
                   {"black", {0, 0, 0}},  {"grey", {119, 119, 119}}};
    const uint8_t *rgb = pixel(picture, x, y);

    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++) {
        bool is_it = true;

        for (int c = 0; c < 3; c++)
            is_it = is_it && abs(rgb[c] - colours[i].rgb[c]) <= 8;
        if (is_it) {
            CHECK_STR(colours[i].name, want);
            return;
        }
    }
    print_error("%d %d %d at %d,%d is not %s\n", rgb[0], rgb[1], rgb[2], x, y,
                want);
    CHECK(false);
}

TEST(a_png_is_read_back_exactly)
{
    struct picture picture = quarters(31, 17), back;
    struct str file = {0};
    struct sink sink = sink_to_str(&file);
    struct error err;

    for (size_t i = 0; i < (size_t)31 * 17 * 3; i++)
        picture.rgb[i] = (uint8_t)(i * 37 % 251);
    CHECK_INT(picture_write_png(&picture, &sink, NULL), ASSAY_OK);
    CHECK_STATUS(decode(&file, &back, &err), ASSAY_OK, &err);
    CHECK_INT(back.width, 31);
    CHECK_INT(back.height, 17);
    CHECK(memcmp(back.rgb, picture.rgb, (size_t)31 * 17 * 3) == 0);
    picture_release(&back);
    picture_release(&picture);
    str_release(&file);
}

TEST(a_jpeg_is_read_back_nearly_and_with_sharp_colours)
{
    struct str file = as_jpeg(quarters(32, 20));
    struct picture back;
    struct error err;

    CHECK_STATUS(decode(&file, &back, &err), ASSAY_OK, &err);
    CHECK_INT(back.width, 32);
    CHECK_INT(back.height, 20);
    CHECK_INT(back.n_warnings, 0);
    /* The last column of one quarter and the first of the next: with chroma
     * at half the width they would bleed into each other. */
    check_colour(&back, 15, 3, "red");
    check_colour(&back, 16, 3, "green");
    check_colour(&back, 3, 19, "blue");
    check_colour(&back, 31, 19, "white");
    picture_release(&back);
    str_release(&file);
}

/* Exif 2.3: where the stored picture's first row and first column belong. */
TEST(pictures_are_upright_however_the_camera_was_held)
{
    static const struct {
        const char *top_left, *top_right, *bottom_left, *bottom_right;
    } upright[] = {
        [1] = {"red", "green", "blue", "white"}, /* top, left */
        [2] = {"green", "red", "white", "blue"}, /* top, right */
        [3] = {"white", "blue", "green", "red"}, /* bottom, right */
        [4] = {"blue", "white", "red", "green"}, /* bottom, left */
        [5] = {"red", "blue", "green", "white"}, /* left, top */
        [6] = {"blue", "red", "white", "green"}, /* right, top */
        [7] = {"white", "green", "blue", "red"}, /* right, bottom */
        [8] = {"green", "white", "red", "blue"}, /* left, bottom */
    };

    for (uint8_t i = 1; i <= 8; i++) {
        struct str file = as_jpeg(quarters(80, 48));
        struct picture picture;
        struct error err;
        int right, bottom;

        set_orientation(&file, i);
        CHECK_STATUS(decode(&file, &picture, &err), ASSAY_OK, &err);
        right = picture.width - 1;
        bottom = picture.height - 1;
        CHECK_INT(right, i < 5 ? 79 : 47);
        CHECK_INT(bottom, i < 5 ? 47 : 79);
        check_colour(&picture, 0, 0, upright[i].top_left);
        check_colour(&picture, right, 0, upright[i].top_right);
        check_colour(&picture, 0, bottom, upright[i].bottom_left);
        check_colour(&picture, right, bottom, upright[i].bottom_right);
        picture_release(&picture);
        str_release(&file);
    }
}

TEST(an_orientation_that_does_not_exist_is_ignored)
{
    struct str file = as_jpeg(quarters(80, 48));
    struct picture picture;
    struct error err;

    set_orientation(&file, 9);
    CHECK_STATUS(decode(&file, &picture, &err), ASSAY_OK, &err);
    CHECK_INT(picture.width, 80);
    picture_release(&picture);
    str_release(&file);
}

/* A JPEG of one colour, in a colour space of libjpeg's. */
static struct str plain_jpeg(J_COLOR_SPACE in, J_COLOR_SPACE stored,
                             const uint8_t *colour, int n_channels)
{
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    uint8_t row[16 * 4];
    JSAMPROW rows[1] = {row};
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    struct str file = {0};

    for (int i = 0; i < 16 * n_channels; i++)
        row[i] = colour[i % n_channels];
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &bytes, &n);
    info.image_width = info.image_height = 16;
    info.input_components = n_channels;
    info.in_color_space = in;
    jpeg_set_defaults(&info);
    jpeg_set_colorspace(&info, stored);
    jpeg_set_quality(&info, 100, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < 16)
        jpeg_write_scanlines(&info, rows, 1);
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    CHECK_INT(str_append_n(&file, (const char *)bytes, n), ASSAY_OK);
    free(bytes);
    return file;
}

TEST(every_colour_space_of_jpeg_becomes_rgb)
{
    /* CMYK as Adobe writes it: 255 is no ink. */
    static const struct {
        J_COLOR_SPACE in, stored;
        int n_channels;
        uint8_t colour[4];
        const char *want;
    } cases[] = {
        {JCS_GRAYSCALE, JCS_GRAYSCALE, 1, {119}, "grey"},
        {JCS_RGB, JCS_YCbCr, 3, {0, 255, 0}, "green"},
        {JCS_RGB, JCS_RGB, 3, {0, 0, 255}, "blue"},
        {JCS_CMYK, JCS_CMYK, 4, {255, 0, 0, 255}, "red"},
        {JCS_CMYK, JCS_CMYK, 4, {255, 255, 255, 0}, "black"},
        {JCS_CMYK, JCS_YCCK, 4, {0, 0, 255, 255}, "blue"},
        {JCS_CMYK, JCS_YCCK, 4, {255, 255, 255, 119}, "grey"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str file = plain_jpeg(cases[i].in, cases[i].stored,
                                     cases[i].colour, cases[i].n_channels);
        long before = mem_live();
        struct picture picture;
        struct error err;

        CHECK_STATUS(decode(&file, &picture, &err), ASSAY_OK, &err);
        check_colour(&picture, 7, 9, cases[i].want);
        picture_release(&picture);
        CHECK_INT(mem_live(), before);
        str_release(&file);
    }
}

TEST(a_file_is_read_by_its_contents_whatever_its_name)
{
    const char *path = test_path("really_a_png.jpg");
    struct str bytes = as_png(quarters(5, 4));
    FILE *file = fopen(path, "wb");
    struct picture picture;
    struct error err = {0};

    CHECK(file != NULL);
    CHECK_INT(fwrite(bytes.text, 1, bytes.n, file), bytes.n);
    fclose(file);
    CHECK_STATUS(picture_read(path, &picture, &err), ASSAY_OK, &err);
    CHECK_INT(picture.width, 5);
    picture_release(&picture);
    str_release(&bytes);
}

TEST(other_formats_are_refused_by_name)
{
    static const struct {
        const char *bytes, *says;
    } cases[] = {
        {"RIFF....WEBPVP8 ", "is a WebP image"},
        {"GIF89a..........", "is a GIF image"},
        {"....ftypavif....", "is an AVIF image"},
        {"....ftypheic....", "is a HEIC image"},
        {"....ftypmif1....", "is a HEIC image"},
        {"BM....\0\0\0\0......", "is a BMP image"},
        {"II*\0............", "is a TIFF image"},
        {"MM\0*............", "is a TIFF image"},
        {"BMW is a maker of", "is not an image"},
        {"RIFF....WAVEfmt ", "is not an image"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct picture picture;
        struct error err = {0};
        enum assay_status st =
            picture_decode(cases[i].bytes, 16, "x.jpg", 1000, &picture, &err);

        CHECK_HAS(err.text, cases[i].says);
        CHECK_HAS(err.text, "JPEG and PNG are");
        CHECK_INT(st, strstr(err.text, "is not an image") ? ASSAY_BAD_INPUT
                                                          : ASSAY_UNSUPPORTED);
        CHECK(picture.rgb == NULL);
    }
}

/* 2 bytes big-endian. */
static void put_16(struct str *file, size_t at, unsigned value)
{
    file->text[at] = (char)(value >> 8);
    file->text[at + 1] = (char)value;
}

static size_t frame_header(const struct str *file)
{
    const char *found = memmem(file->text, file->n, "\xff\xc0", 2);

    CHECK(found != NULL);
    return (size_t)(found - file->text);
}

static struct str jpeg_that_claims(unsigned width, unsigned height)
{
    struct str file = as_jpeg(quarters(8, 8));
    size_t at = frame_header(&file);

    put_16(&file, at + 5, height);
    put_16(&file, at + 7, width);
    return file;
}

static struct str png_that_claims(unsigned width, unsigned height)
{
    struct str file = as_png(quarters(8, 8));

    put_16(&file, 18, width);
    put_16(&file, 22, height);
    return file;
}

static void check_refused(struct str file, const char *says)
{
    struct picture picture;
    struct error err;
    size_t before;

    mem_reset_peak();
    before = mem_peak_bytes();
    CHECK_INT(decode(&file, &picture, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, says);
    CHECK(mem_peak_bytes() - before < 1 << 20);
    str_release(&file);
}

TEST(an_unusable_size_is_refused_before_memory_is_allocated)
{
    check_refused(jpeg_that_claims(20000, 20000),
                  "x.jpg is 20000x20000 pixels and would take 1.1 GiB");
    check_refused(png_that_claims(20000, 20000),
                  "x.jpg is 20000x20000 pixels and would take 1.1 GiB");
    check_refused(jpeg_that_claims(0, 8), "0x8 pixels");
    check_refused(jpeg_that_claims(8, 0), "8x0 pixels");
    check_refused(png_that_claims(0, 8), "0x8 pixels");
    check_refused(png_that_claims(8, 0), "8x0 pixels");
}

TEST(a_picture_cannot_have_an_unusable_size)
{
    struct picture picture;

    CHECK_INT(picture_init(&picture, 0, 5, NULL), ASSAY_BAD_INPUT);
    CHECK_INT(picture_init(&picture, -1, -1, NULL), ASSAY_BAD_INPUT);
    CHECK_INT(picture_init(&picture, 1 << 15, 1 << 14, NULL), ASSAY_BAD_INPUT);
    CHECK(picture.rgb == NULL);
}

TEST(nothing_leaks_whichever_allocation_fails)
{
    struct str files[] = {as_jpeg(quarters(40, 24)), as_png(quarters(40, 24))};

    set_orientation(&files[0], 6);
    for (size_t i = 0; i < 2; i++) {
        long nth = 0, before = mem_live();
        struct picture picture;
        enum assay_status st;
        struct error err;

        do {
            mem_fail_at(nth++);
            st = decode(&files[i], &picture, &err);
            mem_fail_at(-1);
            picture_release(&picture);
            CHECK_INT(mem_live(), before);
            CHECK(st == ASSAY_OK || strstr(err.text, "out of memory"));
        } while (st == ASSAY_NOMEM);
        CHECK_STATUS(st, ASSAY_OK, &err);
        CHECK(nth > 2); /* the stored and the turned pixels; libpng's own */
        str_release(&files[i]);
    }
}

TEST(writing_a_png_survives_every_failing_allocation)
{
    struct picture picture = quarters(9, 9);
    FILE *nowhere = fopen("/dev/null", "w");
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        struct sink sink = sink_to_file(nowhere, "nowhere");

        mem_fail_at(nth++);
        st = picture_write_png(&picture, &sink, NULL);
        mem_fail_at(-1);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 2);
    fclose(nowhere);
    picture_release(&picture);
}

TEST(a_full_disk_is_reported)
{
    struct picture picture = quarters(600, 600);
    FILE *full = fopen("/dev/full", "w");
    struct sink sink = sink_to_file(full, "out.jpg");
    struct error err = {0};

    setvbuf(full, NULL, _IONBF, 0);
    CHECK_INT(picture_write_jpeg(&picture, 90, &sink, &err), ASSAY_IO);
    CHECK_STR(err.text, "writing out.jpg: the disk is full; free some space or "
                        "write elsewhere");
    err = (struct error){0};
    sink = sink_to_file(full, "out.png");
    CHECK_INT(picture_write_png(&picture, &sink, &err), ASSAY_IO);
    CHECK_STR(err.text, "writing out.png: the disk is full; free some space or "
                        "write elsewhere");
    fclose(full);
    picture_release(&picture);
}

TEST(a_picture_that_jpeg_cannot_hold_is_refused)
{
    struct picture picture = quarters(70000, 2);
    struct str file = {0};
    struct sink sink = sink_to_str(&file);
    struct error err = {0};

    CHECK_INT(picture_write_jpeg(&picture, 90, &sink, &err), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "cannot be written as JPEG");
    picture_release(&picture);
    str_release(&file);
}
