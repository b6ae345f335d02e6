/* tests/record/span_test.c - what one thread records. */
#include "recorded.h"

#include "base/mem.h"
#include "record/detail_internal.h"
#include "record/thread_buffer_internal.h"

#include <stdlib.h>
#include <unistd.h>

TEST(a_span_lasts_from_its_begin_to_its_end)
{
    struct scope_stats stats;
    struct run *run;
    int64_t before, inside, outside;

    recorded_start(NULL);
    before = clock_monotonic_ns();
    assay_begin("span");
    inside = clock_monotonic_ns();
    spin_us(20000);
    inside = clock_monotonic_ns() - inside;
    assay_end();
    outside = clock_monotonic_ns() - before;
    run = recorded_stop();
    stats = stats_of(run, "span");
    CHECK_INT(stats.calls, 1);
    /* 0.1 % for a clock that was calibrated for milliseconds only */
    CHECK(stats.total_ns >= (double)inside * 0.999);
    CHECK(stats.total_ns <= (double)outside * 1.001);
    run_free(run);
}

TEST(self_time_excludes_the_children)
{
    struct scope_stats outer, inner, leaf, other;
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < 3; i++) {
        assay_begin("outer");
        spin_us(100);
        assay_begin("inner");
        assay_begin("leaf");
        spin_us(300);
        assay_end();
        assay_begin("leaf");
        assay_end();
        assay_end();
        assay_begin("other");
        spin_us(50);
        assay_end();
        assay_end();
    }
    run = recorded_stop();
    outer = stats_of(run, "outer");
    inner = stats_of(run, "outer.inner");
    leaf = stats_of(run, "outer.inner.leaf");
    other = stats_of(run, "outer.other");
    CHECK_INT(outer.calls, 3);
    CHECK_INT(leaf.calls, 6);
    CHECK_NEAR(outer.self_ns, outer.total_ns - inner.total_ns - other.total_ns,
               0.5);
    CHECK_NEAR(inner.self_ns, inner.total_ns - leaf.total_ns, 0.5);
    CHECK_NEAR(leaf.self_ns, leaf.total_ns, 0.5);
    CHECK(outer.self_ns >= 3 * 99e3);
    CHECK(inner.self_ns <= inner.total_ns - 3 * 299e3);
    run_free(run);
}

TEST(kept_samples_lie_inside_their_parents)
{
    struct run *run;
    const struct sample *outer = NULL;
    size_t n_inside = 0;

    recorded_start(NULL);
    for (int i = 0; i < 200; i++) {
        assay_begin("outer");
        assay_begin("inner");
        spin_us(1000);
        assay_end();
        assay_end();
    }
    run = recorded_stop();
    CHECK_INT(run_kept_count(run), 400);
    for (size_t i = 0; i < run_kept_count(run); i++) {
        const struct sample *sample = run_kept(run, i);

        if (sample->scope == scope_at(run, "outer")) {
            outer = sample;
            continue;
        }
        CHECK(outer != NULL);
        CHECK(sample->start_ns >= outer->start_ns);
        CHECK(sample->start_ns + sample->duration_ns <=
              outer->start_ns + outer->duration_ns);
        CHECK_INT(outer->self_ns, outer->duration_ns - sample->duration_ns);
        n_inside++;
    }
    CHECK_INT(n_inside, 200);
    run_free(run);
}

TEST(place_name_and_class_identify_a_scope)
{
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < 2; i++) {
        assay_begin_class("conv", "Conv2d");
        assay_end();
        assay_begin_class("conv", "Conv3d");
        assay_end();
        assay_begin("conv");
        assay_begin_class("conv", "Conv2d");
        assay_end();
        assay_end();
    }
    run = recorded_stop();
    CHECK_INT(run_scope_count(run), 5); /* the root too */
    CHECK_STR(run_scope(run, 1)->class_name, "Conv2d");
    CHECK_STR(run_scope(run, 2)->class_name, "Conv3d");
    CHECK_STR(run_scope(run, 4)->class_name, "Conv2d");
    CHECK_INT(run_scope(run, 4)->parent, 3);
    for (uint32_t i = 1; i < 5; i++) {
        struct scope_stats stats;

        CHECK_INT(run_scope_stats(run, i, RUN_ANY, &stats, NULL), ASSAY_OK);
        CHECK_INT(stats.calls, 2);
    }
    run_free(run);
}

