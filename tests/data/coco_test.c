/* COCO annotations: a real slice, and small files of every kind. */
#include "base/mem.h"
#include "data/coco_read.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static const struct dataset_options whole = {.keeps_shapes = true};

/* The caller closes the dataset, also on failure. */
static enum assay_status read_text(const char *text,
                                   const struct dataset_options *options,
                                   struct dataset **out, struct error *err)
{
    const struct coco_source source = {"notes.json", text, strlen(text)};

    *out = mem_zalloc(sizeof **out);
    CHECK(*out != NULL);
    (*out)->class = &coco_class;
    return coco_read(*out, &source, options, err);
}

static void check_refused(const char *text, const char *why)
{
    struct dataset *dataset;
    struct error err = {0};

    CHECK_STATUS(read_text(text, &whole, &dataset, &err), ASSAY_BAD_INPUT,
                 &err);
    CHECK_HAS(err.text, "notes.json: ");
    CHECK_HAS(err.text, why);
    dataset_close(dataset);
}

#define IMAGES                                                                 \
    "\"images\":[{\"id\":9,\"file_name\":\"b.jpg\",\"width\":3,\"height\":2}," \
    "{\"file_name\":\"a.jpg\",\"height\":4,\"width\":5,\"id\":7,\"x\":[1]}]"
#define CATEGORIES                                                             \
    "\"categories\":[{\"id\":90,\"name\":\"tooth\"},"                          \
    "{\"supercategory\":\"x\",\"name\":\"dog\",\"id\":18}]"
#define ANNOTATIONS                                                            \
    "\"annotations\":["                                                        \
    "{\"id\":1,\"image_id\":9,\"category_id\":90,\"bbox\":[0,1,2.5,1],"        \
    "\"area\":2.25,\"iscrowd\":0,\"segmentation\":[[0,0,2,0,2,2]]},"           \
    "{\"segmentation\":{\"counts\":[1,3,2],\"size\":[2,3]},\"id\":2,"          \
    "\"image_id\":9,\"category_id\":18,\"bbox\":[0,0,1,1],\"iscrowd\":1},"     \
    "{\"id\":3,\"image_id\":7,\"category_id\":18,\"bbox\":[1,1,2,3],"          \
    "\"segmentation\":{\"size\":[4,5],\"counts\":\"d0\"}},"                    \
    "{\"id\":4,\"image_id\":1,\"category_id\":5,\"bbox\":[1,1,2,3]}]"

TEST(images_and_classes_come_in_the_order_of_their_ids)
{
    struct dataset *dataset;
    struct dataset_target target;
    struct error err = {0};

    CHECK_STATUS(read_text("{" IMAGES "," ANNOTATIONS "," CATEGORIES "}",
                           &whole, &dataset, &err),
                 ASSAY_OK, &err);
    CHECK_INT(dataset_count(dataset), 2);
    CHECK_INT(dataset_class_count(dataset), 2);
    CHECK_STR(dataset_class_name(dataset, 0), "dog");
    CHECK_INT(dataset_class_id(dataset, 1), 90);
    CHECK_STATUS(dataset_target(dataset, 0, &target, &err), ASSAY_OK, &err);
    CHECK_INT(target.id, 7);
    CHECK_STR(target.path, "a.jpg");
    CHECK_INT(target.width, 5);
    CHECK_INT(target.n_objects, 1);
    CHECK_STATUS(dataset_target(dataset, 1, &target, &err), ASSAY_OK, &err);
    CHECK_INT(target.n_objects, 2);
    CHECK_INT(target.objects[0].label, 1);
    CHECK_NEAR(target.objects[0].width, 2.5, 0);
    CHECK_NEAR(target.objects[0].area, 2.25, 0);
    CHECK(!target.objects[0].is_crowd);
    CHECK(target.objects[1].is_crowd);
    CHECK_NEAR(target.objects[1].area, 1, 0); /* not given: the box's */
    dataset_close(dataset);
}

static uint64_t area_of(const struct dataset *dataset, size_t image, size_t i)
{
    struct dataset_target target;
    struct mask mask = {0};
    struct error err = {0};
    uint64_t area;

    CHECK_STATUS(dataset_target(dataset, image, &target, &err), ASSAY_OK, &err);
    CHECK_STATUS(dataset_object_mask(&target.objects[i], target.width,
                                     target.height, &mask, &err),
                 ASSAY_OK, &err);
    area = mask_area(&mask);
    mask_release(&mask);
    return area;
}

