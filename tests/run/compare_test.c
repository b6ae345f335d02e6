/* What run/compare.h promises about numbers, causes and the gate. */
#include "base/mem.h"
#include "base/random.h"
#include "run/compare.h"
#include "run/planned_run.h"
#include "test.h"

#include <math.h>

TEST(the_interval_contains_the_true_ratio)
{
    const struct plan a = {100, 5e6, 3e6, 1e6, 0.02, 1};
    const struct plan b = {100, 6e6, 3e6, 1e6, 0.02, 2};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&a, 1, &b, 1, runs);
    const struct compare_row *row = compare_row(c, conv);

    CHECK_NEAR(row->ratio, 1.2, 0.015);
    CHECK(row->low < 1.2 && row->high > 1.2 && row->low > 1.15);
    CHECK_NEAR(row->a_ns, 5e6, 5e4);
    CHECK_NEAR(row->b_ns / row->a_ns, row->ratio, 1e-9);
    CHECK_NEAR(row->share, 5.0 / 9.0, 0.01);
    CHECK(row->is_significant && row->p <= 1e-6 && row->p_raw <= row->p);
    CHECK(!compare_row(c, pool)->is_significant);
    CHECK_INT(compare_n_tested(c), n_scopes);
    plan_end(c, runs, 2);
}

TEST(the_cause_is_the_layer_and_not_what_contains_it)
{
    const struct plan a = {100, 5e6, 3e6, 1e6, 0.02, 3};
    const struct plan b = {100, 6e6, 3e6, 1e6, 0.02, 4};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&a, 1, &b, 1, runs);

    CHECK(compare_row(c, root)->is_significant);
    CHECK(compare_row(c, net)->is_significant);
    CHECK(!compare_row(c, root)->is_cause && !compare_row(c, net)->is_cause);
    CHECK(compare_row(c, conv)->is_cause);
    plan_end(c, runs, 2);
}

TEST(a_parent_slower_in_its_own_code_is_a_cause_too)
{
    const struct plan a = {100, 5e6, 3e6, 1e6, 0.02, 5};
    const struct plan b = {100, 6e6, 3e6, 3e6, 0.02, 6};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&a, 1, &b, 1, runs);

    CHECK(compare_row(c, conv)->is_cause && compare_row(c, net)->is_cause);
    CHECK(!compare_row(c, root)->is_cause);
    plan_end(c, runs, 2);
}

TEST(a_parent_whose_parts_cancel_out_is_not_a_cause)
{
    const struct plan a = {100, 5e6, 3e6, 1e6, 0.01, 7};
    const struct plan b = {100, 6e6, 2e6, 1e6, 0.01, 8};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&a, 1, &b, 1, runs);

    CHECK(compare_row(c, conv)->is_cause && compare_row(c, conv)->ratio > 1);
    CHECK(compare_row(c, pool)->is_cause && compare_row(c, pool)->ratio < 1);
    CHECK(!compare_row(c, net)->is_cause && !compare_row(c, root)->is_cause);
    plan_end(c, runs, 2);
}

TEST(fewer_than_five_iterations_are_not_tested)
{
    const struct plan a = {100, 5e6, 3e6, 1e6, 0.02, 9};
    const struct plan b = {4, 9e6, 3e6, 1e6, 0.02, 10};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&a, 1, &b, 1, runs);
    const struct compare_row *row = compare_row(c, conv);

    CHECK_INT(compare_n_tested(c), 0);
    CHECK(isnan(row->ratio) && isnan(row->p) && isnan(row->low));
    CHECK(!row->is_significant);
    CHECK_NEAR(row->b_ns, 9e6, 3e5);
    plan_end(c, runs, 2);
}

TEST(equal_constants_do_not_differ)
{
    const struct plan same = {20, 5e6, 3e6, 1e6, 0, 1};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&same, 1, &same, 1, runs);

    for (size_t i = 0; i < n_scopes; i++) {
        CHECK_NEAR(compare_row(c, i)->p, 1, 0);
        CHECK_NEAR(compare_row(c, i)->ratio, 1, 0);
    }
    plan_end(c, runs, 2);
}

TEST(constants_within_a_clock_tick_do_not_differ)
{
    const struct plan a = {20, 5e6, 5000, 101, 0, 1};
    const struct plan b = {20, 6e6, 6000, 101, 0, 1};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&a, 1, &b, 1, runs);

    CHECK(compare_row(c, conv)->is_significant);
    /* 5 and 6 microseconds of a clock that has only whole ones */
    CHECK(!compare_row(c, pool)->is_significant);
    plan_end(c, runs, 2);
}

/* 41 ns half of the time more, half of the time less often 83 ns: a counter
 * of 24 MHz. */
