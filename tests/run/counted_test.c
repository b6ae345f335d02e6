/* Which iterations the figures of a run are means of. */
#include "observed.h"

#include "base/mem.h"

static struct error err;

enum { N = 40, SLOW = 17 };

/* Iterations of about 100 ms, one of 150. */
static struct run *slow_run(void)
{
    struct run *run = observed_run();

    for (uint32_t i = 0; i < N; i++)
        observe_ms(run, i, i == SLOW ? 150 : 100 + 0.1 * (i % 7));
    return run;
}

static size_t n_disturbed(const struct run *run)
{
    return run_counted(run).n_disturbed;
}

/* Seals the run, counts and frees it. */
static size_t disturbed_in(struct run *run)
{
    size_t n;

    seal(run);
    n = n_disturbed(run);
    CHECK_INT(run_counted(run).n, run_iteration_count(run) - n);
    run_free(run);
    return n;
}

static uint32_t scope_of(struct run *run, uint32_t parent, const char *name)
{
    uint32_t id;

    OK(run_scope_add(run, parent, name, NULL, &id, &err));
    return id;
}

static void count_ms(struct run *run, uint32_t scope, uint32_t iteration,
                     double ms)
{
    struct sample sample = {.scope = scope,
                            .iteration = iteration,
                            .start_ns = (int64_t)iteration * 1000000000,
                            .duration_ns = (int64_t)(ms * 1e6),
                            .self_ns = (int64_t)(ms * 1e6),
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};

    OK(run_count(run, &sample, &err));
}

TEST(a_slow_iteration_is_left_out)
{
    struct run *run = slow_run();
    struct scope_stats stats;

    seal(run);
    CHECK_INT(n_disturbed(run), 1);
    CHECK_INT(run_counted(run).n, N - 1);
    CHECK(run_iteration_is_disturbed(run, SLOW));
    CHECK(!run_iteration_counts(run, SLOW));
    CHECK(run_iteration_counts(run, SLOW + 1));
    OK(run_scope_stats(run, RUN_ROOT, RUN_ANY, &stats, &err));
    CHECK(stats.mean_ns < 100.7e6);
    CHECK_NEAR(stats.max_ns, 150e6, 0);
    run_free(run);
}

/* 101.9 ms are many MADs from 100, but not worth the name. */
TEST(an_iteration_that_is_hardly_slower_counts)
{
    struct run *run = observed_run();

    for (uint32_t i = 0; i < N; i++)
        observe_ms(run, i, i == SLOW ? 101.9 : 100 + 0.01 * (i % 7));
    CHECK_INT(disturbed_in(run), 0);
}

TEST(four_iterations_all_count)
{
    struct run *run = observed_run();

    for (uint32_t i = 0; i < 4; i++)
        observe_ms(run, i, i == 3 ? 900 : 100 + i);
    CHECK_INT(disturbed_in(run), 0);
}

/* It had more to do: a scope that the others did not call. */
TEST(an_iteration_with_other_calls_counts)
{
    struct run *run = observed_run();
    uint32_t extra = scope_of(run, RUN_ROOT, "checkpoint");

    for (uint32_t i = 0; i < N; i++) {
        if (i % 10 == 7)
            count_ms(run, extra, i, 50);
        observe_ms(run, i, i % 10 == 7 ? 150 : 100 + 0.1 * (i % 7));
    }
    CHECK_INT(disturbed_in(run), 0);
}

/* Five photographs, the fourth of them always slow. */
TEST(a_photograph_that_is_always_slow_counts)
{
    struct run *run = observed_run();

    name_photos(run, 5);
    for (uint32_t i = 0; i < N; i++) {
        observe_ms(run, i, i % 5 == 3 ? 150 : 100 + 0.1 * (i % 7));
        observe(run, "input.photo", i, i % 5);
    }
    CHECK_INT(disturbed_in(run), 0);
}

/* Every photograph once: the machine is to blame only if that was seen. */
static struct run *run_of_photos(double wait_ms)
{
    struct run *run = slow_run();

    name_photos(run, N);
    for (uint32_t i = 0; i < N; i++) {
        observe(run, "input.photo", i, i);
        observe(run, "steady.wait", i, i == SLOW ? wait_ms : 0);
    }
    return run;
}

TEST(a_photograph_seen_once_counts_unless_the_machine_was_busy)
{
    CHECK_INT(disturbed_in(run_of_photos(0)), 0);
    CHECK_INT(disturbed_in(run_of_photos(45)), 1);
}

TEST(a_slow_step_of_a_training_counts_unless_the_machine_was_busy)
{
    for (int busy = 0; busy < 2; busy++) {
        struct run *run = slow_run();

        for (uint32_t i = 0; i < N; i++)
            observe(run, "steady.wait", i, busy && i == SLOW ? 45 : 0);
        OK(run_fact_set(run, "training.first_step", "1", &err));
        CHECK_INT(disturbed_in(run), busy);
    }
}