TEST(polygons_runs_and_texts_become_masks)
{
    struct dataset *dataset;
    struct error err = {0};

    CHECK_STATUS(read_text("{" IMAGES "," CATEGORIES "," ANNOTATIONS "}",
                           &whole, &dataset, &err),
                 ASSAY_OK, &err);
    CHECK_INT(area_of(dataset, 1, 1), 3); /* runs 1 3 2 */
    CHECK_INT(area_of(dataset, 0, 0), 0); /* one run of 20 */
    dataset_close(dataset);
}

TEST(annotations_before_the_images_are_read_in_a_second_pass)
{
    struct dataset *dataset;
    struct dataset_target target;
    struct error err = {0};

    CHECK_STATUS(read_text("{" ANNOTATIONS "," CATEGORIES "," IMAGES "}",
                           &whole, &dataset, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(dataset_target(dataset, 1, &target, &err), ASSAY_OK, &err);
    CHECK_INT(target.n_objects, 2);
    CHECK_INT(dataset_class_count(dataset), 2);
    dataset_close(dataset);
}

TEST(a_limit_leaves_out_images_and_everything_about_them)
{
    const struct dataset_options one = {.limit = 1};
    struct dataset *dataset;
    struct dataset_target target;
    struct error err = {0};

    CHECK_STATUS(read_text("{" IMAGES "," ANNOTATIONS "," CATEGORIES "}", &one,
                           &dataset, &err),
                 ASSAY_OK, &err);
    CHECK_INT(dataset_count(dataset), 1);
    CHECK_STATUS(dataset_target(dataset, 0, &target, &err), ASSAY_OK, &err);
    CHECK_INT(target.id, 7);
    CHECK_INT(target.n_objects, 1);
    dataset_close(dataset);
}

TEST(memory_does_not_grow_with_annotations_that_are_left_out)
{
    enum { n_left_out = 20000 };
    const struct dataset_options one = {.limit = 1, .keeps_shapes = true};
    struct dataset *dataset;
    struct error err = {0};
    struct str text = {0};
    size_t before;

    str_append(&text, "{" CATEGORIES "," IMAGES ",\"annotations\":[");
    for (int i = 0; i < n_left_out; i++)
        str_printf(&text,
                   "%s{\"segmentation\":[[1,2,3,4,5,6,7,8,9,10]],\"id\":%d,"
                   "\"image_id\":9,\"category_id\":18,\"bbox\":[0,0,1,1]}",
                   i ? "," : "", i);
    str_append(&text, "]}");
    mem_reset_peak();
    before = mem_live_bytes();
    CHECK_STATUS(read_text(text.text, &one, &dataset, &err), ASSAY_OK, &err);
    /* 2 MB of text, of which almost nothing is kept. */
    CHECK(text.n > 1000000);
    CHECK(mem_peak_bytes() - before < 400000);
    dataset_close(dataset);
    str_release(&text);
}

TEST(mistakes_are_reported_with_their_place)
{
    check_refused("[]", "line 1, column 1: not COCO annotations");
    check_refused("{" IMAGES "," CATEGORIES "}", "no list of \"annotations\"");
    check_refused("{\"images\":3}", "expected a list");
    check_refused("{\"images\":[3]}", "expected an object");
    check_refused("{\"images\":[{\"id\":1}]}", "without id or file_name");
    check_refused("{\"images\":[{\"id\":1,\"file_name\":\"a\",\"width\":0}]}",
                  "at least one pixel");
    check_refused("{\"images\":[{\"id\":1,\"file_name\":\"a\"},"
                  "{\"id\":1,\"file_name\":\"b\"}]}",
                  "two images have the id 1");
    check_refused("{" IMAGES ",\"annotations\":[{\"image_id\":7,"
                  "\"category_id\":1,\"bbox\":[1,2,3]}]}",
                  "four numbers");
    check_refused("{" IMAGES ",\"annotations\":[{\"image_id\":7,"
                  "\"category_id\":1,\"bbox\":[1,2,-3,1]}]}",
                  "below 0");
    check_refused("{" IMAGES ",\"annotations\":[{\"image_id\":7,"
                  "\"category_id\":1,\"bbox\":[1,2,3,1e999]}]}",
                  "expected a number");
    check_refused("{" IMAGES ",\"annotations\":[{\"caption\":\"a dog\","
                  "\"image_id\":7,\"id\":3}]}",
                  "use a file of instances");
    check_refused("{" IMAGES ",\"annotations\":[{\"image_id\":7,"
                  "\"category_id\":1,\"bbox\":[1,2,3,4],"
                  "\"segmentation\":[[1,2,3]]}]}",
                  "odd number");
    check_refused("{" IMAGES ",\"annotations\":[{\"image_id\":7,"
                  "\"category_id\":1,\"bbox\":[1,2,3,4]}]," CATEGORIES "}",
                  "has category 1, which the file does not have");
    check_refused("{" IMAGES "," CATEGORIES, "the file ends");
}

TEST(reading_leaks_nothing_whichever_allocation_fails)
{
    long before = mem_live();
    enum assay_status st;
    long nth = 0;

    do {
        const char text[] = "{" ANNOTATIONS "," IMAGES "," CATEGORIES "}";
        const struct coco_source source = {"x", text, strlen(text)};
        struct dataset *dataset = mem_zalloc(sizeof *dataset);

        dataset->class = &coco_class;
        mem_fail_at(nth++);
        st = coco_read(dataset, &source, &whole, NULL);
        mem_fail_at(-1);
        dataset_close(dataset);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 10);
}

/* ---- coco_tiny80 ------------------------------------------------------- */

static struct dataset *open_tiny(void)
{
    const char *path = test_shared("datasets/coco_tiny80");
    struct dataset_options options = {.kind = DATASET_COCO,
                                      .split = DATASET_TEST,
                                      .path = path,
                                      .keeps_shapes = true};
    struct dataset *dataset;
    struct error err = {0};

    if (!path)
        SKIP("../shared/data/datasets/coco_tiny80 is missing");
    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    return dataset;
}

TEST(coco_tiny80_has_what_its_index_says)
{
    struct dataset *dataset = open_tiny();
    size_t n_objects = 0, n_crowds = 0, n_persons = 0;
    struct dataset_target target;
    struct picture picture;
    struct error err = {0};

    CHECK_INT(dataset_count(dataset), 80);
    CHECK_INT(dataset_class_count(dataset), 80);
    CHECK_STR(dataset_class_name(dataset, 79), "toothbrush");
    CHECK_INT(dataset_class_id(dataset, 79), 90);
    for (size_t i = 0; i < 80; i++) {
        CHECK_STATUS(dataset_target(dataset, i, &target, &err), ASSAY_OK, &err);
        n_objects += target.n_objects;
        for (size_t k = 0; k < target.n_objects; k++) {
            n_crowds += target.objects[k].is_crowd;
            n_persons += target.objects[k].label == 0;
        }
    }
    CHECK_INT(n_objects, 815);
    CHECK_INT(n_crowds, 11);
    CHECK_INT(n_persons, 216);
    CHECK_STATUS(dataset_picture(dataset, 79, &picture, &err), ASSAY_OK, &err);
    CHECK_INT(picture.width, target.width);
    CHECK_INT(picture.height, target.height);
    picture_release(&picture);
    dataset_close(dataset);
}

static void check_mask(const struct dataset_target *target, size_t place,
                       unsigned long area, unsigned long crc)
{
    struct mask mask = {0};
    struct str text = {0};
    struct error err = {0};

    CHECK(place < target->n_objects);
    CHECK_STATUS(dataset_object_mask(&target->objects[place], target->width,
                                     target->height, &mask, &err),
                 ASSAY_OK, &err);
    CHECK_INT(mask_area(&mask), area);
    CHECK_INT(mask_to_text(&mask, &text), ASSAY_OK);
    CHECK_INT(crc32(0, (const Bytef *)text.text, (uInt)text.n), crc);
    str_release(&text);
    mask_release(&mask);
}

TEST(masks_of_coco_tiny80_match_pycocotools)
{
    struct dataset *dataset = open_tiny();
    FILE *file = fopen(TEST_SOURCE_DIR "/tests/data/coco_masks.txt", "r");
    struct dataset_target target = {0};
    struct error err = {0};
    char line[4096];
    size_t image = 0, n = 0;

    CHECK(file != NULL);
    CHECK_STATUS(dataset_target(dataset, 0, &target, &err), ASSAY_OK, &err);
    while (fgets(line, sizeof line, file)) {
        unsigned long id, place, area, crc;

        if (sscanf(line, "%lu %lu %lu %lu", &id, &place, &area, &crc) != 4)
            continue;
        while (target.id != (int64_t)id)
            CHECK_STATUS(dataset_target(dataset, ++image, &target, &err),
                         ASSAY_OK, &err);
        check_mask(&target, place, area, crc);
        n++;
    }
    CHECK_INT(n, 815);
    fclose(file);
    dataset_close(dataset);
}