TEST(a_coarse_clock_makes_no_differences)
{
    size_t n_flagged = 0;

    for (uint64_t seed = 0; seed < 200; seed++) {
        struct random random = random_seed(seed);
        const struct run *sides[2];
        struct comparison *c;

        for (int side = 0; side < 2; side++) {
            uint32_t id;
            struct run *run;

            CHECK_INT(run_new(&run, NULL), ASSAY_OK);
            CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &id, NULL),
                      ASSAY_OK);
            for (uint32_t i = 0; i < 40; i++)
                plan_count(run, RUN_ROOT, i,
                           random_unit(&random) < 0.8 ? 41 : 83);
            CHECK_INT(run_seal(run, NULL), ASSAY_OK);
            sides[side] = run;
        }
        CHECK_INT(compare_new(&(struct compare_side){&sides[0], 1},
                              &(struct compare_side){&sides[1], 1}, NULL, &c,
                              NULL),
                  ASSAY_OK);
        n_flagged += compare_row(c, 0)->is_significant;
        plan_end(c, sides, 2);
    }
    CHECK_INT(n_flagged, 0);
}

/* Five iterations of a slow model, tens of milliseconds apart, say nothing
 * about the clock that timed the iterations of a fast one. */
TEST(a_fast_model_keeps_its_figures_beside_a_slow_one)
{
    const struct plan slow = {5, 2e9, 1e8, 1e7, 0.1, 1};
    const struct plan fast = {40, 900, 100, 20, 0.05, 2};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&slow, 1, &fast, 1, runs);
    struct scope_stats stats;

    for (uint32_t i = 0; i < n_scopes; i++) {
        CHECK_INT(run_scope_stats(runs[1], i, RUN_ANY, &stats, NULL), ASSAY_OK);
        CHECK_NEAR(compare_row(c, i)->b_ns, stats.mean_ns, 1e-3);
    }
    plan_end(c, runs, 2);
}

TEST(zero_durations_can_be_compared)
{
    const struct plan a = {20, 0, 3e6, 0, 0.02, 1};
    const struct plan b = {20, 0, 3e6, 1, 0.02, 2};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&a, 1, &b, 1, runs);

    for (size_t i = 0; i < n_scopes; i++)
        CHECK(!compare_row(c, i)->is_significant &&
              isfinite(compare_row(c, i)->ratio));
    plan_end(c, runs, 2);
}

/* Each run has a pace of its own: within a run everything is steady, so that
 * one run per side looks clearly different, and three show that it is not. */
TEST(several_runs_show_what_differs_from_run_to_run)
{
    static const double paces[] = {1.00, 1.04, 0.97, 1.03, 0.98, 1.01};
    const struct run *runs[6];
    struct plan plans[6];
    struct comparison *c;

    for (size_t i = 0; i < 6; i++)
        plans[i] = (struct plan){
            50, 5e6 * paces[i], 3e6 * paces[i], 1e6 * paces[i], 0.005, 20 + i};
    c = plan_compare(&plans[0], 1, &plans[1], 1, runs);
    CHECK(compare_row(c, net)->is_significant);
    plan_end(c, runs, 2);
    c = plan_compare(plans, 3, plans + 3, 3, runs);
    CHECK(!compare_row(c, net)->is_significant);
    CHECK_NEAR(compare_row(c, net)->a_ns,
               9e6 * cbrt(paces[0] * paces[1] * paces[2]), 5e4);
    plan_end(c, runs, 6);
}

TEST(a_scope_missing_in_some_runs_is_compared_in_the_others)
{
    const struct plan plan = {30, 5e6, 3e6, 1e6, 0.02, 40};
    const struct run *runs[3] = {plan_run(&plan), NULL, plan_run(&plan)};
    struct comparison *c;
    struct run *empty;
    uint32_t thread;

    CHECK_INT(run_new(&empty, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(empty, "main", THREAD_CPU, &thread, NULL),
              ASSAY_OK);
    for (uint32_t i = 0; i < 30; i++)
        plan_count(empty, RUN_ROOT, i, 9000000);
    CHECK_INT(run_seal(empty, NULL), ASSAY_OK);
    runs[1] = empty;
    CHECK_INT(compare_new(&(struct compare_side){runs, 2},
                          &(struct compare_side){runs + 2, 1}, NULL, &c, NULL),
              ASSAY_OK);
    CHECK_NEAR(compare_row(c, conv)->ratio, 1, 1e-12);
    CHECK_NEAR(compare_row(c, conv)->a_ns, compare_row(c, conv)->b_ns, 1e-3);
    plan_end(c, runs, 3);
}

/* Only 1000 of 3000 iterations are kept one by one. */
TEST(the_figures_are_those_of_the_other_screens)
{
    const struct plan a = {3000, 5e6, 3e6, 1e6, 0.02, 1};
    const struct plan b = {40, 5.5e6, 3e6, 1e6, 0.02, 2};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&a, 1, &b, 1, runs);

    for (uint32_t i = 0; i < n_scopes; i++) {
        const struct compare_row *row = compare_row(c, i);
        struct scope_stats old, new;

        CHECK_INT(run_scope_stats(runs[0], i, RUN_ANY, &old, NULL), ASSAY_OK);
        CHECK_INT(run_scope_stats(runs[1], i, RUN_ANY, &new, NULL), ASSAY_OK);
        CHECK_NEAR(row->a_ns, old.mean_ns, 1e-3);
        CHECK_NEAR(row->b_ns, new.mean_ns, 1e-3);
        CHECK_NEAR(row->ratio, new.mean_ns / old.mean_ns, 1e-9);
    }
    plan_end(c, runs, 2);
}

