/* tests/record/lane_test.c - scope handles, lanes, spans reported later. */
#include "recorded.h"

#include "base/mem.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

static void span_of(assay_scope_t scope, int64_t us)
{
    assay_begin_scope(scope);
    spin_us(us);
    assay_end();
}

static struct scope_stats device_stats(const struct run *run, const char *path)
{
    struct scope_stats stats = {0};
    struct error err = {0};
    uint32_t scope = path[0] ? scope_at(run, path) : RUN_ROOT;

    CHECK(scope != RUN_NONE);
    CHECK_STATUS(run_scope_device_stats(run, scope, RUN_ANY, &stats, &err),
                 ASSAY_OK, &err);
    return stats;
}

static uint64_t lost_spans(const struct run *run)
{
    return run_health_of(run)->lost_spans;
}

/* ---- handles ------------------------------------------------------------ */

static void *begin_backward(void *scope)
{
    assay_thread("autograd");
    span_of(*(assay_scope_t *)scope, 100);
    return NULL;
}

TEST(a_scope_opened_by_its_handle_on_another_thread_is_the_same_scope)
{
    assay_scope_t model = assay_scope(ASSAY_SCOPE_ROOT, "model", "Net");
    assay_scope_t conv = assay_scope(model, "conv", "Conv2d");
    struct run *run;
    pthread_t thread;

    recorded_start(NULL);
    assay_begin_class("model", "Net");
    assay_begin_class("conv", "Conv2d");
    assay_end();
    assay_end();
    pthread_create(&thread, NULL, begin_backward, &conv);
    pthread_join(thread, NULL);
    run = recorded_stop();
    CHECK_INT(run_scope_count(run), 3);
    CHECK_INT(stats_of(run, "model.conv").calls, 2);
    CHECK_INT(stats_of(run, "model").calls, 1);
    CHECK_INT(run_thread_count(run), 2);
    run_free(run);
}

TEST(the_span_around_a_scope_opened_by_handle_includes_it)
{
    assay_scope_t deep = assay_scope_path("far.away.deep.down", NULL);
    struct scope_stats outer, inner, below, beside;
    struct run *run;

    recorded_start(NULL);
    assay_iteration_begin();
    assay_begin("outer");
    assay_begin_scope(deep);
    assay_begin("below");
    spin_us(200);
    assay_end();
    spin_us(100);
    assay_end();
    assay_begin("beside");
    spin_us(50);
    assay_end();
    assay_end();
    assay_iteration_end();
    run = recorded_stop();
    outer = stats_of(run, "outer");
    inner = stats_of(run, "far.away.deep.down");
    below = stats_of(run, "far.away.deep.down.below");
    beside = stats_of(run, "outer.beside");
    CHECK_NEAR(outer.self_ns, outer.total_ns - inner.total_ns - beside.total_ns,
               0.5);
    CHECK_NEAR(inner.self_ns, inner.total_ns - below.total_ns, 0.5);
    CHECK_NEAR(below.self_ns, below.total_ns, 0.5);
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    run_free(run);
}

TEST(the_scope_here_is_that_of_the_innermost_open_span)
{
    struct run *run;

    CHECK_INT(assay_scope_here(), ASSAY_SCOPE_ROOT);
    recorded_start(NULL);
    CHECK_INT(assay_scope_here(), ASSAY_SCOPE_ROOT);
    assay_begin_class("net", "Net");
    assay_begin("conv");
    CHECK_INT(assay_scope_here(), assay_scope_path("net.conv", NULL));
    assay_end();
    CHECK_INT(assay_scope_here(), assay_scope_path("net", "Net"));
    assay_end();
    run = recorded_stop();
    run_free(run);
    CHECK_INT(assay_scope_here(), ASSAY_SCOPE_ROOT);
}

