/* Mean average precision: answers computed by hand, and those of
 * pycocotools. */
#include "base/mem.h"
#include "data/dataset.h"
#include "metrics/coco_map.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct coco_map *new_map(size_t n_categories, enum coco_overlap overlap)
{
    struct coco_map *map;
    struct error err = {0};

    CHECK_STATUS(coco_map_new(n_categories, overlap, &map, &err), ASSAY_OK,
                 &err);
    return map;
}

static void add(struct coco_map *map, const struct coco_truth *truths,
                size_t n_truths, const struct coco_found *founds,
                size_t n_founds)
{
    struct error err = {0};

    CHECK_STATUS(coco_map_add(map, truths, n_truths, founds, n_founds, &err),
                 ASSAY_OK, &err);
}

static struct coco_summary summary_of(struct coco_map *map)
{
    struct coco_summary summary;
    struct error err = {0};

    CHECK_STATUS(coco_map_summarize(map, &summary, &err), ASSAY_OK, &err);
    coco_map_free(map);
    return summary;
}

/* A square of 50, which is of medium size, and a detection at x. */
#define TRUTH(at)                                                              \
    {                                                                          \
        .x = at, .width = 50, .height = 50, .area = 2500                       \
    }
#define FOUND(at, how_sure)                                                    \
    {                                                                          \
        .x = at, .width = 50, .height = 50, .score = how_sure                  \
    }

TEST(all_found_is_one_and_missing_sizes_have_no_value)
{
    const struct coco_truth truth = TRUTH(0);
    const struct coco_found found = FOUND(0, .5);
    struct coco_map *map = new_map(1, COCO_BOXES);
    struct coco_summary summary;

    add(map, &truth, 1, &found, 1);
    summary = summary_of(map);
    CHECK_NEAR(summary.map, 1, 1e-12);
    CHECK_NEAR(summary.map_medium, 1, 1e-12);
    CHECK_NEAR(summary.recall_1, 1, 1e-12);
    CHECK(isnan(summary.map_small));
    CHECK(isnan(summary.map_large));
}

TEST(nothing_found_is_zero)
{
    const struct coco_truth truth = TRUTH(0);
    struct coco_map *map = new_map(1, COCO_BOXES);

    add(map, &truth, 1, NULL, 0);
    CHECK_NEAR(summary_of(map).map, 0, 0);
}

/* Moved by 10 of 50: they share 40 of 60, which is above .5, .55, .6 and
 * .65. */
TEST(overlaps_count_up_to_the_actual_one)
{
    const struct coco_truth truth = TRUTH(0);
    const struct coco_found found = FOUND(10, .5);
    struct coco_map *map = new_map(1, COCO_BOXES);
    struct coco_summary summary;

    add(map, &truth, 1, &found, 1);
    summary = summary_of(map);
    CHECK_NEAR(summary.map, .4, 1e-12);
    CHECK_NEAR(summary.map_50, 1, 1e-12);
    CHECK_NEAR(summary.map_75, 0, 0);
}

/* Right, wrong, right, of two objects: precision is 1 up to a recall of a half,
 * which is 51 of the 101 recalls, and 2/3 up to one, which is the other 50. */
TEST(precision_is_read_at_101_recalls)
{
    const struct coco_truth truths[] = {TRUTH(0), TRUTH(100)};
    const struct coco_found founds[] = {FOUND(0, .9), FOUND(500, .8),
                                        FOUND(100, .7)};
    struct coco_map *map = new_map(1, COCO_BOXES);
    struct coco_summary summary;

    add(map, truths, 2, founds, 3);
    summary = summary_of(map);
    CHECK_NEAR(summary.map_50, (51 + 50 * 2 / 3.) / 101, 1e-12);
    CHECK_NEAR(summary.recall_1, .5, 1e-12);
    CHECK_NEAR(summary.recall_10, 1, 1e-12);
}

TEST(an_object_is_found_once)
{
    const struct coco_truth truth = TRUTH(0);
    const struct coco_found founds[] = {FOUND(0, .5), FOUND(0, .9)};
    struct coco_map *map = new_map(1, COCO_BOXES);

    /* The second is wrong, but comes after full recall. */
    add(map, &truth, 1, founds, 2);
    add(map, &truth, 1, NULL, 0);
    CHECK_NEAR(summary_of(map).map, 51 / 101., 1e-12);
}

TEST(detections_in_a_crowd_are_neither_right_nor_wrong)
{
    const struct coco_truth truths[] = {TRUTH(0),
                                        {.x = 400,
                                         .width = 300,
                                         .height = 50,
                                         .area = 15000,
                                         .is_crowd = true}};
    const struct coco_found founds[] = {FOUND(400, .9), FOUND(500, .8),
                                        FOUND(0, .7)};
    struct coco_map *map = new_map(1, COCO_BOXES);
    struct coco_summary summary;

    add(map, truths, 2, founds, 3);
    summary = summary_of(map);
    CHECK_NEAR(summary.map, 1, 1e-12);
    CHECK(isnan(summary.map_large));
}

