/* What run/run.h promises about names, counting and statistics. */
#include "base/mem.h"
#include "run/run.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct error err;

static struct run *new_run(void)
{
    struct run *run;
    uint32_t id;

    err = (struct error){0};
    CHECK_STATUS(run_new(&run, &err), ASSAY_OK, &err);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &id, &err), ASSAY_OK);
    return run;
}

static uint32_t scope(struct run *run, uint32_t parent, const char *name)
{
    uint32_t id = 0;

    CHECK_INT(run_scope_add(run, parent, name, NULL, &id, &err), ASSAY_OK);
    return id;
}

static void count(struct run *run, uint32_t scope_id, uint32_t iteration,
                  int64_t duration, int64_t self)
{
    struct sample sample = {.scope = scope_id,
                            .iteration = iteration,
                            .duration_ns = duration,
                            .self_ns = self,
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};

    CHECK_STATUS(run_count(run, &sample, &err), ASSAY_OK, &err);
}

static void seal(struct run *run)
{
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
}

static struct scope_stats stats(const struct run *run, uint32_t id,
                                uint32_t phase)
{
    struct scope_stats out;

    CHECK_INT(run_scope_stats(run, id, phase, &out, &err), ASSAY_OK);
    return out;
}

TEST(parent_name_and_class_identify_a_scope)
{
    struct run *run = new_run();
    uint32_t a, b, c, d, e;

    CHECK_INT(run_scope_add(run, RUN_ROOT, "conv", "Conv2d", &a, &err), 0);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "conv", "Conv2d", &b, &err), 0);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "conv", "Linear", &c, &err), 0);
    CHECK_INT(run_scope_add(run, a, "conv", "Conv2d", &d, &err), 0);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "Conv2dconv", "", &e, &err), 0);
    CHECK_INT(a, b);
    CHECK(a != c && a != d && c != d && e != a);
    CHECK_INT(run_scope_count(run), 5);
    CHECK_INT(run_scope(run, d)->depth, 2);
    CHECK_INT(run_scope(run, RUN_ROOT)->first_child, a);
    CHECK_INT(run_scope(run, a)->next_sibling, c);
    run_free(run);
}

TEST(a_path_joins_the_names_below_the_root)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "backbone"), b = scope(run, a, "conv1");
    struct str path = {0};

    CHECK_INT(run_scope_path(run, b, &path), ASSAY_OK);
    CHECK_STR(str_text(&path), "backbone.conv1");
    str_clear(&path);
    CHECK_INT(run_scope_path(run, RUN_ROOT, &path), ASSAY_OK);
    CHECK_STR(str_text(&path), "run");
    str_release(&path);
    run_free(run);
}

TEST(a_tree_that_is_too_deep_is_refused_by_name)
{
    struct run *run = new_run();
    uint32_t at = RUN_ROOT;

    for (int i = 1; i + 1 < RUN_MAX_DEPTH; i++)
        at = scope(run, at, "x");
    CHECK_INT(run_scope_add(run, at, "y", NULL, &at, &err), ASSAY_OK);
    CHECK_INT(run_scope_add(run, at, "straw", NULL, &at, &err),
              ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "'straw' is nested deeper than 4096 levels");
    run_free(run);
}

TEST(times_are_statistics_over_iterations)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "a");
    struct scope_stats s;

    /* Two calls per iteration: 10 + 20, 11 + 21, ... 14 + 24. */
    for (uint32_t i = 0; i < 5; i++) {
        count(run, a, i, 10 + i, 4);
        count(run, a, i, 20 + i, 6);
        count(run, RUN_ROOT, i, 100, 70);
    }
    seal(run);
    s = stats(run, a, RUN_ANY);
    CHECK_INT(s.calls, 10);
    CHECK_INT(s.n, 5);
    CHECK_NEAR(s.calls_each, 2, 0);
    CHECK_NEAR(s.mean_ns, 34, 1e-9);
    CHECK_NEAR(s.median_ns, 34, 1e-9);
    CHECK_NEAR(s.min_ns, 30, 0);
    CHECK_NEAR(s.max_ns, 38, 0);
    CHECK_NEAR(s.sd_ns, sqrt(10), 1e-9);
    CHECK_NEAR(s.total_ns, 170, 0);
    CHECK_NEAR(s.mean_self_ns, 10, 0);
    CHECK_INT(run_iteration_count(run), 5);
    CHECK_INT(run_iteration(run, 4)->duration_ns, 100);
    run_free(run);
}

