/* What canvas.h draws can be seen where it should be, and nowhere else. */
#include "base/mem.h"
#include "encoded.h"
#include "picture/canvas.h"

#include <math.h>
#include <stdlib.h>

enum { side = 400 };

static struct picture plain(uint8_t level)
{
    struct picture picture;

    CHECK_INT(picture_init(&picture, side, side, NULL), ASSAY_OK);
    memset(picture.rgb, level, (size_t)side * side * 3);
    return picture;
}

static void draw(struct picture *picture, const struct target *targets,
                 size_t n)
{
    struct error err = {0};

    CHECK_STATUS(canvas_draw_targets(picture, targets, n, &err), ASSAY_OK,
                 &err);
}

static bool is_colour(const uint8_t *rgb, struct colour colour)
{
    return rgb[0] == colour.red && rgb[1] == colour.green &&
           rgb[2] == colour.blue;
}

TEST(a_box_is_drawn_in_the_colour_of_its_class)
{
    const struct target target = {100, 150, 300, 350, 7, "cup", 0.5F, NULL};

    for (int level = 0; level <= 255; level += 255) {
        struct picture picture = plain((uint8_t)level);

        draw(&picture, &target, 1);
        CHECK(is_colour(pixel(&picture, 200, 151), canvas_colour(7)));
        CHECK(is_colour(pixel(&picture, 101, 250), canvas_colour(7)));
        CHECK(is_colour(pixel(&picture, 299, 250), canvas_colour(7)));
        CHECK(is_colour(pixel(&picture, 200, 349), canvas_colour(7)));
        CHECK_INT(pixel(&picture, 200, 250)[0], level); /* inside it */
        CHECK_INT(pixel(&picture, 50, 250)[0], level);  /* and outside */
        CHECK_INT(pixel(&picture, 200, 390)[0], level);
        picture_release(&picture);
    }
}

/* How many pixels of the label above the box differ from its ground by much,
 * which is what can be read. */
static int count_ink(const struct picture *picture, struct colour ground)
{
    int n = 0;

    for (int y = 136; y < 149; y++) {
        for (int x = 102; x < 180; x++) {
            const uint8_t *rgb = pixel(picture, x, y);
            double light = rgb[0] * 0.3 + rgb[1] * 0.59 + rgb[2] * 0.11;
            double ground_light =
                ground.red * 0.3 + ground.green * 0.59 + ground.blue * 0.11;

            n += fabs(light - ground_light) > 100;
        }
    }
    return n;
}

TEST(a_label_is_readable_on_any_background_and_in_any_colour)
{
    for (int class_index = 0; class_index < 91; class_index++) {
        const struct target target = {100,         150,      300,  350,
                                      class_index, "teapot", 0.5F, NULL};
        struct picture picture = plain((uint8_t)(class_index * 50));

        draw(&picture, &target, 1);
        CHECK(count_ink(&picture, canvas_colour(class_index)) > 60);
        picture_release(&picture);
    }
}

static int count_changed(const struct picture *a, const struct picture *b,
                         int y0, int y1)
{
    int n = 0;

    for (int y = y0; y < y1; y++) {
        for (int x = 0; x < side; x++)
            n += memcmp(pixel(a, x, y), pixel(b, x, y), 3) != 0;
    }
    return n;
}

TEST(labels_stay_inside_the_picture_and_do_not_overlap)
{
    const struct target top = {-50, -20, 900, 200, 1, "sky", 1.0F, NULL};
    const struct target twins[] = {{100, 150, 300, 350, 1, "cat", 0.9F, NULL},
                                   {100, 150, 300, 350, 1, "cat", 0.8F, NULL}};
    struct picture before = plain(128), picture = plain(128);

    draw(&picture, &top, 1);
    CHECK(count_changed(&before, &picture, 4, 12) > 8 * 40);
    picture_release(&picture);
    picture = plain(128);
    draw(&picture, twins, 2);
    CHECK(count_changed(&before, &picture, 136, 148) > 12 * 40); /* above */
    CHECK(count_changed(&before, &picture, 154, 162) > 8 * 40);  /* inside */
    picture_release(&picture);
    picture_release(&before);
}

TEST(a_mask_tints_its_object_and_has_an_outline)
{
    static uint8_t mask[side * side];
    struct target target = {0, 0, 10, 10, 3, "dog", 0.9F, mask};
    struct colour colour = canvas_colour(3);
    struct picture picture = plain(0);
    const uint8_t *outline, *inside;

    for (int y = 100; y < 200; y++)
        memset(mask + (size_t)y * side + 100, 255, 100);
    draw(&picture, &target, 1);
    outline = pixel(&picture, 150, 100);
    inside = pixel(&picture, 150, 150);
    CHECK(inside[1] > colour.green / 4 && inside[1] < colour.green / 2);
    CHECK(inside[2] > colour.blue / 4 && inside[2] < colour.blue / 2);
    CHECK(outline[1] > colour.green * 8 / 10);
    CHECK(outline[2] > colour.blue * 8 / 10);
    CHECK_INT(pixel(&picture, 150, 99)[0], 0);
    CHECK_INT(pixel(&picture, 200, 150)[0], 0);
    picture_release(&picture);
}