TEST(an_ignored_object_does_not_count)
{
    const struct coco_truth truths[] = {TRUTH(0),
                                        {.x = 100,
                                         .width = 50,
                                         .height = 50,
                                         .area = 2500,
                                         .is_ignored = true}};
    const struct coco_found founds[] = {FOUND(100, .9), FOUND(0, .7)};
    struct coco_map *map = new_map(1, COCO_BOXES);

    add(map, truths, 2, founds, 2);
    CHECK_NEAR(summary_of(map).map, 1, 1e-12);
}

/* Category 1 has no object: detections of it do not count. */
TEST(categories_without_objects_are_left_out_of_the_mean)
{
    const struct coco_truth truths[] = {
        TRUTH(0),
        {.x = 100, .width = 50, .height = 50, .area = 2500, .category = 2}};
    const struct coco_found founds[] = {
        FOUND(0, .7), {.width = 50, .height = 50, .score = .9, .category = 1}};
    struct coco_map *map = new_map(3, COCO_BOXES);

    add(map, truths, 2, founds, 2);
    CHECK_NEAR(summary_of(map).map, .5, 1e-12);
}

TEST(masks_overlap_by_their_pixels)
{
    /* Columns of 4, in 4x4: 8 pixels on, and the same without 2. */
    const uint8_t on[16] = {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0};
    const uint8_t less[16] = {0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0};
    struct mask truth_mask = {0}, found_mask = {0};
    struct coco_truth truth = {.area = 8, .mask = &truth_mask};
    struct coco_found found = {.score = 1, .mask = &found_mask};
    struct coco_map *map = new_map(1, COCO_MASKS);
    struct coco_summary summary;

    CHECK_INT(mask_from_pixels(on, 4, 4, &truth_mask, NULL), ASSAY_OK);
    CHECK_INT(mask_from_pixels(less, 4, 4, &found_mask, NULL), ASSAY_OK);
    add(map, &truth, 1, &found, 1);
    summary = summary_of(map);
    CHECK_NEAR(summary.map, .6, 1e-12); /* 6 of 8 is .75: that too */
    CHECK_NEAR(summary.map_75, 1, 1e-12);
    CHECK_NEAR(summary.map_small, .6, 1e-12);
    mask_release(&truth_mask);
    mask_release(&found_mask);
}

TEST(detections_that_cannot_be_ranked_are_refused)
{
    const struct coco_found unsure = FOUND(0, NAN);
    const struct coco_found strange = {.score = 1, .category = 3};
    struct coco_map *map = new_map(3, COCO_BOXES);
    struct error err = {0};

    CHECK_STATUS(coco_map_add(map, NULL, 0, &unsure, 1, &err), ASSAY_BAD_INPUT,
                 &err);
    CHECK_HAS(err.text, "not a number");
    err = (struct error){0};
    CHECK_STATUS(coco_map_add(map, NULL, 0, &strange, 1, &err), ASSAY_BAD_INPUT,
                 &err);
    CHECK_HAS(err.text, "category 3, but there are 3");
    coco_map_free(map);
}

TEST(adding_leaks_nothing_whichever_allocation_fails)
{
    const struct coco_truth truth = TRUTH(0);
    const struct coco_found found = FOUND(0, .5);
    long before = mem_live(), nth = 0;
    enum assay_status st;

    do {
        struct coco_map *map = NULL;
        struct coco_summary summary;

        mem_fail_at(nth++);
        st = coco_map_new(1, COCO_BOXES, &map, NULL);
        if (!st)
            st = coco_map_add(map, &truth, 1, &found, 1, NULL);
        if (!st)
            st = coco_map_summarize(map, &summary, NULL);
        mem_fail_at(-1);
        coco_map_free(map);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 8);
}

/* ---- pycocotools: see make_coco_map.py ---------------------------------- */

enum { N_FIGURES = 12, MOST_OF_IMAGE = 512, MOST_CORNERS = 2048 };

struct row {
    long image, place, category;
    double score, dx, dy, scale;
};

/* The detections on one image. */
struct page {
    struct coco_found founds[MOST_OF_IMAGE];
    struct mask masks[MOST_OF_IMAGE];
    size_t n;
};

static size_t label_of(const struct dataset *dataset, int64_t id)
{
    for (size_t i = 0; i < dataset_class_count(dataset); i++) {
        if (dataset_class_id(dataset, i) == id)
            return i;
    }
    CHECK(false);
    return 0;
}

