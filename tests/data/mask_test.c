/* Masks: pixels, runs, texts and polygons, as in pycocotools. */
#include "base/mem.h"
#include "data/mask.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns: 0 1 / 1 1 / 0 0, from the top: off 1, on 3, off 2. */
static const uint8_t three_by_two[] = {0, 1, 0, /* */ 1, 1, 0};

static struct mask pixels_mask(const uint8_t *pixels, int width, int height)
{
    struct mask mask = {0};
    struct error err = {0};

    CHECK_STATUS(mask_from_pixels(pixels, width, height, &mask, &err), ASSAY_OK,
                 &err);
    return mask;
}

static void check_text(const struct mask *mask, const char *want)
{
    struct str text = {0};

    CHECK_INT(mask_to_text(mask, &text), ASSAY_OK);
    CHECK_STR(str_text(&text), want);
    str_release(&text);
}

TEST(runs_go_down_the_columns)
{
    struct mask mask = pixels_mask(three_by_two, 3, 2);

    CHECK_INT(mask.n, 3);
    CHECK_INT(mask.runs[0], 1);
    CHECK_INT(mask.runs[1], 3);
    CHECK_INT(mask.runs[2], 2);
    CHECK_INT(mask_area(&mask), 3);
    mask_release(&mask);
}

TEST(a_mask_that_begins_with_a_pixel_on_begins_with_an_empty_run)
{
    const uint8_t pixels[] = {1, 0};
    struct mask mask = pixels_mask(pixels, 2, 1);

    CHECK_INT(mask.runs[0], 0);
    CHECK_INT(mask.runs[1], 1);
    mask_release(&mask);
}

TEST(pixels_come_back_as_they_were)
{
    struct mask mask = pixels_mask(three_by_two, 3, 2);
    uint8_t pixels[6];

    mask_to_pixels(&mask, pixels);
    CHECK(memcmp(pixels, three_by_two, sizeof pixels) == 0);
    mask_release(&mask);
}

/* The texts of pycocotools.mask.encode() for the same pixels. */
TEST(texts_match_pycocotools)
{
    struct mask mask = pixels_mask(three_by_two, 3, 2);

    check_text(&mask, "132");
    mask_release(&mask);
}

TEST(a_text_gives_the_runs_it_was_made_from)
{
    const uint32_t runs[] = {5, 1000, 3, 1000, 70000, 1, 27991};
    struct mask mask = {0}, again = {0};
    struct error err = {0};
    struct str text = {0};

    CHECK_STATUS(mask_from_runs(runs, 7, 1000, 100, &mask, &err), ASSAY_OK,
                 &err);
    CHECK_INT(mask_to_text(&mask, &text), ASSAY_OK);
    CHECK_STATUS(mask_from_text(text.text, text.n, 1000, 100, &again, &err),
                 ASSAY_OK, &err);
    CHECK_INT(again.n, 7);
    CHECK(memcmp(again.runs, runs, sizeof runs) == 0);
    mask_release(&mask);
    mask_release(&again);
    str_release(&text);
}

static void check_refused(const char *text, const char *why)
{
    struct mask mask = {0};
    struct error err = {0};

    CHECK_STATUS(mask_from_text(text, strlen(text), 3, 2, &mask, &err),
                 ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, why);
    CHECK(mask.n == 0);
}

TEST(texts_that_are_not_masks_are_refused)
{
    check_refused("13", "do not add up to its 3x2 pixels");
    check_refused("1329", "do not add up");
    check_refused("13\x7f", "broken at letter 3");
    check_refused("13\x20", "broken at letter 3");
    check_refused("13o", "broken at letter 3");       /* more should follow */
    check_refused("13oooooooo0", "broken at letter"); /* never ends */
    check_refused("O", "do not add up");              /* -1 */
}

TEST(runs_that_do_not_fill_the_image_are_refused)
{
    const uint32_t shorter[] = {1, 2}, longer[] = {1, 2, 4};
    struct mask mask = {0};
    struct error err = {0};

    CHECK_STATUS(mask_from_runs(shorter, 2, 3, 2, &mask, &err), ASSAY_BAD_INPUT,
                 &err);
    CHECK_STATUS(mask_from_runs(longer, 3, 3, 2, &mask, &err), ASSAY_BAD_INPUT,
                 &err);
    CHECK_STATUS(mask_from_runs(longer, 3, 0, 2, &mask, &err), ASSAY_BAD_INPUT,
                 &err);
}

