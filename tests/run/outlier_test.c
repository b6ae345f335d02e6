/* Iterations that took much longer, and their causes from the series. */
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

/* A series that is `usual` in all iterations except the slow one. */
static void add(struct run *run, const char *name, double usual, double slow)
{
    for (uint32_t i = 0; i < N; i++)
        observe(run, name, i, i == SLOW ? slow : usual);
}

static void check_cause(struct run *run, enum outlier_cause cause)
{
    struct outlier *outliers;
    size_t n;

    seal(run);
    OK(run_outliers(run, &outliers, &n, &err));
    CHECK_INT(n, 1);
    CHECK_INT(outliers[0].iteration, SLOW);
    CHECK_INT(outliers[0].duration_ns, 150000000);
    CHECK_STR(outlier_cause_text(outliers[0].cause), outlier_cause_text(cause));
    mem_free(outliers);
    run_free(run);
}

static void check_series(const char *name, double usual, double slow,
                         enum outlier_cause cause)
{
    struct run *run = slow_run();

    add(run, name, usual, slow);
    check_cause(run, cause);
}

TEST(an_outlier_without_series_has_no_cause)
{
    check_cause(slow_run(), OUTLIER_UNKNOWN);
}

TEST(an_unusual_value_in_the_slow_iteration_is_its_cause)
{
    check_series("steady.wait", 1, 30, OUTLIER_LOAD);
    check_series("steady.involuntary_switches", 4, 300, OUTLIER_LOAD);
    check_series("steady.major_faults", 0, 2, OUTLIER_DISK);
    check_series("steady.page_faults", 10, 50000, OUTLIER_PAGES);
    check_series("steady.frequency", 3000, 2000, OUTLIER_FREQUENCY);
    check_series("steady.migrations", 0, 2, OUTLIER_MIGRATION);
}

TEST(a_usual_value_is_not_a_cause)
{
    check_series("steady.wait", 30, 31, OUTLIER_UNKNOWN);
    check_series("steady.involuntary_switches", 300, 305, OUTLIER_UNKNOWN);
    check_series("steady.page_faults", 50000, 50010, OUTLIER_UNKNOWN);
    check_series("steady.frequency", 3000, 2990, OUTLIER_UNKNOWN);
    check_series("steady.migrations", 2, 2, OUTLIER_UNKNOWN);
}

/* The same photograph three times, always slow: not the machine's fault. */
TEST(a_photograph_that_is_slow_every_time_is_the_cause)
{
    struct run *run = observed_run();
    struct outlier *outliers;
    size_t n;

    name_photos(run, 20);
    for (uint32_t i = 0; i < 60; i++) {
        observe_ms(run, i, i % 20 == 3 ? 150 : 100 + 0.1 * (i % 7));
        observe(run, "input.photo", i, i % 20);
        observe(run, "steady.wait", i, i == 3 ? 40 : 0);
    }
    seal(run);
    OK(run_outliers(run, &outliers, &n, &err));
    CHECK_INT(n, 3);
    for (size_t i = 0; i < n; i++)
        CHECK_INT(outliers[i].cause, OUTLIER_CONTENT);
    mem_free(outliers);
    run_free(run);
}

TEST(few_iterations_have_no_outliers)
{
    struct run *run = observed_run();
    struct outlier *outliers;
    size_t n;

    for (uint32_t i = 0; i < 4; i++)
        observe_ms(run, i, i == 3 ? 900 : 100 + i);
    seal(run);
    OK(run_outliers(run, &outliers, &n, &err));
    CHECK_INT(n, 0);
    mem_free(outliers);
    run_free(run);
}

TEST(the_verdict_names_the_most_frequent_cause)
{
    struct run *run = observed_run();
    struct verdict verdict;

    for (uint32_t i = 0; i < N; i++) {
        observe_ms(run, i, i % 10 == 5 ? 150 : 100 + 0.1 * (i % 7));
        observe(run, "steady.wait", i, i % 10 == 5 && i > 10 ? 40 : 0);
    }
    seal(run);
    OK(run_verdict(run, &verdict, &err));
    CHECK_INT(verdict.steadiness, STEADY_OUTLIERS);
    CHECK_HAS(verdict.text, "4 of 40 iterations are outliers, up to 1.5 times");
    CHECK_HAS(verdict.text, "(other work on the machine: 3)");
    run_free(run);
}

TEST(one_outlier_is_one)
{
    struct run *run = observed_run();
    struct verdict verdict;

    for (uint32_t i = 0; i < 20; i++)
        observe_ms(run, i, i == 5 ? 150 : 100 + 0.1 * (i % 7));
    seal(run);
    OK(run_verdict(run, &verdict, &err));
    CHECK_HAS(verdict.text,
              "1 of 20 iterations is an outlier, 1.5 times the median");
    run_free(run);
}

/* The last third of the iterations takes 50 % longer. */
static void check_drift(double wait_ms, const char *words)
{
    struct run *run = observed_run();
    struct verdict verdict;

    for (uint32_t i = 0; i < N; i++) {
        observe_ms(run, i, 100 + i);
        observe(run, "steady.wait", i, wait_ms);
    }
    seal(run);
    OK(run_verdict(run, &verdict, &err));
    CHECK_INT(verdict.steadiness, STEADY_DRIFTING);
    CHECK_HAS(verdict.text, words);
    CHECK_INT(run_is_disturbed(run), wait_ms > 10);
    run_free(run);
}

TEST(drift_under_other_load_is_attributed_to_it)
{
    check_drift(0.5, "throttling, or something grows");
    check_drift(40, "other work on the machine");
}

TEST(outliers_leak_nothing_whichever_allocation_fails)
{
    struct run *run = slow_run();
    struct outlier *outliers;
    enum assay_status st;
    long nth = 0, before;
    size_t n;

    seal(run);
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = run_outliers(run, &outliers, &n, NULL);
        mem_fail_at(-1);
        mem_free(outliers);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 3);
    run_free(run);
}
