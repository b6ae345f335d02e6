/* tests/observe/photo_times_test.c - how much photographs differ. */
#include "observe/photo_times.h"

#include "base/mem.h"
#include "test.h"

static struct photo_times times_of(size_t n, uint64_t runs)
{
    struct photo_times times;

    CHECK_INT(photo_times_init(&times, n, runs, NULL), ASSAY_OK);
    return times;
}

TEST(the_spread_is_over_the_medians_of_photographs_not_their_runs)
{
    static const int64_t ns[3][3] = {{10, 900, 20}, {31, 33, 32}, {5, 7, 99}};
    struct photo_times times = times_of(3, 9);
    struct photo_median fastest, slowest;
    uint64_t runs;

    for (size_t run = 0; run < 3; run++) {
        for (size_t photo = 0; photo < 3; photo++)
            photo_times_add(&times, photo, ns[photo][run], (int64_t)photo * 10);
    }
    CHECK(photo_times_spread(&times, &fastest, &slowest, &runs));
    CHECK_INT(fastest.photo, 2);
    CHECK_INT(fastest.median_ns, 7);
    CHECK_INT(slowest.photo, 1);
    CHECK_INT(slowest.median_ns, 32);
    CHECK_INT(slowest.detections, 10);
    CHECK_INT(runs, 3);
    photo_times_release(&times);
}

TEST(the_median_of_an_even_number_of_runs_lies_between_the_middle_two)
{
    struct photo_times times = times_of(2, 4);
    struct photo_median fastest, slowest;
    uint64_t runs;

    photo_times_add(&times, 0, 10, 0);
    photo_times_add(&times, 0, 20, 0);
    photo_times_add(&times, 1, 40, 0);
    photo_times_add(&times, 1, 40, 0);
    CHECK(photo_times_spread(&times, &fastest, &slowest, &runs));
    CHECK_INT(fastest.median_ns, 15);
    photo_times_release(&times);
}

TEST(photographs_that_did_not_all_run_have_no_spread)
{
    struct photo_times times = times_of(2, 1);
    struct photo_median fastest, slowest;
    uint64_t runs;

    photo_times_add(&times, 0, 10, 0);
    CHECK(!photo_times_spread(&times, &fastest, &slowest, &runs));
    photo_times_release(&times);
}

TEST(one_photograph_has_no_spread)
{
    struct photo_times times = times_of(1, 5);
    struct photo_median fastest, slowest;
    uint64_t runs;

    photo_times_add(&times, 0, 10, 0);
    CHECK(!photo_times_spread(&times, &fastest, &slowest, &runs));
    photo_times_release(&times);
}

TEST(runs_beyond_those_kept_are_still_counted)
{
    struct photo_times times = times_of(2, 2000000000);
    struct photo_median fastest, slowest;
    uint64_t runs;

    for (int i = 0; i < 500; i++) {
        photo_times_add(&times, 0, 10, 0);
        photo_times_add(&times, 1, 20, 0);
    }
    CHECK(photo_times_spread(&times, &fastest, &slowest, &runs));
    CHECK_INT(runs, 500);
    CHECK_INT(slowest.median_ns, 20);
    photo_times_release(&times);
}

TEST(a_failing_allocation_is_reported_and_leaves_nothing)
{
    long before = mem_live();

    for (long nth = 0; nth < 2; nth++) {
        struct photo_times times;

        mem_fail_at(nth);
        CHECK_INT(photo_times_init(&times, 3, 3, NULL), ASSAY_NOMEM);
        mem_fail_at(-1);
        CHECK_INT(mem_live(), before);
    }
}
