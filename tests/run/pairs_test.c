/* What run/compare.h and run/looks.h promise about runs that are measured in
 * turn. */
#include "run/looks.h"
#include "run/planned_run.h"
#include "test.h"

enum { n_pairs = 8 };

/* Compares n_pairs runs of either side whose paces are given. */
static struct comparison *compare_paces(const double *paces_a,
                                        const double *paces_b, bool are_pairs,
                                        const struct run **runs)
{
    struct compare_options how = {.are_pairs = are_pairs};
    struct comparison *c;

    for (size_t i = 0; i < 2 * n_pairs; i++) {
        double pace = i < n_pairs ? paces_a[i] : paces_b[i - n_pairs];
        struct plan plan = {20,         5e6 * pace, 3e6 * pace,
                            1e6 * pace, 0.005,      40 + i};

        runs[i] = plan_run(&plan);
    }
    CHECK_INT(compare_new(&(struct compare_side){runs, n_pairs},
                          &(struct compare_side){runs + n_pairs, n_pairs}, &how,
                          &c, NULL),
              ASSAY_OK);
    return c;
}

/* The machine gets slower by 40 % while B is 5 % slower than A throughout. */
TEST(what_slows_down_both_runs_of_a_pair_does_not_count)
{
    const struct run *runs[2 * n_pairs];
    double a[n_pairs], b[n_pairs];
    struct comparison *c;

    for (int i = 0; i < n_pairs; i++) {
        a[i] = 1 + 0.05 * i;
        b[i] = 1.05 * a[i];
    }
    c = compare_paces(a, b, true, runs);
    CHECK(compare_row(c, root)->is_significant);
    CHECK_NEAR(compare_row(c, root)->ratio, 1.05, 0.005);
    CHECK_NEAR(compare_row(c, root)->b_ns / compare_row(c, root)->a_ns,
               compare_row(c, root)->ratio, 1e-9);
    compare_free(c);
    CHECK_INT(compare_new(&(struct compare_side){runs, n_pairs},
                          &(struct compare_side){runs + n_pairs, n_pairs}, NULL,
                          &c, NULL),
              ASSAY_OK);
    CHECK(!compare_row(c, root)->is_significant);
    plan_end(c, runs, 2 * n_pairs);
}

TEST(a_pair_of_which_one_run_was_disturbed_is_left_out)
{
    static const double a[] = {1, 1, 1, 1.8, 1, 1, 1, 1};
    static const double b[] = {1, 1.01, 1, 1, 1, 0.99, 1, 1};
    static const double half[] = {1.8, 1, 1.5, 1.8, 1, 1.6, 1, 1};
    const struct run *runs[2 * n_pairs];
    struct comparison *c = compare_paces(a, b, true, runs);

    CHECK_INT(compare_pairs_left_out(c), 1);
    CHECK_NEAR(compare_row(c, root)->ratio, 1, 0.01);
    CHECK_NEAR(compare_row(c, root)->a_ns, 9.001e6, 2e4);
    plan_end(c, runs, 2 * n_pairs);
    c = compare_paces(half, b, true, runs); /* this is how it runs */
    CHECK_INT(compare_pairs_left_out(c), 0);
    plan_end(c, runs, 2 * n_pairs);
}

/* The first run of A is three times as slow and too short to be tested, so its
 * partner does not count either: the figures are those of the percentage. */
TEST(the_figures_leave_out_a_run_whose_partner_could_not_be_tested)
{
    const struct run *runs[2 * n_pairs];
    struct compare_options how = {.are_pairs = true};
    struct comparison *c;

    for (size_t i = 0; i < 2 * n_pairs; i++) {
        double pace = i == 0 || i == n_pairs ? 3 : i < n_pairs ? 1 : 1.1;
        struct plan plan = {i == 0 ? 3 : 20, 5e6 * pace, 3e6 * pace,
                            1e6 * pace,      0.005,      40 + i};

        runs[i] = plan_run(&plan);
    }
    CHECK_INT(compare_new(&(struct compare_side){runs, n_pairs},
                          &(struct compare_side){runs + n_pairs, n_pairs}, &how,
                          &c, NULL),
              ASSAY_OK);
    CHECK_NEAR(compare_row(c, root)->ratio, 1.1, 0.01);
    CHECK_NEAR(compare_row(c, root)->b_ns / compare_row(c, root)->a_ns,
               compare_row(c, root)->ratio, 1e-9);
    plan_end(c, runs, 2 * n_pairs);
}

TEST(pairs_need_as_many_runs_on_each_side)
{
    const struct plan plan = {20, 5e6, 3e6, 1e6, 0.02, 1};
    const struct run *runs[3] = {plan_run(&plan), plan_run(&plan),
                                 plan_run(&plan)};
    struct compare_options how = {.are_pairs = true};
    struct error err = {0};
    struct comparison *c;

    CHECK_INT(compare_new(&(struct compare_side){runs, 2},
                          &(struct compare_side){runs + 2, 1}, &how, &c, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "2 and 1");
    for (int i = 0; i < 3; i++)
        run_free((struct run *)runs[i]);
}

TEST(every_further_look_makes_the_intervals_wider)
{
    const struct plan plan = {50, 5e6, 3e6, 1e6, 0.02, 1};
    const struct run *run = plan_run(&plan);
    struct compare_side side = {&run, 1};
    double high[2];

    for (size_t i = 0; i < 2; i++) {
        struct compare_options how = {.n_looks = i == 0 ? 1 : 5};
        struct comparison *c;

        CHECK_INT(compare_new(&side, &side, &how, &c, NULL), ASSAY_OK);
        high[i] = compare_row(c, conv)->high;
        compare_free(c);
    }
    CHECK(high[1] > 1 + 1.1 * (high[0] - 1));
    run_free((struct run *)run);
}

TEST(looks_are_planned_and_the_last_pair_is_looked_at)
{
    static const size_t due[] = {4, 6, 9, 14, 20};
    const struct looks looks = {.most = 20}, few = {.most = 2};
    size_t next = 0;

    for (size_t n = 1; n <= looks.most; n++) {
        CHECK(looks_is_due(&looks, n) == (n == due[next]));
        next += looks_is_due(&looks, n);
    }
    CHECK_INT(looks_count(&looks), 5);
    CHECK(!looks_is_due(&few, 1) && looks_is_due(&few, 2));
    CHECK_INT(looks_count(&few), 1);
}