/* Scaled around the middle of the box, then shifted. */
static void move(const struct dataset_object *object, const struct row *row,
                 const double *from, double *to)
{
    double x = object->x + object->width / 2;
    double y = object->y + object->height / 2;

    to[0] = x + (from[0] - x) * row->scale + row->dx;
    to[1] = y + (from[1] - y) * row->scale + row->dy;
}

static void found_box(const struct dataset_object *object,
                      const struct row *row, struct coco_found *found)
{
    double corners[4] = {object->x, object->y, object->x + object->width,
                         object->y + object->height};
    double low[2], high[2];

    move(object, row, corners, low);
    move(object, row, corners + 2, high);
    found->x = low[0];
    found->y = low[1];
    found->width = high[0] - low[0];
    found->height = high[1] - low[1];
}

static void found_mask(const struct dataset_target *target,
                       const struct dataset_object *object,
                       const struct row *row, struct mask *out)
{
    double right = object->x + object->width;
    double bottom = object->y + object->height;
    const double box[] = {object->x, object->y, object->x, bottom,
                          right,     bottom,    right,     object->y};
    const struct polygon whole = {box, 4};
    const struct polygon *polygons = &whole;
    size_t n = 1, at = 0;
    double corners[MOST_CORNERS];
    struct polygon moved[64];
    struct error err = {0};

    if (object->shape.polygons) {
        polygons = object->shape.polygons;
        n = object->shape.n_polygons;
    }
    CHECK(n <= 64);
    for (size_t i = 0; i < n; i++) {
        moved[i] = (struct polygon){corners + at, polygons[i].n};
        CHECK(at + polygons[i].n * 2 <= MOST_CORNERS);
        for (size_t k = 0; k < polygons[i].n; k++, at += 2)
            move(object, row, polygons[i].corners + k * 2, corners + at);
    }
    CHECK_STATUS(
        mask_from_polygons(moved, n, target->width, target->height, out, &err),
        ASSAY_OK, &err);
}

static void add_row(struct page *page, const struct dataset *dataset,
                    const struct dataset_target *target, const struct row *row)
{
    const struct dataset_object *object = &target->objects[row->place];
    struct coco_found *found = &page->founds[page->n];

    CHECK(page->n < MOST_OF_IMAGE);
    *found = (struct coco_found){.score = row->score,
                                 .category = label_of(dataset, row->category),
                                 .mask = &page->masks[page->n]};
    found_box(object, row, found);
    found_mask(target, object, row, &page->masks[page->n]);
    page->n++;
}

static void add_page(struct coco_map *maps[2],
                     const struct dataset_target *target, struct page *page)
{
    struct coco_truth truths[MOST_OF_IMAGE];
    struct mask masks[MOST_OF_IMAGE] = {{0}};
    struct error err = {0};

    CHECK(target->n_objects <= MOST_OF_IMAGE);
    for (size_t i = 0; i < target->n_objects; i++) {
        const struct dataset_object *object = &target->objects[i];

        CHECK_STATUS(dataset_object_mask(object, target->width, target->height,
                                         &masks[i], &err),
                     ASSAY_OK, &err);
        truths[i] = (struct coco_truth){.x = object->x,
                                        .y = object->y,
                                        .width = object->width,
                                        .height = object->height,
                                        .area = object->area,
                                        .category = object->label,
                                        .is_crowd = object->is_crowd,
                                        .mask = &masks[i]};
    }
    for (int i = 0; i < 2; i++)
        add(maps[i], truths, target->n_objects, page->founds, page->n);
    for (size_t i = 0; i < target->n_objects; i++)
        mask_release(&masks[i]);
    for (size_t i = 0; i < page->n; i++)
        mask_release(&page->masks[i]);
    page->n = 0;
}

static void check_figures(struct coco_map *map, const double want[N_FIGURES])
{
    struct coco_summary got = summary_of(map);
    const double figures[N_FIGURES] = {
        got.map,        got.map_50,       got.map_75,        got.map_small,
        got.map_medium, got.map_large,    got.recall_1,      got.recall_10,
        got.recall_100, got.recall_small, got.recall_medium, got.recall_large,
    };

    for (int i = 0; i < N_FIGURES; i++)
        CHECK_NEAR(figures[i], want[i], 1e-9);
}

static void read_figures(FILE *file, const char *kind, double want[N_FIGURES])
{
    char word[16];

    CHECK_INT(fscanf(file, "%15s", word), 1);
    CHECK_STR(word, kind);
    for (int i = 0; i < N_FIGURES; i++)
        CHECK_INT(fscanf(file, "%lf", &want[i]), 1);
}