TEST(a_changed_name_in_the_same_buffer_is_another_name)
{
    char name[32], class_name[32] = "Even";
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "layer%d", i % 30);
        class_name[0] = i % 2 ? 'O' : 'E';
        assay_begin_class(name, class_name);
        assay_end();
    }
    run = recorded_stop();
    CHECK_INT(run_scope_count(run), 31);
    CHECK_INT(stats_of(run, "layer0").calls, 100);
    CHECK_INT(stats_of(run, "layer29").calls, 100);
    CHECK_STR(run_scope(run, scope_at(run, "layer29"))->class_name, "Oven");
    run_free(run);
}

TEST(more_names_than_the_cache_holds_are_all_found)
{
    enum { n_names = 3 * CACHED_NAMES };
    static char names[n_names][16];
    struct run *run;

    for (int i = 0; i < n_names; i++)
        snprintf(names[i], sizeof names[i], "n%d", i);
    recorded_start(NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < n_names; i++) {
            assay_begin(names[i]);
            assay_end();
        }
    }
    run = recorded_stop();
    CHECK_INT(run_scope_count(run), n_names + 1);
    CHECK_INT(stats_of(run, "n0").calls, 3);
    CHECK_INT(stats_of(run, "n3071").calls, 3);
    run_free(run);
}

TEST(ends_without_a_begin_are_counted_and_do_no_harm)
{
    struct run *run;

    recorded_start(NULL);
    assay_end();
    assay_begin("span");
    assay_end();
    assay_end();
    assay_end();
    assay_phase_end();
    assay_iteration_end();
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->unbalanced_ends, 5);
    CHECK_INT(stats_of(run, "span").calls, 1);
    run_free(run);
}

TEST(spans_nested_too_deep_are_counted_and_left_out)
{
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < MAX_OPEN_SPANS + 10; i++)
        assay_begin("deep");
    for (int i = 0; i < MAX_OPEN_SPANS + 10; i++)
        assay_end();
    assay_begin("after");
    assay_end();
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->too_deep, 10);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    CHECK_INT(run_scope_count(run), MAX_OPEN_SPANS + 2);
    CHECK_INT(run_scope(run, MAX_OPEN_SPANS)->depth, MAX_OPEN_SPANS);
    CHECK_INT(stats_of(run, "after").calls, 1);
    run_free(run);
}

TEST(what_is_open_at_the_end_is_closed_and_counted)
{
    struct run *run;

    recorded_start(NULL);
    assay_begin("main");
    assay_begin("loop");
    assay_begin("done");
    assay_end();
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->open_at_end, 2);
    CHECK_INT(stats_of(run, "main").calls, 1);
    CHECK_INT(stats_of(run, "main.loop").calls, 1);
    run_free(run);
}

TEST(a_span_belongs_to_the_iteration_it_ends_in)
{
    struct run *run;

    recorded_start(NULL);
    assay_begin("before");
    assay_end();
    for (int i = 0; i < 5; i++) {
        assay_iteration_begin();
        for (int call = 0; call <= i; call++) {
            assay_begin("step");
            assay_end();
        }
        assay_iteration_end();
        assay_begin("between");
        assay_end();
    }
    run = recorded_stop();
    CHECK_INT(run_iteration_count(run), 5);
    CHECK_INT(calls_of(run, "step", false), 15);
    CHECK_INT(calls_of(run, "step", true), 0);
    CHECK_INT(stats_of(run, "step").n, 5);
    CHECK_INT(calls_of(run, "between", true), 5);
    CHECK_INT(calls_of(run, "before", true), 1);
    run_free(run);
}

