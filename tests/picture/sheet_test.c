/* What is drawn on a sheet can be seen where it should be, in each format. */
#include "base/mem.h"
#include "picture/picture.h"
#include "picture/sheet.h"
#include "test.h"

#include <string.h>

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

static const struct ink red = {1, 0, 0, 1}, black = {0, 0, 0, 1};

static struct str written(struct sheet *sheet)
{
    struct error err = {0};
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    OK(sheet_write(sheet, &sink, &err));
    sheet_free(sheet);
    return text;
}

static struct picture drawn(struct sheet *sheet)
{
    struct error err = {0};
    struct str png = written(sheet);
    struct picture picture = {0};

    OK(picture_decode(png.text, png.n, "sheet", PICTURE_MAX_PIXELS, &picture,
                      &err));
    str_release(&png);
    return picture;
}

static const uint8_t *pixel(const struct picture *picture, int x, int y)
{
    return picture->rgb + 3 * ((size_t)y * (size_t)picture->width + (size_t)x);
}

static int count_dark(const struct picture *picture, int from_x, int to_x)
{
    int n = 0;

    for (int y = 0; y < picture->height; y++)
        for (int x = from_x; x < to_x; x++)
            n += pixel(picture, x, y)[1] < 128;
    return n;
}

TEST(a_rectangle_is_drawn_at_two_pixels_per_point)
{
    struct error err = {0};
    struct sheet *sheet = NULL;
    struct picture picture;

    OK(sheet_new(SHEET_PNG, 100, 50, &sheet, &err));
    sheet_rectangle(sheet, (struct area){10, 20, 30, 10}, red);
    picture = drawn(sheet);
    CHECK_INT(picture.width, 200);
    CHECK_INT(picture.height, 100);
    CHECK(memcmp(pixel(&picture, 21, 41), "\xff\0\0", 3) == 0);
    CHECK(memcmp(pixel(&picture, 78, 58), "\xff\0\0", 3) == 0);
    CHECK(memcmp(pixel(&picture, 81, 50), "\xff\xff\xff", 3) == 0);
    CHECK(memcmp(pixel(&picture, 50, 38), "\xff\xff\xff", 3) == 0);
    picture_release(&picture);
}

TEST(nothing_shows_outside_of_a_clip)
{
    struct error err = {0};
    struct sheet *sheet = NULL;
    struct picture picture;

    OK(sheet_new(SHEET_PNG, 50, 50, &sheet, &err));
    sheet_clip(sheet, (struct area){0, 0, 25, 50});
    sheet_rectangle(sheet, (struct area){0, 0, 50, 50}, black);
    sheet_unclip(sheet);
    picture = drawn(sheet);
    CHECK(count_dark(&picture, 0, 50) == 50 * 100);
    CHECK(count_dark(&picture, 50, 100) == 0);
    picture_release(&picture);
}

TEST(text_that_is_too_long_is_shortened_to_its_area)
{
    struct error err = {0};
    struct sheet *sheet = NULL;
    struct picture picture;
    char name[10001];

    memset(name, 'W', sizeof name - 1);
    name[sizeof name - 1] = 0;
    OK(sheet_new(SHEET_PNG, 200, 20, &sheet, &err));
    sheet_text_in(sheet, (struct area){10, 0, 80, 20}, 10, black, name);
    picture = drawn(sheet);
    CHECK(count_dark(&picture, 20, 180) > 20);
    CHECK_INT(count_dark(&picture, 0, 20), 0);
    CHECK_INT(count_dark(&picture, 182, 400), 0);
    picture_release(&picture);
}

TEST(no_text_is_drawn_if_nothing_fits)
{
    struct error err = {0};
    struct sheet *sheet = NULL;
    struct picture picture;

    OK(sheet_new(SHEET_PNG, 50, 20, &sheet, &err));
    sheet_text_in(sheet, (struct area){0, 0, 4, 20}, 10, black, "backbone");
    picture = drawn(sheet);
    CHECK_INT(count_dark(&picture, 0, 100), 0);
    picture_release(&picture);
}

TEST(text_that_is_not_utf8_does_not_spoil_the_sheet)
{
    struct error err = {0};
    struct sheet *sheet = NULL;
    struct picture picture;

    OK(sheet_new(SHEET_PNG, 100, 30, &sheet, &err));
    sheet_text(sheet, (struct spot){50, 20}, SHEET_MIDDLE, 10, black,
               "\xff\xfe\x01");
    sheet_rectangle(sheet, (struct area){0, 0, 5, 5}, black);
    picture = drawn(sheet);
    CHECK(count_dark(&picture, 0, 10) > 50);
    picture_release(&picture);
}

TEST(the_other_formats_are_written_as_such)
{
    struct error err = {0};
    struct sheet *sheet = NULL;
    struct str text;

    OK(sheet_new(SHEET_SVG, 100, 50, &sheet, &err));
    sheet_rectangle(sheet, (struct area){10, 20, 30, 10}, red);
    text = written(sheet);
    CHECK_HAS(text.text, "<svg");
    CHECK_HAS(text.text, "</svg>");
    str_release(&text);
    OK(sheet_new(SHEET_PDF, 100, 50, &sheet, &err));
    text = written(sheet);
    CHECK(text.n > 8 && memcmp(text.text, "%PDF-", 5) == 0);
    str_release(&text);
}