TEST(a_path_finds_scopes_of_any_class_and_makes_missing_ones)
{
    assay_scope_t a = assay_scope(ASSAY_SCOPE_ROOT, "path a", "A");
    assay_scope_t b = assay_scope(a, "b", "B");

    CHECK_INT(assay_scope_path("path a.b", NULL), b);
    CHECK_INT(assay_scope_path("path a.b", "B"), b);
    CHECK(assay_scope_path("path a.b", "C") != b);
    CHECK_INT(assay_scope_path("path a.new", "N"), assay_scope(a, "new", "N"));
    CHECK_INT(assay_scope_path("", NULL), ASSAY_SCOPE_ROOT);
    CHECK_INT(assay_scope(ASSAY_SCOPE_NONE, "x", NULL), ASSAY_SCOPE_NONE);
    CHECK_INT(assay_scope(UINT32_C(0x00fffff0), "x", NULL), ASSAY_SCOPE_NONE);
}

TEST(a_lane_of_the_same_name_and_kind_is_the_same)
{
    assay_lane_t queue = assay_lane_open("queue", ASSAY_LANE_DEVICE);

    CHECK_INT(assay_lane_open("queue", ASSAY_LANE_DEVICE), queue);
    CHECK(assay_lane_open("queue", ASSAY_LANE_THREAD) != queue);
}

/* ---- reported spans ------------------------------------------------------ */

TEST(host_and_device_time_of_a_scope_are_two_figures)
{
    assay_lane_t queue = assay_lane_open("cuda:0", ASSAY_LANE_DEVICE);
    assay_scope_t model = assay_scope(ASSAY_SCOPE_ROOT, "net", NULL);
    assay_scope_t conv = assay_scope(model, "conv", "Conv2d");
    struct scope_stats host, device;
    int64_t host_ns = 0;
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < 4; i++) {
        int64_t before, now;

        assay_iteration_begin();
        assay_begin_scope(model);
        before = assay_clock_ns();
        span_of(conv, 20);
        host_ns += assay_clock_ns() - before;
        assay_end();
        now = assay_clock_ns();
        assay_span_at(queue, conv, now, now + 1000000, NULL);
        assay_span_at(queue, conv, now + 2000000, now + 2500000,
                      &(struct assay_span_details){.launched_ns = now});
        assay_iteration_end();
    }
    run = recorded_stop();
    host = stats_of(run, "net.conv");
    device = device_stats(run, "net.conv");
    CHECK_INT(host.calls, 4);
    CHECK(host.total_ns <= 1.001 * (double)host_ns);
    CHECK_INT(device.calls, 8);
    CHECK_INT(device.n, 4);
    CHECK_NEAR(device.total_ns, 4 * 1500000.0, 0);
    CHECK_NEAR(device.mean_ns, 1500000.0, 0);
    CHECK_NEAR(device.median_ns, 1500000.0, 0);
    CHECK_NEAR(device.calls_each, 2, 0);
    /* The same above it, and the host's own time is unchanged. */
    CHECK_NEAR(device_stats(run, "net").total_ns, 4 * 1500000.0, 0);
    CHECK_NEAR(device_stats(run, "net").self_ns, 0, 0);
    CHECK_INT(stats_of(run, "net").calls, 4);
    CHECK_INT(lost_spans(run), 0);
    run_free(run);
}

TEST(a_span_belongs_to_the_iteration_that_launched_it)
{
    assay_lane_t queue = assay_lane_open("cuda:1", ASSAY_LANE_DEVICE);
    assay_scope_t scope = assay_scope(ASSAY_SCOPE_ROOT, "kernel", NULL);
    struct run *run;
    struct point *points;
    size_t n;

    recorded_start(&(struct assay_options){.warm_up = 1});
    for (int i = 0; i < 4; i++) {
        int64_t launched;

        assay_iteration_begin();
        launched = assay_clock_ns();
        spin_us(100);
        assay_iteration_end();
        /* The last first, and both begin when the iteration is over. */
        for (int k = 1; k >= 0; k--)
            assay_span_at(
                queue, scope, launched + 900000 + k * 1000,
                launched + 900000 + k * 1000 + 100 * (i + 1),
                &(struct assay_span_details){.launched_ns = launched});
    }
    run = recorded_stop();
    CHECK_INT(
        run_scope_points(run, scope_at(run, "kernel"), RUN_ANY, &points, &n, 0),
        ASSAY_OK);
    CHECK_INT(n, 3);
    for (size_t i = 0; i < n; i++) {
        CHECK_INT(points[i].iteration, i);
        CHECK_INT(points[i].calls, 2);
        CHECK_INT(points[i].total_ns, 2 * 100 * (i + 2));
    }
    CHECK_INT(lost_spans(run), 0);
    mem_free(points);
    run_free(run);
}