static bool read_row(FILE *file, struct row *row)
{
    return fscanf(file, "%ld %ld %ld %lf %lf %lf %lf", &row->image, &row->place,
                  &row->category, &row->score, &row->dx, &row->dy,
                  &row->scale) == 7;
}

TEST(twelve_figures_of_boxes_and_masks_match_pycocotools)
{
    const char *path = test_shared("datasets/coco_tiny80");
    struct dataset_options options = {.kind = DATASET_COCO,
                                      .split = DATASET_TEST,
                                      .path = path,
                                      .keeps_shapes = true};
    struct coco_map *maps[2];
    double want[2][N_FIGURES];
    struct dataset *dataset;
    struct error err = {0};
    static struct page page;
    struct row row;
    char line[256];
    bool has_row;
    FILE *file;

    if (!path)
        SKIP("../shared/data/datasets/coco_tiny80 is missing");
    file = fopen(TEST_SOURCE_DIR "/tests/metrics/coco_map.txt", "r");
    CHECK(file && fgets(line, sizeof line, file));
    read_figures(file, "bbox", want[0]);
    read_figures(file, "segm", want[1]);
    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    maps[0] = new_map(dataset_class_count(dataset), COCO_BOXES);
    maps[1] = new_map(dataset_class_count(dataset), COCO_MASKS);
    has_row = read_row(file, &row);
    for (size_t i = 0; i < dataset_count(dataset); i++) {
        struct dataset_target target;

        CHECK_STATUS(dataset_target(dataset, i, &target, &err), ASSAY_OK, &err);
        for (; has_row && row.image == target.id;
             has_row = read_row(file, &row))
            add_row(&page, dataset, &target, &row);
        add_page(maps, &target, &page);
    }
    CHECK(!has_row);
    check_figures(maps[0], want[0]);
    check_figures(maps[1], want[1]);
    dataset_close(dataset);
    fclose(file);
}

/* The surest is right, the next wrong, the third right: precision 1 up to half
 * of the objects, then two thirds. The other category has no objects. */
TEST(a_curve_has_the_best_precision_at_each_recall_or_later)
{
    const struct coco_truth truths[] = {TRUTH(0), TRUTH(200)};
    const struct coco_found founds[] = {FOUND(0, .9), FOUND(400, .8),
                                        FOUND(200, .7)};
    struct coco_map *map = new_map(2, COCO_BOXES);
    double curve[N_COCO_RECALLS];
    struct error err = {0};
    bool has_any;

    add(map, truths, 2, founds, 3);
    CHECK_STATUS(coco_map_curve(map, SIZE_MAX, 0, curve, &has_any, &err),
                 ASSAY_OK, &err);
    CHECK(has_any);
    CHECK_NEAR(curve[0], 1, 1e-12);
    CHECK_NEAR(curve[50], 1, 1e-12);
    CHECK_NEAR(curve[51], 2. / 3, 1e-12);
    CHECK_NEAR(curve[100], 2. / 3, 1e-12);
    CHECK_STATUS(coco_map_curve(map, 1, 0, curve, &has_any, &err), ASSAY_OK,
                 &err);
    CHECK(!has_any);
    coco_map_free(map);
}

TEST(a_category_has_figures_of_its_own)
{
    struct coco_truth truths[] = {TRUTH(0), TRUTH(200)};
    const struct coco_found found = FOUND(0, .9);
    struct coco_map *map = new_map(2, COCO_BOXES);
    struct coco_summary summary;
    struct error err = {0};

    truths[1].category = 1;
    add(map, truths, 2, &found, 1);
    CHECK_STATUS(coco_map_summarize_category(map, 0, &summary, &err), ASSAY_OK,
                 &err);
    CHECK_NEAR(summary.map, 1, 1e-12);
    CHECK_STATUS(coco_map_summarize_category(map, 1, &summary, &err), ASSAY_OK,
                 &err);
    CHECK_NEAR(summary.map, 0, 0);
    CHECK_NEAR(summary_of(map).map, .5, 1e-12);
}

/* Its box is large, its mask or area small: a wrong detection of another size
 * does not count. */
TEST(the_area_given_for_a_detection_decides_its_size)
{
    const struct coco_truth truth = TRUTH(0);
    struct coco_found founds[] = {FOUND(400, .9), FOUND(0, .8)};
    struct coco_map *map = new_map(1, COCO_BOXES);

    add(map, &truth, 1, founds, 2);
    CHECK_NEAR(summary_of(map).map_medium, .5, 1e-12);
    founds[0].area = 100;
    map = new_map(1, COCO_BOXES);
    add(map, &truth, 1, founds, 2);
    CHECK_NEAR(summary_of(map).map_medium, 1, 1e-12);
}
