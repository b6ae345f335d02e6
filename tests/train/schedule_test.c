/* tests/train/schedule_test.c - train/schedule.h. */
#include "test.h"
#include "train/schedule.h"

TEST(without_a_schedule_the_rate_is_constant)
{
    struct schedule schedule = {.learning_rate = 0.02, .gamma = 0.1};

    CHECK_NEAR(schedule_rate(&schedule, 0), 0.02, 0);
    CHECK_NEAR(schedule_rate(&schedule, 1000000), 0.02, 0);
}

/* The values of torch.optim.lr_scheduler.LinearLR(start_factor=0.001,
 * total_iters=4) from a rate of 1, by its formula. */
TEST(a_warm_up_rises_linearly_to_the_full_rate)
{
    struct schedule schedule = {.learning_rate = 1,
                                .warmup_steps = 4,
                                .warmup_factor = 0.001,
                                .gamma = 1};

    CHECK_NEAR(schedule_rate(&schedule, 0), 0.001, 1e-15);
    CHECK_NEAR(schedule_rate(&schedule, 1), 0.25075, 1e-15);
    CHECK_NEAR(schedule_rate(&schedule, 2), 0.5005, 1e-15);
    CHECK_NEAR(schedule_rate(&schedule, 3), 0.75025, 1e-15);
    CHECK_NEAR(schedule_rate(&schedule, 4), 1, 0);
    CHECK_NEAR(schedule_rate(&schedule, 5), 1, 0);
}

TEST(the_rate_drops_after_every_so_many_steps)
{
    struct schedule schedule = {.learning_rate = 8, .gamma = 0.5, .every = 10};

    CHECK_NEAR(schedule_rate(&schedule, 9), 8, 0);
    CHECK_NEAR(schedule_rate(&schedule, 10), 4, 0);
    CHECK_NEAR(schedule_rate(&schedule, 19), 4, 0);
    CHECK_NEAR(schedule_rate(&schedule, 30), 1, 0);
}

TEST(a_warm_up_and_a_drop_multiply)
{
    struct schedule schedule = {.learning_rate = 1,
                                .warmup_steps = 10,
                                .warmup_factor = 0,
                                .gamma = 0.1,
                                .every = 5};

    CHECK_NEAR(schedule_rate(&schedule, 5), 0.05, 1e-15);
}
