/* What run/sketch.h and the distributions promise. */
#include "base/mem.h"
#include "base/random.h"
#include "run/run.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

static int compare_int64(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

TEST(every_value_lies_inside_its_bucket)
{
    struct random random = random_seed(1);

    for (int i = 0; i < 100000; i++) {
        int64_t value = (int64_t)(random_u64(&random) >> (1 + i % 63));
        uint32_t bucket = sketch_bucket(value);

        CHECK(bucket < SKETCH_MAX_BUCKETS);
        CHECK(sketch_bucket_low(bucket) <= value);
        CHECK(sketch_bucket_high(bucket) >= value);
    }
    CHECK_INT(sketch_bucket(-5), 0);
    CHECK(sketch_bucket(INT64_MAX) < SKETCH_MAX_BUCKETS);
}

TEST(buckets_have_no_gaps_or_overlaps)
{
    for (uint32_t i = 0; i + 1 < SKETCH_MAX_BUCKETS; i++) {
        CHECK_INT(sketch_bucket_high(i) + 1, sketch_bucket_low(i + 1));
        CHECK_INT(sketch_bucket(sketch_bucket_low(i)), i);
    }
}

TEST(any_percentile_is_within_one_percent)
{
    enum { n = 20001 };
    static int64_t values[n];
    struct random random = random_seed(2);
    struct sketch sketch = {0};

    for (int i = 0; i < n; i++) {
        values[i] = (int64_t)exp(14 + 2 * random_normal(&random));
        CHECK_INT(sketch_add(&sketch, values[i], 1), ASSAY_OK);
    }
    qsort(values, n, sizeof values[0], compare_int64);
    for (int q = 0; q <= 1000; q++) {
        double exact = (double)values[q * (n - 1) / 1000];

        CHECK_NEAR(sketch_quantile(&sketch, q / 1000.0) / exact, 1, 0.01);
    }
    sketch_release(&sketch);
}

TEST(merged_sketches_equal_one_that_saw_everything)
{
    struct random random = random_seed(3);
    struct sketch parts[2] = {{0}}, whole = {0};

    for (int i = 0; i < 5000; i++) {
        int64_t value = (int64_t)random_below(&random, 1u << (i % 30));

        CHECK_INT(sketch_add(&parts[i % 2], value, 1), ASSAY_OK);
        CHECK_INT(sketch_add(&whole, value, 1), ASSAY_OK);
    }
    CHECK_INT(sketch_merge(&parts[0], &parts[1]), ASSAY_OK);
    CHECK_INT(parts[0].n, whole.n);
    for (int q = 0; q <= 100; q++)
        CHECK_NEAR(sketch_quantile(&parts[0], q / 100.0),
                   sketch_quantile(&whole, q / 100.0), 0);
    sketch_release(&parts[0]);
    sketch_release(&parts[1]);
    sketch_release(&whole);
}

TEST(a_sketch_stays_small_whatever_it_sees)
{
    struct random random = random_seed(4);
    struct sketch sketch = {0};

    for (int i = 0; i < 200000; i++)
        CHECK_INT(sketch_add(&sketch, (int64_t)(random_u64(&random) >> 1), 1),
                  ASSAY_OK);
    CHECK(sketch.n_buckets <= SKETCH_MAX_BUCKETS);
    CHECK_INT(sketch.n, 200000);
    sketch_release(&sketch);
}

TEST(moments_match_the_textbook_and_merge)
{
    /* 2 4 4 4 5 5 7 9: mean 5, sum of squares 32, far from zero so that
     * naive sums of squares would lose it. */
    static const int64_t values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    const int64_t base = INT64_C(1000000000000000);
    struct dist parts[2] = {{0}};

    for (int i = 0; i < 8; i++)
        CHECK_INT(dist_add(&parts[i / 3 > 0], base + values[i]), ASSAY_OK);
    CHECK_INT(dist_merge(&parts[0], &parts[1]), ASSAY_OK);
    CHECK_INT(parts[0].n, 8);
    CHECK_NEAR(parts[0].mean - (double)base, 5, 0.2);
    CHECK_NEAR(dist_sd(&parts[0]), sqrt(32.0 / 7), 0.1);
    CHECK_INT(parts[0].min, base + 2);
    CHECK_INT(parts[0].max, base + 9);
    dist_release(&parts[0]);
    dist_release(&parts[1]);
}

TEST(percentiles_never_leave_the_range_of_the_values)
{
    struct dist dist = {0};

    CHECK_INT(dist_add(&dist, 1000003), ASSAY_OK);
    CHECK_NEAR(dist_percentile(&dist, 0), 1000003, 0);
    CHECK_NEAR(dist_percentile(&dist, 100), 1000003, 0);
    CHECK_NEAR(dist_sd(&dist), 0, 0);
    dist_release(&dist);
}

TEST(a_sketch_is_unchanged_when_memory_runs_out)
{
    struct sketch sketch = {0};

    CHECK_INT(sketch_add(&sketch, 100, 1), ASSAY_OK);
    mem_fail_at(0);
    CHECK_INT(sketch_add(&sketch, INT64_MAX, 1), ASSAY_NOMEM);
    mem_fail_at(-1);
    CHECK_INT(sketch.n, 1);
    CHECK_NEAR(sketch_quantile(&sketch, 1), 100.5, 0.6);
    sketch_release(&sketch);
}