TEST(warm_up_iterations_are_left_out_and_counted)
{
    static const struct assay_options options = {.warm_up = 3};
    struct run *run;

    recorded_start(&options);
    for (int i = 0; i < 10; i++) {
        assay_iteration_begin();
        assay_begin(i < 3 ? "cold" : "warm");
        assay_end();
        assay_iteration_end();
    }
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->warm_up, 3);
    CHECK_INT(run_iteration_count(run), 7);
    CHECK_INT(run_iteration(run, 0)->index, 0);
    CHECK_INT(calls_of(run, "cold", false), 0);
    CHECK_INT(calls_of(run, "cold", true), 0);
    CHECK_INT(calls_of(run, "warm", false), 7);
    run_free(run);
}

TEST(an_iterations_self_time_excludes_its_spans)
{
    struct scope_stats whole, step;
    struct run *run;

    recorded_start(NULL);
    assay_begin("main");
    for (int i = 0; i < 4; i++) {
        assay_iteration_begin();
        spin_us(200);
        assay_begin("step");
        assay_begin("inner");
        spin_us(300);
        assay_end();
        assay_end();
        assay_iteration_end();
    }
    assay_end();
    run = recorded_stop();
    CHECK_INT(run_scope_stats(run, RUN_ROOT, RUN_ANY, &whole, NULL), ASSAY_OK);
    step = stats_of(run, "main.step");
    CHECK_INT(whole.n, 4);
    CHECK_NEAR(whole.self_ns, whole.total_ns - step.total_ns, 0.5);
    CHECK(whole.self_ns >= 4 * 199e3);
    run_free(run);
}

TEST(an_iteration_inside_another_is_counted_as_a_mistake)
{
    struct run *run;

    recorded_start(NULL);
    assay_iteration_begin();
    assay_iteration_begin();
    assay_iteration_end();
    assay_iteration_end();
    run = recorded_stop();
    CHECK_INT(run_iteration_count(run), 1);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 2);
    run_free(run);
}

TEST(a_span_belongs_to_the_innermost_phase_it_ends_in)
{
    struct run *run;
    uint32_t forward = RUN_NONE, loss = RUN_NONE;

    recorded_start(NULL);
    assay_begin("op");
    assay_end();
    assay_phase_begin("forward");
    assay_begin("op");
    assay_end();
    assay_phase_begin("loss");
    for (int i = 0; i < 2; i++) {
        assay_begin("op");
        assay_end();
    }
    assay_phase_end();
    for (int i = 0; i < 3; i++) {
        assay_begin("op");
        assay_end();
    }
    assay_phase_end();
    run = recorded_stop();
    CHECK_INT(run_phase_count(run), 3);
    for (uint32_t i = 0; i < run_phase_count(run); i++) {
        if (strcmp(run_phase_name(run, i), "forward") == 0)
            forward = i;
        else if (strcmp(run_phase_name(run, i), "loss") == 0)
            loss = i;
    }
    CHECK_INT(stats_in_phase(run, "op", 0).calls, 1);
    CHECK_INT(stats_in_phase(run, "op", forward).calls, 4);
    CHECK_INT(stats_in_phase(run, "op", loss).calls, 2);
    run_free(run);
}

TEST(phases_deeper_than_eight_are_counted_and_left_out)
{
    static const char *const names[] = {"1", "2", "3", "4", "5",
                                        "6", "7", "8", "9", "10"};
    enum { n_names = sizeof names / sizeof names[0] };
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < n_names; i++)
        assay_phase_begin(names[i]);
    assay_begin("inside");
    assay_end();
    for (int i = 0; i < n_names; i++)
        assay_phase_end();
    assay_begin("after");
    assay_end();
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->too_deep, n_names - MAX_OPEN_PHASES);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    CHECK_STR(run_phase_name(run, MAX_OPEN_PHASES), "8");
    CHECK_INT(stats_in_phase(run, "inside", MAX_OPEN_PHASES).calls, 1);
    CHECK_INT(stats_in_phase(run, "after", 0).calls, 1);
    run_free(run);
}

