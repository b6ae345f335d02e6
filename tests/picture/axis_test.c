/* Places and ticks that a person can check. */
#include "picture/axis.h"
#include "test.h"

TEST(values_are_placed_in_proportion)
{
    struct axis axis = {.low = 10, .high = 20, .from = 100, .to = 0};

    CHECK_NEAR(axis_place(&axis, 10), 100, 1e-12);
    CHECK_NEAR(axis_place(&axis, 12.5), 75, 1e-12);
    CHECK_NEAR(axis_place(&axis, 20), 0, 1e-12);
}

TEST(on_a_logarithmic_axis_decades_are_equally_long)
{
    struct axis axis = {
        .low = 0.1, .high = 100, .from = 0, .to = 300, .is_log = true};

    CHECK_NEAR(axis_place(&axis, 1), 100, 1e-9);
    CHECK_NEAR(axis_place(&axis, 10), 200, 1e-9);
}

static void check_ticks(struct axis axis, size_t wanted, const double *want,
                        size_t n)
{
    struct ticks ticks = axis_ticks(&axis, wanted);

    CHECK_INT(ticks.n, n);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(ticks.values[i], want[i], 1e-9);
}

TEST(ticks_are_round_numbers_inside_the_axis)
{
    const double tens[] = {100, 120, 140, 160};
    const double tenths[] = {0, 0.1, 0.2, 0.3};
    const double decades[] = {0.1, 1, 10, 100, 1000, 10000};
    const double halves[] = {1, 2, 5, 10, 20};

    check_ticks((struct axis){.low = 95, .high = 171}, 5, tens, 4);
    check_ticks((struct axis){.low = 0, .high = 0.3}, 3, tenths, 4);
    check_ticks((struct axis){.low = 0.1, .high = 1e4, .is_log = true}, 6,
                decades, 6);
    check_ticks((struct axis){.low = 1, .high = 20, .is_log = true}, 6, halves,
                5);
}

TEST(an_axis_without_extent_has_no_ticks)
{
    CHECK_INT(axis_ticks(&(struct axis){.low = 5, .high = 5}, 5).n, 0);
    CHECK_INT(
        axis_ticks(&(struct axis){.low = 0, .high = 5, .is_log = true}, 5).n,
        0);
}

TEST(rounding_an_axis_moves_its_ends_outwards_to_ticks)
{
    struct axis axis = {.low = 13, .high = 87};
    struct axis decades = {.low = 3, .high = 700, .is_log = true};

    axis_round(&axis, 5);
    CHECK_NEAR(axis.low, 0, 1e-12);
    CHECK_NEAR(axis.high, 100, 1e-12);
    axis_round(&decades, 5);
    CHECK_NEAR(decades.low, 1, 1e-12);
    CHECK_NEAR(decades.high, 1000, 1e-9);
}
