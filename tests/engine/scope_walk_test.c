/* tests/engine/scope_walk_test.c - how fine a run's tree is. */
#include "record/recorded.h"
#include "small_graph.h"

#include "passes/fuse.h"

/* model: blocks (ModuleList) of two Blocks with conv, relu and an addition of
 * their own; head (Head) with two named ops. */
static struct small blocks_and_head(void)
{
    struct small small = small_new();
    uint32_t list = small_list(&small, GRAPH_NONE, "blocks");
    uint32_t x = small_input(&small), head;

    for (int i = 0; i < 2; i++) {
        uint32_t block = small_module(&small, list, i ? "1" : "0", "Block");
        uint32_t sum[2] = {x, small_conv(&small, block, x)};
        uint32_t relu = small_module(&small, block, "relu", "ReLU");

        sum[1] = small_op(&small, &op_relu, relu, NULL, sum[1]);
        x = small_node(&small, &op_add, block, NULL, sum, 2);
    }
    head = small_module(&small, GRAPH_NONE, "head", "Head");
    x = small_op(&small, &op_relu, head, "first", x);
    x = small_op(&small, &op_flatten, head, "second", x);
    small_output(&small, x);
    return small;
}

/* The run of two iterations. */
static struct run *record_walk(bool is_fused, enum engine_detail detail)
{
    struct small small = blocks_and_head();
    struct tensor x =
        small_ones(&small, (struct shape){.rank = 4, .dims = {1, 1, 8, 8}});
    struct engine *engine;
    struct run *run;

    if (is_fused)
        CHECK_INT(fuse_graph(small.graph, small.pool, NULL), ASSAY_OK);
    engine = small_engine(&small, NULL, detail);
    recorded_start(NULL);
    for (int i = 0; i < 2; i++) {
        struct tensor y;

        assay_iteration_begin();
        assay_begin_class("model", "Small");
        CHECK_INT(engine_run(engine, &x, &y, NULL), ASSAY_OK);
        assay_end();
        assay_iteration_end();
        tensor_release(&y);
    }
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    engine_free(engine);
    tensor_release(&x);
    small_free(&small);
    return run;
}

/* A scope has this many calls; -1: it is not there. */
struct wanted {
    const char *path;
    int calls;
};

static void check_tree(const struct run *run, const struct wanted *wanted,
                       size_t n)
{
    size_t n_there = 1; /* the root */

    for (size_t i = 0; i < n; i++) {
        if (wanted[i].calls < 0) {
            CHECK_INT(scope_at(run, wanted[i].path), RUN_NONE);
            continue;
        }
        CHECK_INT(stats_of(run, wanted[i].path).calls, wanted[i].calls);
        n_there++;
    }
    CHECK_INT(run_scope_count(run), n_there);
}

#define CHECK_TREE(run, wanted)                                                \
    check_tree(run, wanted, sizeof(wanted) / sizeof *(wanted))

static double total(const struct run *run, const char *path)
{
    return stats_of(run, path).total_ns;
}

TEST(ops_have_every_called_module_and_the_ops_with_a_name)
{
    static const struct wanted wanted[] = {
        {"model", 2},
        {"model.blocks", 0},
        {"model.blocks.0", 2},
        {"model.blocks.0.conv", 2},
        {"model.blocks.0.relu", 2},
        {"model.blocks.1", 2},
        {"model.blocks.1.conv", 2},
        {"model.blocks.1.relu", 2},
        {"model.head", 2},
        {"model.head.first", 2},
        {"model.head.second", 2},
    };
    struct run *run = record_walk(false, ENGINE_OPS);

    CHECK_TREE(run, wanted);
    CHECK_STR(run_scope(run, scope_at(run, "model.blocks"))->class_name,
              "ModuleList");
    CHECK_STR(run_scope(run, scope_at(run, "model.head.second"))->class_name,
              op_flatten.name);
    run_free(run);
}

