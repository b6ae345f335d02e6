/* predict/forest_random.c - one tree of a random forest.
 *
 * The rows are sorted by each feature once for all trees; a tree keeps them
 * sorted by cutting every list in the same way, so that a node's best
 * threshold is one walk along a list. */
#include "predict/forest_internal.h"

#include <string.h>

/* The lists of a tree: for each feature its rows, a row once for each time it
 * was drawn. */
struct lists {
    int32_t *sorted;   /* n_features * n */
    int32_t *spare;    /* n */
    int32_t *times;    /* n: how often a row was drawn; later, where it goes */
    int32_t *features; /* n_features: those that can be drawn yet */
};

static struct lists lists_of(const struct tree_growth *growth)
{
    size_t n = growth->ground->n;
    int32_t *spare = growth->other + growth->ground->n_features * n;

    return (struct lists){growth->other, spare, spare + n, spare + 2 * n};
}

static void forest_random_draw_sample(struct tree_growth *growth,
                                      const struct lists *lists)
{
    const struct forest_ground *ground = growth->ground;
    size_t n = ground->n;

    memset(lists->times, 0, n * sizeof *lists->times);
    for (size_t i = 0; i < n; i++)
        lists->times[random_below(&growth->random, n)]++;
    for (size_t f = 0; f < ground->n_features; f++) {
        const int32_t *from = ground->order + f * n;
        int32_t *to = lists->sorted + f * n;

        for (size_t i = 0; i < n; i++) {
            for (int32_t k = 0; k < lists->times[from[i]]; k++)
                *to++ = from[i];
        }
    }
}

struct cut {
    size_t feature; /* n_features: there is none */
    float threshold;
    double gain;
    size_t n_left;
};

/* The best threshold along one list; total is the sum of all of it. */
static void walk_list(const struct forest_ground *ground, const int32_t *list,
                      size_t n, size_t feature, double total, struct cut *best)
{
    const float *x = ground->columns + feature * ground->n;
    double sum = 0;

    for (size_t i = 1; i < n; i++) {
        float before = x[list[i - 1]], behind = x[list[i]];
        double left = (double)i, right = (double)(n - i), gain;

        sum += (double)ground->y[list[i - 1]];
        if (before == behind || i < ground->min_leaf ||
            n - i < ground->min_leaf)
            continue;
        /* The sums of both sides squared, over their rows, but for the total's
         * which is the same everywhere. */
        gain = sum - total * left / (double)n;
        gain = gain * gain / (left * right);
        if (best->feature == ground->n_features || gain > best->gain) {
            float middle = before + (behind - before) / 2;

            /* Rounding must not send what is behind to the left. */
            *best = (struct cut){feature, middle < behind ? middle : before,
                                 gain, i};
        }
    }
}

/* Looks along the lists of random features; features that are constant here do
 * not count as tried. */
static struct cut find_cut(struct tree_growth *growth,
                           const struct lists *lists, size_t begin, size_t n,
                           double total)
{
    const struct forest_ground *ground = growth->ground;
    struct cut best = {.feature = ground->n_features};
    int32_t *features = lists->features;
    size_t n_left = ground->n_features, n_tried = 0;

    for (size_t f = 0; f < n_left; f++)
        features[f] = (int32_t)f;
    while (n_left && n_tried < ground->n_candidates) {
        size_t drawn = (size_t)random_below(&growth->random, n_left);
        size_t f = (size_t)features[drawn];
        const int32_t *list = lists->sorted + f * ground->n + begin;
        const float *x = ground->columns + f * ground->n;

        features[drawn] = features[--n_left];
        if (x[list[0]] == x[list[n - 1]])
            continue;
        walk_list(ground, list, n, f, total, &best);
        n_tried++;
    }
    return best;
}

static void cut_lists(const struct forest_ground *ground,
                      const struct lists *lists, size_t begin, size_t n,
                      const struct cut *cut)
{
    const int32_t *chosen = lists->sorted + cut->feature * ground->n + begin;

    for (size_t i = 0; i < n; i++)
        lists->times[chosen[i]] = i < cut->n_left;
    for (size_t f = 0; f < ground->n_features; f++) {
        int32_t *list = lists->sorted + f * ground->n + begin;
        size_t n_left = 0, n_right = 0;

        for (size_t i = 0; i < n; i++) {
            int32_t row = list[i];

            /* Both are written; which counter moves decides. */
            list[n_left] = row;
            lists->spare[n_right] = row;
            n_left += (size_t)lists->times[row];
            n_right += 1 - (size_t)lists->times[row];
        }
        memcpy(list + n_left, lists->spare, n_right * sizeof *list);
    }
}

static void forest_random_grow_node(struct tree_growth *growth,
                                    const struct lists *lists, size_t begin,
                                    size_t end)
{
    const struct forest_ground *ground = growth->ground;
    const int32_t *list = lists->sorted + begin;
    struct cut cut = {.feature = ground->n_features};
    size_t n = end - begin;
    bool is_constant = true;
    double total = 0;

    for (size_t i = 0; i < n; i++) {
        total += (double)ground->y[list[i]];
        is_constant = is_constant && ground->y[list[i]] == ground->y[list[0]];
    }
    if (!is_constant && n >= 2 * ground->min_leaf)
        cut = find_cut(growth, lists, begin, n, total);
    if (cut.feature == ground->n_features) {
        tree_leaf(growth, total / (double)n);
        return;
    }
    cut_lists(ground, lists, begin, n, &cut);
    tree_cut(growth, cut.feature, cut.threshold, begin, begin + cut.n_left,
             end);
}

void tree_grow_random(struct tree_growth *growth)
{
    struct lists lists = lists_of(growth);
    size_t begin, end;

    forest_random_draw_sample(growth, &lists);
    growth->n_open = 1;
    growth->open[0] = (struct tree_range){0, growth->ground->n, FOREST_LEAF};
    while (tree_next(growth, &begin, &end))
        forest_random_grow_node(growth, &lists, begin, end);
}
