/* predict/forest_extra.c - one extremely randomised tree.
 *
 * All features of a row are looked at side by side, which is what vector
 * instructions are for: a pass over a node's rows finds every feature's range,
 * a second one what each random threshold would do. */
#include "predict/forest_internal.h"

#include "base/variants.h"
#include "ops/op_lanes.h"

#include <math.h>

/* The range of each feature over some rows. */
VARIANTS(void, find_ranges,
         (const struct forest_ground *ground, const int32_t *rows, size_t n,
          float *low, float *high),
         (ground, rows, n, low, high))
{
    for (size_t f = 0; f < ground->stride; f += FOREST_LANES) {
        const float *column = ground->x + f;
        float least[FOREST_LANES], most[FOREST_LANES];

        for (int k = 0; k < FOREST_LANES; k++)
            least[k] = most[k] =
                column[(size_t)rows[0] * ground->stride + (size_t)k];
        for (size_t i = 1; i < n; i++) {
            const float *x = column + (size_t)rows[i] * ground->stride;

            for (int k = 0; k < FOREST_LANES; k++) {
                least[k] = x[k] < least[k] ? x[k] : least[k];
                most[k] = x[k] > most[k] ? x[k] : most[k];
            }
        }
        for (int k = 0; k < FOREST_LANES; k++) {
            low[f + (size_t)k] = least[k];
            high[f + (size_t)k] = most[k];
        }
    }
}

/* A random place in each range, its end excluded. The numbers come from a
 * hash of one draw and the feature (the finalizer of MurmurHash3). */
VARIANTS(void, draw_thresholds,
         (const struct forest_ground *ground, uint32_t draw, const float *low,
          const float *high, float *threshold),
         (ground, draw, low, high, threshold))
{
    for (size_t f = 0; f < ground->stride; f += FOREST_LANES) {
        for (int k = 0; k < FOREST_LANES; k++) {
            size_t at = f + (size_t)k;
            uint32_t h = draw ^ ((uint32_t)at * 0x9e3779b9u);
            float t;

            h = (h ^ (h >> 16)) * 0x85ebca6bu;
            h = (h ^ (h >> 13)) * 0xc2b2ae35u;
            h ^= h >> 16;
            t = low[at] +
                (float)(int32_t)(h >> 8) * 0x1p-24f * (high[at] - low[at]);
            threshold[at] = t < high[at] ? t : low[at];
        }
    }
}

/* A row's features lie side by side. */
_Static_assert((int)FOREST_LANES == (int)LANES, "one vector at a time");

/* How many rows go left, and the sum of what they should give. By signs: the
 * compiler takes comparisons of whole vectors apart. What is not above its
 * threshold has no sign in the difference. */
VARIANTS(void, try_thresholds,
         (const struct forest_ground *ground, const int32_t *rows, size_t n,
          float mean, const float *threshold, float *count, float *sum),
         (ground, rows, n, mean, threshold, count, sum))
{
    for (size_t f = 0; f < ground->stride; f += FOREST_LANES) {
        const lanes t = *(const lanes *)(threshold + f);
        lanes s = {0};
        lane_bits c = {0};

        for (size_t i = 0; i < n; i++) {
            const float *x = ground->x + (size_t)rows[i] * ground->stride + f;
            lanes y = (lanes){0} + (ground->y[rows[i]] - mean);
            lane_bits is_left = ~((lane_bits)(t - *(const lanes *)x) >> 31);

            c -= is_left;
            s += (lanes)((lane_bits)y & is_left);
        }
        for (int k = 0; k < FOREST_LANES; k++) {
            count[f + (size_t)k] = (float)c[k];
            sum[f + (size_t)k] = s[k];
        }
    }
}

/* How much variance each threshold takes away; below 0 where it cannot cut.
 * Sums are about the mean: what goes right is minus what goes left. */
VARIANTS(void, rate_thresholds,
         (const struct forest_ground *ground, size_t n, const float *count,
          const float *sum, float *gain),
         (ground, n, count, sum, gain))
{
    float least = (float)ground->min_leaf, all = (float)n;

    for (size_t f = 0; f < ground->stride; f += FOREST_LANES) {
        for (int k = 0; k < FOREST_LANES; k++) {
            size_t at = f + (size_t)k;
            float left = count[at], right = all - left;
            float fewer = left < right ? left : right;
            float rate = sum[at] * sum[at] * all / (left * right + 1e-30f);

            gain[at] = fewer < least ? -1.0f : rate;
        }
    }
}