TEST(means_add_up_in_the_tree_even_for_occasional_scopes)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "a");
    struct scope_stats s;

    for (uint32_t i = 0; i < 10; i++) {
        if (i % 5 == 0)
            count(run, a, i, 50, 50);
        count(run, RUN_ROOT, i, 100, 90);
    }
    seal(run);
    s = stats(run, a, RUN_ANY);
    CHECK_NEAR(s.mean_ns, 10, 1e-9);
    CHECK_NEAR(s.median_ns, 50, 1e-9);
    CHECK_INT(s.n, 2);
    run_free(run);
}

TEST(without_iterations_every_call_is_one)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "a");
    struct scope_stats s;

    for (int i = 1; i <= 9; i++)
        count(run, a, RUN_NONE, i * 10, i);
    seal(run);
    s = stats(run, a, RUN_ANY);
    CHECK(!run_has_iterations(run));
    CHECK_INT(s.n, 9);
    CHECK_NEAR(s.median_ns, 50, 1e-9);
    CHECK_NEAR(s.mean_ns, 50, 1e-9);
    CHECK(!s.is_outside);
    run_free(run);
}

TEST(calls_outside_the_iterations_are_kept_apart)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "a"), load = scope(run, RUN_ROOT, "load");

    count(run, a, RUN_NONE, 1000000, 1000000);
    count(run, load, RUN_NONE, 500, 500);
    count(run, a, 0, 10, 10);
    count(run, RUN_ROOT, 0, 20, 10);
    seal(run);
    CHECK_INT(stats(run, a, RUN_ANY).calls, 1);
    CHECK_NEAR(stats(run, a, RUN_ANY).mean_ns, 10, 0);
    CHECK(stats(run, load, RUN_ANY).is_outside);
    CHECK_NEAR(stats(run, load, RUN_ANY).mean_ns, 500, 0);
    run_free(run);
}

TEST(threads_of_one_iteration_add_up)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "a"), second;
    struct scope_stats s;

    CHECK_INT(run_thread_add(run, "worker", THREAD_CPU, &second, &err), 0);
    for (uint32_t i = 0; i < 4; i++) {
        struct sample sample = {.scope = a,
                                .thread = second,
                                .iteration = i,
                                .duration_ns = 7,
                                .self_ns = 7,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        count(run, a, i, 10 * (i + 1), 1);
        CHECK_INT(run_count(run, &sample, &err), ASSAY_OK);
        count(run, RUN_ROOT, i, 100, 1);
    }
    seal(run);
    s = stats(run, a, RUN_ANY);
    CHECK_INT(s.calls, 8);
    CHECK_INT(s.n, 4);
    CHECK_NEAR(s.min_ns, 17, 0);
    CHECK_NEAR(s.max_ns, 47, 0);
    CHECK_NEAR(s.median_ns, 32, 1e-9);
    run_free(run);
}

TEST(phases_can_be_read_separately_or_together)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "a"), backward;
    struct sample sample = {.scope = a,
                            .duration_ns = 30,
                            .self_ns = 30,
                            .bytes = 5,
                            .peak_bytes = 9};

    CHECK_INT(run_phase_add(run, "backward", &backward, &err), 0);
    count(run, a, 0, 10, 10);
    sample.phase = backward;
    CHECK_INT(run_count(run, &sample, &err), ASSAY_OK);
    count(run, RUN_ROOT, 0, 50, 10);
    seal(run);
    CHECK_NEAR(stats(run, a, RUN_ANY).total_ns, 40, 0);
    CHECK_NEAR(stats(run, a, backward).total_ns, 30, 0);
    CHECK_NEAR(stats(run, a, 0).total_ns, 10, 0);
    CHECK_INT(stats(run, a, 0).bytes, RUN_UNKNOWN);
    CHECK_INT(stats(run, a, RUN_ANY).peak_bytes, 9);
    run_free(run);
}

TEST(a_group_lasts_as_long_as_what_it_groups)
{
    struct run *run = new_run();
    uint32_t group = scope(run, RUN_ROOT, "layers");
    uint32_t inner = scope(run, group, "inner");
    uint32_t a = scope(run, group, "a"), b = scope(run, inner, "b");
    uint32_t below = scope(run, a, "below");

    for (uint32_t i = 0; i < 2; i++) {
        count(run, below, i, 5, 5);
        count(run, a, i, 10, 5);
        count(run, b, i, 20, 20);
        count(run, RUN_ROOT, i, 40, 10);
    }
    seal(run);
    CHECK_INT(stats(run, group, RUN_ANY).calls, 0);
    CHECK_NEAR(stats(run, group, RUN_ANY).mean_ns, 30, 0);
    CHECK_NEAR(stats(run, inner, RUN_ANY).mean_ns, 20, 0);
    CHECK(isnan(stats(run, group, RUN_ANY).median_ns));
    run_free(run);
}

