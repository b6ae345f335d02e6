/* metrics/coco_summary.c - from matched detections to average precisions. */
#include "metrics/coco_map_internal.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { N_RECALLS = N_COCO_RECALLS };

/* A mean in the making. */
struct mean {
    double sum;
    size_t n;
};

/* Scratch for one category: its detections sorted, and precision and recall
 * along that list. */
struct coco_ranking {
    const struct coco_outcome **outcomes;
    size_t n;
    double *precision, *recall;
};

/* The sums for one range of sizes: precisions by overlap, and recalls by the
 * number of detections considered. */
struct area_means {
    struct mean precision[N_OVERLAPS];
    struct mean recall_1, recall_10, recall_100;
};

static double mean_result(struct mean mean)
{
    return mean.n ? mean.sum / (double)mean.n : NAN;
}

static void mean_add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->n++;
}

/* Equal scores keep their order. */
static int by_score(const void *a, const void *b)
{
    const struct coco_outcome *x = *(const struct coco_outcome *const *)a;
    const struct coco_outcome *y = *(const struct coco_outcome *const *)b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x > y) - (x < y);
}

/* Computes precision and recall after each detection that ranks above `most` in
 * its image; returns how many there are. */
static size_t go_down(struct coco_ranking *ranking, enum coco_area area,
                      size_t overlap, uint32_t most, uint64_t n_truths)
{
    double right = 0, wrong = 0;
    size_t n = 0;

    for (size_t i = 0; i < ranking->n; i++) {
        const struct coco_outcome *outcome = ranking->outcomes[i];

        if (outcome->rank >= most)
            continue;
        if (!(outcome->is_ignored[area] >> overlap & 1)) {
            bool is_right = outcome->is_matched[area] >> overlap & 1;

            right += is_right;
            wrong += !is_right;
        }
        ranking->recall[n] = right / (double)n_truths;
        ranking->precision[n++] = right / (wrong + right + DBL_EPSILON);
    }
    return n;
}

/* Adds the precision at 101 recalls; 0 for recalls that are not reached. */
static void add_curve(struct coco_ranking *ranking, size_t n,
                      double curve[N_RECALLS])
{
    size_t at = 0;

    for (size_t i = n; i-- > 1;)
        ranking->precision[i - 1] =
            fmax(ranking->precision[i - 1], ranking->precision[i]);
    for (int i = 0; i < N_RECALLS; i++) {
        double wanted = i == N_RECALLS - 1 ? 1 : i * .01;

        while (at < n && ranking->recall[at] < wanted)
            at++;
        if (at < n)
            curve[i] += ranking->precision[at];
    }
}

static double average_precision(struct coco_ranking *ranking, size_t n)
{
    double curve[N_RECALLS] = {0}, sum = 0;

    add_curve(ranking, n, curve);
    for (size_t i = 0; i < N_RECALLS; i++)
        sum += curve[i];
    return sum / N_RECALLS;
}

static double recall_with(struct coco_ranking *ranking, enum coco_area area,
                          size_t overlap, uint32_t most, uint64_t n_truths)
{
    size_t n = go_down(ranking, area, overlap, most, n_truths);

    return n ? ranking->recall[n - 1] : 0;
}

static void add_category(struct area_means *means, struct coco_ranking *ranking,
                         enum coco_area area, uint64_t n_truths)
{
    for (size_t i = 0; i < N_OVERLAPS; i++) {
        size_t n;

        mean_add(&means->recall_1, recall_with(ranking, area, i, 1, n_truths));
        mean_add(&means->recall_10,
                 recall_with(ranking, area, i, 10, n_truths));
        n = go_down(ranking, area, i, MOST_FOUND, n_truths);
        mean_add(&means->recall_100, n ? ranking->recall[n - 1] : 0);
        mean_add(&means->precision[i], average_precision(ranking, n));
    }
}

