/* What run/compare.h promises about the gate: right answers for CI. */
#include "base/mem.h"
#include "run/planned_run.h"
#include "test.h"

#include <math.h>

/* The gate over one run per side, with one budget for all and one by name. */
static struct gate_result gate_of(const struct plan *a, const struct plan *b,
                                  double above, const char *scope,
                                  double scope_above)
{
    const struct run *runs[2];
    struct comparison *c = plan_compare(a, 1, b, 1, runs);
    struct budgets budgets = {0};
    struct gate_result result;
    struct error err = {0};

    CHECK_STATUS(budgets_add(&budgets, NULL, above, &err), ASSAY_OK, &err);
    if (scope)
        CHECK_STATUS(budgets_add(&budgets, scope, scope_above, &err), ASSAY_OK,
                     &err);
    CHECK_STATUS(compare_gate(c, &budgets, &result, &err), ASSAY_OK, &err);
    mem_free(result.rows);
    result.rows = NULL;
    budgets_release(&budgets);
    plan_end(c, runs, 2);
    return result;
}

TEST(steady_equal_runs_pass)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct plan a = {30, 5e6, 3e6, 1e6, 0.02, 2 * seed};
        struct plan b = {30, 5e6, 3e6, 1e6, 0.02, 2 * seed + 1};
        struct gate_result result = gate_of(&a, &b, 0.05, NULL, 0);

        CHECK_INT(result.gate, GATE_PASSED);
        CHECK_INT(result.row, RUN_NONE);
    }
}

TEST(the_whole_is_judged_first)
{
    struct plan a = {30, 5e6, 3e6, 1e6, 0.02, 1};
    struct plan b = {30, 6e6, 3e6, 1e6, 0.02, 2};
    struct gate_result result = gate_of(&a, &b, 0.05, NULL, 0);

    CHECK_INT(result.gate, GATE_FAILED);
    CHECK_INT(result.row, root);
    CHECK_NEAR(result.above, 0.05, 0);
    CHECK_INT(result.n_failed, 3); /* conv, net, the whole */
}

/* 20 % of a ninth is 2.2 % of the whole. */
TEST(a_module_decides_if_the_whole_is_within_its_budget)
{
    struct plan a = {30, 5e6, 1e6, 3e6, 0.02, 1};
    struct plan b = {30, 5e6, 1.2e6, 3e6, 0.02, 2};
    struct gate_result result = gate_of(&a, &b, 0.05, NULL, 0);

    CHECK_INT(result.gate, GATE_FAILED);
    CHECK_INT(result.row, pool);
    CHECK_INT(result.n_failed, 1);
}

/* 16 us that take 33 are 0.016 % of a run of 104 ms. */
TEST(a_change_below_the_floor_does_not_count)
{
    struct plan a = {60, 90e6, 16e3, 14e6, 0.001, 1};
    struct plan b = {60, 90e6, 33e3, 14e6, 0.001, 2};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&a, 1, &b, 1, runs);

    CHECK(compare_row(c, pool)->is_significant);
    CHECK(!compare_row(c, pool)->is_counted && !compare_row(c, pool)->is_cause);
    plan_end(c, runs, 2);
    CHECK_INT(gate_of(&a, &b, 0.05, NULL, 0).gate, GATE_PASSED);
    /* A budget that names the scope holds for any change. */
    CHECK_INT(gate_of(&a, &b, 0.05, "net.pool", 0.05).row, pool);
}

TEST(the_floor_can_be_set)
{
    struct plan a = {60, 90e6, 4e6, 10e6, 0.001, 1};
    struct plan b = {60, 90e6, 4.3e6, 10e6, 0.001, 2}; /* 0.29 % of it */
    const struct run *runs[2] = {plan_run(&a), plan_run(&b)};
    static const double floors[] = {0.005, 0.002};

    for (int i = 0; i < 2; i++) {
        struct compare_options how = {.floor = floors[i]};
        struct comparison *c;

        CHECK_INT(compare_new(&(struct compare_side){runs, 1},
                              &(struct compare_side){runs + 1, 1}, &how, &c,
                              NULL),
                  ASSAY_OK);
        CHECK(compare_row(c, pool)->is_significant);
        CHECK(compare_row(c, pool)->is_counted == (i == 1));
        compare_free(c);
    }
    run_free((struct run *)runs[0]);
    run_free((struct run *)runs[1]);
}

TEST(a_regression_within_its_budget_passes)
{
    struct plan a = {50, 5e6, 3e6, 1e6, 0.01, 1};
    struct plan b = {50, 5.2e6, 3e6, 1e6, 0.01, 2};

    CHECK_INT(gate_of(&a, &b, 0.05, NULL, 0).gate, GATE_PASSED);
    CHECK_INT(gate_of(&a, &b, 0.03, NULL, 0).gate, GATE_FAILED);
    CHECK_INT(gate_of(&a, &b, 0.03, "net.conv", 0.1).gate, GATE_PASSED);
    CHECK_INT(gate_of(&a, &b, 0.10, "net.*", 0.01).gate, GATE_FAILED);
    CHECK_INT(gate_of(&a, &b, 0.10, "net.con?", 0.01).gate, GATE_FAILED);
}