/* Loading the weights takes longer than an iteration, and is in none. */
TEST(what_is_outside_the_iterations_is_apart)
{
    const struct plan plan = {30, 5e6, 3e6, 1e6, 0.02, 40};
    const struct run *runs[2];
    struct comparison *c;

    for (int i = 0; i < 2; i++) {
        struct run *run = plan_begin(&plan);
        uint32_t id;

        CHECK_INT(run_scope_add(run, RUN_ROOT, "weights", NULL, &id, NULL),
                  ASSAY_OK);
        plan_count(run, id, RUN_NONE, 200000000);
        CHECK_INT(run_seal(run, NULL), ASSAY_OK);
        runs[i] = run;
    }
    CHECK_INT(compare_new(&(struct compare_side){runs, 1},
                          &(struct compare_side){runs + 1, 1}, NULL, &c, NULL),
              ASSAY_OK);
    CHECK(compare_row(c, n_scopes)->is_outside);
    CHECK(isnan(compare_row(c, n_scopes)->ratio));
    CHECK_NEAR(compare_row(c, n_scopes)->share, 0, 0);
    CHECK(!compare_row(c, net)->is_outside);
    plan_end(c, runs, 2);
}

/* A model of `whole` ns with two modules: the host is in each for `host_ns`,
 * and a device for `device_ns`; 0: there is none. It is timed in every second
 * iteration. */
static struct run *run_on_device(int64_t host_ns, int64_t device_ns,
                                 int64_t whole)
{
    enum { n = 40 };
    uint32_t host, queue = 0, model, of[2];
    struct error err = {0};
    struct run *run;

    CHECK_INT(run_new(&run, &err), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &host, &err), ASSAY_OK);
    if (device_ns)
        CHECK_INT(run_thread_add(run, "queue", THREAD_DEVICE, &queue, &err),
                  ASSAY_OK);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "model", "", &model, &err),
              ASSAY_OK);
    CHECK_INT(run_scope_add(run, model, "a", "", &of[0], &err), ASSAY_OK);
    CHECK_INT(run_scope_add(run, model, "b", "", &of[1], &err), ASSAY_OK);
    for (uint32_t i = 0; i < n; i++) {
        int64_t noise = i * 7 % 5;
        struct sample samples[] = {
            {.scope = of[0], .duration_ns = host_ns + noise},
            {.scope = of[1], .duration_ns = host_ns + noise},
            {.scope = of[0], .thread = queue, .duration_ns = device_ns + noise},
            {.scope = of[1], .thread = queue, .duration_ns = device_ns + noise},
            {.scope = model, .duration_ns = whole},
            {.scope = RUN_ROOT, .duration_ns = whole},
        };

        for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
            bool is_device = k == 2 || k == 3;

            if (is_device && (!device_ns || i % 2))
                continue;
            samples[k].thread = is_device ? queue : host;
            samples[k].self_ns = k < 4 ? samples[k].duration_ns : 0;
            samples[k].iteration = i;
            samples[k].bytes = samples[k].peak_bytes = RUN_UNKNOWN;
            CHECK_INT(run_count(run, &samples[k], &err), ASSAY_OK);
        }
    }
    if (device_ns)
        CHECK_INT(run_fact_set(run, RUN_DEVICE_TIMED, "20", &err), ASSAY_OK);
    CHECK_INT(run_seal(run, &err), ASSAY_OK);
    return run;
}

