/* Parts of runs, merged runs, and the verdict on steadiness. */
#include "base/mem.h"
#include "base/random.h"
#include "run/run.h"
#include "test.h"

static struct error err;

/* Iterations of 100 ns with a (10 + i, "forward", main), and b (5, main and
 * worker, no phase). */
static struct run *sample_run(uint32_t n)
{
    struct run *run;
    uint32_t a, b, forward, worker, id;

    err = (struct error){0};
    CHECK_INT(run_new(&run, &err), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &id, &err), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "worker", THREAD_CPU, &worker, &err), 0);
    CHECK_INT(run_phase_add(run, "forward", &forward, &err), ASSAY_OK);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "a", "", &a, &err), ASSAY_OK);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "b", "", &b, &err), ASSAY_OK);
    for (uint32_t i = 0; i < n; i++) {
        int64_t at = 100 * (int64_t)i;
        struct sample samples[] = {
            {a, forward, 0, i, at, 10 + i, 10 + i, RUN_UNKNOWN, RUN_UNKNOWN, 0},
            {b, 0, 0, i, at + 20, 5, 5, RUN_UNKNOWN, RUN_UNKNOWN, 0},
            {b, 0, worker, i, at + 20, 5, 5, RUN_UNKNOWN, RUN_UNKNOWN, 0},
            {RUN_ROOT, 0, 0, i, at, 100, 70, RUN_UNKNOWN, RUN_UNKNOWN, 0},
        };

        for (size_t k = 0; k < 4; k++) {
            CHECK_STATUS(run_count(run, &samples[k], &err), ASSAY_OK, &err);
            if (i < 3)
                CHECK_INT(run_keep(run, &samples[k], &err), ASSAY_OK);
        }
    }
    CHECK_INT(run_seal(run, &err), ASSAY_OK);
    return run;
}

static struct scope_stats stats(const struct run *run, uint32_t scope)
{
    struct scope_stats out;

    CHECK_INT(run_scope_stats(run, scope, RUN_ANY, &out, &err), ASSAY_OK);
    return out;
}

enum { A = 1, B = 2 };

TEST(a_subset_can_be_one_phase)
{
    struct run *run = sample_run(8), *part;
    struct run_filter filter = {.phase = "forward",
                                .last_iteration = UINT64_MAX};

    CHECK_STATUS(run_subset(run, &filter, &part, &err), ASSAY_OK, &err);
    CHECK_INT(stats(part, A).calls, 8);
    CHECK_INT(stats(part, B).calls, 0);
    CHECK_INT(run_kept_count(part), 3);
    CHECK_INT(run_iteration_count(part), 8);
    run_free(part);
    run_free(run);
}

TEST(a_subset_can_be_one_thread)
{
    struct run *run = sample_run(8), *part;
    struct run_filter filter = {.thread = "worker",
                                .last_iteration = UINT64_MAX};

    CHECK_STATUS(run_subset(run, &filter, &part, &err), ASSAY_OK, &err);
    CHECK_INT(stats(part, A).calls, 0);
    CHECK_INT(stats(part, B).calls, 8);
    CHECK_NEAR(stats(part, B).mean_ns, 5, 0);
    run_free(part);
    run_free(run);
}

TEST(a_subset_can_be_a_range_of_iterations)
{
    struct run *run = sample_run(8), *part;
    struct run_filter filter = {.first_iteration = 2, .last_iteration = 4};

    CHECK_STATUS(run_subset(run, &filter, &part, &err), ASSAY_OK, &err);
    CHECK_INT(run_iteration_count(part), 3);
    CHECK_INT(stats(part, A).n, 3);
    CHECK_NEAR(stats(part, A).mean_ns, 13, 1e-9);
    CHECK_NEAR(stats(part, A).min_ns, 12, 0);
    CHECK_INT(run_kept_count(part), 4);
    run_free(part);
    run_free(run);
}

TEST(an_unknown_name_is_answered_with_a_list_of_names)
{
    struct run *run = sample_run(2), *part;
    struct run_filter filter = {.phase = "backward",
                                .last_iteration = UINT64_MAX};

    CHECK_INT(run_subset(run, &filter, &part, &err), ASSAY_NOT_FOUND);
    CHECK_STR(err.text, "no phase 'backward'; there are: 'forward'");
    err = (struct error){0};
    filter = (struct run_filter){.thread = "x", .last_iteration = UINT64_MAX};
    CHECK_INT(run_subset(run, &filter, &part, &err), ASSAY_NOT_FOUND);
    CHECK_STR(err.text, "no thread 'x'; there are: 'main', 'worker'");
    err = (struct error){0};
    filter = (struct run_filter){.first_iteration = 2, .last_iteration = 9};
    CHECK_INT(run_subset(run, &filter, &part, &err), ASSAY_NOT_FOUND);
    CHECK_STR(err.text, "no iteration 2; the run has 2, counted from 0");
    run_free(run);
}