TEST(a_long_run_keeps_a_thousand_points_and_right_statistics)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "a"), odd = scope(run, RUN_ROOT, "odd");
    size_t n, n_odd;
    struct point *points;
    struct scope_stats s;

    for (uint32_t i = 0; i < 100000; i++) {
        count(run, a, i, 1000 + i % 1000, 1000);
        if (i % 2)
            count(run, odd, i, 10, 10);
        count(run, RUN_ROOT, i, 5000, 5000);
    }
    seal(run);
    s = stats(run, a, RUN_ANY);
    CHECK_INT(s.n, 100000);
    CHECK_NEAR(s.median_ns / 1499.5, 1, 0.01);
    CHECK_NEAR(s.p99_ns / 1989, 1, 0.01);
    CHECK_NEAR(s.max_ns, 1999, 0);
    CHECK(s.median_low_ns <= 1510 && s.median_high_ns >= 1490);
    CHECK_INT(run_scope_points(run, a, RUN_ANY, &points, &n, &err), ASSAY_OK);
    CHECK(n > RUN_MAX_POINTS / 3 && n <= RUN_MAX_POINTS);
    for (size_t i = 0; i < n; i++)
        CHECK_INT(points[i].total_ns, 1000 + points[i].iteration % 1000);
    mem_free(points);
    CHECK_INT(run_scope_points(run, odd, RUN_ANY, &points, &n_odd, &err), 0);
    CHECK(n_odd > RUN_MAX_POINTS / 5);
    mem_free(points);
    CHECK(run_iterations_kept(run) <= RUN_MAX_POINTS);
    CHECK_INT(run_iteration_count(run), 100000);
    run_free(run);
}

TEST(threads_with_different_strides_still_add_up)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "a"), second;
    struct point *points;
    size_t n;

    CHECK_INT(run_thread_add(run, "worker", THREAD_CPU, &second, &err), 0);
    for (uint32_t i = 0; i < 5000; i++) {
        struct sample sample = {.scope = a,
                                .thread = second,
                                .iteration = i,
                                .duration_ns = 1,
                                .self_ns = 1,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        count(run, a, i, 100, 100);
        if (i < 900)
            CHECK_INT(run_count(run, &sample, &err), ASSAY_OK);
    }
    seal(run);
    CHECK_INT(run_scope_points(run, a, RUN_ANY, &points, &n, &err), ASSAY_OK);
    for (size_t i = 0; i < n; i++)
        CHECK_INT(points[i].total_ns, points[i].iteration < 900 ? 101 : 100);
    mem_free(points);
    run_free(run);
}