TEST(modules_that_a_device_ran_are_compared_by_its_time)
{
    struct run *cpu = run_on_device(50000, 0, 110000);
    struct run *gpu = run_on_device(1000, 10000, 33000);
    const struct run *runs[] = {cpu, gpu};
    struct compare_side a = {runs, 1}, b = {runs + 1, 1};
    struct compare_options options = {0};
    const struct compare_row *row;
    struct comparison *c;

    CHECK_INT(compare_new(&a, &b, &options, &c, NULL), ASSAY_OK);
    row = compare_row(c, 2);
    CHECK(!row->a_is_device && row->b_is_device);
    CHECK_NEAR(row->a_ns, 50000, 5);
    CHECK_NEAR(row->b_ns, 10000, 5);
    CHECK_NEAR(row->ratio, 0.2, 0.001);
    CHECK(row->is_significant);
    CHECK_INT(row->n_least, 20);
    /* The host waits in the model until all of it is done. */
    CHECK(!compare_row(c, 1)->b_is_device);
    CHECK_NEAR(compare_row(c, 1)->b_ns, 33000, 1);
    compare_free(c);
    run_free(cpu);
    run_free(gpu);
}

/* Queues that work at the same time add up to more than an iteration. */
TEST(an_iteration_takes_as_long_as_on_the_host_whatever_devices_did)
{
    struct run *cpu = run_on_device(50000, 0, 110000);
    struct run *gpu = run_on_device(1000, 10000, 12000);
    const struct run *runs[] = {cpu, gpu};
    struct compare_side a = {runs, 1}, b = {runs + 1, 1};
    struct compare_options options = {0};
    struct comparison *c;

    CHECK_INT(compare_new(&a, &b, &options, &c, NULL), ASSAY_OK);
    CHECK(!compare_row(c, 0)->b_is_device);
    CHECK_NEAR(compare_row(c, 0)->b_ns, 12000, 1);
    compare_free(c);
    run_free(cpu);
    run_free(gpu);
}

TEST(modules_that_took_longer_to_launch_are_compared_by_the_hosts_time)
{
    struct run *cpu = run_on_device(50000, 0, 110000);
    struct run *gpu = run_on_device(10000, 1000, 33000);
    const struct run *runs[] = {cpu, gpu};
    struct compare_side a = {runs, 1}, b = {runs + 1, 1};
    struct compare_options options = {0};
    struct comparison *c;

    CHECK_INT(compare_new(&a, &b, &options, &c, NULL), ASSAY_OK);
    CHECK(!compare_row(c, 2)->b_is_device);
    CHECK_NEAR(compare_row(c, 2)->b_ns, 10000, 5);
    compare_free(c);
    run_free(cpu);
    run_free(gpu);
}

TEST(senseless_requests_are_refused)
{
    const struct plan plan = {5, 5e6, 3e6, 1e6, 0.02, 1};
    const struct run *run = plan_run(&plan);
    struct compare_side side = {&run, 1}, none = {&run, 0};
    struct comparison *c;
    struct error err = {0};

    CHECK_INT(compare_new(&none, &side, NULL, &c, &err), ASSAY_BAD_USAGE);
    CHECK(c == NULL);
    CHECK_HAS(err.text, "at least one run on each side");
    err = (struct error){0};
    CHECK_INT(compare_new(&side, &side,
                          &(struct compare_options){.confidence = 1.5}, &c,
                          &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "1.5");
    run_free((struct run *)run);
}

TEST(a_higher_confidence_makes_wider_intervals)
{
    const struct plan plan = {50, 5e6, 3e6, 1e6, 0.02, 1};
    const struct run *run = plan_run(&plan);
    struct compare_side side = {&run, 1};
    struct comparison *c[2];

    CHECK_INT(compare_new(&side, &side, NULL, &c[0], NULL), ASSAY_OK);
    CHECK_INT(compare_new(&side, &side,
                          &(struct compare_options){.confidence = 0.999}, &c[1],
                          NULL),
              ASSAY_OK);
    CHECK_NEAR(compare_confidence(c[0]), 0.95, 0);
    CHECK(compare_row(c[1], conv)->high >
          1.2 * compare_row(c[0], conv)->high - 0.2);
    compare_free(c[0]);
    compare_free(c[1]);
    run_free((struct run *)run);
}

TEST(comparing_leaks_nothing_whichever_allocation_fails)
{
    const struct plan plan = {6, 5e6, 3e6, 1e6, 0.02, 1};
    const struct run *runs[3] = {plan_run(&plan), plan_run(&plan),
                                 plan_run(&plan)};
    struct compare_side a = {runs, 2}, b = {runs + 2, 1};
    long before = mem_live(), nth = 0;
    struct comparison *c;
    enum assay_status st;

    do {
        struct error err = {0};

        mem_fail_at(nth++);
        st = compare_new(&a, &b, NULL, &c, &err);
        mem_fail_at(-1);
        CHECK(st == ASSAY_OK || (c == NULL && err.text[0]));
        compare_free(c);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    for (size_t i = 0; i < 3; i++)
        run_free((struct run *)runs[i]);
}
