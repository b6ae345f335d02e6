/* tests/predict/forest_test.c - forests against known answers. */
#include "predict/forest.h"

#include "base/mem.h"
#include "base/random.h"
#include "test.h"

#include <math.h>

enum { n_rows = 400, n_features = 5 };

/* Friedman's first function: five features matter, in known ways. */
static double friedman(const double *x)
{
    return 10 * sin(3.14159265358979 * x[0] * x[1]) +
           20 * (x[2] - 0.5) * (x[2] - 0.5) + 10 * x[3] + 5 * x[4];
}

static void draw_rows(uint64_t seed, size_t n, double *x, double *y)
{
    struct random random = random_seed(seed);

    for (size_t i = 0; i < n * n_features; i++)
        x[i] = random_unit(&random);
    for (size_t i = 0; i < n; i++)
        y[i] = friedman(x + i * n_features);
}

TEST(every_tree_returns_the_values_of_rows_that_differ)
{
    static const double x[] = {1, 5, 2, 5, 3, 5, 4, 5};
    static const double y[] = {10, -3, 7, 0.5};
    struct forest_rows rows = {x, y, 4, 2};
    struct forest_options options = {.n_trees = 7, .seed = 3};
    struct forest *forest;
    struct error err = {0};

    CHECK_STATUS(forest_fit(&rows, &options, &forest, &err), ASSAY_OK, &err);
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(forest_predict(forest, x + 2 * i), y[i], 1e-5);
    CHECK_INT(forest_node_count(forest), 7 * 7);
    forest_free(forest);
}

TEST(identical_rows_become_one_leaf_with_their_mean)
{
    static const double x[] = {2, 2, 2, 2}, y[] = {1, 2, 3, 6};
    struct forest_rows rows = {x, y, 4, 1};
    struct forest_options options = {.n_trees = 3};
    struct forest *forest;
    struct error err = {0};

    CHECK_STATUS(forest_fit(&rows, &options, &forest, &err), ASSAY_OK, &err);
    CHECK_NEAR(forest_predict(forest, x), 3, 1e-6);
    CHECK_INT(forest_node_count(forest), 3);
    forest_free(forest);
}

TEST(leaves_hold_at_least_as_many_rows_as_asked_for)
{
    double x[64], y[64];
    struct forest_rows rows = {x, y, 64, 1};
    struct forest_options options = {.n_trees = 1, .min_leaf = 16, .seed = 9};
    struct forest *forest;
    struct error err = {0};

    for (size_t i = 0; i < 64; i++)
        x[i] = y[i] = (double)i;
    CHECK_STATUS(forest_fit(&rows, &options, &forest, &err), ASSAY_OK, &err);
    /* At most four leaves of 16, so at most seven nodes. */
    CHECK(forest_node_count(forest) <= 7);
    CHECK(forest_node_count(forest) >= 3);
    forest_free(forest);
}

/* scikit-learn 1.9's ExtraTreesRegressor(300), given 400 rows, leaves 10.8 % of
 * the variance of 1000 fresh rows unexplained (the mean of five draws). */
TEST(a_smooth_function_is_learned_as_well_as_by_others)
{
    static double x[1000 * n_features], y[1000];
    static double train_x[n_rows * n_features], train_y[n_rows];
    struct forest_rows rows = {train_x, train_y, n_rows, n_features};
    struct forest_options options = {.n_threads = 2};
    double mean = 0, error = 0, variance = 0;
    struct forest *forest;
    struct error err = {0};

    draw_rows(1, n_rows, train_x, train_y);
    draw_rows(2, 1000, x, y);
    CHECK_STATUS(forest_fit(&rows, &options, &forest, &err), ASSAY_OK, &err);
    for (size_t i = 0; i < 1000; i++)
        mean += y[i] / 1000;
    for (size_t i = 0; i < 1000; i++) {
        double miss = forest_predict(forest, x + i * n_features) - y[i];

        error += miss * miss;
        variance += (y[i] - mean) * (y[i] - mean);
    }
    CHECK(error / variance < 0.119);
    CHECK(error / variance > 0.01);
    forest_free(forest);
}

TEST(a_seed_gives_one_forest_whatever_the_threads)
{
    static double x[n_rows * n_features], y[n_rows];
    struct forest_rows rows = {x, y, n_rows, n_features};
    struct forest_options one = {.n_trees = 40, .seed = 5, .n_threads = 1};
    struct forest_options four = one, other = one;
    struct forest *a, *b, *c;
    struct error err = {0};
    bool differs = false;

    draw_rows(7, n_rows, x, y);
    four.n_threads = 4;
    other.seed = 6;
    CHECK_STATUS(forest_fit(&rows, &one, &a, &err), ASSAY_OK, &err);
    CHECK_STATUS(forest_fit(&rows, &four, &b, &err), ASSAY_OK, &err);
    CHECK_STATUS(forest_fit(&rows, &other, &c, &err), ASSAY_OK, &err);
    for (size_t i = 0; i < 50; i++) {
        double at[n_features];

        for (size_t f = 0; f < n_features; f++)
            at[f] = x[i * n_features + f] * 0.97;
        CHECK(forest_predict(a, at) == forest_predict(b, at));
        differs = differs || forest_predict(a, at) != forest_predict(c, at);
    }
    CHECK(differs);
    forest_free(a);
    forest_free(b);
    forest_free(c);
}

TEST(no_rows_are_refused_and_no_failing_allocation_goes_unnoticed)
{
    static double x[n_rows * n_features], y[n_rows];
    struct forest_rows none = {x, y, 0, n_features};
    struct forest_rows rows = {x, y, 20, n_features};
    struct forest_options options = {.n_trees = 3};
    struct forest *forest;
    struct error err = {0};
    enum assay_status st = ASSAY_NOMEM;
    long live = mem_live();

    CHECK_STATUS(forest_fit(&none, &options, &forest, &err), ASSAY_BAD_INPUT,
                 &err);
    draw_rows(1, n_rows, x, y);
    for (long i = 0; st && i < 100; i++) {
        err = (struct error){0};
        mem_fail_at(i);
        st = forest_fit(&rows, &options, &forest, &err);
        mem_fail_at(-1);
        CHECK(!st || st == ASSAY_NOMEM);
    }
    CHECK_STATUS(st, ASSAY_OK, &err);
    forest_free(forest);
    CHECK_INT(mem_live(), live);
}
