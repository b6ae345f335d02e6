/* predict/campaign_order.c - see campaign_internal.h: which test comes first.
 */
#include "predict/campaign_internal.h"

#include "base/mem.h"

#include <stdlib.h>

enum { n_levels = 101 }; /* percent */

struct placed {
    struct campaign_test test;
    size_t level_rank, index;
};

static int compare_sizes(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

static int by_order(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->test.repeat != y->test.repeat)
        return x->test.repeat < y->test.repeat ? -1 : 1;
    if (x->level_rank != y->level_rank)
        return compare_sizes(x->level_rank, y->level_rank);
    if (x->test.batch != y->test.batch)
        return x->test.batch < y->test.batch ? -1 : 1;
    return compare_sizes(x->index, y->index);
}

/* How far a level is from those that have a rank; the first is the lowest, the
 * second the highest. */
static int level_distance(const size_t *ranks, int level)
{
    int nearest = n_levels;

    for (int other = 0; other < n_levels; other++) {
        if (ranks[other] && abs(other - level) < nearest)
            nearest = abs(other - level);
    }
    return nearest;
}

/* Ranks from 1, each for the level that is farthest from all before it; of two,
 * the lower one. */
static void rank_levels(const bool *is_used, size_t *ranks)
{
    for (size_t rank = 1;; rank++) {
        int best = -1, most = 0;

        for (int level = 0; level < n_levels; level++) {
            int distance = is_used[level] && !ranks[level]
                               ? level_distance(ranks, level)
                               : 0;

            if (distance <= most)
                continue;
            most = distance;
            best = level;
        }
        if (best < 0)
            return;
        ranks[best] = rank;
    }
}

static int level_slot(const struct campaign_test *test)
{
    return test->level < 0           ? 0
           : test->level >= n_levels ? n_levels - 1
                                     : (int)test->level;
}

enum assay_status campaign_order_tests(struct campaign_tests *tests,
                                       struct error *err)
{
    struct placed *placed = mem_array(tests->n + 1, sizeof *placed);
    bool is_used[n_levels] = {false};
    size_t ranks[n_levels] = {0};

    if (!placed)
        return error_nomem(err, tests->n * sizeof *placed, "the list of tests");
    for (size_t i = 0; i < tests->n; i++)
        is_used[level_slot(&tests->items[i])] = true;
    rank_levels(is_used, ranks);
    for (size_t i = 0; i < tests->n; i++)
        placed[i] = (struct placed){tests->items[i],
                                    ranks[level_slot(&tests->items[i])], i};
    qsort(placed, tests->n, sizeof *placed, by_order);
    for (size_t i = 0; i < tests->n; i++)
        tests->items[i] = placed[i].test;
    mem_free(placed);
    return ASSAY_OK;
}
