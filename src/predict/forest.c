/* predict/forest.c - see forest.h. */
#include "predict/forest.h"

#include "base/mem.h"
#include "predict/forest_internal.h"

#include <stdlib.h>
#include <string.h>

struct forest {
    struct tree_node **trees;
    size_t *n_nodes;
    size_t n_trees;
    double offset; /* of all values: leaves hold what is beyond the mean */
};

/* ---- the walk ------------------------------------------------------------ */

bool tree_next(struct tree_growth *growth, size_t *begin, size_t *end)
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

void tree_leaf(struct tree_growth *growth, double value)
{
    growth->nodes[growth->n_nodes++] =
        (struct tree_node){.feature = FOREST_LEAF, .value = (float)value};
}

void tree_cut(struct tree_growth *growth, size_t feature, float threshold,
              size_t begin, size_t middle, size_t end)
{
    int32_t node = (int32_t)growth->n_nodes++;

    growth->nodes[node] =
        (struct tree_node){.feature = (int32_t)feature, .threshold = threshold};
    growth->open[growth->n_open++] = (struct tree_range){middle, end, node};
    growth->open[growth->n_open++] =
        (struct tree_range){begin, middle, FOREST_LEAF};
}

/* ---- the ground ---------------------------------------------------------- */

struct feature_at {
    float value;
    int32_t row;
};

static int forest_compare_values(const void *a, const void *b)
{
    const struct feature_at *p = a, *q = b;

    if (p->value != q->value)
        return p->value < q->value ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

static enum assay_status sort_features(const struct forest_ground *ground,
                                       int32_t *order, float *columns,
                                       struct error *err)
{
    struct feature_at *at = mem_array(ground->n, sizeof *at);

    if (!at)
        return error_nomem(err, ground->n * sizeof *at, "a forest");
    for (size_t f = 0; f < ground->n_features; f++) {
        for (size_t i = 0; i < ground->n; i++) {
            at[i] = (struct feature_at){ground->x[i * ground->stride + f],
                                        (int32_t)i};
            columns[f * ground->n + i] = at[i].value;
        }
        qsort(at, ground->n, sizeof *at, forest_compare_values);
        for (size_t i = 0; i < ground->n; i++)
            order[f * ground->n + i] = at[i].row;
    }
    mem_free(at);
    return ASSAY_OK;
}

static double forest_mean_of(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

/* x is n * stride zeroed floats. */
static void forest_copy_rows(const struct forest_rows *rows, size_t stride,
                             double offset, float *x, float *y)
{
    for (size_t i = 0; i < rows->n; i++) {
        for (size_t f = 0; f < rows->n_features; f++)
            x[i * stride + f] = (float)rows->x[i * rows->n_features + f];
        y[i] = (float)(rows->y[i] - offset);
    }
}

/* ---- growing ------------------------------------------------------------- */

static void growth_release(struct tree_growth *growth)
{
    mem_free(growth->nodes);
    mem_free(growth->open);
    mem_free(growth->rows);
    mem_free(growth->lanes);
    mem_free(growth->other);
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
    if (ground->order)
        growth->other = mem_array((n + 1) * (ground->n_features + 2),
                                  sizeof *growth->other);
    return growth->nodes && growth->open && growth->rows && growth->lanes &&
           (growth->other || !ground->order);
}

/* A seed of its own for each tree, so that any thread may grow it. */
static struct random random_of_tree(uint64_t seed, size_t tree)
{
    return random_seed(seed * 0x9e3779b97f4a7c15u + tree);
}

static bool grow_tree(struct tree_growth *growth, struct forest *forest,
                      const struct forest_options *options, size_t tree)
{
    size_t bytes;

    growth->random = random_of_tree(options->seed, tree);
    growth->n_nodes = 0;
    if (options->kind == FOREST_RANDOM)
        tree_grow_random(growth);
    else
        tree_grow_extra(growth);
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
        .stride =
            (rows->n_features + FOREST_LANES - 1) / FOREST_LANES * FOREST_LANES,
        .min_leaf = options->min_leaf ? options->min_leaf : 1,
        .n_candidates = options->n_candidates ? options->n_candidates
                                              : (rows->n_features + 2) / 3,
    };
    bool is_random = options->kind == FOREST_RANDOM;
    size_t n_sorted = is_random ? ground.n * ground.n_features : 0;
    float *x = mem_array(ground.n * ground.stride, sizeof *x);
    float *y = mem_array(ground.n, sizeof *y);
    int32_t *order = mem_array(n_sorted, sizeof *order);
    float *columns = mem_array(n_sorted, sizeof *columns);
    enum assay_status st = ASSAY_OK;

    if (!x || !y || !order || !columns) {
        st = error_nomem(err, ground.n * ground.stride * sizeof *x, "a forest");
    } else {
        forest->offset = forest_mean_of(rows->y, rows->n);
        forest_copy_rows(rows, ground.stride, forest->offset, x, y);
        ground.x = x;
        ground.y = y;
        if (is_random) {
            st = sort_features(&ground, order, columns, err);
            ground.order = order;
            ground.columns = columns;
        }
        if (!st)
            st = grow_all(forest, &ground, options, err);
    }
    mem_free(x);
    mem_free(y);
    mem_free(order);
    mem_free(columns);
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

/* ---- asking -------------------------------------------------------------- */

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

size_t forest_tree_count(const struct forest *forest)
{
    return forest->n_trees;
}

size_t forest_node_count(const struct forest *forest)
{
    size_t n = 0;

    for (size_t i = 0; i < forest->n_trees; i++)
        n += forest->n_nodes[i];
    return n;
}
