/* tests/session/warm_up_test.c - which photographs warm up, and how often. */
#include "session/warm_up_internal.h"

#include "base/mem.h"
#include "test.h"

/* Resized sizes whose batches alone are 96x64, 96x64 padded, 64x96, 128x64. */
static struct intake_size sizes[] = {{96, 64}, {90, 60}, {64, 96}, {128, 64}};

static struct warm_up plan_of(size_t n_photos, size_t batch, uint64_t n_frames,
                              uint64_t at_least)
{
    struct intake intake = {.sizes = sizes, .n = n_photos};
    struct warm_up plan;

    CHECK_INT(warm_up_plan(&plan, &intake, batch, n_frames, at_least, NULL),
              ASSAY_OK);
    return plan;
}

TEST(photographs_that_pad_to_one_size_are_warmed_up_once)
{
    struct warm_up plan = plan_of(4, 1, 8, 1);

    CHECK_INT(plan.n, 3);
    CHECK_INT(warm_up_photo(&plan, 0), 0);
    CHECK_INT(warm_up_photo(&plan, 1), 2);
    CHECK_INT(warm_up_photo(&plan, 2), 3);
    warm_up_release(&plan);
}

TEST(more_iterations_than_sizes_cycle_through_the_photographs)
{
    struct warm_up plan = plan_of(2, 1, 8, 4);

    CHECK_INT(plan.n, 4);
    CHECK_INT(warm_up_photo(&plan, 0), 0);
    CHECK_INT(warm_up_photo(&plan, 1), 0);
    CHECK_INT(warm_up_photo(&plan, 2), 1);
    CHECK_INT(warm_up_photo(&plan, 3), 0);
    warm_up_release(&plan);
}

TEST(sizes_that_are_not_measured_are_not_warmed_up)
{
    struct warm_up plan = plan_of(4, 1, 2, 1);

    CHECK_INT(plan.n, 1);
    warm_up_release(&plan);
}

/* Three photographs in pairs: 0 1, 2 0, 1 2; the last two are both 96x96. */
TEST(a_batch_has_the_size_of_its_largest_sides)
{
    struct warm_up plan = plan_of(3, 2, 9, 1);

    CHECK_INT(plan.n, 2);
    CHECK_INT(warm_up_photo(&plan, 0), 0);
    CHECK_INT(warm_up_photo(&plan, 1), 2);
    warm_up_release(&plan);
}

TEST(no_warm_up_means_none_whatever_the_sizes)
{
    struct warm_up plan = plan_of(4, 1, 8, 0);

    CHECK_INT(plan.n, 0);
    warm_up_release(&plan);
}

TEST(a_plan_without_memory_says_so_and_holds_nothing)
{
    struct intake intake = {.sizes = sizes, .n = 4};
    long before = mem_live();
    struct warm_up plan;

    mem_fail_at(0);
    CHECK_INT(warm_up_plan(&plan, &intake, 1, 4, 1, NULL), ASSAY_NOMEM);
    mem_fail_at(-1);
    warm_up_release(&plan);
    CHECK_INT(mem_live(), before);
}