TEST(a_counter_keeps_its_values_and_times)
{
    const struct counter *counter;
    struct run *run;

    recorded_start(NULL);
    for (int i = 1; i <= 4; i++)
        assay_counter("queue", "frames", i * i);
    run = recorded_stop();
    CHECK_INT(run_counters(run), 1);
    counter = run_counter(run, 0);
    CHECK_STR(counter->name, "queue");
    CHECK_STR(counter->unit, "frames");
    CHECK_INT(counter->n, 4);
    CHECK_NEAR(counter->mean, 7.5, 1e-12);
    CHECK_NEAR(counter->min, 1, 0);
    CHECK_NEAR(counter->max, 16, 0);
    CHECK_NEAR(counter->last, 16, 0);
    for (size_t i = 0; i < counter->n_points; i++) {
        double root = (double)(i + 1);

        CHECK_NEAR(counter->points[i].value, root * root, 0);
        CHECK(i == 0 ||
              counter->points[i].time_ns >= counter->points[i - 1].time_ns);
    }
    run_free(run);
}

TEST(bytes_are_charged_to_the_open_spans)
{
    struct scope_stats outer, inner, after, idle;
    struct run *run;

    recorded_start(NULL);
    assay_begin("outer");
    assay_bytes(1000);
    assay_begin("inner");
    assay_bytes(500);
    assay_bytes(-300);
    assay_end();
    assay_begin("idle");
    assay_end();
    assay_end();
    assay_begin("after");
    assay_bytes(-1000);
    assay_end();
    run = recorded_stop();
    outer = stats_of(run, "outer");
    inner = stats_of(run, "outer.inner");
    after = stats_of(run, "after");
    idle = stats_of(run, "outer.idle");
    CHECK_INT(outer.bytes, 1200);
    CHECK_INT(outer.peak_bytes, 1500);
    CHECK_INT(inner.bytes, 200);
    CHECK_INT(inner.peak_bytes, 1500);
    CHECK_INT(after.bytes, -1000);
    CHECK_INT(after.peak_bytes, 1200); /* live when it began to give back */
    CHECK_INT(idle.bytes, RUN_UNKNOWN);
    CHECK_INT(run_memory_of(run)->peak_bytes, 1500);
    CHECK_INT(run_memory_of(run)->peak_scope, scope_at(run, "outer.inner"));
    CHECK_STR(run_counter(run, 0)->name, "memory");
    CHECK_STR(run_counter(run, 0)->unit, "bytes");
    CHECK_NEAR(run_counter(run, 0)->last, 200, 0);
    run_free(run);
}

TEST(an_iteration_has_its_own_peak)
{
    struct scope_stats stats;
    struct run *run;

    recorded_start(NULL);
    assay_bytes(100);
    assay_bytes(-60);
    assay_iteration_begin();
    assay_bytes(30);
    assay_bytes(-20);
    assay_iteration_end();
    run = recorded_stop();
    CHECK_INT(run_scope_stats(run, RUN_ROOT, RUN_ANY, &stats, NULL), ASSAY_OK);
    CHECK_INT(stats.bytes, 10);
    CHECK_INT(stats.peak_bytes, 70);
    CHECK_INT(run_memory_of(run)->peak_bytes, 100);
    run_free(run);
}

TEST(a_run_has_facts_about_its_machine_and_program)
{
    static const struct assay_options options = {.program = "pipeline",
                                                 .class_name = "Demo"};
    static const char *const keys[] = {"machine.cores",        "machine.kernel",
                                       "machine.memory_bytes", "program.name",
                                       "program.command",      "time.started",
                                       "assay.version"};
    struct run *run;

    recorded_start(&options);
    assay_fact("settings.batch", "8");
    run = recorded_stop();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        CHECK(run_fact(run, keys[i]) && run_fact(run, keys[i])[0]);
    CHECK_HAS(run_fact(run, "program.command"), "span_test");
    CHECK(strcmp(run_fact(run, "clock.source"), "tsc") == 0 ||
          strcmp(run_fact(run, "clock.source"), "monotonic") == 0);
    CHECK_STR(run_fact(run, "settings.batch"), "8");
    CHECK_STR(run_scope(run, RUN_ROOT)->name, "pipeline");
    CHECK_STR(run_scope(run, RUN_ROOT)->class_name, "Demo");
    run_free(run);
}

