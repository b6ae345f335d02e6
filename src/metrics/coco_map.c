/* metrics/coco_map.c - see coco_map.h: matching the detections of images.
 *
 * The rules, and the order in which they apply, are those of pycocotools'
 * evaluateImg. */
#include "metrics/coco_map_internal.h"

#include "base/mem.h"
#include "base/vec.h"

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

/* Numpy's linspace(.5, .95, 10), which overlaps are compared with. */
double coco_overlap_at(size_t i)
{
    const double first = .5, last = .95;

    if (i == N_OVERLAPS - 1)
        return last;
    return first + (double)i * ((last - first) / (N_OVERLAPS - 1));
}

static bool is_outside(double area, enum coco_area range)
{
    static const double bounds[N_AREAS][2] = {
        [AREA_ALL] = {0, 1e10},
        [AREA_SMALL] = {0, 32 * 32},
        [AREA_MEDIUM] = {32 * 32, 96 * 96},
        [AREA_LARGE] = {96 * 96, 1e10},
    };

    return area < bounds[range][0] || area > bounds[range][1];
}

/* ---- overlaps --------------------------------------------------------- */

/* What they share, relative to what either covers, or for a crowd to what the
 * detection covers. */
static double share(double both, double found, double truth, bool is_crowd)
{
    return both / (is_crowd ? found : found + truth - both);
}

static double box_overlap(const struct coco_found *found,
                          const struct coco_truth *truth)
{
    double width = fmin(found->width + found->x, truth->width + truth->x) -
                   fmax(found->x, truth->x);
    double height = fmin(found->height + found->y, truth->height + truth->y) -
                    fmax(found->y, truth->y);

    if (width <= 0 || height <= 0)
        return 0;
    return share(width * height, found->width * found->height,
                 truth->width * truth->height, truth->is_crowd);
}

static double mask_overlap(const struct coco_found *found,
                           const struct coco_truth *truth)
{
    uint64_t both = mask_shared(found->mask, truth->mask);

    if (both == 0)
        return 0;
    return share((double)both, (double)mask_area(found->mask),
                 (double)mask_area(truth->mask), truth->is_crowd);
}

static double found_area(const struct coco_map *map,
                         const struct coco_found *found)
{
    if (found->area != 0)
        return found->area;
    return map->overlap == COCO_MASKS ? (double)mask_area(found->mask)
                                      : found->width * found->height;
}

/* ---- one range of sizes ----------------------------------------------- */

/* One category of an image while it is matched. */
struct coco_matching {
    const struct coco_truth *const *truths;
    size_t n_truths;
    const double *overlaps; /* n_truths per detection */
    size_t *order;          /* of the truths: those to be found come first */
    bool *is_ignored;       /* in that order, like is_taken */
    bool *is_taken;
};

/* Sorts the truths for a range of sizes; returns how many are to be found. */
static size_t choose_truths(struct coco_matching *matching, enum coco_area area)
{
    size_t n = 0, n_wanted = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < matching->n_truths; i++) {
            const struct coco_truth *truth = matching->truths[i];
            bool is_ignored = truth->is_crowd || truth->is_ignored ||
                              is_outside(truth->area, area);

            if (is_ignored != (pass == 1))
                continue;
            matching->is_ignored[n] = is_ignored;
            matching->order[n++] = i;
        }
        if (pass == 0)
            n_wanted = n;
    }
    return n_wanted;
}

/* The truth that a detection matches, as an index into the order; SIZE_MAX:
 * none. An ignored one is taken only if no other matches. */
static size_t find_truth(const struct coco_matching *matching,
                         const double *overlaps, double least)
{
    size_t best = SIZE_MAX;

    least = fmin(least, 1 - 1e-10);
    for (size_t i = 0; i < matching->n_truths; i++) {
        size_t at = matching->order[i];

        if (matching->is_taken[i] && !matching->truths[at]->is_crowd)
            continue;
        if (best != SIZE_MAX && !matching->is_ignored[best] &&
            matching->is_ignored[i])
            break;
        if (overlaps[at] < least)
            continue;
        least = overlaps[at];
        best = i;
    }
    return best;
}

static void match_at(struct coco_matching *matching, enum coco_area area,
                     size_t overlap, struct coco_outcome *outcomes, size_t n)
{
    uint16_t bit = (uint16_t)(1u << overlap);

    for (size_t i = 0; i < matching->n_truths; i++)
        matching->is_taken[i] = false;
    for (size_t i = 0; i < n; i++) {
        size_t best =
            find_truth(matching, matching->overlaps + i * matching->n_truths,
                       coco_overlap_at(overlap));

        if (best == SIZE_MAX)
            continue;
        matching->is_taken[best] = true;
        outcomes[i].is_matched[area] |= bit;
        if (matching->is_ignored[best])
            outcomes[i].is_ignored[area] |= bit;
    }
}

