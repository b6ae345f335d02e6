/* tests/record/ticks_test.c - converts time stamps to nanoseconds. */
#include "test.h"

#include "record/ticks_internal.h"

#include <time.h>

/* A counter of 3 GHz next to a clock that NTP slows down by 400 ppm from the
 * 100th second to the 200th. */
static int64_t slewed_ns(double seconds)
{
    double ns = seconds * 1e9;

    if (seconds > 200)
        ns -= 100 * 400e-6 * 1e9;
    else if (seconds > 100)
        ns -= (seconds - 100) * 400e-6 * 1e9;
    return 5000 + (int64_t)ns;
}

static struct ticks_pair pair_at(double seconds)
{
    return (struct ticks_pair){.ticks = 77 + (uint64_t)(seconds * 3e9),
                               .ns = slewed_ns(seconds)};
}

static struct ticks_map map_from(double first, double second)
{
    struct ticks_map map = {0};

    CHECK_INT(ticks_map_start(&map, pair_at(first), pair_at(second), NULL),
              ASSAY_OK);
    return map;
}

TEST(the_first_pairs_determine_the_rate)
{
    struct ticks_map map = map_from(0, 0.002);

    CHECK_INT(ticks_map_ns(&map, 77), 0);
    CHECK_NEAR((double)ticks_map_ns(&map, pair_at(0.01).ticks), 1e7, 1);
    CHECK_INT(ticks_map_ns(&map, 5), 0); /* before it began */
    ticks_map_release(&map);
}

TEST(the_map_follows_a_clock_that_is_being_adjusted)
{
    struct ticks_map map = map_from(0, 0.002);
    int64_t last = 0;

    for (int i = 1; i < 4000; i++) { /* passes of the writer, 0.1 s apart */
        double now = i * 0.1;
        int64_t want = slewed_ns(now) - slewed_ns(0), got;

        CHECK_INT(ticks_map_steer(&map, pair_at(now), NULL), ASSAY_OK);
        got = ticks_map_ns(&map, pair_at(now).ticks);
        CHECK(got >= last);
        CHECK_NEAR((double)got, (double)want, 1e-5 * (double)want + 1e6);
        last = got;
    }
    CHECK_NEAR((double)last, (double)(slewed_ns(399.9) - slewed_ns(0)), 1e6);
    ticks_map_release(&map);
}

TEST(results_never_change)
{
    struct ticks_map map = map_from(0, 0.002);
    enum { n_asked = 1000 };
    int64_t answers[n_asked];

    for (int i = 0; i < n_asked; i++) {
        double now = i * 0.15;

        /* a tick of another core that is a little ahead of the writer */
        answers[i] = ticks_map_ns(&map, pair_at(now).ticks + 500);
        CHECK_INT(ticks_map_steer(&map, pair_at(now), NULL), ASSAY_OK);
    }
    CHECK(map.n_pieces > 50);
    for (int i = 0; i < n_asked; i++)
        CHECK_INT(ticks_map_ns(&map, pair_at(i * 0.15).ticks + 500),
                  answers[i]);
    ticks_map_release(&map);
}

TEST(the_map_stays_small_over_a_year)
{
    struct ticks_map map = map_from(0, 0.002);

    for (int minute = 0; minute < 365 * 24 * 60; minute++)
        CHECK_INT(ticks_map_steer(&map, pair_at(minute * 60.0), NULL),
                  ASSAY_OK);
    CHECK(map.n_pieces <= 365 * 24 * 60 + 1);
    for (int i = 0; i < 100; i++) /* no longer one per pass */
        CHECK_INT(
            ticks_map_steer(&map, pair_at(365 * 86400.0 + i * 0.05), NULL),
            ASSAY_OK);
    CHECK(map.n_pieces <= 365 * 24 * 60 + 2);
    ticks_map_release(&map);
}

TEST(over_a_second_it_agrees_with_the_system_clock)
{
    static const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    static const struct timespec baseline = {.tv_nsec = 2 * 1000 * 1000};
    struct ticks_pair first, now;
    struct ticks_map map = {0};
    double want, got;

    ticks_choose();
    first = ticks_pair_now();
    nanosleep(&baseline, NULL);
    CHECK_INT(ticks_map_start(&map, first, ticks_pair_now(), NULL), ASSAY_OK);
    do {
        nanosleep(&pause, NULL);
        now = ticks_pair_now();
        CHECK_INT(ticks_map_steer(&map, now, NULL), ASSAY_OK);
    } while (now.ns - first.ns < 1000 * 1000 * 1000);
    want = (double)(now.ns - first.ns);
    got = (double)ticks_map_ns(&map, now.ticks);
    CHECK_NEAR(got / want, 1, 1e-5);
    ticks_map_release(&map);
}

TEST(time_stamps_never_go_back)
{
    uint64_t last = 0;

    ticks_choose();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = ticks_now();

        CHECK(now >= last);
        last = now;
    }
}