TEST(a_run_has_the_commit_that_it_is_told)
{
    struct run *run;

    setenv("ASSAY_COMMIT", "abc1234", 1);
    recorded_start(NULL);
    run = recorded_stop();
    unsetenv("ASSAY_COMMIT");
    CHECK_STR(run_fact(run, "program.commit"), "abc1234");
    run_free(run);
    recorded_start(NULL);
    run = recorded_stop();
    CHECK(run_fact(run, "program.commit") == NULL);
    run_free(run);
}

static void leave_early(int way)
{
    ASSAY_SPAN("scoped");
    if (way == 0)
        return;
    ASSAY_SPAN("nested");
    if (way == 1)
        return;
    assay_begin("last");
    assay_end();
}

TEST(a_scoped_span_ends_when_the_block_is_left)
{
    struct run *run;

    recorded_start(NULL);
    for (int way = 0; way < 3; way++)
        leave_early(way);
    run = recorded_stop();
    CHECK_INT(stats_of(run, "scoped").calls, 3);
    CHECK_INT(stats_of(run, "scoped.nested").calls, 2);
    CHECK_INT(stats_of(run, "scoped.nested.last").calls, 1);
    CHECK_INT(run_health_of(run)->open_at_end, 0);
    run_free(run);
}

TEST(with_keep_all_every_sample_is_in_the_file)
{
    static const struct assay_options options = {.keep_all = 1};
    enum { n_spans = 50000 };
    struct run *run;

    recorded_start(&options);
    for (int i = 0; i < n_spans; i++) {
        assay_begin("span");
        assay_end();
    }
    run = recorded_stop();
    CHECK_INT(stats_of(run, "span").calls, n_spans);
    CHECK_INT(run_kept_count(run), n_spans);
    run_free(run);
}

/* An iteration of n_spans, and a span between it and the next. */
static void iterate(int n_spans)
{
    assay_iteration_begin();
    for (int i = 0; i < n_spans; i++) {
        assay_begin("span");
        assay_end();
    }
    assay_iteration_end();
    assay_begin("between");
    assay_end();
}

/* More than the recorder keeps of an iteration that it chooses. */
TEST(with_keep_first_only_the_first_iterations_are_complete)
{
    enum { n_spans = DETAIL_MAX_OF_ITERATION + 1000, n_first = 3 };
    static const struct assay_options options = {.warm_up = 2,
                                                 .keep_first = n_first};
    size_t in_iteration[n_first] = {0}, n_outside = 0;
    struct run *run;

    recorded_start(&options);
    for (int i = 0; i < 7; i++)
        iterate(i == 3 ? n_spans : 10);
    run = recorded_stop();
    CHECK_INT(stats_of(run, "span").calls, n_spans + 4 * 10);
    for (size_t i = 0; i < run_kept_count(run); i++) {
        uint32_t iteration = run_kept(run, i)->iteration;

        if (iteration == RUN_NONE) {
            n_outside++;
            continue;
        }
        CHECK(iteration < n_first);
        in_iteration[iteration]++;
    }
    CHECK_INT(in_iteration[0], 10 + 1); /* and the iteration itself */
    CHECK_INT(in_iteration[1], n_spans + 1);
    CHECK_INT(in_iteration[2], 10 + 1);
    CHECK_INT(n_outside, 7);
    run_free(run);
}

TEST(recordings_follow_each_other)
{
    struct run *run;

    assay_begin("nobody records");
    assay_end();
    recorded_start(NULL);
    assay_begin("first");
    assay_begin("left open");
    run = recorded_stop();
    CHECK_INT(run_scope_count(run), 3);
    run_free(run);

    recorded_start(NULL);
    assay_begin("second");
    assay_end();
    run = recorded_stop();
    CHECK_INT(run_scope_count(run), 2);
    CHECK_INT(stats_of(run, "second").calls, 1);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    run_free(run);
}