TEST(impossible_samples_are_refused)
{
    struct run *run = new_run();
    struct sample sample = {.scope = 7, .iteration = RUN_NONE};

    CHECK_INT(run_count(run, &sample, &err), ASSAY_BAD_INPUT);
    err = (struct error){0};
    sample = (struct sample){.duration_ns = -1, .iteration = RUN_NONE};
    CHECK_INT(run_count(run, &sample, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "a sample of 'run' has an impossible duration");
    err = (struct error){0};
    sample = (struct sample){.start_ns = 1, .duration_ns = INT64_MAX};
    CHECK_INT(run_count(run, &sample, &err), ASSAY_BAD_INPUT);
    sample = (struct sample){.duration_ns = RUN_MAX_NS, .iteration = RUN_NONE};
    CHECK_INT(run_count(run, &sample, NULL), ASSAY_OK);
    err = (struct error){0};
    CHECK_INT(run_count(run, &sample, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "more than a run can last");
    run_free(run);
}

TEST(iterations_that_go_back_are_refused)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "a");
    struct sample sample = {.scope = a, .iteration = 3};

    count(run, a, 4, 1, 1);
    CHECK_INT(run_count(run, &sample, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "the iterations of 'a' go back from 4 to 3");
    run_free(run);
}

TEST(kept_samples_come_parents_first)
{
    struct run *run = new_run();
    uint32_t a = scope(run, RUN_ROOT, "a"), b = scope(run, a, "b");
    struct sample parent = {.scope = a, .start_ns = 5, .duration_ns = 10};
    struct sample child = {.scope = b, .start_ns = 5, .duration_ns = 10};
    struct sample early = {.scope = b, .start_ns = 1, .duration_ns = 1};

    CHECK_INT(run_keep(run, &child, &err), ASSAY_OK);
    CHECK_INT(run_keep(run, &parent, &err), ASSAY_OK);
    CHECK_INT(run_keep(run, &early, &err), ASSAY_OK);
    seal(run);
    CHECK_INT(run_kept(run, 0)->start_ns, 1);
    CHECK_INT(run_kept(run, 1)->scope, a);
    CHECK_INT(run_kept(run, 2)->scope, b);
    run_free(run);
}

TEST(the_interval_of_the_median_matches_published_tables)
{
    /* Conover, table A3: for n = 10 the 2nd and 9th value hold the median
     * with 97.9 %, for n = 20 the 6th and 15th with 95.9 %. */
    double values[20], low, high;

    for (int i = 0; i < 20; i++)
        values[i] = i + 1;
    stats_median_interval(values, 10, 0.95, &low, &high);
    CHECK_NEAR(low, 2, 0);
    CHECK_NEAR(high, 9, 0);
    stats_median_interval(values, 20, 0.95, &low, &high);
    CHECK_NEAR(low, 6, 0);
    CHECK_NEAR(high, 15, 0);
    /* All five lie on one side of it with 2 / 2^5, six with 3.1 %. */
    stats_median_interval(values, 5, 0.95, &low, &high);
    CHECK(isnan(low) && isnan(high));
    stats_median_interval(values, 6, 0.95, &low, &high);
    CHECK_NEAR(low, 1, 0);
    CHECK_NEAR(high, 6, 0);
    CHECK_NEAR(stats_quantile(values, 4, 0.5), 2.5, 0);
    CHECK_NEAR(stats_quantile(values, 1, 0.9), 1, 0);
}

TEST(counters_keep_their_extremes_and_a_bounded_course)
{
    struct run *run = new_run();
    const struct counter *counter;
    uint32_t id;

    CHECK_INT(run_counter_add(run, "queue", NULL, &id, &err), ASSAY_OK);
    for (int i = 0; i < 100000; i++)
        CHECK_INT(run_counter_count(run, id, i, i % 1001, &err), ASSAY_OK);
    counter = run_counter(run, id);
    CHECK_INT(counter->n, 100000);
    CHECK_NEAR(counter->max, 1000, 0);
    CHECK_NEAR(counter->min, 0, 0);
    CHECK_NEAR(counter->last, 99999 % 1001, 0);
    CHECK(counter->n_points >= 1000 && counter->n_points <= 4096);
    for (size_t i = 1; i < counter->n_points; i++)
        CHECK_INT(counter->points[i].time_ns - counter->points[i - 1].time_ns,
                  counter->stride);
    run_free(run);
}

TEST(facts_are_replaced_and_keep_their_order)
{
    struct run *run = new_run();
    const char *key, *value;

    CHECK_INT(run_fact_set(run, "a", "1", &err), ASSAY_OK);
    CHECK_INT(run_fact_printf(run, &err, "b", "%d", 2), ASSAY_OK);
    CHECK_INT(run_fact_set(run, "a", "3", &err), ASSAY_OK);
    CHECK_INT(run_fact_count(run), 2);
    run_fact_at(run, 0, &key, &value);
    CHECK_STR(key, "a");
    CHECK_STR(value, "3");
    CHECK_STR(run_fact(run, "b"), "2");
    CHECK(run_fact(run, "c") == NULL);
    run_free(run);
}

static enum assay_status build_something(struct run **out)
{
    struct run *run = NULL;
    enum assay_status st = run_new(&run, NULL);
    uint32_t id;

    *out = NULL;
    if (!st)
        st = run_thread_add(run, "main", THREAD_CPU, &id, NULL);
    for (uint32_t i = 0; !st && i < 40; i++) {
        struct sample sample = {.iteration = i, .duration_ns = 1 << (i % 20)};
        char name[16];

        snprintf(name, sizeof name, "scope %u", i);
        st = run_scope_add(run, RUN_ROOT, name, "", &sample.scope, NULL);
        if (!st)
            st = run_count(run, &sample, NULL);
        if (!st)
            st = run_keep(run, &sample, NULL);
        if (!st)
            st = run_fact_set(run, name, "x", NULL);
        if (!st)
            st = run_counter_add(run, name, "", &id, NULL);
        if (!st)
            st = run_text_set(run, sample.scope,
                              &(struct scope_text){name, "kernel"}, NULL);
        if (!st)
            st = run_text_set(run, sample.scope,
                              &(struct scope_text){"again", name}, NULL);
        if (!st)
            st = run_space_change(run, name, "weights", 8, NULL);
        if (!st)
            st = run_counter_count(run, id, 1, 2, NULL);
    }
    if (!st)
        st = run_seal(run, NULL);
    if (st) {
        run_free(run);
        return st;
    }
    *out = run;
    return ASSAY_OK;
}

TEST(building_leaks_nothing_whichever_allocation_fails)
{
    long before = mem_live();
    enum assay_status st;
    long nth = 0;

    do {
        struct run *run, *part = NULL;
        struct run_filter filter = {.last_iteration = UINT64_MAX};

        mem_fail_at(nth++);
        st = build_something(&run);
        if (!st)
            st = run_subset(run, &filter, &part, NULL);
        if (!st)
            st = run_merge(part, run, NULL);
        mem_fail_at(-1);
        run_free(part);
        run_free(run);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 100);
}