static enum assay_status rank(struct coco_ranking *ranking,
                              const struct coco_category *category,
                              struct error *err)
{
    *ranking = (struct coco_ranking){
        .n = category->n,
        .outcomes = mem_array(category->n, sizeof *ranking->outcomes),
        .precision = mem_array(category->n, sizeof *ranking->precision),
        .recall = mem_array(category->n, sizeof *ranking->recall),
    };
    if (!ranking->outcomes || !ranking->precision || !ranking->recall)
        return error_nomem(err, category->n * sizeof *ranking->outcomes,
                           "the ranking of detections");
    for (size_t i = 0; i < category->n; i++)
        ranking->outcomes[i] = &category->outcomes[i];
    qsort(ranking->outcomes, ranking->n, sizeof *ranking->outcomes, by_score);
    return ASSAY_OK;
}

static void ranking_release(struct coco_ranking *ranking)
{
    mem_free(ranking->outcomes);
    mem_free(ranking->precision);
    mem_free(ranking->recall);
}

static double mean_precision(const struct area_means *means)
{
    struct mean all = {0};

    for (size_t i = 0; i < N_OVERLAPS; i++) {
        all.sum += means->precision[i].sum;
        all.n += means->precision[i].n;
    }
    return mean_result(all);
}

/* The categories from first to before end. */
static enum assay_status summarize(const struct coco_map *map, size_t first,
                                   size_t end, struct coco_summary *out,
                                   struct error *err)
{
    enum { at_50 = 0, at_75 = 5 };
    struct area_means means[N_AREAS] = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = first; !st && i < end; i++) {
        const struct coco_category *category = &map->categories[i];
        struct coco_ranking ranking = {0};

        st = rank(&ranking, category, err);
        for (enum coco_area area = 0; !st && area < N_AREAS; area++) {
            if (category->n_truths[area] > 0)
                add_category(&means[area], &ranking, area,
                             category->n_truths[area]);
        }
        ranking_release(&ranking);
    }
    *out = (struct coco_summary){
        .map = mean_precision(&means[AREA_ALL]),
        .map_50 = mean_result(means[AREA_ALL].precision[at_50]),
        .map_75 = mean_result(means[AREA_ALL].precision[at_75]),
        .map_small = mean_precision(&means[AREA_SMALL]),
        .map_medium = mean_precision(&means[AREA_MEDIUM]),
        .map_large = mean_precision(&means[AREA_LARGE]),
        .recall_1 = mean_result(means[AREA_ALL].recall_1),
        .recall_10 = mean_result(means[AREA_ALL].recall_10),
        .recall_100 = mean_result(means[AREA_ALL].recall_100),
        .recall_small = mean_result(means[AREA_SMALL].recall_100),
        .recall_medium = mean_result(means[AREA_MEDIUM].recall_100),
        .recall_large = mean_result(means[AREA_LARGE].recall_100),
    };
    return st;
}

enum assay_status coco_map_summarize(const struct coco_map *map,
                                     struct coco_summary *out,
                                     struct error *err)
{
    return summarize(map, 0, map->n_categories, out, err);
}

enum assay_status coco_map_summarize_category(const struct coco_map *map,
                                              size_t category,
                                              struct coco_summary *out,
                                              struct error *err)
{
    return summarize(map, category, category + 1, out, err);
}

enum assay_status coco_map_curve(const struct coco_map *map, size_t category,
                                 size_t overlap,
                                 double precision[N_COCO_RECALLS],
                                 bool *has_any, struct error *err)
{
    size_t first = category == SIZE_MAX ? 0 : category, n_added = 0;
    size_t end = category == SIZE_MAX ? map->n_categories : category + 1;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < N_RECALLS; i++)
        precision[i] = 0;
    for (size_t i = first; !st && i < end; i++) {
        const struct coco_category *kept = &map->categories[i];
        uint64_t n_truths = kept->n_truths[AREA_ALL];
        struct coco_ranking ranking = {0};

        if (n_truths == 0)
            continue;
        st = rank(&ranking, kept, err);
        if (!st)
            add_curve(
                &ranking,
                go_down(&ranking, AREA_ALL, overlap, MOST_FOUND, n_truths),
                precision);
        ranking_release(&ranking);
        n_added++;
    }
    for (size_t i = 0; i < N_RECALLS && n_added > 0; i++)
        precision[i] /= (double)n_added;
    *has_any = n_added > 0;
    return st;
}