TEST(a_second_start_is_refused_and_the_first_goes_on)
{
    struct error err = {0};
    struct run *run;

    recorded_start(NULL);
    CHECK_INT(record_start(test_path("other.assay"), NULL, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "a recording is under way");
    assay_begin("span");
    assay_end();
    run = recorded_stop();
    CHECK_INT(stats_of(run, "span").calls, 1);
    CHECK(!test_part_count("other.assay"));
    run_free(run);
}

TEST(a_path_that_cannot_be_written_is_refused_at_once)
{
    struct assay_error error = {0};

    CHECK(assay_start("/nowhere/at/all/run.assay", NULL, &error) != ASSAY_OK);
    CHECK_HAS(error.text, "/nowhere/at/all");
    CHECK_INT(assay_is_recording(), 0);
    CHECK_INT(assay_start("", NULL, &error), ASSAY_BAD_USAGE);
    CHECK_INT(assay_start(NULL, NULL, NULL), ASSAY_BAD_USAGE);
    CHECK_INT(assay_stop(&error), ASSAY_OK);
}

TEST(starting_without_memory_leaves_nothing_behind)
{
    enum assay_status st;
    long nth = 0, before;

    recorded_start(NULL); /* everything allocated once per process exists now */
    run_free(recorded_stop());
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = record_start(test_path("nomem.assay"), NULL, NULL);
        mem_fail_at(-1);
        if (st)
            CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK_INT(record_stop(NULL), ASSAY_OK);
    CHECK_INT(mem_live(), before);
}

TEST(stopping_without_memory_leaves_a_file_that_can_be_read)
{
    enum assay_status st;
    long nth = 0;

    do {
        struct run *run;

        recorded_start(NULL);
        assay_begin("span");
        assay_end();
        mem_fail_at(nth++);
        st = assay_stop(NULL);
        mem_fail_at(-1);
        CHECK(st == ASSAY_OK || st == ASSAY_NOMEM);
        if (store_load(test_path("run.assay"), &run, NULL))
            CHECK_INT(store_load(test_part("run.assay"), &run, NULL), ASSAY_OK);
        run_free(run);
        remove(test_path("run.assay"));
        remove(test_part("run.assay"));
    } while (st);
    CHECK(nth > 3);
}

TEST(a_recording_of_our_own_that_cannot_be_finished_is_removed)
{
    enum assay_status st;
    long nth = 0;

    do {
        recorded_start(NULL);
        assay_begin("span");
        assay_end();
        mem_fail_at(nth++);
        st = record_stop(NULL);
        mem_fail_at(-1);
        CHECK(!test_part_count("run.assay"));
        remove(test_path("run.assay"));
    } while (st);
    CHECK(nth > 3);
}

TEST(spans_that_find_no_memory_are_counted_as_lost)
{
    enum { n_names = 20000 };
    char name[32];
    struct run *run;
    uint64_t n_calls = 0, n_lost;

    recorded_start(NULL);
    assay_begin("parent");
    mem_fail_at(0);
    for (int i = 0; i < n_names; i++) {
        snprintf(name, sizeof name, "never seen %d", i);
        assay_begin(name);
        assay_begin("inside");
        assay_end();
        assay_end();
    }
    mem_fail_at(-1);
    assay_end();
    (void)record_stop(NULL); /* the writer may have been without memory too */
    CHECK_INT(store_load(test_path("run.assay"), &run, NULL), ASSAY_OK);
    for (size_t i = 0; i < run_cell_count(run); i++)
        n_calls += run_cell(run, i)->calls.n;
    n_lost = run_health_of(run)->lost_spans;
    CHECK_INT(n_calls + n_lost, 2 * n_names + 1);
    CHECK(n_lost > 0);
    CHECK_INT(stats_of(run, "parent").calls, 1);
    run_free(run);
}