TEST(a_span_between_the_iterations_is_outside)
{
    assay_lane_t queue = assay_lane_open("cuda:2", ASSAY_LANE_DEVICE);
    assay_scope_t scope = assay_scope(ASSAY_SCOPE_ROOT, "between", NULL);
    struct run *run;
    int64_t now;

    recorded_start(NULL);
    assay_iteration_begin();
    assay_iteration_end();
    now = assay_clock_ns();
    spin_us(50);
    assay_span_at(queue, scope, now + 10000, now + 20000, NULL);
    assay_iteration_begin();
    assay_iteration_end();
    run = recorded_stop();
    CHECK_INT(calls_of(run, "between", true), 1);
    CHECK_INT(calls_of(run, "between", false), 0);
    run_free(run);
}

TEST(spans_inside_by_time_and_scope_are_not_self_time)
{
    assay_lane_t queue = assay_lane_open("cuda:3", ASSAY_LANE_DEVICE);
    assay_scope_t outer = assay_scope(ASSAY_SCOPE_ROOT, "range", NULL);
    assay_scope_t inner = assay_scope(outer, "inner", NULL);
    assay_scope_t other = assay_scope(ASSAY_SCOPE_ROOT, "other", NULL);
    struct run *run;
    int64_t now;

    recorded_start(NULL);
    now = assay_clock_ns();
    assay_span_at(queue, inner, now + 500, now + 600, NULL);
    assay_span_at(queue, other, now + 300, now + 350, NULL);
    assay_span_at(queue, inner, now, now + 100, NULL);
    assay_span_at(queue, outer, now, now + 1000, NULL);
    run = recorded_stop();
    CHECK_NEAR(device_stats(run, "range.inner").total_ns, 200, 0);
    CHECK_NEAR(device_stats(run, "range").self_ns, 800, 0);
    CHECK_NEAR(device_stats(run, "range").total_ns, 1000, 0);
    CHECK_NEAR(device_stats(run, "other").self_ns, 50, 0);
    CHECK_NEAR(device_stats(run, "").total_ns, 1050, 0);
    run_free(run);
}

TEST(a_device_lane_and_the_threads_that_join_after_it_keep_their_names)
{
    assay_lane_t queue = assay_lane_open("cuda:4", ASSAY_LANE_DEVICE);
    assay_scope_t scope = assay_scope(ASSAY_SCOPE_ROOT, "named", NULL);
    struct run *run;
    pthread_t thread;
    int64_t now;

    recorded_start(NULL);
    assay_thread("first");
    now = assay_clock_ns();
    assay_span_at(queue, scope, now, now + 7, NULL);
    usleep(200000); /* the lane is in the run by now */
    pthread_create(&thread, NULL, begin_backward, &scope);
    pthread_join(thread, NULL);
    run = recorded_stop();
    CHECK_INT(run_thread_count(run), 3);
    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);
        const struct run_thread *on = run_thread(run, cell->thread);

        CHECK_STR(on->name, cell->total_ns == 7 ? "cuda:4" : "autograd");
        CHECK_INT(on->kind, cell->total_ns == 7 ? THREAD_DEVICE : THREAD_CPU);
    }
    run_free(run);
}