/* The conv takes all of the extra time of the slow iteration. */
TEST(means_of_children_add_up_to_their_parent_whatever_was_disturbed)
{
    struct run *run = observed_run();
    uint32_t model = scope_of(run, RUN_ROOT, "model");
    uint32_t conv = scope_of(run, model, "conv");
    uint32_t pool = scope_of(run, model, "pool");
    struct scope_stats root_stats, model_stats, conv_stats, pool_stats;

    for (uint32_t i = 0; i < N; i++) {
        double slow = i == SLOW ? 80 : 0.1 * (i % 7);

        count_ms(run, conv, i, 60 + slow);
        count_ms(run, pool, i, 30);
        count_ms(run, model, i, 90 + slow);
        observe_ms(run, i, 100 + slow);
    }
    seal(run);
    CHECK_INT(n_disturbed(run), 1);
    OK(run_scope_stats(run, RUN_ROOT, RUN_ANY, &root_stats, &err));
    OK(run_scope_stats(run, model, RUN_ANY, &model_stats, &err));
    OK(run_scope_stats(run, conv, RUN_ANY, &conv_stats, &err));
    OK(run_scope_stats(run, pool, RUN_ANY, &pool_stats, &err));
    CHECK_NEAR(model_stats.mean_ns, conv_stats.mean_ns + pool_stats.mean_ns, 1);
    CHECK_NEAR(root_stats.mean_ns, model_stats.mean_ns + 10e6, 1);
    CHECK_NEAR(pool_stats.mean_ns, 30e6, 1);
    CHECK(conv_stats.mean_ns < 61e6);
    run_free(run);
}

/* Of 3000 iterations only some are kept one by one. */
TEST(long_runs_leave_out_what_was_disturbed_among_the_kept_ones)
{
    struct run *run = observed_run();
    uint32_t conv = scope_of(run, RUN_ROOT, "conv");
    struct scope_stats whole, part;

    for (uint32_t i = 0; i < 3000; i++) {
        double slow = i % 100 == 7 ? 80 : 0.1 * (i % 7);

        count_ms(run, conv, i, 60 + slow);
        observe_ms(run, i, 100 + slow);
    }
    seal(run);
    CHECK(n_disturbed(run) > 0);
    CHECK(run_counted(run).n <= RUN_MAX_POINTS - n_disturbed(run));
    OK(run_scope_stats(run, RUN_ROOT, RUN_ANY, &whole, &err));
    OK(run_scope_stats(run, conv, RUN_ANY, &part, &err));
    CHECK_NEAR(whole.mean_ns - part.mean_ns, 40e6, 1);
    CHECK(whole.mean_ns < 101e6);
    run_free(run);
}

TEST(a_part_of_a_run_is_judged_by_itself)
{
    struct run_filter filter = {.first_iteration = SLOW - 1,
                                .last_iteration = SLOW + 1};
    struct run *run = slow_run(), *part;

    seal(run);
    OK(run_subset(run, &filter, &part, &err));
    CHECK_INT(n_disturbed(part), 0);
    CHECK_INT(run_counted(part).n, 3);
    run_free(part);
    run_free(run);
}

TEST(the_interval_of_a_mean_is_students)
{
    /* Mean 3, variance of the mean 0.5; t for 4 degrees of freedom is 2.776.
     * Neighbours of these values are not alike. */
    double values[] = {3, 1, 5, 2, 4};
    struct mean mean = stats_mean(values, 5);

    CHECK_NEAR(mean.mean, 3, 1e-12);
    CHECK_NEAR(mean.variance, 0.5, 1e-12);
    CHECK_NEAR(mean.high - 3, 2.776 * sqrt(0.5), 1e-3);
    CHECK_NEAR(3 - mean.low, mean.high - 3, 1e-9);
    CHECK(isnan(stats_mean(values, 4).low));
    CHECK(isnan(stats_mean(values, 4).high));
}

TEST(values_that_resemble_their_neighbours_widen_the_interval)
{
    double apart[40], together[40];

    for (int i = 0; i < 40; i++) {
        apart[i] = 100 + i % 2;
        together[i] = 100 + (i / 10) % 2;
    }
    CHECK(stats_mean(together, 40).high - stats_mean(together, 40).low >
          2 * (stats_mean(apart, 40).high - stats_mean(apart, 40).low));
}

TEST(a_mean_of_values_that_only_rise_has_no_interval)
{
    double rising[15];

    for (int i = 0; i < 15; i++)
        rising[i] = 100 + 10 * i;
    CHECK_NEAR(stats_mean(rising, 15).mean, 170, 1e-9);
    CHECK(isnan(stats_mean(rising, 15).low));
    CHECK(isnan(stats_mean(rising, 15).high));
}

TEST(a_percentile_needs_one_value_beyond_it)
{
    struct run *run = slow_run();
    struct scope_stats stats;

    CHECK(!stats_carries(19, 0.95));
    CHECK(stats_carries(20, 0.95));
    CHECK(!stats_carries(19, 0.05));
    CHECK(!stats_carries(99, 0.99));
    CHECK(stats_carries(100, 0.99));
    seal(run);
    OK(run_scope_stats(run, RUN_ROOT, RUN_ANY, &stats, &err));
    CHECK(!isnan(stats.p95_ns) && !isnan(stats.p5_ns));
    CHECK(isnan(stats.p99_ns));
    run_free(run);
}

TEST(deciding_leaks_nothing_whichever_allocation_fails)
{
    struct run *run = slow_run();
    enum assay_status st;
    long nth = 0, before;

    seal(run);
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = run_seal(run, NULL);
        mem_fail_at(-1);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK_INT(mem_live(), before);
    CHECK_INT(n_disturbed(run), 1);
    CHECK(nth > 3);
    run_free(run);
}