TEST(odd_targets_are_harmless)
{
    const struct target odd[] = {
        {NAN, NAN, NAN, NAN, 0, "nan", NAN, NULL},
        {-INFINITY, -1e30F, INFINITY, 1e30F, 1000000, "", INFINITY, NULL},
        {300, 300, 100, 100, 3, "turned round", 0.1F, NULL},
        {5000, 5000, 6000, 6000, 4, "\xff\xfe not UTF-8 \xc3", 0.1F, NULL},
        {10, 10, 10, 10, 5,
         "a name that is much longer than the picture is wide, and then more",
         0.1F, NULL}};
    struct picture picture = plain(128), tiny;

    draw(&picture, odd, 5);
    CHECK_INT(picture_init(&tiny, 1, 1, NULL), ASSAY_OK);
    draw(&tiny, odd, 5);
    picture_release(&picture);
    picture_release(&tiny);
}

TEST(a_picture_too_long_for_cairo_is_refused)
{
    const struct target target = {0, 0, 10, 10, 0, "x", 0.1F, NULL};
    struct picture picture = {0};
    struct error err = {0};

    CHECK_INT(picture_init(&picture, 40000, 1, NULL), ASSAY_OK);
    CHECK_INT(canvas_draw_targets(&picture, &target, 1, &err),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "cannot draw on a picture of 40000x1 pixels");
    picture_release(&picture);
}

TEST(the_colours_of_a_hundred_classes_differ)
{
    for (int a = 0; a < 100; a++) {
        for (int b = 0; b < a; b++) {
            struct colour p = canvas_colour(a), q = canvas_colour(b);
            int apart = abs(p.red - q.red) + abs(p.green - q.green) +
                        abs(p.blue - q.blue);

            CHECK(apart > (a < 20 ? 40 : a == b + 1 ? 100 : 2));
        }
    }
}

TEST(drawing_leaks_nothing_whichever_allocation_fails)
{
    const struct target target = {100, 150, 300, 350, 7, "cup", 0.5F, NULL};
    struct picture picture = plain(0);
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        mem_fail_at(nth++);
        st = canvas_draw_targets(&picture, &target, 1, NULL);
        mem_fail_at(-1);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 3);
    picture_release(&picture);
}

/* Pixels of a colour in a row from x1 to x2. */
static int count_in_row(const struct picture *picture, int y, int x1, int x2,
                        struct colour colour)
{
    int n = 0;

    for (int x = x1; x < x2; x++)
        n += is_colour(pixel(picture, x, y), colour);
    return n;
}

TEST(a_small_photograph_is_enlarged_before_it_is_drawn_on)
{
    enum { small = 128, times = 4 };
    uint8_t *mask = calloc(small, small);
    const struct target target = {32, 64, 96, 112, 7, "cup", 0.5F, mask};
    struct error err = {0};
    struct picture photo, drawn;

    CHECK(mask != NULL);
    mask[80 * small + 64] = 1;
    CHECK_INT(picture_init(&photo, small, small, NULL), ASSAY_OK);
    CHECK_STATUS(canvas_draw_photo(&photo, &target, 1, &drawn, &err), ASSAY_OK,
                 &err);
    CHECK_INT(drawn.width, times * small);
    CHECK_INT(drawn.height, times * small);
    /* The box is where it was, its line two pixels and not two times four. */
    CHECK(is_colour(pixel(&drawn, times * 64, times * 64), canvas_colour(7)));
    CHECK_INT(pixel(&drawn, times * 48, times * 64 + 6)[0], 0);
    /* The label is fourteen pixels high, a ninth of the box and not half. */
    CHECK(count_in_row(&drawn, times * 64 - 4, times * 32, times * 96,
                       canvas_colour(7)) > 20);
    CHECK_INT(count_in_row(&drawn, times * 64 - 40, 0, times * small,
                           canvas_colour(7)),
              0);
    /* The mask covers as many pixels as the one it had. */
    CHECK(pixel(&drawn, times * 64 + 1, times * 80 + 1)[0] +
              pixel(&drawn, times * 64 + 1, times * 80 + 1)[1] +
              pixel(&drawn, times * 64 + 1, times * 80 + 1)[2] >
          0);
    picture_release(&drawn);
    picture_release(&photo);
    free(mask);
}

TEST(a_larger_photograph_keeps_its_size)
{
    const struct target target = {100, 150, 300, 350, 7, "cup", 0.5F, NULL};
    struct picture photo = plain(255), same = plain(255), drawn;
    struct error err = {0};

    draw(&same, &target, 1);
    CHECK_STATUS(canvas_draw_photo(&photo, &target, 1, &drawn, &err), ASSAY_OK,
                 &err);
    CHECK_INT(drawn.width, side);
    CHECK(memcmp(drawn.rgb, same.rgb, (size_t)side * side * 3) == 0);
    picture_release(&drawn);
    picture_release(&same);
    picture_release(&photo);
}
