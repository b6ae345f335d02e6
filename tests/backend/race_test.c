/* tests/backend/race_test.c - when the times of kernels are enough to choose
 * by, and which are believed. Times are made up here. */
#include "test.h"

#include "backend/dnnl/race.h"

#include <stdio.h>

static struct candidates list;
static struct race race;

static void begin(size_t n)
{
    static const char *const names[] = {"winograd x", "direct y", "direct z"};

    list = (struct candidates){.n = n};
    race = (struct race){.list = &list};
    for (size_t i = 0; i < n; i++) {
        snprintf(list.items[i].name, sizeof list.items[i].name, "%s", names[i]);
        list.items[i].ms = -1;
    }
}

/* A round of two in which the second was disturbed so often. */
static void round_of_two(double first, double second, long n_switches)
{
    race_time(&race, 0, first, 0);
    race_time(&race, 1, second, n_switches);
    race.n_rounds++;
}

TEST(the_least_time_of_a_candidate_counts)
{
    begin(2);
    round_of_two(0.9, 0.5, 0);
    round_of_two(0.6, 0.7, 0);
    CHECK(list.items[0].ms == 0.6);
    CHECK(list.items[1].ms == 0.5);
}

TEST(one_that_takes_twice_as_long_has_lost_after_two_short_runs)
{
    begin(2);
    round_of_two(0.2, 0.5, 0);
    CHECK(!race_has_lost(&race, 1));
    CHECK(!race_is_decided(&race));
    round_of_two(0.2, 0.5, 0);
    CHECK(race_has_lost(&race, 1));
    CHECK(!race_has_lost(&race, 0));
    CHECK(race_is_decided(&race));
    CHECK(race_is_complete(&race));
}

TEST(one_that_was_disturbed_in_all_its_runs_has_not_lost)
{
    begin(2);
    round_of_two(0.2, 7, 1);
    round_of_two(0.2, 7, 2);
    CHECK(!race_has_lost(&race, 1));
    CHECK(!race_is_decided(&race));
    CHECK(!race_is_complete(&race));
    round_of_two(0.2, 0.1, 0);
    CHECK(!race_has_lost(&race, 0));
    CHECK(race_is_complete(&race));
    CHECK_INT(candidates_winner(&list), 1);
}

TEST(a_run_that_is_long_because_it_was_disturbed_is_not_taken_for_a_calm_one)
{
    begin(2);
    race_time(&race, 1, 25, 2); /* before the other one has a time */
    race_time(&race, 0, 0.2, 0);
    race_time(&race, 1, 25, 2);
    race_time(&race, 0, 0.2, 0);
    race.n_rounds = 2;
    CHECK(!race_has_lost(&race, 1));
    CHECK(!race_is_complete(&race));
}

TEST(long_runs_may_be_interrupted_every_ten_milliseconds)
{
    begin(2);
    round_of_two(40, 120, 12);
    CHECK(race_has_lost(&race, 1));
    CHECK(race_is_decided(&race));
    CHECK(race_is_complete(&race));
}

TEST(close_ones_run_again_but_not_without_end)
{
    int n = 0;

    begin(2);
    while (!race_is_decided(&race) && n < 100) {
        round_of_two(1.0, 1.1, 0);
        n++;
    }
    CHECK_INT(n, 16);
    CHECK(race_is_complete(&race));
    begin(2);
    for (n = 0; !race_is_decided(&race) && n < 100; n++)
        round_of_two(12, 13, 0);
    CHECK_INT(n, 3);
}

TEST(a_race_on_a_machine_that_is_never_calm_ends_and_is_not_complete)
{
    int n = 0;

    begin(2);
    for (; !race_is_decided(&race) && n < 100; n++)
        round_of_two(1, 8, 3);
    CHECK_INT(n, 16);
    CHECK(!race_is_complete(&race));
    race.trusts_any_time = true;
    CHECK(race_is_complete(&race));
    CHECK(race_has_lost(&race, 1));
}

TEST(a_race_without_a_time_of_every_candidate_is_not_complete)
{
    begin(3);
    round_of_two(1, 2, 0);
    round_of_two(1, 2, 0);
    CHECK(!race_is_complete(&race));
}

static size_t winner_of(double winograd_ms, double direct_ms)
{
    begin(2);
    list.items[0].ms = winograd_ms;
    list.items[1].ms = direct_ms;
    return candidates_winner(&list);
}

TEST(a_kernel_that_needs_more_memory_has_to_be_clearly_faster)
{
    CHECK_INT(winner_of(0.94, 1), 0);
    CHECK_INT(winner_of(0.96, 1), 1);
    CHECK_INT(winner_of(1, 0.96), 1);
    CHECK_INT(winner_of(-1, -1), 0);
    CHECK_INT(winner_of(1, -1), 0);
}