static void match_area(const struct coco_map *map,
                       struct coco_matching *matching, enum coco_area area,
                       struct coco_category *category,
                       const struct coco_found *const *founds, size_t n_founds)
{
    struct coco_outcome *outcomes = category->outcomes + category->n;

    category->n_truths[area] += choose_truths(matching, area);
    for (size_t i = 0; i < N_OVERLAPS; i++)
        match_at(matching, area, i, outcomes, n_founds);
    for (size_t i = 0; i < n_founds; i++) {
        if (is_outside(found_area(map, founds[i]), area))
            outcomes[i].is_ignored[area] |=
                (uint16_t)~outcomes[i].is_matched[area];
    }
}

/* ---- one category ----------------------------------------------------- */

static enum assay_status reserve(struct coco_category *category,
                                 const struct coco_found *const *founds,
                                 size_t n, struct error *err)
{
    void *moved = vec_reserve(category->outcomes, &category->capacity,
                              category->n + n, sizeof *category->outcomes);

    if (!moved)
        return error_nomem(err, n * sizeof *category->outcomes,
                           "detections of an evaluation");
    category->outcomes = moved;
    for (size_t i = 0; i < n; i++)
        category->outcomes[category->n + i] = (struct coco_outcome){
            .score = founds[i]->score, .rank = (uint32_t)i};
    return ASSAY_OK;
}

static void measure_overlaps(const struct coco_map *map,
                             const struct coco_matching *matching,
                             const struct coco_found *const *founds, size_t n,
                             double *overlaps)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < matching->n_truths; k++)
            *overlaps++ = map->overlap == COCO_MASKS
                              ? mask_overlap(founds[i], matching->truths[k])
                              : box_overlap(founds[i], matching->truths[k]);
    }
}

/* One category of an image. founds: sorted, at most MOST_FOUND. Not both lists
 * are empty. */
static enum assay_status coco_match(struct coco_map *map, size_t category,
                                    const struct coco_truth *const *truths,
                                    size_t n_truths,
                                    const struct coco_found *const *founds,
                                    size_t n_founds, struct error *err)
{
    struct coco_category *kept = &map->categories[category];
    size_t n_overlaps = 0;
    double *overlaps = mem_mul(n_founds, n_truths, &n_overlaps)
                           ? mem_array(n_overlaps, sizeof *overlaps)
                           : NULL;
    struct coco_matching matching = {
        .truths = truths,
        .n_truths = n_truths,
        .overlaps = overlaps,
        .order = mem_array(n_truths, sizeof *matching.order),
        .is_ignored = mem_array(n_truths, sizeof *matching.is_ignored),
        .is_taken = mem_array(n_truths, sizeof *matching.is_taken),
    };
    enum assay_status st = ASSAY_OK;

    if (!overlaps || !matching.order || !matching.is_ignored ||
        !matching.is_taken)
        st = error_nomem(err, n_overlaps * sizeof *overlaps,
                         "the overlaps of an image");
    if (!st)
        st = reserve(kept, founds, n_founds, err);
    if (!st) {
        measure_overlaps(map, &matching, founds, n_founds, overlaps);
        for (enum coco_area area = 0; area < N_AREAS; area++)
            match_area(map, &matching, area, kept, founds, n_founds);
        kept->n += n_founds;
    }
    mem_free(overlaps);
    mem_free(matching.order);
    mem_free(matching.is_ignored);
    mem_free(matching.is_taken);
    return st;
}

/* ---- all categories of an image --------------------------------------- */

static enum assay_status check_category(const struct coco_map *map,
                                        size_t category, struct error *err)
{
    if (category < map->n_categories)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "an object has category %zu, but there are %zu categories",
                     category, map->n_categories);
}

static enum assay_status coco_map_check(const struct coco_map *map,
                                        const struct coco_truth *truths,
                                        size_t n_truths,
                                        const struct coco_found *founds,
                                        size_t n_founds, struct error *err)
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

/* Keeps the order of an array where nothing else decides. */
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

/* Goes through the sorted lists of one image, one category at a time. */
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
    enum assay_status st =
        coco_map_check(map, truths, n_truths, founds, n_founds, err);

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