TEST(a_faster_scope_passes)
{
    struct plan a = {50, 5e6, 3e6, 1e6, 0.01, 1};
    struct plan b = {50, 3e6, 3e6, 1e6, 0.01, 2};

    CHECK_INT(gate_of(&a, &b, 0, NULL, 0).gate, GATE_PASSED);
}

TEST(short_noisy_equal_runs_are_noisy_and_do_not_fail)
{
    size_t n_noisy = 0, n_failed = 0;

    for (uint64_t seed = 0; seed < 60; seed++) {
        struct plan a = {6, 5e6, 3e6, 1e6, 0.25, 2 * seed};
        struct plan b = {6, 5e6, 3e6, 1e6, 0.25, 2 * seed + 1};
        struct gate_result result = gate_of(&a, &b, 0.05, NULL, 0);

        n_failed += result.gate == GATE_FAILED;
        n_noisy += result.gate == GATE_NOISY;
    }
    CHECK(20 * n_failed <= 60);
    /* With 25 % noise six iterations cannot show 5 %, unless the
     * estimate lies far below by chance. */
    CHECK(n_noisy >= 50);
}

TEST(too_few_iterations_are_too_noisy)
{
    struct plan a = {4, 5e6, 3e6, 1e6, 0.02, 1};
    struct plan b = {4, 9e6, 3e6, 1e6, 0.02, 2};
    struct gate_result result = gate_of(&a, &b, 0.05, NULL, 0);

    CHECK_INT(result.gate, GATE_NOISY);
    CHECK_INT(result.row, root);
    CHECK(result.more_iterations >= 5);
}

/* The suggested number of iterations does decide it. */
TEST(the_suggested_iterations_are_enough)
{
    size_t n_asked = 0, n_decided = 0;

    for (uint64_t seed = 0; seed < 30; seed++) {
        struct plan a = {10, 5e6, 3e6, 1e6, 0.10, 2 * seed};
        struct plan b = {10, 5e6, 3e6, 1e6, 0.10, 2 * seed + 1};
        struct gate_result result = gate_of(&a, &b, 0.05, NULL, 0);

        if (result.gate != GATE_NOISY || !result.more_iterations)
            continue;
        n_asked++;
        CHECK(result.more_iterations > 10);
        a.n_iterations = b.n_iterations = (uint32_t)result.more_iterations;
        n_decided += gate_of(&a, &b, 0.05, NULL, 0).gate != GATE_NOISY;
    }
    CHECK(n_asked >= 10);
    CHECK(3 * n_decided >= 2 * n_asked);
}

TEST(an_undecidable_budget_by_name_is_too_noisy)
{
    struct plan a = {30, 5e6, 3e4, 1e6, 0.02, 1};
    struct plan b = {30, 5e6, 3e4, 1e6, 0.02, 2};

    CHECK_INT(gate_of(&a, &b, 0.05, NULL, 0).gate, GATE_PASSED);
    CHECK_INT(gate_of(&a, &b, 0.05, "net.pool", 0.001).gate, GATE_NOISY);
    CHECK_INT(gate_of(&a, &b, 0.05, "net.p*", 0.001).gate, GATE_PASSED);
}

TEST(scopes_without_a_budget_are_not_judged)
{
    struct plan a = {30, 5e6, 3e6, 1e6, 0.02, 1};
    struct plan b = {30, 9e6, 3e6, 1e6, 0.02, 2};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&a, 1, &b, 1, runs);
    struct budgets budgets = {0};
    struct gate_result result;

    CHECK_INT(budgets_add(&budgets, "net.p*", 0.05, NULL), ASSAY_OK);
    CHECK_INT(compare_gate(c, &budgets, &result, NULL), ASSAY_OK);
    CHECK_INT(result.gate, GATE_PASSED);
    CHECK(!result.rows[conv].is_judged && result.rows[pool].is_judged);
    gate_result_release(&result);
    budgets_release(&budgets);
    plan_end(c, runs, 2);
}

TEST(a_budget_for_a_missing_scope_is_an_error)
{
    struct plan plan = {30, 5e6, 3e6, 1e6, 0.02, 1};
    const struct run *runs[2];
    struct comparison *c = plan_compare(&plan, 1, &plan, 1, runs);
    struct budgets budgets = {0};
    struct gate_result result;
    struct error err = {0};

    CHECK_INT(budgets_add(&budgets, "net.covn", 0.05, NULL), ASSAY_OK);
    CHECK_INT(compare_gate(c, &budgets, &result, &err), ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "'net.covn'");
    gate_result_release(&result);
    budgets_release(&budgets);
    plan_end(c, runs, 2);
}
