/* predict/forest.c - see forest.h.
 *
 * All features of a row are handled side by side, to use vector instructions:
 * one pass over a node's rows finds the range of every feature, a second one
 * the effect of each random threshold. */
#include "predict/forest.h"

#include "base/mem.h"
#include "base/random.h"
#include "base/variants.h"
#include "ops/op_lanes.h"

#include <string.h>

enum { FOREST_LEAF = -1 };

/* Nodes are in the order of a walk that goes left first: the left child of a
 * node comes right after it. */
struct tree_node {
    int32_t feature; /* FOREST_LEAF */
    int32_t right;
    float threshold; /* left: at most this */
    float value;     /* of a leaf */
};

/* What all trees grow from. */
struct forest_ground {
    const float *x; /* n rows of `stride` floats */
    const float *y;
    size_t n, n_features, stride;
    size_t min_leaf;
};

/* A tree being grown, and the memory of its thread. Start from {0}. */
struct tree_growth {
    const struct forest_ground *ground;
    struct random random;
    struct tree_node *nodes; /* room for 2 n */
    size_t n_nodes;
    struct tree_range {
        size_t begin, end;
        int32_t parent; /* the node whose right child this is, or FOREST_LEAF */
    } * open;           /* room for n + 1 */
    size_t n_open;
    int32_t *rows; /* n; nodes are ranges of these */
    float *lanes;  /* 4 * stride: scratch per feature */
};

struct forest {
    struct tree_node **trees;
    size_t *n_nodes;
    size_t n_trees;
    double offset; /* mean of all values; leaves hold the difference to it */
};

/* ---- one tree ------------------------------------------------------------ */

/* The range of each feature over some rows. */
VARIANTS(void, find_ranges,
         (const struct forest_ground *ground, const int32_t *rows, size_t n,
          float *low, float *high),
         (ground, rows, n, low, high))
{
    for (size_t f = 0; f < ground->stride; f += LANES) {
        const float *column = ground->x + f;
        float least[LANES], most[LANES];

        for (int k = 0; k < LANES; k++)
            least[k] = most[k] =
                column[(size_t)rows[0] * ground->stride + (size_t)k];
        for (size_t i = 1; i < n; i++) {
            const float *x = column + (size_t)rows[i] * ground->stride;

            for (int k = 0; k < LANES; k++) {
                least[k] = x[k] < least[k] ? x[k] : least[k];
                most[k] = x[k] > most[k] ? x[k] : most[k];
            }
        }
        for (int k = 0; k < LANES; k++) {
            low[f + (size_t)k] = least[k];
            high[f + (size_t)k] = most[k];
        }
    }
}

/* A random position in each range, its end excluded. The numbers come from a
 * hash of one draw and the feature (the finalizer of MurmurHash3). */
