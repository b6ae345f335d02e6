/* metrics/coco_summary.c - from matched detections to average precisions. */
#include "metrics/coco_map_internal.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { N_RECALLS = 101 };

/* What has been averaged up to now. */
struct mean {
    double sum;
    size_t n;
};

/* Room for one category: its detections sorted, and precision and recall down
 * that list. */
struct ranking {
    const struct coco_outcome **outcomes;
    size_t n;
    double *precision, *recall;
};

/* The sums of one range of sizes: precisions by overlap, and recalls by how
 * many detections are looked at. */
struct area_means {
    struct mean precision[N_OVERLAPS];
    struct mean recall_1, recall_10, recall_100;
};

static double mean_of(struct mean mean)
{
    return mean.n ? mean.sum / (double)mean.n : NAN;
}

static void mean_add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->n++;
}

/* Equal scores stay in the order in which they came. */
static int by_score(const void *a, const void *b)
{
    const struct coco_outcome *x = *(const struct coco_outcome *const *)a;
    const struct coco_outcome *y = *(const struct coco_outcome *const *)b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x > y) - (x < y);
}

/* How many objects the detections find that rank above `most` in their image,
 * and what precision and recall are behind each; returns how many there are. */
static size_t go_down(struct ranking *ranking, enum coco_area area,
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

/* The precision at 101 recalls, 0 where that recall is not reached. */
static double average_precision(struct ranking *ranking, size_t n)
{
    double sum = 0;
    size_t at = 0;

    for (size_t i = n; i-- > 1;)
        ranking->precision[i - 1] =
            fmax(ranking->precision[i - 1], ranking->precision[i]);
    for (int i = 0; i < N_RECALLS; i++) {
        double wanted = i == N_RECALLS - 1 ? 1 : i * .01;

        while (at < n && ranking->recall[at] < wanted)
            at++;
        if (at < n)
            sum += ranking->precision[at];
    }
    return sum / N_RECALLS;
}

static double recall_with(struct ranking *ranking, enum coco_area area,
                          size_t overlap, uint32_t most, uint64_t n_truths)
{
    size_t n = go_down(ranking, area, overlap, most, n_truths);

    return n ? ranking->recall[n - 1] : 0;
}

static void add_category(struct area_means *means, struct ranking *ranking,
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

static enum assay_status rank(struct ranking *ranking,
                              const struct coco_category *category,
                              struct error *err)
{
    *ranking = (struct ranking){
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

static void release(struct ranking *ranking)
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
    return mean_of(all);
}

enum assay_status coco_map_summarize(const struct coco_map *map,
                                     struct coco_summary *out,
                                     struct error *err)
{
    enum { at_50 = 0, at_75 = 5 };
    struct area_means means[N_AREAS] = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < map->n_categories; i++) {
        const struct coco_category *category = &map->categories[i];
        struct ranking ranking = {0};

        st = rank(&ranking, category, err);
        for (enum coco_area area = 0; !st && area < N_AREAS; area++) {
            if (category->n_truths[area] > 0)
                add_category(&means[area], &ranking, area,
                             category->n_truths[area]);
        }
        release(&ranking);
    }
    *out = (struct coco_summary){
        .map = mean_precision(&means[AREA_ALL]),
        .map_50 = mean_of(means[AREA_ALL].precision[at_50]),
        .map_75 = mean_of(means[AREA_ALL].precision[at_75]),
        .map_small = mean_precision(&means[AREA_SMALL]),
        .map_medium = mean_precision(&means[AREA_MEDIUM]),
        .map_large = mean_precision(&means[AREA_LARGE]),
        .recall_1 = mean_of(means[AREA_ALL].recall_1),
        .recall_10 = mean_of(means[AREA_ALL].recall_10),
        .recall_100 = mean_of(means[AREA_ALL].recall_100),
        .recall_small = mean_of(means[AREA_SMALL].recall_100),
        .recall_medium = mean_of(means[AREA_MEDIUM].recall_100),
        .recall_large = mean_of(means[AREA_LARGE].recall_100),
    };
    return st;
}
