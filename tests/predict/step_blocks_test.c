/* tests/predict/step_blocks_test.c - the undisturbed time of a step. */
#include "predict/step_blocks.h"

#include "test.h"

enum { n_of_block = 25, n_steps = N_STEP_BLOCKS * n_of_block };

/* Blocks of 25 steps of about 1 ms; in one of two a neighbour takes a third. */
TEST(the_least_median_of_a_block_counts_not_the_least_step)
{
    double steps[2 * n_steps];
    size_t n = 0;

    for (int block = 0; block < N_STEP_BLOCKS; block++) {
        for (double spent = 0; spent < STEP_BLOCK_MS; spent += steps[n++])
            steps[n] = block % 2 ? 1.0 : 1.4;
        steps[n - 3] = 0.9; /* which a block has by chance */
        steps[n - 2] += 0.1;
    }
    CHECK_NEAR(step_blocks_of(steps, n).least_ms, 1, 1e-12);
}

static bool is_steady_with(double share_slow)
{
    double steps[n_steps];

    for (int i = 0; i < n_steps; i++)
        steps[i] = i / n_of_block < share_slow * N_STEP_BLOCKS ? 1.05 : 1.0;
    return step_blocks_of(steps, n_steps).is_steady;
}

TEST(steady_is_what_a_third_of_the_blocks_agree_about)
{
    CHECK(is_steady_with(0));
    CHECK(is_steady_with(0.25));
    CHECK(!is_steady_with(0.75));
}

TEST(a_step_longer_than_a_block_is_one)
{
    double steps[] = {90, 80, 81};
    struct step_blocks blocks = step_blocks_of(steps, 3);

    CHECK_NEAR(blocks.least_ms, 80, 1e-12);
    CHECK(blocks.is_steady);
    CHECK_NEAR(step_blocks_of(steps, 0).least_ms, 0, 0);
}

static cpu_set_t processors_now(void)
{
    cpu_set_t now;

    CPU_ZERO(&now);
    CHECK(sched_getaffinity(0, sizeof now, &now) == 0);
    return now;
}

/* Together the groups of odd blocks are all processors, each in one of them. */
TEST(blocks_share_the_processors_and_give_them_back)
{
    struct block_processors own = block_processors_find();
    int n_groups = own.n < N_STEP_GROUPS ? own.n : N_STEP_GROUPS;
    cpu_set_t seen, before = processors_now(), after;
    int n = 0;

    CPU_ZERO(&seen);
    for (int i = 0; i < n_groups; i++) {
        cpu_set_t now;

        block_processors_use(&own, 2 * (size_t)i + 1);
        now = processors_now();
        n += CPU_COUNT(&now);
        CPU_OR(&seen, &seen, &now);
    }
    CHECK_INT(n, own.n);
    CHECK(CPU_EQUAL(&seen, &before));
    block_processors_leave(&own);
    after = processors_now();
    CHECK(CPU_EQUAL(&after, &before));
}

/* A batch of many images is copied by several threads. */
TEST(every_other_block_has_all_processors)
{
    struct block_processors own = block_processors_find();
    cpu_set_t before = processors_now(), now;

    for (size_t i = 0; i < N_STEP_BLOCKS; i += 2) {
        block_processors_use(&own, i + 1);
        block_processors_use(&own, i);
        now = processors_now();
        CHECK(CPU_EQUAL(&now, &before));
    }
    block_processors_leave(&own);
}