VARIANTS(void, draw_thresholds,
         (const struct forest_ground *ground, uint32_t draw, const float *low,
          const float *high, float *threshold),
         (ground, draw, low, high, threshold))
{
    for (size_t f = 0; f < ground->stride; f += LANES) {
        for (int k = 0; k < LANES; k++) {
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

/* Counts the rows that go left, and sums their values. Uses sign bits, because
 * the compiler splits comparisons of whole vectors; a value not above its
 * threshold has no sign in the difference. */
VARIANTS(void, try_thresholds,
         (const struct forest_ground *ground, const int32_t *rows, size_t n,
          float mean, const float *threshold, float *count, float *sum),
         (ground, rows, n, mean, threshold, count, sum))
{
    for (size_t f = 0; f < ground->stride; f += LANES) {
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
        for (int k = 0; k < LANES; k++) {
            count[f + (size_t)k] = (float)c[k];
            sum[f + (size_t)k] = s[k];
        }
    }
}

/* How much variance each threshold removes; below 0 if it cannot cut. Sums are
 * relative to the mean: the right side is minus the left. */
VARIANTS(void, rate_thresholds,
         (const struct forest_ground *ground, size_t n, const float *count,
          const float *sum, float *gain),
         (ground, n, count, sum, gain))
{
    float least = (float)ground->min_leaf, all = (float)n;

    for (size_t f = 0; f < ground->stride; f += LANES) {
        for (int k = 0; k < LANES; k++) {
            size_t at = f + (size_t)k;
            float left = count[at], right = all - left;
            float fewer = left < right ? left : right;
            float rate = sum[at] * sum[at] * all / (left * right + 1e-30f);

            gain[at] = fewer < least ? -1.0f : rate;
        }
    }
}

/* The feature whose threshold leaves the least variance; n_features if none can
 * cut. */
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

/* Two rows: every feature that separates them does so equally well. */
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

static double tree_mean(const struct forest_ground *ground, const int32_t *rows,
                        size_t n, bool *is_constant)
{
    double sum = 0;

    *is_constant = true;
    for (size_t i = 0; i < n; i++) {
        sum += (double)ground->y[rows[i]];
        *is_constant = *is_constant && ground->y[rows[i]] == ground->y[rows[0]];
    }
    return sum / (double)n;
}

/* The best of one random threshold per feature. */
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
    /* The ranges are no longer needed. */
    try_thresholds(ground, rows, n, mean, thresholds, low, sum);
    rate_thresholds(ground, n, low, sum, high);
    feature = choose_feature(ground, high);
    if (feature < ground->n_features)
        *threshold = thresholds[feature];
    return feature;
}

static bool tree_next(struct tree_growth *growth, size_t *begin, size_t *end)
{
    struct tree_range range;

    if (!growth->n_open)
        return false;
    range = growth->open[--growth->n_open];
    if (range.parent != FOREST_LEAF)
        growth->nodes[range.parent].right = (int32_t)growth->n_nodes;
    *begin = range.begin;
    *end = range.end;
    return true;
}

static void tree_leaf(struct tree_growth *growth, double value)
{
    growth->nodes[growth->n_nodes++] =
        (struct tree_node){.feature = FOREST_LEAF, .value = (float)value};
}

static void tree_cut(struct tree_growth *growth, size_t feature,
                     float threshold, size_t begin, size_t middle, size_t end)
{
    int32_t node = (int32_t)growth->n_nodes++;

    growth->nodes[node] =
        (struct tree_node){.feature = (int32_t)feature, .threshold = threshold};
    growth->open[growth->n_open++] = (struct tree_range){middle, end, node};
    growth->open[growth->n_open++] =
        (struct tree_range){begin, middle, FOREST_LEAF};
}

static void tree_grow_node(struct tree_growth *growth, size_t begin, size_t end)
{
    const struct forest_ground *ground = growth->ground;
    int32_t *rows = growth->rows + begin;
    size_t n = end - begin, feature = ground->n_features, middle;
    float threshold = 0;
    bool is_constant;
    double mean = tree_mean(ground, rows, n, &is_constant);

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

static void tree_grow(struct tree_growth *growth)
{
    size_t begin, end;

    for (size_t i = 0; i < growth->ground->n; i++)
        growth->rows[i] = (int32_t)i;
    growth->n_open = 1;
    growth->open[0] = (struct tree_range){0, growth->ground->n, FOREST_LEAF};
    while (tree_next(growth, &begin, &end))
        tree_grow_node(growth, begin, end);
}

/* ---- all trees ----------------------------------------------------------- */

static double mean_value(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

/* x has room for n * stride floats, zeroed. */
static void copy_features(const struct forest_rows *rows, size_t stride,
                          double offset, float *x, float *y)
{
    for (size_t i = 0; i < rows->n; i++) {
        for (size_t f = 0; f < rows->n_features; f++)
            x[i * stride + f] = (float)rows->x[i * rows->n_features + f];
        y[i] = (float)(rows->y[i] - offset);
    }
}

static void growth_release(struct tree_growth *growth)
{
    mem_free(growth->nodes);
    mem_free(growth->open);
    mem_free(growth->rows);
    mem_free(growth->lanes);
}

static bool growth_init(struct tree_growth *growth,
                        const struct forest_ground *ground)
{
    size_t n = ground->n;

    *growth = (struct tree_growth){.ground = ground};
    growth->nodes = mem_array(2 * n, sizeof *growth->nodes);
    growth->open = mem_array(n + 1, sizeof *growth->open);
    growth->rows = mem_array(n, sizeof *growth->rows);
    growth->lanes =
        mem_alloc_aligned(64, 4 * ground->stride * sizeof *growth->lanes);
    return growth->nodes && growth->open && growth->rows && growth->lanes;
}

static bool grow_tree(struct tree_growth *growth, struct forest *forest,
                      const struct forest_options *options, size_t tree)
{
    size_t bytes;

    /* Every tree has its own seed, so that any thread may grow it. */
    growth->random = random_seed(options->seed * 0x9e3779b97f4a7c15u + tree);
    growth->n_nodes = 0;
    tree_grow(growth);
    bytes = growth->n_nodes * sizeof *growth->nodes;
    forest->trees[tree] = mem_alloc(bytes);
    if (!forest->trees[tree])
        return false;
    memcpy(forest->trees[tree], growth->nodes, bytes);
    forest->n_nodes[tree] = growth->n_nodes;
    return true;
}

static enum assay_status grow_all(struct forest *forest,
                                  const struct forest_ground *ground,
                                  const struct forest_options *options,
                                  struct error *err)
{
    int n_threads = options->n_threads > 1 ? options->n_threads : 1;
    bool is_whole = true;

#pragma omp parallel num_threads(n_threads) reduction(&& : is_whole)
    {
        struct tree_growth growth;
        bool is_ready = growth_init(&growth, ground);

#pragma omp for schedule(dynamic, 4)
        for (size_t i = 0; i < forest->n_trees; i++)
            is_ready = is_ready && grow_tree(&growth, forest, options, i);
        growth_release(&growth);
        is_whole = is_whole && is_ready;
    }
    return is_whole ? ASSAY_OK
                    : error_nomem(err, ground->n * sizeof(struct tree_node),
                                  "a tree");
}

static enum assay_status fit_on(struct forest *forest,
                                const struct forest_rows *rows,
                                const struct forest_options *options,
                                struct error *err)
{
    struct forest_ground ground = {
        .n = rows->n,
        .n_features = rows->n_features,
        .stride = (rows->n_features + LANES - 1) / LANES * LANES,
        .min_leaf = options->min_leaf ? options->min_leaf : 1,
    };
    float *x = mem_array(ground.n * ground.stride, sizeof *x);
    float *y = mem_array(ground.n, sizeof *y);
    enum assay_status st;

    if (x && y) {
        forest->offset = mean_value(rows->y, rows->n);
        copy_features(rows, ground.stride, forest->offset, x, y);
        ground.x = x;
        ground.y = y;
        st = grow_all(forest, &ground, options, err);
    } else {
        st = error_nomem(err, ground.n * ground.stride * sizeof *x, "a forest");
    }
    mem_free(x);
    mem_free(y);
    return st;
}

enum assay_status forest_fit(const struct forest_rows *rows,
                             const struct forest_options *options,
                             struct forest **out, struct error *err)
{
    struct forest *forest = mem_zalloc(sizeof *forest);
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    if (!forest)
        return error_nomem(err, sizeof *forest, "a forest");
    forest->n_trees = options->n_trees ? options->n_trees : 300;
    forest->trees = mem_array(forest->n_trees, sizeof *forest->trees);
    forest->n_nodes = mem_array(forest->n_trees, sizeof *forest->n_nodes);
    if (!rows->n || !rows->n_features || rows->n > INT32_MAX / 2)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "a forest cannot be grown from %zu rows", rows->n);
    else if (!forest->trees || !forest->n_nodes)
        st = error_nomem(err, forest->n_trees * sizeof *forest->trees,
                         "a forest");
    else
        st = fit_on(forest, rows, options, err);
    if (st)
        forest_free(forest);
    else
        *out = forest;
    return st;
}

void forest_free(struct forest *forest)
{
    if (!forest)
        return;
    for (size_t i = 0; forest->trees && i < forest->n_trees; i++)
        mem_free(forest->trees[i]);
    mem_free(forest->trees);
    mem_free(forest->n_nodes);
    mem_free(forest);
}

/* ---- predicting --------------------------------------------------------- */

double forest_predict(const struct forest *forest, const double *x)
{
    double sum = 0;

    for (size_t i = 0; i < forest->n_trees; i++) {
        const struct tree_node *tree = forest->trees[i];
        int32_t at = 0;

        while (tree[at].feature != FOREST_LEAF)
            at = (float)x[tree[at].feature] <= tree[at].threshold
                     ? at + 1
                     : tree[at].right;
        sum += (double)tree[at].value;
    }
    return forest->offset + sum / (double)forest->n_trees;
}

size_t forest_node_count(const struct forest *forest)
{
    size_t n = 0;

    for (size_t i = 0; i < forest->n_trees; i++)
        n += forest->n_nodes[i];
    return n;
}
