/* Pascal VOC's average precision: answers computed by hand. */
#include "base/mem.h"
#include "metrics/voc_map.h"
#include "test.h"

#include <math.h>

/* A square of 10 at x. */
#define TRUTH(at)                                                              \
    {                                                                          \
        .x = at, .width = 10, .height = 10                                     \
    }
#define FOUND(at, how_sure, place)                                             \
    {                                                                          \
        .x = at, .width = 10, .height = 10, .score = how_sure, .number = place \
    }
#define COUNT(list) (sizeof(list) / sizeof *(list))

static struct voc_figures figures_of(const struct coco_truth *truths,
                                     size_t n_truths,
                                     const struct coco_found *founds,
                                     size_t n_founds)
{
    struct voc_figures figures;
    struct voc_map *map;
    struct error err = {0};

    CHECK_STATUS(voc_map_new(1, 0.5, &map, &err), ASSAY_OK, &err);
    CHECK_STATUS(voc_map_add(map, truths, n_truths, founds, n_founds, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(voc_map_class(map, 0, &figures, NULL, &err), ASSAY_OK, &err);
    voc_map_free(map);
    return figures;
}

/* Right, wrong, right of three objects: precision 1 up to recall 1/3, then 2/3
 * up to 2/3, then nothing. Recalls 0, 0.1, 0.2 and 0.3 are below a third, 0.4,
 * 0.5 and 0.6 below two. */
TEST(both_averages_follow_their_definitions)
{
    const struct coco_truth truths[] = {TRUTH(0), TRUTH(100), TRUTH(200)};
    const struct coco_found founds[] = {FOUND(200, .1, 0), FOUND(300, .5, 1),
                                        FOUND(0, .9, 2)};
    struct voc_figures figures =
        figures_of(truths, COUNT(truths), founds, COUNT(founds));

    CHECK_NEAR(figures.ap_all, 1. / 3 + 2. / 9, 1e-12);
    CHECK_NEAR(figures.ap_11, (4 * 1 + 3 * 2. / 3) / 11, 1e-12);
    CHECK_NEAR(figures.recall, 2. / 3, 1e-12);
    CHECK_NEAR(figures.precision, 2. / 3, 1e-12);
}

TEST(a_second_detection_of_an_object_is_wrong)
{
    const struct coco_truth truth = TRUTH(0);
    const struct coco_found founds[] = {FOUND(0, .9, 0), FOUND(1, .8, 1)};
    struct voc_figures figures = figures_of(&truth, 1, founds, COUNT(founds));

    CHECK_INT(figures.n_right, 1);
    CHECK_INT(figures.n_wrong, 1);
    CHECK_NEAR(figures.ap_all, 1, 1e-12);
}

/* The second overlaps the first object by 9/11 and the second by 1/3 or so: the
 * challenge looks only at the first, which is taken. COCO would go on. */
TEST(only_the_object_of_largest_overlap_is_looked_at)
{
    const struct coco_truth truths[] = {TRUTH(0), TRUTH(4)};
    const struct coco_found founds[] = {FOUND(0, .9, 0), FOUND(1, .8, 1)};
    struct voc_figures figures =
        figures_of(truths, COUNT(truths), founds, COUNT(founds));

    CHECK_INT(figures.n_right, 1);
    CHECK_INT(figures.n_wrong, 1);
}

TEST(detections_of_difficult_objects_do_not_count)
{
    struct coco_truth truths[] = {TRUTH(0), TRUTH(100)};
    const struct coco_found founds[] = {FOUND(100, .9, 0), FOUND(101, .8, 1),
                                        FOUND(0, .5, 2)};
    struct voc_figures figures;

    truths[1].is_ignored = true;
    figures = figures_of(truths, COUNT(truths), founds, COUNT(founds));
    CHECK_INT(figures.n_objects, 1);
    CHECK_INT(figures.n_right, 1);
    CHECK_INT(figures.n_wrong, 0);
    CHECK_NEAR(figures.ap_all, 1, 1e-12);
}

/* They share 20 of 30 pixels' columns: 2/3; or exactly half. */
TEST(an_overlap_of_exactly_the_least_is_enough)
{
    const struct coco_truth truth = {.width = 10, .height = 10};
    struct coco_found found = {.width = 5, .height = 10, .score = 1};

    CHECK_INT(figures_of(&truth, 1, &found, 1).n_right, 1);
    found.width = 4.99;
    CHECK_INT(figures_of(&truth, 1, &found, 1).n_right, 0);
}

/* Two detections of one object with the same score: the first in the file is
 * right, wherever it stands in the list. */
TEST(equal_scores_keep_the_order_of_the_file)
{
    const struct coco_truth truths[] = {TRUTH(0), TRUTH(100)};
    const struct coco_found founds[] = {FOUND(300, .5, 1), FOUND(0, .5, 0),
                                        FOUND(100, .5, 2)};

    /* Right, wrong, right: as above, but of two objects. */
    CHECK_NEAR(figures_of(truths, COUNT(truths), founds, COUNT(founds)).ap_all,
               .5 + .5 * 2. / 3, 1e-12);
}

TEST(a_class_without_objects_has_no_value_and_one_without_detections_zero)
{
    const struct coco_truth truth = TRUTH(0);
    const struct coco_found found = FOUND(0, 1, 0);

    CHECK(isnan(figures_of(NULL, 0, &found, 1).ap_all));
    CHECK_NEAR(figures_of(&truth, 1, NULL, 0).ap_all, 0, 0);
    CHECK_NEAR(figures_of(&truth, 1, NULL, 0).ap_11, 0, 0);
}

TEST(nothing_leaks_whichever_allocation_fails)
{
    const struct coco_truth truth = TRUTH(0);
    const struct coco_found found = FOUND(0, 1, 0);
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        struct voc_figures figures;
        struct voc_map *map = NULL;

        mem_fail_at(nth++);
        st = voc_map_new(1, 0.5, &map, NULL);
        if (!st)
            st = voc_map_add(map, &truth, 1, &found, 1, NULL);
        if (!st)
            st = voc_map_class(map, 0, &figures, NULL, NULL);
        mem_fail_at(-1);
        voc_map_free(map);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
}
