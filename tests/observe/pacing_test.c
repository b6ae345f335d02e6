/* How many iterations are measured, and what recording costs. */
#include "base/mem.h"
#include "observe/bare.h"
#include "observe/pacing.h"
#include "test.h"

#include <math.h>

static struct error err;

/* Adds iterations of these lengths in turn until it says stop, or 1000. */
static uint64_t measure(struct pacing *pacing, const int64_t *lengths, size_t n)
{
    uint64_t done = 0;

    while (done < 1000 && pacing_goes_on(pacing)) {
        int64_t length = lengths[done++ % n];

        CHECK_STATUS(pacing_add(pacing, length, length, &err), ASSAY_OK, &err);
    }
    return done;
}

TEST(without_a_goal_the_requested_number_is_measured)
{
    struct pacing pacing = {.least = 7, .round = 2, .limit_ns = 1};
    const int64_t lengths[] = {100};

    CHECK_INT(measure(&pacing, lengths, 1), 7);
    CHECK_INT(pacing.end, PACING_COUNTED);
    CHECK(isnan(pacing_precision(&pacing)));
    pacing_release(&pacing);
}

/* Equal iterations have an interval of width 0, from the sixth on. */
TEST(equal_iterations_end_as_soon_as_they_can_be_judged)
{
    struct pacing pacing = {
        .least = 5, .round = 1, .goal = 0.02, .limit_ns = INT64_MAX};
    const int64_t lengths[] = {100};

    CHECK_INT(measure(&pacing, lengths, 1), 12);
    CHECK_INT(pacing.end, PACING_PRECISE);
    pacing_release(&pacing);
}

TEST(long_equal_iterations_end_as_soon_as_there_is_an_interval)
{
    struct pacing pacing = {
        .least = 5, .round = 1, .goal = 0.02, .limit_ns = INT64_MAX};
    const int64_t lengths[] = {INT64_C(2) * 1000 * 1000 * 1000};

    CHECK_INT(measure(&pacing, lengths, 1), 6);
    CHECK_INT(pacing.end, PACING_PRECISE);
    CHECK(pacing_precision(&pacing) == 0);
    pacing_release(&pacing);
}

TEST(the_goal_is_checked_after_whole_rounds)
{
    struct pacing pacing = {
        .least = 4, .round = 4, .goal = 0.02, .limit_ns = INT64_MAX};
    const int64_t lengths[] = {100};

    CHECK_INT(measure(&pacing, lengths, 1), 12);
    pacing_release(&pacing);
}

/* Half are 90 and half 110: no interval of the median is below 20 %. */
TEST(a_goal_that_is_not_met_ends_with_the_time)
{
    struct pacing pacing = {
        .least = 4, .round = 1, .goal = 0.02, .limit_ns = 5000};
    const int64_t lengths[] = {90, 110};

    CHECK_INT(measure(&pacing, lengths, 2), 50);
    CHECK_INT(pacing.end, PACING_OUT_OF_TIME);
    CHECK(fabs(pacing_precision(&pacing) - 0.1) < 1e-9);
    pacing_release(&pacing);
}

TEST(every_photograph_is_measured_once_however_long_it_takes)
{
    struct pacing pacing = {
        .least = 9, .round = 9, .goal = 0.02, .limit_ns = 1};
    const int64_t lengths[] = {90, 110};

    CHECK_INT(measure(&pacing, lengths, 2), 9);
    pacing_release(&pacing);
}

TEST(durations_without_memory_are_reported)
{
    struct pacing pacing = {.least = 9, .round = 9, .goal = 0.02};

    mem_fail_at(0);
    CHECK_INT(pacing_add(&pacing, 1, 1, &err), ASSAY_NOMEM);
    mem_fail_at(-1);
    pacing_release(&pacing);
}

/* ---- what recording costs ---------------------------------------------- */

TEST(a_single_iteration_has_no_bare_one_next_to_it)
{
    struct bare bare = {0};
    size_t n = 0;

    CHECK(!bare_is_due(&bare, 0));
    CHECK(bare_is_due(&bare, 1));
    for (uint64_t i = 0; i < 1000; i++) {
        if (bare_is_due(&bare, i)) {
            bare_add(&bare, 101, 100);
            n++;
        }
    }
    CHECK_INT(n, BARE_MOST);
}

TEST(short_iterations_have_a_bare_one_each_and_long_ones_every_third)
{
    struct bare brief = {0}, slow = {0};

    for (uint64_t i = 0; i < 40; i++) {
        if (bare_is_due(&brief, i))
            bare_add(&brief, 5100000, 5000000);
        if (bare_is_due(&slow, i))
            bare_add(&slow, 51000000, 50000000);
    }
    CHECK_INT(brief.n, 39);
    CHECK_INT(slow.n, 13);
}

TEST(bare_iterations_come_first_and_last_in_turn)
{
    struct bare bare = {0};

    CHECK(!bare_comes_first(&bare));
    bare_add(&bare, 101, 100);
    CHECK(bare_comes_first(&bare));
    bare_add(&bare, 101, 100);
    CHECK(!bare_comes_first(&bare));
}

TEST(the_cost_is_the_median_of_the_pairs)
{
    const int64_t recorded[] = {102, 101, 190, 103, 100, 102};
    struct bare bare = {0};
    struct bare_cost cost;

    for (size_t i = 0; i < 5; i++)
        bare_add(&bare, recorded[i], 100);
    CHECK(!bare_cost(&bare, &cost));
    bare_add(&bare, recorded[5], 100);
    bare_add(&bare, 5, 0); /* took no time: no pair */
    CHECK_INT(bare.n, 6);
    CHECK(bare_cost(&bare, &cost));
    CHECK(fabs(cost.share - 0.02) < 1e-9);
    CHECK(fabs(cost.low - 0) < 1e-9);
    CHECK(fabs(cost.high - 0.9) < 1e-9);
}