TEST(merged_runs_have_the_iterations_of_both)
{
    struct run *run = sample_run(5), *other = sample_run(3);
    struct point *points;
    uint32_t only;
    size_t n;

    CHECK_INT(run_scope_add(other, A, "new below a", "", &only, &err), 0);
    CHECK_STATUS(run_merge(run, other, &err), ASSAY_OK, &err);
    CHECK_INT(run_iteration_count(run), 8);
    CHECK_INT(run_iterations_kept(run), 8);
    CHECK_INT(run_iteration(run, 5)->index, 5);
    CHECK_INT(run_iteration(run, 5)->start_ns, 500);
    CHECK_INT(stats(run, A).calls, 8);
    CHECK_NEAR(stats(run, A).total_ns, 60 + 33, 0);
    CHECK_INT(run_scope_points(run, A, RUN_ANY, &points, &n, &err), ASSAY_OK);
    CHECK_INT(n, 8);
    CHECK_INT(points[5].total_ns, 10);
    CHECK_INT(points[7].iteration, 7);
    mem_free(points);
    CHECK_INT(run_thread_count(run), 2);
    CHECK_INT(run_scope_count(run), 4);
    CHECK_INT(run_kept_count(run), 24);
    run_free(run);
    run_free(other);
}

TEST(merged_long_runs_stay_small_and_consistent)
{
    struct run *run = sample_run(3000), *other = sample_run(2500);
    struct point *a, *b;
    size_t n_a, n_b;

    CHECK_STATUS(run_merge(run, other, &err), ASSAY_OK, &err);
    CHECK_INT(run_iteration_count(run), 5500);
    CHECK_INT(run_scope_points(run, A, RUN_ANY, &a, &n_a, &err), ASSAY_OK);
    CHECK_INT(run_scope_points(run, B, RUN_ANY, &b, &n_b, &err), ASSAY_OK);
    CHECK(n_a > 300 && n_a <= RUN_MAX_POINTS);
    CHECK_INT(n_a, n_b);
    for (size_t i = 0; i < n_b; i++) {
        CHECK_INT(b[i].total_ns, 10);
        CHECK_INT(a[i].iteration, b[i].iteration);
    }
    CHECK_INT(stats(run, A).n, 5500);
    mem_free(a);
    mem_free(b);
    run_free(run);
    run_free(other);
}

/* A run whose iterations last as long as the function says. */
static struct run *run_lasting(int64_t (*lasts)(uint32_t, struct random *),
                               uint32_t n)
{
    struct random random = random_seed(5);
    struct run *run;
    uint32_t id;

    err = (struct error){0};
    CHECK_INT(run_new(&run, &err), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &id, &err), ASSAY_OK);
    for (uint32_t i = 0; i < n; i++) {
        struct sample sample = {.iteration = i,
                                .duration_ns = lasts(i, &random)};

        CHECK_INT(run_count(run, &sample, &err), ASSAY_OK);
    }
    CHECK_INT(run_seal(run, &err), ASSAY_OK);
    return run;
}

static struct verdict verdict_on(int64_t (*lasts)(uint32_t, struct random *),
                                 uint32_t n)
{
    struct run *run = run_lasting(lasts, n);
    struct verdict verdict;

    CHECK_INT(run_verdict(run, &verdict, &err), ASSAY_OK);
    run_free(run);
    return verdict;
}

static int64_t lasts_one_percent(uint32_t i, struct random *random)
{
    (void)i;
    return (int64_t)(1e6 * (1 + 0.01 * random_normal(random)));
}

static int64_t lasts_longer(uint32_t i, struct random *random)
{
    return lasts_one_percent(i, random) + (int64_t)i * 2000;
}

static int64_t lasts_with_jumps(uint32_t i, struct random *random)
{
    return lasts_one_percent(i, random) * (i % 12 == 7 ? 3 : 1);
}

static int64_t lasts_anything(uint32_t i, struct random *random)
{
    (void)i;
    return (int64_t)(1e6 * (1 + random_unit(random)));
}

TEST(steady_iterations_are_called_steady)
{
    struct verdict verdict = verdict_on(lasts_one_percent, 60);

    CHECK_INT(verdict.steadiness, STEADY);
    CHECK_NEAR(verdict.noise, 0.01, 0.005);
    CHECK_HAS(verdict.text, "steady: the median is known to 0.");
}

TEST(a_run_that_slows_down_is_said_to_drift)
{
    struct verdict verdict = verdict_on(lasts_longer, 60);

    CHECK_INT(verdict.steadiness, STEADY_DRIFTING);
    CHECK_NEAR(verdict.drift, 0.08, 0.02);
    CHECK_HAS(verdict.text, "% slower than the first");
}

TEST(iterations_far_off_are_counted_as_outliers)
{
    struct verdict verdict = verdict_on(lasts_with_jumps, 60);

    CHECK_INT(verdict.steadiness, STEADY_OUTLIERS);
    CHECK_INT(verdict.n_outliers, 5);
    CHECK_HAS(verdict.text, "5 of 60 iterations are outliers, up to 3.");
}

TEST(irregular_iterations_are_called_noisy)
{
    CHECK_INT(verdict_on(lasts_anything, 30).steadiness, STEADY_NOISY);
}

TEST(few_iterations_are_not_judged)
{
    struct verdict verdict = verdict_on(lasts_one_percent, 9);

    CHECK_INT(verdict.steadiness, STEADY_TOO_FEW);
    CHECK_STR(verdict.text,
              "too few iterations to judge (9; at least 10 needed)");
    verdict = verdict_on(lasts_one_percent, 0);
    CHECK_HAS(verdict.text, "no iterations are marked");
}
