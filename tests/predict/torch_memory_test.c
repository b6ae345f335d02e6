/* tests/predict/torch_memory_test.c - what PyTorch takes of a GPU's memory:
 * its pool's rules, and what PyTorch 2.11 itself reported on an H200
 * (torch.cuda.max_memory_allocated and max_memory_reserved). */
#include "predict/torch_memory.h"

#include "models/models.h"
#include "predict/torch_pool.h"
#include "test.h"

static const double mib = 0x1p20;

TEST(a_pool_takes_segments_of_2_and_20_mib_and_whole_ones)
{
    struct torch_pool pool = {0};
    uint32_t block;

    CHECK(torch_pool_take(&pool, 1, &block));
    CHECK_INT((int64_t)pool.used, 512);
    CHECK_INT((int64_t)pool.reserved, 2 << 20);
    CHECK(torch_pool_take(&pool, mib, &block)); /* fits into the same one */
    CHECK_INT((int64_t)pool.reserved, 2 << 20);
    CHECK(torch_pool_take(&pool, 3 * mib, &block));
    CHECK_INT((int64_t)pool.reserved, 22 << 20);
    CHECK(torch_pool_take(&pool, 11 * mib, &block)); /* into what is left */
    CHECK_INT((int64_t)pool.reserved, 22 << 20);
    CHECK(torch_pool_take(&pool, 11 * mib, &block));
    CHECK_INT((int64_t)pool.reserved, 34 << 20);
    torch_pool_release(&pool);
}

TEST(what_is_freed_is_kept_joined_and_used_again)
{
    struct torch_pool pool = {0};
    uint32_t a, b, c, d;

    CHECK(torch_pool_take(&pool, 6 * mib, &a)); /* 20 MiB in three parts */
    CHECK(torch_pool_take(&pool, 6 * mib, &b));
    CHECK(torch_pool_take(&pool, 8 * mib, &c));
    CHECK_INT((int64_t)pool.reserved, 20 << 20);
    torch_pool_give(&pool, a);
    torch_pool_give(&pool, c);
    torch_pool_give(&pool, b);
    CHECK_INT((int64_t)pool.used, 0);
    CHECK_INT((int64_t)pool.peak, 20 << 20);
    CHECK(torch_pool_take(&pool, 19.5 * mib, &d));
    CHECK_INT((int64_t)pool.reserved, 20 << 20);
    /* Less than 1 MiB is not worth a block. */
    CHECK_INT((int64_t)pool.used, 20 << 20);
    torch_pool_release(&pool);
}

TEST(the_smallest_block_that_is_large_enough_is_taken)
{
    struct torch_pool pool = {0};
    uint32_t large, small, again;

    CHECK(torch_pool_take(&pool, 40 * mib, &large));
    CHECK(torch_pool_take(&pool, 30 * mib, &small));
    torch_pool_give(&pool, large);
    torch_pool_give(&pool, small);
    CHECK(torch_pool_take(&pool, 29.5 * mib, &again));
    CHECK_INT(again, small);
    CHECK(torch_pool_take(&pool, 40 * mib, &again));
    CHECK_INT((int64_t)pool.reserved, 70 << 20);
    torch_pool_release(&pool);
}

/* Within so many percent of what PyTorch said. */
static void check_memory(const char *name, int64_t batch, bool is_training,
                         double used_mb, double reserved_mb, double percent)
{
    struct model_options options = model_options_for(name, MODEL_IMAGENET);
    struct shape input =
        shape_of(4, (int64_t)1, (int64_t)3, (int64_t)224, (int64_t)224);
    struct survey survey = {0};
    struct graph *graph = NULL;
    struct torch_memory memory;
    struct error err = {0};

    CHECK_STATUS(model_build(name, &options, &graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(survey_graph(&survey, graph, &input, &err), ASSAY_OK, &err);
    CHECK_STATUS(
        torch_memory_of(graph, &survey, 1, batch, is_training, &memory, &err),
        ASSAY_OK, &err);
    test_check_near(memory.used_mb, used_mb, 0.02 * used_mb, name, __FILE__,
                    __LINE__);
    test_check_near(memory.reserved_mb, reserved_mb,
                    percent / 100 * reserved_mb, name, __FILE__, __LINE__);
    survey_release(&survey);
    graph_free(graph);
}

TEST(tensors_take_what_pytorch_says_in_inference)
{
    check_memory("resnet18", 128, false, 1009.7, 1464, 1);
    check_memory("mobilenet_v2", 128, false, 1296.6, 1672, 5);
    check_memory("squeezenet1_0", 128, false, 1266.2, 1288, 1);
    check_memory("resnet50", 128, false, 1381.2, 1838, 1);
}

TEST(tensors_take_what_pytorch_says_in_training)
{
    check_memory("resnet18", 128, true, 2930.1, 5102, 7);
    check_memory("mobilenet_v2", 128, true, 9732.5, 10866, 2);
    check_memory("squeezenet1_0", 128, true, 4530.1, 6552, 5);
    check_memory("resnet50", 128, true, 10863.5, 13108, 8);
}

TEST(a_batch_of_one_is_mostly_weights_and_workspaces)
{
    check_memory("resnet18", 1, true, 246.1, 280, 1);
    check_memory("resnet50", 1, false, 143.1, 176, 2);
}