TEST(a_launch_and_a_phase_are_kept_with_the_sample_in_the_file)
{
    assay_lane_t queue = assay_lane_open("cuda:5", ASSAY_LANE_DEVICE);
    assay_scope_t scope = assay_scope(ASSAY_SCOPE_ROOT, "launched", NULL);
    const struct sample *sample;
    struct run *run;
    int64_t now;

    recorded_start(NULL);
    now = assay_clock_ns();
    assay_span_at(
        queue, scope, now + 3000, now + 4000,
        &(struct assay_span_details){.launched_ns = now, .phase = "backward"});
    run = recorded_stop();
    CHECK_INT(run_kept_count(run), 1);
    sample = run_kept(run, 0);
    CHECK_INT(sample->queued_ns, 3000);
    CHECK_INT(sample->duration_ns, 1000);
    CHECK_STR(run_phase_name(run, sample->phase), "backward");
    run_free(run);
}

TEST(impossible_spans_are_counted_as_lost)
{
    assay_lane_t queue = assay_lane_open("cuda:6", ASSAY_LANE_DEVICE);
    assay_scope_t scope = assay_scope(ASSAY_SCOPE_ROOT, "possible", NULL);
    struct run *run;
    int64_t now;

    recorded_start(NULL);
    now = assay_clock_ns();
    assay_span_at(queue, scope, now, now - 1, NULL);
    assay_span_at(queue, scope, -1, now, NULL);
    assay_span_at(queue, scope, now, INT64_MAX, NULL);
    assay_span_at(ASSAY_LANE_NONE, scope, now, now + 1, NULL);
    assay_span_at(scope, scope, now, now + 1, NULL); /* not a lane */
    assay_span_at(queue, ASSAY_SCOPE_NONE, now, now + 1, NULL);
    assay_span_at(queue, ASSAY_SCOPE_ROOT, now, now + 1, NULL);
    assay_span_at(queue, queue, now, now + 1, NULL); /* not a scope */
    assay_span_at(queue, scope, 1, 2, NULL);         /* before the recording */
    assay_begin_scope(ASSAY_SCOPE_NONE);
    assay_begin("inside"); /* of nothing: lost as well */
    assay_end();
    assay_end();
    assay_span_at(queue, scope, now, now + 5, NULL);
    run = recorded_stop();
    CHECK_INT(lost_spans(run), 11);
    CHECK_INT(stats_of(run, "possible").calls, 1);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    run_free(run);
}

/* The writer brings its file up to date once per second. */
static void wait_until_in_file(const char *path)
{
    for (;;) {
        struct run *run = NULL;
        bool is_there =
            store_load(test_part("run.assay"), &run, NULL) == ASSAY_OK &&
            scope_at(run, path) != RUN_NONE && calls_of(run, path, false);

        run_free(run);
        if (is_there)
            return;
        usleep(50000);
    }
}

TEST(a_span_of_an_old_iteration_is_counted_as_lost)
{
    assay_lane_t queue = assay_lane_open("cuda:7", ASSAY_LANE_DEVICE);
    assay_scope_t scope = assay_scope(ASSAY_SCOPE_ROOT, "late", NULL);
    struct run *run;
    int64_t first, second;

    recorded_start(NULL);
    assay_iteration_begin();
    first = assay_clock_ns();
    spin_us(20);
    assay_iteration_end();
    assay_iteration_begin();
    spin_us(20);
    second = assay_clock_ns();
    assay_iteration_end();
    assay_span_at(queue, scope, second, second + 5, NULL);
    wait_until_in_file("late");
    assay_span_at(queue, scope, first, first + 5, NULL);
    run = recorded_stop();
    CHECK_INT(stats_of(run, "late").calls, 1);
    CHECK_INT(lost_spans(run), 1);
    run_free(run);
}

TEST(short_iterations_are_distinguished_however_late_the_writer)
{
    enum { n = 20000 };
    assay_lane_t queue = assay_lane_open("cuda:8", ASSAY_LANE_DEVICE);
    assay_scope_t scope = assay_scope(ASSAY_SCOPE_ROOT, "short", NULL);
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < n; i++) {
        int64_t now;

        assay_iteration_begin();
        spin_us(2);
        now = assay_clock_ns();
        spin_us(2);
        assay_iteration_end();
        assay_span_at(queue, scope, now, now + 1, NULL);
    }
    run = recorded_stop();
    CHECK_INT(calls_of(run, "short", false), n);
    CHECK_INT(device_stats(run, "short").calls, n);
    CHECK_INT(lost_spans(run), 0);
    run_free(run);
}

