/* Synthetic images: the same for a seed, and with the right annotations. */
#include "base/mem.h"
#include "data/dataset.h"
#include "test.h"

#include <string.h>

static struct error err;

static struct dataset *open_shapes(const struct dataset_options *options)
{
    struct dataset *dataset;

    err = (struct error){0};
    CHECK_STATUS(dataset_open(options, &dataset, &err), ASSAY_OK, &err);
    return dataset;
}

static struct picture picture_of(const struct dataset *dataset, size_t i)
{
    struct picture picture;

    CHECK_STATUS(dataset_picture(dataset, i, &picture, &err), ASSAY_OK, &err);
    return picture;
}

static struct dataset_target target_of(const struct dataset *dataset, size_t i)
{
    struct dataset_target target = {0};

    CHECK_STATUS(dataset_target(dataset, i, &target, &err), ASSAY_OK, &err);
    return target;
}

static bool are_same(const struct dataset_options *a,
                     const struct dataset_options *b)
{
    struct dataset *first = open_shapes(a), *second = open_shapes(b);
    struct picture one = picture_of(first, 3), two = picture_of(second, 3);
    bool is_same = one.width == two.width && one.height == two.height &&
                   memcmp(one.rgb, two.rgb,
                          (size_t)one.width * (size_t)one.height * 3) == 0;

    picture_release(&one);
    picture_release(&two);
    dataset_close(first);
    dataset_close(second);
    return is_same;
}

TEST(the_same_seed_makes_the_same_images_and_a_split_has_its_own)
{
    const struct dataset_options one = {
        .kind = DATASET_SYNTHETIC, .limit = 4, .synthetic = {.seed = 9}};
    struct dataset_options other = one;

    other.limit = 50; /* a larger set starts the same */
    CHECK(are_same(&one, &other));
    other.split = DATASET_TEST;
    CHECK(!are_same(&one, &other));
    other = one;
    other.synthetic.seed = 10;
    CHECK(!are_same(&one, &other));
}

TEST(objects_lie_in_the_image_and_do_not_overlap)
{
    const struct dataset_options options = {
        .kind = DATASET_SYNTHETIC,
        .limit = 300,
        .synthetic = {.width = 90, .height = 60, .n_classes = 5}};
    struct dataset *dataset = open_shapes(&options);
    size_t n_of_class[5] = {0}, n_many = 0;

    CHECK_INT(dataset_count(dataset), 300);
    CHECK_INT(dataset_class_count(dataset), 5);
    CHECK_STR(dataset_class_name(dataset, 1), "circle");
    CHECK_STR(dataset_class_name(dataset, 4), "circle 2");
    for (size_t i = 0; i < 300; i++) {
        struct dataset_target target = target_of(dataset, i);

        CHECK(target.n_objects > 0);
        CHECK_INT(target.label, -1);
        n_many += target.n_objects > 1;
        for (size_t k = 0; k < target.n_objects; k++) {
            const struct dataset_object *a = &target.objects[k];

            n_of_class[a->label]++;
            CHECK(a->x >= 0 && a->x + a->width <= 90 && a->width > 4);
            CHECK(a->y >= 0 && a->y + a->height <= 60 && a->height > 4);
            for (size_t j = 0; j < k; j++) {
                const struct dataset_object *b = &target.objects[j];

                CHECK(a->x >= b->x + b->width || b->x >= a->x + a->width ||
                      a->y >= b->y + b->height || b->y >= a->y + a->height);
            }
        }
    }
    CHECK(n_many > 100);
    for (int i = 0; i < 5; i++)
        CHECK(n_of_class[i] > 50);
    dataset_close(dataset);
}

/* The channel far above the others, or -1. */
static int colour_of(const uint8_t *rgb)
{
    for (int c = 0; c < 3; c++) {
        if (rgb[c] > 100 && rgb[c] > 2 * rgb[(c + 1) % 3] &&
            rgb[c] > 2 * rgb[(c + 2) % 3])
            return c;
    }
    return -1;
}

TEST(a_class_has_its_colour_inside_the_mask_and_nowhere_else)
{
    static const int colours[3] = {1, 2, 0}; /* green, blue, red */
    const struct dataset_options options = {.kind = DATASET_SYNTHETIC,
                                            .limit = 40};
    struct dataset *dataset = open_shapes(&options);

    for (size_t i = 0; i < 40; i++) {
        struct dataset_target target = target_of(dataset, i);
        struct picture picture = picture_of(dataset, i);
        static uint8_t covered[256 * 256], any[256 * 256];
        struct mask mask = {0};

        memset(any, 0, sizeof any);
        CHECK_INT(picture.width, 256);
        for (size_t k = 0; k < target.n_objects; k++) {
            const struct dataset_object *object = &target.objects[k];
            size_t n_wrong = 0;

            CHECK_INT(dataset_object_mask(object, 256, 256, &mask, &err), 0);
            mask_to_pixels(&mask, covered);
            for (size_t p = 0; p < sizeof any; p++) {
                any[p] |= covered[p];
                n_wrong += covered[p] && colour_of(picture.rgb + 3 * p) !=
                                             colours[object->label];
            }
            CHECK(n_wrong * 20 < mask_area(&mask));
        }
        for (size_t p = 0; p < sizeof any; p++)
            CHECK(any[p] || colour_of(picture.rgb + 3 * p) < 0);
        mask_release(&mask);
        picture_release(&picture);
    }
    dataset_close(dataset);
}

TEST(images_with_one_object_have_its_class)
{
    const struct dataset_options options = {
        .kind = DATASET_SYNTHETIC, .limit = 20, .synthetic = {.has_one = true}};
    struct dataset *dataset = open_shapes(&options);

    for (size_t i = 0; i < 20; i++) {
        struct dataset_target target = target_of(dataset, i);

        CHECK_INT(target.n_objects, 1);
        CHECK_INT(target.label, target.objects[0].label);
    }
    dataset_close(dataset);
}

TEST(sizes_and_classes_that_cannot_be_made_are_refused)
{
    static const struct synthetic_options wrong[] = {
        {.width = 3}, {.height = 100000}, {.n_classes = 5000}, {.width = -1}};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct dataset_options options = {.kind = DATASET_SYNTHETIC,
                                                .synthetic = wrong[i]};
        struct dataset *dataset;

        err = (struct error){0};
        CHECK_INT(dataset_open(&options, &dataset, &err), ASSAY_BAD_USAGE);
        CHECK_HAS(err.text, "synthetic images");
    }
}

TEST(a_dataset_in_a_folder_needs_one)
{
    const struct dataset_options options = {.kind = DATASET_COCO};
    struct dataset *dataset;

    err = (struct error){0};
    CHECK_INT(dataset_open(&options, &dataset, &err), ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "coco needs a folder");
}

TEST(no_memory_is_lost_whichever_allocation_fails)
{
    const struct dataset_options options = {.kind = DATASET_SYNTHETIC,
                                            .limit = 3};
    long before = mem_live();
    enum assay_status st = ASSAY_NOMEM;

    for (long nth = 0; st == ASSAY_NOMEM; nth++) {
        struct dataset *dataset = NULL;
        struct picture picture = {0};

        err = (struct error){0};
        mem_fail_at(nth);
        st = dataset_open(&options, &dataset, &err);
        if (!st)
            st = dataset_picture(dataset, 1, &picture, &err);
        mem_fail_at(-1);
        if (!st)
            picture_release(&picture);
        dataset_close(dataset);
        CHECK_INT(mem_live(), before);
    }
    CHECK_STATUS(st, ASSAY_OK, &err);
}
