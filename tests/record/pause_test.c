/* tests/record/pause_test.c - pausing a recording. */
#include "record/record_internal.h"
#include "recorded.h"

static void iterate(const char *inside)
{
    assay_iteration_begin();
    assay_begin(inside);
    assay_end();
    assay_iteration_end();
}

TEST(marks_during_a_pause_are_not_in_the_run)
{
    struct scope_stats root;
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < 4; i++) {
        iterate("seen");
        record_pause();
        CHECK(!assay_is_recording());
        iterate("unseen");
        group_begin("unseen", NULL);
        record_group_end();
        assay_bytes(1 << 20);
        record_resume();
    }
    run = recorded_stop();
    CHECK_INT(run_scope_stats(run, RUN_ROOT, RUN_ANY, &root, NULL), ASSAY_OK);
    CHECK_INT(root.calls, 4);
    CHECK_INT(stats_of(run, "seen").calls, 4);
    CHECK_INT(scope_at(run, "unseen"), RUN_NONE);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    CHECK_INT(run_memory_of(run)->peak_scope, RUN_NONE);
    run_free(run);
}

TEST(a_span_around_a_pause_goes_on)
{
    struct run *run;

    recorded_start(NULL);
    assay_begin("around");
    record_pause();
    iterate("unseen");
    spin_us(300);
    record_resume();
    assay_begin("inside");
    assay_end();
    assay_end();
    run = recorded_stop();
    CHECK(stats_of(run, "around").total_ns >= 300e3);
    CHECK_INT(stats_of(run, "around.inside").calls, 1);
    run_free(run);
}

TEST(resuming_starts_no_recording_and_a_start_ends_a_pause)
{
    struct run *run;

    record_resume();
    CHECK(!assay_is_recording());
    record_pause();
    recorded_start(NULL);
    iterate("first");
    record_pause();
    run = recorded_stop();
    CHECK_INT(stats_of(run, "first").calls, 1);
    run_free(run);
    record_resume();
    CHECK(!assay_is_recording());
    recorded_start(NULL);
    iterate("second");
    run = recorded_stop();
    CHECK_INT(stats_of(run, "second").calls, 1);
    run_free(run);
}

/* The writer, which wakes now and then, may have left less than is worth taking
 * over. */
TEST(catching_up_leaves_little_for_the_writer_and_loses_nothing)
{
    enum { n = 20000, n_at_once = 2000 };
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < n; i++) {
        assay_begin("short");
        assay_end();
        if (i % n_at_once)
            continue;
        record_catch_up();
        if (i)
            CHECK(!thread_buffer_has_much(threads_own));
    }
    run = recorded_stop();
    CHECK_INT(stats_of(run, "short").calls, n);
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    run_free(run);
}

TEST(catching_up_without_a_recording_does_nothing)
{
    record_catch_up();
    recorded_start(NULL);
    record_catch_up();
    run_free(recorded_stop());
    record_catch_up();
}
