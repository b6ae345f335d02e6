/* tests/observe/shortage_test.c - observe/shortage.h. */
#include "observe/shortage.h"
#include "test.h"

enum { mib = 1 << 20 };

TEST(a_batch_that_could_fit_follows_from_what_each_image_needed)
{
    struct shortage shortage = {.available_bytes = (size_t)1000 * mib,
                                .fixed_bytes = (size_t)200 * mib,
                                .peak_bytes = (size_t)1800 * mib,
                                .batch = 16};

    CHECK_INT(shortage_batch(&shortage), 8);
}

TEST(what_ran_out_of_memory_never_fits)
{
    struct shortage shortage = {.available_bytes = (size_t)1000 * mib,
                                .fixed_bytes = (size_t)200 * mib,
                                .peak_bytes = (size_t)210 * mib,
                                .batch = 4};

    CHECK_INT(shortage_batch(&shortage), 3);
    shortage.peak_bytes = shortage.fixed_bytes;
    CHECK_INT(shortage_batch(&shortage), 3);
}

TEST(nothing_fits_where_the_weights_do_not)
{
    struct shortage shortage = {.available_bytes = (size_t)100 * mib,
                                .fixed_bytes = (size_t)200 * mib,
                                .peak_bytes = (size_t)300 * mib,
                                .batch = 4};

    CHECK_INT(shortage_batch(&shortage), 0);
}
