/* metrics/coco_map.c - see coco_map.h: images come in, category by category. */
#include "metrics/coco_map_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum assay_status coco_map_new(size_t n_categories, enum coco_overlap overlap,
                               struct coco_map **out, struct error *err)
{
    struct coco_map *map = mem_zalloc(sizeof *map);

    *out = NULL;
    if (!map)
        return error_nomem(err, sizeof *map, "an evaluation");
    map->overlap = overlap;
    map->categories = mem_array(n_categories, sizeof *map->categories);
    if (!map->categories) {
        mem_free(map);
        return error_nomem(err, n_categories * sizeof *map->categories,
                           "an evaluation");
    }
    map->n_categories = n_categories;
    *out = map;
    return ASSAY_OK;
}

void coco_map_free(struct coco_map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->n_categories; i++)
        mem_free(map->categories[i].outcomes);
    mem_free(map->categories);
    mem_free(map);
}

static enum assay_status check_category(const struct coco_map *map,
                                        size_t category, struct error *err)
{
    if (category < map->n_categories)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "an object of category %zu; there are %zu", category,
                     map->n_categories);
}

static enum assay_status check(const struct coco_map *map,
                               const struct coco_truth *truths, size_t n_truths,
                               const struct coco_found *founds, size_t n_founds,
                               struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n_truths; i++)
        st = check_category(map, truths[i].category, err);
    for (size_t i = 0; !st && i < n_founds; i++) {
        st = check_category(map, founds[i].category, err);
        if (!st && isnan(founds[i].score))
            st = error_set(err, ASSAY_BAD_INPUT,
                           "the score of a detection is not a number");
    }
    return st;
}

/* What lies in one array stays in order where nothing else decides. */
static int by_place(const void *a, const void *b)
{
    return (a > b) - (a < b);
}

static int by_category(const void *a, const void *b)
{
    const struct coco_truth *x = *(const struct coco_truth *const *)a;
    const struct coco_truth *y = *(const struct coco_truth *const *)b;

    if (x->category != y->category)
        return x->category < y->category ? -1 : 1;
    return by_place(x, y);
}

static int by_category_and_score(const void *a, const void *b)
{
    const struct coco_found *x = *(const struct coco_found *const *)a;
    const struct coco_found *y = *(const struct coco_found *const *)b;

    if (x->category != y->category)
        return x->category < y->category ? -1 : 1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return by_place(x, y);
}

/* Goes through the sorted lists of one image, a category at a time. */
static enum assay_status match_all(struct coco_map *map,
                                   const struct coco_truth *const *truths,
                                   size_t n_truths,
                                   const struct coco_found *const *founds,
                                   size_t n_founds, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    size_t t = 0, f = 0;

    while (!st && (t < n_truths || f < n_founds)) {
        size_t category = t < n_truths ? truths[t]->category : SIZE_MAX;
        size_t t_end = t, f_end = f;

        if (f < n_founds && founds[f]->category < category)
            category = founds[f]->category;
        while (t_end < n_truths && truths[t_end]->category == category)
            t_end++;
        while (f_end < n_founds && founds[f_end]->category == category)
            f_end++;
        st = coco_match(map, category, truths + t, t_end - t, founds + f,
                        f_end - f < MOST_FOUND ? f_end - f : MOST_FOUND, err);
        t = t_end;
        f = f_end;
    }
    return st;
}

enum assay_status coco_map_add(struct coco_map *map,
                               const struct coco_truth *truths, size_t n_truths,
                               const struct coco_found *founds, size_t n_founds,
                               struct error *err)
{
    const struct coco_truth **by_truth;
    const struct coco_found **by_found;
    enum assay_status st = check(map, truths, n_truths, founds, n_founds, err);

    if (st)
        return st;
    by_truth = mem_array(n_truths, sizeof *by_truth);
    by_found = mem_array(n_founds, sizeof *by_found);
    if (!by_truth || !by_found) {
        st = error_nomem(err, (n_truths + n_founds) * sizeof *by_truth,
                         "the objects of an image");
        goto done;
    }
    for (size_t i = 0; i < n_truths; i++)
        by_truth[i] = &truths[i];
    for (size_t i = 0; i < n_founds; i++)
        by_found[i] = &founds[i];
    qsort(by_truth, n_truths, sizeof *by_truth, by_category);
    qsort(by_found, n_founds, sizeof *by_found, by_category_and_score);
    st = match_all(map, by_truth, n_truths, by_found, n_founds, err);
done:
    mem_free(by_truth);
    mem_free(by_found);
    return st;
}