enum { n_givers = 4, spans_each = 20000 };

static struct {
    assay_lane_t lane;
    assay_scope_t scope;
} shared;

static void *give_spans(void *unused)
{
    for (int i = 0; i < spans_each; i++) {
        int64_t now = assay_clock_ns();

        assay_span_at(shared.lane, shared.scope, now, now + 3, NULL);
    }
    return unused;
}

TEST(many_threads_report_spans_on_one_lane_and_none_is_lost)
{
    pthread_t threads[n_givers];
    struct run *run;

    shared.lane = assay_lane_open("shared", ASSAY_LANE_DEVICE);
    shared.scope = assay_scope(ASSAY_SCOPE_ROOT, "shared", NULL);
    recorded_start(NULL);
    for (int i = 0; i < n_givers; i++)
        pthread_create(&threads[i], NULL, give_spans, NULL);
    for (int i = 0; i < n_givers; i++)
        pthread_join(threads[i], NULL);
    run = recorded_stop();
    CHECK_INT(device_stats(run, "shared").calls, n_givers * spans_each);
    CHECK_NEAR(device_stats(run, "shared").total_ns,
               3.0 * n_givers * spans_each, 0);
    CHECK_INT(lost_spans(run), 0);
    run_free(run);
}

enum { n_askers = 3, n_asked = 2000 };

static atomic_int asked[n_asked]; /* by how many threads */

/* All threads ask for each path at the same moment; returns how many answers
 * were no scope of their own. */
static void *ask_for_new_paths(void *unused)
{
    intptr_t n_wrong = 0;

    for (int i = 0; i < n_asked; i++) {
        char path[32];
        assay_scope_t scope;

        snprintf(path, sizeof path, "asked%d", i);
        atomic_fetch_add(&asked[i], 1);
        while (atomic_load(&asked[i]) < n_askers)
            sched_yield();
        scope = assay_scope_path(path, NULL);
        n_wrong += scope == ASSAY_SCOPE_ROOT || scope == ASSAY_SCOPE_NONE;
    }
    (void)unused;
    return (void *)n_wrong;
}

/* A thread once found the name that another had not numbered yet. */
TEST(threads_that_ask_for_a_new_path_at_once_each_get_a_scope)
{
    pthread_t threads[n_askers];

    for (int i = 0; i < n_askers; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, ask_for_new_paths, NULL),
                  0);
    for (int i = 0; i < n_askers; i++) {
        void *n_wrong = NULL;

        pthread_join(threads[i], &n_wrong);
        CHECK_INT((intptr_t)n_wrong, 0);
    }
}

static void give_in_handler(int signal)
{
    int64_t now = assay_clock_ns();

    (void)signal;
    assay_span_at(assay_lane_open("handler", ASSAY_LANE_DEVICE),
                  assay_scope_path("in.handler", NULL), now, now + 1, NULL);
    assay_begin_scope(assay_scope_path("in.handler", NULL));
    assay_end();
}

TEST(a_signal_handler_may_report_spans_and_open_scopes)
{
    struct sigaction action = {.sa_handler = give_in_handler};
    struct run *run;

    sigaction(SIGUSR1, &action, NULL);
    recorded_start(NULL);
    assay_begin("outer");
    for (int i = 0; i < 100; i++)
        raise(SIGUSR1);
    assay_end();
    run = recorded_stop();
    CHECK_INT(device_stats(run, "in.handler").calls, 100);
    CHECK_INT(stats_of(run, "in.handler").calls, 100);
    CHECK_INT(stats_of(run, "outer").calls, 1);
    CHECK_INT(lost_spans(run), 0);
    run_free(run);
    signal(SIGUSR1, SIG_DFL);
}