/* The feature whose threshold leaves the least variance; n_features where none
 * can cut. */
static size_t choose_feature(const struct forest_ground *ground,
                             const float *gain)
{
    size_t best = ground->n_features;
    float most = -0.5f;

    for (size_t f = 0; f < ground->n_features; f++) {
        if (gain[f] > most) {
            best = f;
            most = gain[f];
        }
    }
    return best;
}

/* Two rows: every feature that tells them apart does it equally well. */
static size_t split_pair(struct tree_growth *growth, const int32_t *rows,
                         float *threshold)
{
    const struct forest_ground *ground = growth->ground;
    const float *a = ground->x + (size_t)rows[0] * ground->stride;
    const float *b = ground->x + (size_t)rows[1] * ground->stride;
    uint64_t draw = random_u64(&growth->random);
    size_t f = (size_t)((draw >> 32) % ground->n_features);

    for (size_t i = 0; i < ground->n_features; i++) {
        float low = a[f] < b[f] ? a[f] : b[f];
        float high = a[f] < b[f] ? b[f] : a[f];

        if (low < high) {
            float t = low + (float)(int32_t)((uint32_t)draw >> 8) * 0x1p-24f *
                                (high - low);

            *threshold = t < high ? t : low;
            return f;
        }
        f = f + 1 < ground->n_features ? f + 1 : 0;
    }
    return ground->n_features;
}

static size_t partition(const struct forest_ground *ground, int32_t *rows,
                        size_t n, size_t feature, float threshold)
{
    size_t middle = 0;

    for (size_t i = 0; i < n; i++) {
        int32_t row = rows[i];

        if (ground->x[(size_t)row * ground->stride + feature] <= threshold) {
            rows[i] = rows[middle];
            rows[middle++] = row;
        }
    }
    return middle;
}

static double forest_extra_mean_of(const struct forest_ground *ground,
                                   const int32_t *rows, size_t n,
                                   bool *is_constant)
{
    double sum = 0;

    *is_constant = true;
    for (size_t i = 0; i < n; i++) {
        sum += (double)ground->y[rows[i]];
        *is_constant = *is_constant && ground->y[rows[i]] == ground->y[rows[0]];
    }
    return sum / (double)n;
}

/* The best of one random threshold a feature. */
static size_t split_rows(struct tree_growth *growth, const int32_t *rows,
                         size_t n, float mean, float *threshold)
{
    const struct forest_ground *ground = growth->ground;
    float *low = growth->lanes, *high = low + ground->stride;
    float *thresholds = high + ground->stride;
    float *sum = thresholds + ground->stride;
    size_t feature;

    find_ranges(ground, rows, n, low, high);
    draw_thresholds(ground, (uint32_t)random_u64(&growth->random), low, high,
                    thresholds);
    /* The ranges are not needed any more. */
    try_thresholds(ground, rows, n, mean, thresholds, low, sum);
    rate_thresholds(ground, n, low, sum, high);
    feature = choose_feature(ground, high);
    if (feature < ground->n_features)
        *threshold = thresholds[feature];
    return feature;
}

static void forest_extra_grow_node(struct tree_growth *growth, size_t begin,
                                   size_t end)
{
    const struct forest_ground *ground = growth->ground;
    int32_t *rows = growth->rows + begin;
    size_t n = end - begin, feature = ground->n_features, middle;
    float threshold = 0;
    bool is_constant;
    double mean = forest_extra_mean_of(ground, rows, n, &is_constant);

    if (!is_constant && n >= 2 * ground->min_leaf)
        feature = n == 2 ? split_pair(growth, rows, &threshold)
                         : split_rows(growth, rows, n, (float)mean, &threshold);
    if (feature == ground->n_features) {
        tree_leaf(growth, mean);
        return;
    }
    middle = partition(ground, rows, n, feature, threshold);
    tree_cut(growth, feature, threshold, begin, begin + middle, end);
}

void tree_grow_extra(struct tree_growth *growth)
{
    size_t begin, end;

    for (size_t i = 0; i < growth->ground->n; i++)
        growth->rows[i] = (int32_t)i;
    growth->n_open = 1;
    growth->open[0] = (struct tree_range){0, growth->ground->n, FOREST_LEAF};
    while (tree_next(growth, &begin, &end))
        forest_extra_grow_node(growth, begin, end);
}
