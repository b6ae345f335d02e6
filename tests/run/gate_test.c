/* What run/compare.h promises about the gate: right answers for CI. */
#include "run/planned_run.h"
#include "test.h"

#include <math.h>

/* The gate over one run a side, with one budget for all and one by name. */
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
    budgets_release(&budgets);
    plan_end(c, runs, 2);
    return result;
}

TEST(steady_runs_that_are_alike_pass)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct plan a = {30, 5e6, 3e6, 1e6, 0.02, 2 * seed};
        struct plan b = {30, 5e6, 3e6, 1e6, 0.02, 2 * seed + 1};
        struct gate_result result = gate_of(&a, &b, 0.05, NULL, 0);

        CHECK_INT(result.gate, GATE_PASSED);
        CHECK_INT(result.row, RUN_NONE);
    }
}

TEST(a_clear_regression_fails_and_its_cause_is_named)
{
    struct plan a = {30, 5e6, 3e6, 1e6, 0.02, 1};
    struct plan b = {30, 6e6, 3e6, 1e6, 0.02, 2};
    struct gate_result result = gate_of(&a, &b, 0.05, NULL, 0);

    CHECK_INT(result.gate, GATE_FAILED);
    CHECK_INT(result.row, conv);
    CHECK_NEAR(result.above, 0.05, 0);
    CHECK_INT(result.n_failed, 3); /* conv, net, the whole */
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

TEST(what_became_faster_passes)
{
    struct plan a = {50, 5e6, 3e6, 1e6, 0.01, 1};
    struct plan b = {50, 3e6, 3e6, 1e6, 0.01, 2};

    CHECK_INT(gate_of(&a, &b, 0, NULL, 0).gate, GATE_PASSED);
}

TEST(short_noisy_runs_that_are_alike_are_noisy_and_do_not_fail)
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
    /* A quarter of noise in six iterations cannot show 5 %, except where the
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

/* The iterations that are asked for do decide it. */
TEST(the_iterations_that_are_wanted_are_enough)
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

TEST(a_budget_by_name_that_cannot_be_decided_is_too_noisy)
{
    struct plan a = {30, 5e6, 3e4, 1e6, 0.02, 1};
    struct plan b = {30, 5e6, 3e4, 1e6, 0.02, 2};

    CHECK_INT(gate_of(&a, &b, 0.05, NULL, 0).gate, GATE_PASSED);
    CHECK_INT(gate_of(&a, &b, 0.05, "net.pool", 0.001).gate, GATE_NOISY);
    CHECK_INT(gate_of(&a, &b, 0.05, "net.p*", 0.001).gate, GATE_PASSED);
}

TEST(without_a_budget_that_fits_nothing_is_judged)
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
    budgets_release(&budgets);
    plan_end(c, runs, 2);
}

TEST(a_budget_for_a_scope_that_is_not_there_is_an_error)
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
    budgets_release(&budgets);
    plan_end(c, runs, 2);
}