TEST(shared_pixels_are_counted_over_different_runs)
{
    const uint8_t a[] = {1, 1, 0, /* */ 1, 1, 0}, b[] = {0, 1, 1, 0, 1, 1};
    struct mask first = pixels_mask(a, 3, 2), second = pixels_mask(b, 3, 2);
    struct mask narrow = pixels_mask(a, 2, 2);

    CHECK_INT(mask_shared(&first, &second), 2);
    CHECK_INT(mask_shared(&first, &first), 4);
    CHECK_INT(mask_shared(&first, &narrow), 0);
    mask_release(&first);
    mask_release(&second);
    mask_release(&narrow);
}

/* ---- polygons ---------------------------------------------------------- */

/* "1.0 2.0 3.0;4.0": the numbers of one polygon, then of the next. */
static size_t read_polygons(char *text, double *numbers,
                            struct polygon *polygons)
{
    size_t n = 0;
    char *rest = NULL;

    for (char *one = strtok_r(text, ";", &rest); one;
         one = strtok_r(NULL, ";", &rest)) {
        size_t n_numbers = 0;

        for (char *end; (numbers[n_numbers] = strtod(one, &end), end != one);
             one = end)
            n_numbers++;
        polygons[n++] = (struct polygon){numbers, n_numbers / 2};
        numbers += n_numbers;
    }
    return n;
}

static void check_polygon_line(char *line)
{
    struct polygon polygons[4];
    double numbers[64];
    struct mask mask = {0};
    struct error err = {0};
    char text[2048];
    int width, height, at;
    unsigned area;
    size_t n;

    CHECK(sscanf(line, "polygon %d %d %u %2047s %n", &width, &height, &area,
                 text, &at) == 4);
    n = read_polygons(line + at, numbers, polygons);
    CHECK_STATUS(mask_from_polygons(polygons, n, width, height, &mask, &err),
                 ASSAY_OK, &err);
    CHECK_INT(mask_area(&mask), area);
    check_text(&mask, text);
    mask_release(&mask);
}

TEST(polygons_cover_the_same_pixels_as_in_pycocotools)
{
    FILE *file = fopen(TEST_SOURCE_DIR "/tests/data/coco_masks.txt", "r");
    char line[4096];
    int n = 0;

    CHECK(file != NULL);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "polygon", 7) == 0) {
            check_polygon_line(line);
            n++;
        }
    }
    fclose(file);
    CHECK_INT(n, 8);
}

TEST(two_corners_cover_nothing)
{
    const double corners[] = {0, 0, 5, 5};
    const struct polygon line = {corners, 2};
    struct mask mask = {0};
    struct error err = {0};

    CHECK_STATUS(mask_from_polygons(&line, 1, 6, 6, &mask, &err), ASSAY_OK,
                 &err);
    CHECK_INT(mask_area(&mask), 0);
    mask_release(&mask);
}

TEST(corners_far_outside_or_not_finite_are_refused)
{
    const double corners[] = {0, 0, 1e300, 5, 3, 4};
    const struct polygon polygon = {corners, 3};
    struct mask mask = {0};
    struct error err = {0};

    CHECK_STATUS(mask_from_polygons(&polygon, 1, 6, 6, &mask, &err),
                 ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "far outside");
}

TEST(polygons_leak_nothing_whichever_allocation_fails)
{
    const double corners[] = {0, 0, 5, 0, 5, 5, 0, 5};
    const struct polygon twice[] = {{corners, 4}, {corners, 3}};
    long before = mem_live();
    enum assay_status st;
    long nth = 0;

    do {
        struct mask mask = {0};

        mem_fail_at(nth++);
        st = mask_from_polygons(twice, 2, 6, 6, &mask, NULL);
        mem_fail_at(-1);
        if (st == ASSAY_OK)
            mask_release(&mask);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 3);
}

static void check_box(const uint8_t *pixels, int width, int height, double x,
                      double y, double w, double h)
{
    struct mask mask = pixels_mask(pixels, width, height);
    double box[4];

    mask_box(&mask, box);
    CHECK_NEAR(box[0], x, 0);
    CHECK_NEAR(box[1], y, 0);
    CHECK_NEAR(box[2], w, 0);
    CHECK_NEAR(box[3], h, 0);
    mask_release(&mask);
}

TEST(the_box_of_a_mask_is_the_smallest_around_it)
{
    static const uint8_t none[6] = {0}, one[] = {0, 0, 0, 0, 0, 1};
    /* A run from the lowest pixel of a column to the highest of the next. */
    static const uint8_t step[] = {0,       0, 1, 0, /* */ 0, 0, 0, 0,
                                   /* */ 0, 1, 0, 0};

    check_box(three_by_two, 3, 2, 0, 0, 2, 2);
    check_box(one, 3, 2, 2, 1, 1, 1);
    check_box(none, 3, 2, 0, 0, 0, 0);
    check_box(step, 4, 3, 1, 0, 2, 3);
}