/* As those are that have no parameters: "last" is declared first. */
TEST(the_tree_has_modules_in_the_order_in_which_they_run)
{
    struct small small = small_new();
    uint32_t x = small_input(&small);
    uint32_t last = small_module(&small, GRAPH_NONE, "last", "ReLU");
    uint32_t unused = small_module(&small, GRAPH_NONE, "unused", "Dropout");
    uint32_t first = small_module(&small, GRAPH_NONE, "first", "ReLU");
    struct tensor y,
        in =
            small_ones(&small, (struct shape){.rank = 4, .dims = {1, 1, 8, 8}});
    struct engine *engine;
    struct run *run;

    (void)unused;
    x = small_op(&small, &op_relu, first, NULL, x);
    x = small_op(&small, &op_relu, last, NULL, x);
    small_output(&small, x);
    engine = small_engine(&small, NULL, ENGINE_OPS);
    recorded_start(NULL);
    assay_iteration_begin();
    assay_begin_class("model", "Small");
    CHECK_INT(engine_run(engine, &in, &y, NULL), ASSAY_OK);
    assay_end();
    assay_iteration_end();
    run = recorded_stop();
    CHECK(scope_at(run, "model.first") < scope_at(run, "model.last"));
    CHECK_INT(scope_at(run, "model.unused"), RUN_NONE);
    run_free(run);
    tensor_release(&y);
    tensor_release(&in);
    engine_free(engine);
    small_free(&small);
}

TEST(modules_have_every_called_module_and_no_op)
{
    static const struct wanted wanted[] = {
        {"model", 2},
        {"model.blocks", 0},
        {"model.blocks.0", 2},
        {"model.blocks.0.conv", 2},
        {"model.blocks.0.relu", 2},
        {"model.blocks.1", 2},
        {"model.blocks.1.conv", 2},
        {"model.blocks.1.relu", 2},
        {"model.head", 2},
        {"model.head.first", -1},
    };
    struct run *run = record_walk(false, ENGINE_MODULES);

    CHECK_TREE(run, wanted);
    run_free(run);
}

TEST(leaves_have_modules_that_hold_no_other_and_ops_that_are_in_none)
{
    static const struct wanted wanted[] = {
        {"model", 2},
        {"model.blocks", 0},
        {"model.blocks.0", 0},
        {"model.blocks.0.conv", 2},
        {"model.blocks.0.relu", 2},
        {"model.blocks.0.Add", 2},
        {"model.blocks.1", 0},
        {"model.blocks.1.conv", 2},
        {"model.blocks.1.relu", 2},
        {"model.blocks.1.Add", 2},
        {"model.head", 2},
        {"model.head.first", -1},
    };
    struct run *run = record_walk(false, ENGINE_LEAVES);

    CHECK_TREE(run, wanted);
    run_free(run);
}

TEST(modules_that_were_fused_away_are_there_and_open_nothing)
{
    static const struct wanted modules[] = {
        {"model", 2},
        {"model.blocks", 0},
        {"model.blocks.0", 2},
        {"model.blocks.0.conv", 2},
        {"model.blocks.1", 2},
        {"model.blocks.1.conv", 2},
        {"model.head", 2},
        {"model.blocks.0.relu", 0},
        {"model.blocks.1.relu", 0},
    };
    static const struct wanted leaves[] = {
        {"model", 2},
        {"model.blocks", 0},
        {"model.blocks.0", 0}, /* it holds others, fused or not */
        {"model.blocks.0.conv", 2},
        {"model.blocks.0.Add", 2},
        {"model.blocks.1", 0},
        {"model.blocks.1.conv", 2},
        {"model.blocks.1.Add", 2},
        {"model.head", 2},
        {"model.blocks.0.relu", 0},
        {"model.blocks.1.relu", 0},
    };
    struct run *run = record_walk(true, ENGINE_MODULES);

    CHECK_TREE(run, modules);
    CHECK_INT(run_work(run, scope_at(run, "model.blocks.1.relu"))->done_by,
              scope_at(run, "model.blocks.1.conv"));
    run_free(run);
    run = record_walk(true, ENGINE_LEAVES);
    CHECK_TREE(run, leaves);
    run_free(run);
}

TEST(a_container_lasts_as_long_as_its_children)
{
    for (enum engine_detail i = ENGINE_LEAVES; i <= ENGINE_OPS; i++) {
        struct run *run = record_walk(false, i);

        CHECK_NEAR(total(run, "model.blocks"),
                   total(run, "model.blocks.0") + total(run, "model.blocks.1"),
                   0.5);
        CHECK_INT(stats_of(run, "model.blocks").calls, 0);
        run_free(run);
    }
}

TEST(the_model_keeps_what_no_measured_module_took)
{
    for (enum engine_detail i = ENGINE_LEAVES; i <= ENGINE_OPS; i++) {
        struct run *run = record_walk(false, i);
        struct scope_stats model = stats_of(run, "model");

        CHECK_NEAR(model.self_ns,
                   model.total_ns - total(run, "model.blocks") -
                       total(run, "model.head"),
                   0.5);
        run_free(run);
    }
}
