/* Preprocessing of photographs: torchvision's preset, and sizes by hand. */
#include "vision/recipe.h"

#include "base/mem.h"
#include "models/torchvision.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

static struct error err;

static struct picture plain_picture(int width, int height, uint8_t red,
                                    uint8_t green, uint8_t blue)
{
    struct picture picture;

    CHECK_INT(picture_init(&picture, width, height, &err), ASSAY_OK);
    for (int i = 0; i < width * height; i++) {
        picture.rgb[3 * i] = red;
        picture.rgb[3 * i + 1] = green;
        picture.rgb[3 * i + 2] = blue;
    }
    return picture;
}

TEST(photographs_are_preprocessed_as_by_torchvisions_preset)
{
    static const char *const photos[] = {TEST_SOURCE_DIR "/assets/coffee.jpg"};
    struct recipe recipe = recipe_of_variant(MODEL_IMAGENET);
    size_t n = recipe_elements(&recipe);
    float *got = mem_array(n, sizeof *got);
    struct checkpoint *answer =
        answer_open(torchvision_ask("preset", "vision/make_preset.py",
                                    TEST_SOURCE_DIR "/assets/coffee.jpg"),
                    "preset");
    struct pool *pool;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    for (size_t i = 0; i < sizeof photos / sizeof *photos; i++) {
        struct tensor want = answer_tensor(answer, pool, "photo_0");
        struct picture picture;

        CHECK_INT(picture_read(photos[i], &picture, &err), ASSAY_OK);
        CHECK_STATUS(recipe_apply(&recipe, &picture, got, &err), ASSAY_OK,
                     &err);
        CHECK_INT(tensor_elements(&want), n);
        for (size_t k = 0; k < n; k++)
            CHECK_NEAR(got[k], tensor_f32(&want)[k], 1e-6);
        picture_release(&picture);
        tensor_release(&want);
    }
    mem_free(got);
    pool_free(pool);
    checkpoint_free(answer);
}

TEST(a_letterbox_is_padded_around_the_photograph)
{
    struct recipe recipe = recipe_defaults();
    struct picture picture = plain_picture(8, 4, 255, 0, 51);
    struct placement place;
    float out[3 * 6 * 6];

    recipe.width = recipe.height = 6;
    recipe.fit = FIT_LETTERBOX;
    recipe.pad = 102;
    place = recipe_place(&recipe, 8, 4);
    CHECK_NEAR(place.x_scale, 0.75, 1e-9);
    CHECK_INT(place.width, 6);
    CHECK_INT(place.height, 3);
    CHECK_NEAR(place.top, 1, 0);
    CHECK_INT(recipe_apply(&recipe, &picture, out, &err), ASSAY_OK);
    CHECK_NEAR(out[0], 0.4, 1e-6);          /* padding above */
    CHECK_NEAR(out[6], 1, 1e-6);            /* red of the first row */
    CHECK_NEAR(out[36 + 6], 0, 1e-6);       /* green */
    CHECK_NEAR(out[72 + 6 * 3], 0.2, 1e-6); /* blue of the last one */
    CHECK_NEAR(out[6 * 4], 0.4, 1e-6);      /* padding below */
    recipe.fit = FIT_CORNER;
    CHECK_INT(recipe_apply(&recipe, &picture, out, &err), ASSAY_OK);
    CHECK_NEAR(out[0], 1, 1e-6);
    CHECK_NEAR(out[6 * 3], 0.4, 1e-6);
    picture_release(&picture);
}

TEST(channels_have_the_requested_order_and_layout)
{
    struct recipe recipe = recipe_defaults();
    struct picture picture = plain_picture(1, 1, 100, 150, 200);
    float out[3];

    recipe.width = recipe.height = 1;
    recipe.order = ORDER_BGR;
    recipe.scale = 1;
    for (int i = 0; i < 3; i++)
        recipe.mean[i] = 10 * i, recipe.std[i] = 2;
    CHECK_INT(recipe_apply(&recipe, &picture, out, &err), ASSAY_OK);
    CHECK_NEAR(out[0], 100, 0);
    CHECK_NEAR(out[1], 70, 0);
    CHECK_NEAR(out[2], 40, 0);
    recipe.order = ORDER_GREY;
    CHECK_INT(recipe_elements(&recipe), 1);
    CHECK_INT(recipe_apply(&recipe, &picture, out, &err), ASSAY_OK);
    /* 0.299, 0.587 and 0.114 of the three: 140.75. */
    CHECK_NEAR(out[0], 141 / 2.0, 0);
    picture_release(&picture);
}

TEST(channels_are_last_if_the_model_reads_them_so)
{
    struct recipe recipe = recipe_defaults();
    struct picture picture = plain_picture(2, 1, 1, 2, 3);
    static const float want[] = {1, 2, 3, 1, 2, 3};
    float out[6];

    recipe.width = 2;
    recipe.height = 1;
    recipe.scale = 1;
    recipe.is_channels_last = true;
    CHECK_INT(recipe_apply(&recipe, &picture, out, &err), ASSAY_OK);
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(out[i], want[i], 0);
    picture_release(&picture);
}

/* Python rounds half to even: 341 - 224 is 117, and half of it becomes 58. */
TEST(the_crop_begins_where_torchvisions_does)
{
    struct recipe recipe = recipe_of_variant(MODEL_IMAGENET);
    struct placement place = recipe_place(&recipe, 640, 480);

    CHECK_INT(place.width, 341);
    CHECK_INT(place.height, 256);
    CHECK_NEAR(place.left, -58, 0);
    CHECK_NEAR(place.top, -16, 0);
}

TEST(a_photograph_that_resizes_to_nothing_is_refused)
{
    struct recipe recipe = recipe_defaults();
    struct picture picture = plain_picture(1000, 1, 0, 0, 0);
    float out[3 * 16];

    recipe.width = recipe.height = 4;
    recipe.fit = FIT_LETTERBOX;
    err = (struct error){0};
    CHECK_INT(recipe_apply(&recipe, &picture, out, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "1000x1 pixels leave nothing when resized to 4x4");
    picture_release(&picture);
}
