/* tests/record/group_test.c - places in the tree that are not measured. */
#include "recorded.h"

#include "base/mem.h"
#include "record/thread_buffer_internal.h"

static void span(const char *name, int64_t us)
{
    assay_begin(name);
    spin_us(us);
    assay_end();
}

TEST(a_group_is_the_sum_of_its_children_and_has_no_calls)
{
    struct scope_stats group, a, b;
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < 3; i++) {
        group_begin("blocks", "ModuleList");
        span("a", 200);
        spin_us(2000);
        span("b", 100);
        record_group_end();
    }
    run = recorded_stop();
    group = stats_of(run, "blocks");
    a = stats_of(run, "blocks.a");
    b = stats_of(run, "blocks.b");
    CHECK_STR(run_scope(run, scope_at(run, "blocks"))->class_name,
              "ModuleList");
    CHECK_INT(group.calls, 0);
    CHECK_INT(a.calls, 3);
    CHECK_NEAR(group.total_ns, a.total_ns + b.total_ns, 0.5);
    CHECK_NEAR(group.self_ns, 0, 0);
    CHECK_INT(run_kept_count(run), 6);
    run_free(run);
}

TEST(the_span_around_a_group_includes_what_is_inside)
{
    struct scope_stats outer, inner, leaf, beside;
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < 3; i++) {
        assay_begin("outer");
        spin_us(100);
        group_begin("group", NULL);
        group_begin("deeper", NULL);
        assay_begin("inner");
        group_begin("last", NULL);
        span("leaf", 300);
        record_group_end();
        assay_end();
        record_group_end();
        record_group_end();
        span("beside", 50);
        assay_end();
    }
    run = recorded_stop();
    outer = stats_of(run, "outer");
    inner = stats_of(run, "outer.group.deeper.inner");
    leaf = stats_of(run, "outer.group.deeper.inner.last.leaf");
    beside = stats_of(run, "outer.beside");
    CHECK_NEAR(outer.self_ns, outer.total_ns - inner.total_ns - beside.total_ns,
               0.5);
    CHECK_NEAR(inner.self_ns, inner.total_ns - leaf.total_ns, 0.5);
    CHECK_NEAR(leaf.self_ns, leaf.total_ns, 0.5);
    CHECK_NEAR(stats_of(run, "outer.group").total_ns, inner.total_ns, 0.5);
    run_free(run);
}

TEST(a_scope_may_be_a_span_in_one_place_and_a_group_in_another)
{
    struct scope_stats outer, both, leaf;
    struct run *run;

    recorded_start(NULL);
    assay_begin("outer");
    group_begin("both", "Class");
    span("leaf", 200);
    record_group_end();
    assay_begin_class("both", "Class");
    span("leaf", 400);
    spin_us(50);
    assay_end();
    assay_end();
    run = recorded_stop();
    CHECK_INT(run_scope_count(run), 4); /* the root too */
    outer = stats_of(run, "outer");
    both = stats_of(run, "outer.both");
    leaf = stats_of(run, "outer.both.leaf");
    CHECK_INT(both.calls, 1);
    CHECK_INT(leaf.calls, 2);
    /* the first leaf lay directly in outer, the second in both */
    CHECK_NEAR(outer.self_ns + both.self_ns + leaf.self_ns, outer.total_ns,
               0.5);
    CHECK(leaf.total_ns - (both.total_ns - both.self_ns) >= 200e3 * 0.99);
    CHECK(both.self_ns < both.total_ns - 400e3 * 0.99);
    run_free(run);
}

TEST(an_iteration_inside_a_group_has_its_children)
{
    struct scope_stats root, model;
    struct run *run;

    recorded_start(NULL);
    group_begin("around", NULL);
    for (int i = 0; i < 3; i++) {
        assay_iteration_begin();
        spin_us(100);
        group_begin("stages", NULL);
        span("model", 300);
        record_group_end();
        assay_iteration_end();
    }
    record_group_end();
    run = recorded_stop();
    CHECK_INT(run_scope_stats(run, RUN_ROOT, RUN_ANY, &root, NULL), ASSAY_OK);
    model = stats_of(run, "around.stages.model");
    CHECK_INT(root.calls, 3);
    CHECK_NEAR(root.self_ns, root.total_ns - model.total_ns, 0.5);
    run_free(run);
}

TEST(bytes_taken_in_a_group_reach_the_span_around_it)
{
    struct scope_stats outer;
    struct run *run;

    recorded_start(NULL);
    assay_begin("outer");
    group_begin("group", NULL);
    assay_bytes(1000);
    span("leaf", 1);
    assay_bytes(-400);
    record_group_end();
    assay_end();
    run = recorded_stop();
    outer = stats_of(run, "outer");
    CHECK_INT(outer.bytes, 600);
    CHECK_INT(outer.peak_bytes, 1000);
    CHECK_INT(run_memory_of(run)->peak_bytes, 1000);
    CHECK_INT(run_memory_of(run)->peak_scope, scope_at(run, "outer.group"));
    run_free(run);
}

TEST(groups_count_as_open_and_as_too_deep_like_spans)
{
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < MAX_OPEN_SPANS + 3; i++)
        group_begin("deep", NULL);
    for (int i = 0; i < MAX_OPEN_SPANS + 2; i++)
        record_group_end();
    span("inside", 1);
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->too_deep, 3);
    CHECK_INT(run_health_of(run)->open_at_end, 1);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    CHECK_INT(stats_of(run, "deep.inside").calls, 1);
    run_free(run);
}

TEST(groups_cost_nothing_while_nothing_is_recorded)
{
    struct run *run;

    group_begin("before", NULL);
    recorded_start(NULL);
    span("span", 1);
    run = recorded_stop();
    CHECK_INT(run_scope_count(run), 2);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    run_free(run);
    record_group_end();
}

TEST(a_group_without_memory_loses_only_what_is_inside)
{
    enum { n_groups = 100 };
    char name[200];
    struct run *run;
    uint64_t n_calls = 0, n_lost;

    recorded_start(NULL);
    span("first", 1);
    mem_fail_at(0);
    for (int i = 0; i < n_groups; i++) {
        snprintf(name, sizeof name, "never seen %180d", i);
        group_begin(name, NULL);
        span("inside", 0);
        record_group_end();
    }
    mem_fail_at(-1);
    span("last", 1);
    (void)record_stop(NULL); /* the writer may have been without memory too */
    CHECK_INT(store_load(test_path("run.assay"), &run, NULL), ASSAY_OK);
    for (size_t i = 0; i < run_cell_count(run); i++)
        n_calls += run_cell(run, i)->calls.n;
    n_lost = run_health_of(run)->lost_spans;
    CHECK_INT(n_calls + n_lost, n_groups + 2); /* groups are not spans */
    CHECK(n_lost > 0);
    CHECK_INT(stats_of(run, "last").calls, 1);
    run_free(run);
}
