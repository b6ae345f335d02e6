/* tests/record/threads_test.c - several threads in one recording. */
#include "recorded.h"

#include "record/thread_buffer_internal.h"

#include <stdatomic.h>

enum { n_threads = 8 };

static pthread_t start_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;

    CHECK_INT(pthread_create(&thread, NULL, body, argument), 0);
    return thread;
}

static size_t count_threads(const struct run *run, const char *name)
{
    size_t n = 0;

    for (uint32_t i = 0; i < run_thread_count(run); i++)
        n += strcmp(run_thread(run, i)->name, name) == 0;
    return n;
}

static void *record_many(void *argument)
{
    const int *n_rounds = argument;

    for (int i = 0; i < *n_rounds; i++) {
        assay_begin("outer");
        for (int call = 0; call < 2; call++) {
            assay_begin("inner");
            assay_end();
        }
        assay_end();
    }
    return NULL;
}

TEST(nothing_is_lost_when_eight_threads_record_at_full_speed)
{
    static int n_rounds = 66667; /* of three spans */
    pthread_t threads[n_threads];
    struct scope_stats outer, inner;
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < n_threads; i++)
        threads[i] = start_thread(record_many, &n_rounds);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    run = recorded_stop();
    outer = stats_of(run, "outer");
    inner = stats_of(run, "outer.inner");
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    CHECK_INT(run_health_of(run)->open_at_end, 0);
    CHECK_INT(outer.calls, n_threads * n_rounds);
    CHECK_INT(inner.calls, n_threads * n_rounds * 2);
    CHECK_NEAR(outer.self_ns, outer.total_ns - inner.total_ns,
               1e-9 * outer.total_ns);
    run_free(run);
}

static void *record_named(void *name)
{
    assay_thread(name);
    assay_begin("work");
    assay_end();
    return NULL;
}

TEST(threads_keep_their_names)
{
    struct run *run;
    pthread_t thread;

    recorded_start(NULL);
    assay_begin("here");
    assay_end();
    thread = start_thread(record_named, "loader");
    pthread_join(thread, NULL);
    run = recorded_stop();
    CHECK_INT(run_thread_count(run), 2);
    CHECK_INT(count_threads(run, "main"), 1);
    CHECK_INT(count_threads(run, "loader"), 1);
    run_free(run);
}

TEST(a_thread_may_be_named_late)
{
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i <= RING_RECORDS; i++) { /* until it was drained once */
        assay_begin("span");
        assay_end();
    }
    assay_thread("boss");
    run = recorded_stop();
    CHECK_INT(run_thread_count(run), 1);
    CHECK_STR(run_thread(run, 0)->name, "boss");
    run_free(run);
}

TEST(a_thread_continues_the_lane_of_an_ended_one_with_its_name)
{
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < 20; i++)
        pthread_join(start_thread(record_named, i % 2 ? "odd" : "even"), NULL);
    run = recorded_stop();
    CHECK_INT(run_thread_count(run), 2);
    CHECK_INT(count_threads(run, "odd"), 1);
    CHECK_INT(stats_of(run, "work").calls, 20);
    run_free(run);
}

static void *record_unnamed(void *unused)
{
    assay_begin("work");
    assay_end();
    return unused;
}

TEST(threads_without_a_name_share_lanes_in_turn)
{
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < 20; i++)
        pthread_join(start_thread(record_unnamed, NULL), NULL);
    run = recorded_stop();
    CHECK_INT(run_thread_count(run), 1);
    CHECK_STR(run_thread(run, 0)->name, "thread 1");
    CHECK_INT(stats_of(run, "work").calls, 20);
    run_free(run);
}

static pthread_barrier_t barrier;

static void *record_together(void *name)
{
    assay_thread(name);
    pthread_barrier_wait(&barrier);
    assay_begin("work");
    assay_end();
    pthread_barrier_wait(&barrier);
    return NULL;
}

static atomic_uint n_joined;

static void *join_and_wait(void *name)
{
    assay_thread(name);
    atomic_fetch_add(&n_joined, 1);
    pthread_barrier_wait(&barrier);
    return NULL;
}

TEST(threads_that_live_together_have_lanes_of_their_own)
{
    pthread_t threads[n_threads];
    struct run *run;

    recorded_start(NULL);
    pthread_barrier_init(&barrier, NULL, n_threads);
    for (int i = 0; i < n_threads; i++)
        threads[i] = start_thread(record_together, "worker");
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    run = recorded_stop();
    CHECK_INT(count_threads(run, "worker"), n_threads);
    CHECK_INT(stats_of(run, "work").calls, n_threads);
    run_free(run);
}

TEST(threads_are_in_the_order_in_which_they_joined)
{
    pthread_t threads[n_threads];
    char names[n_threads][8];
    struct run *run;

    recorded_start(NULL);
    assay_thread("boss");
    pthread_barrier_init(&barrier, NULL, n_threads);
    for (int i = 0; i < n_threads; i++) {
        uint64_t before = atomic_load(&n_joined);

        snprintf(names[i], sizeof names[i], "%d", i);
        threads[i] = start_thread(join_and_wait, names[i]);
        while (atomic_load(&n_joined) == before)
            usleep(100);
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    run = recorded_stop();
    CHECK_STR(run_thread(run, 0)->name, "boss");
    for (uint32_t i = 0; i < n_threads; i++)
        CHECK_STR(run_thread(run, i + 1)->name, names[i]);
    run_free(run);
}

static void *leave_open(void *unused)
{
    assay_begin("open");
    assay_begin("too");
    return unused;
}

TEST(a_thread_that_ends_closes_its_spans)
{
    struct run *run;

    recorded_start(NULL);
    pthread_join(start_thread(leave_open, NULL), NULL);
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->open_at_end, 2);
    CHECK_INT(stats_of(run, "open.too").calls, 1);
    run_free(run);
}

static void *mark_and_leave(void *unused)
{
    assay_iteration_begin();
    return unused;
}

TEST(an_iteration_ends_with_its_thread)
{
    struct run *run;

    recorded_start(NULL);
    pthread_join(start_thread(mark_and_leave, NULL), NULL);
    assay_iteration_begin();
    assay_iteration_end();
    run = recorded_stop();
    CHECK_INT(run_iteration_count(run), 1);
    CHECK_INT(run_health_of(run)->open_at_end, 1);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    run_free(run);
}

static void *work_in_iterations(void *unused)
{
    for (int i = 0; i < 10; i++) {
        pthread_barrier_wait(&barrier);
        assay_begin("work");
        assay_end();
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

TEST(an_iteration_includes_what_ends_on_other_threads)
{
    struct run *run;
    pthread_t thread;

    recorded_start(NULL);
    pthread_barrier_init(&barrier, NULL, 2);
    thread = start_thread(work_in_iterations, NULL);
    for (int i = 0; i < 10; i++) {
        if (i < 7)
            assay_iteration_begin();
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        if (i < 7)
            assay_iteration_end();
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
    run = recorded_stop();
    CHECK_INT(run_iteration_count(run), 7);
    CHECK_INT(calls_of(run, "work", false), 7);
    CHECK_INT(calls_of(run, "work", true), 3);
    run_free(run);
}

static atomic_bool goes_on;

static void *record_until_told(void *unused)
{
    while (atomic_load(&goes_on)) {
        assay_begin("busy");
        assay_counter("n", NULL, 1);
        assay_bytes(8);
        assay_bytes(-8);
        assay_phase_begin("phase");
        assay_end();
        assay_phase_end();
    }
    return unused;
}

TEST(recordings_start_and_stop_under_threads_that_never_pause)
{
    pthread_t threads[n_threads / 2];

    atomic_store(&goes_on, true);
    for (int i = 0; i < n_threads / 2; i++)
        threads[i] = start_thread(record_until_told, NULL);
    for (int i = 0; i < 10; i++) {
        recorded_start(NULL);
        usleep(10000);
        run_free(recorded_stop());
    }
    atomic_store(&goes_on, false);
    for (int i = 0; i < n_threads / 2; i++)
        pthread_join(threads[i], NULL);
}

static void *mark_until_told(void *unused)
{
    while (atomic_load(&goes_on)) {
        assay_iteration_begin();
        assay_iteration_end();
    }
    return unused;
}

/* A thread may be stopped in the middle of a call, and go on when the next
 * recording has begun. */
TEST(an_iteration_under_way_is_no_part_of_the_next_recording)
{
    pthread_t threads[n_threads];

    atomic_store(&goes_on, true);
    for (int i = 0; i < n_threads; i++)
        threads[i] = start_thread(mark_until_told, NULL);
    for (int i = 0; i < 100; i++) {
        struct recorded recorded;
        struct error err = {0};

        CHECK_STATUS(record_start_in_memory(NULL, &err), ASSAY_OK, &err);
        usleep(1000);
        CHECK_STATUS(record_stop_run(&recorded, &err), ASSAY_OK, &err);
        recorded_release(&recorded);
    }
    atomic_store(&goes_on, false);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
}

TEST(counters_of_several_threads_come_in_order_of_time)
{
    pthread_t threads[n_threads / 2];
    struct run *run;

    atomic_store(&goes_on, true);
    recorded_start(NULL);
    for (int i = 0; i < n_threads / 2; i++)
        threads[i] = start_thread(record_until_told, NULL);
    usleep(200000);
    atomic_store(&goes_on, false);
    for (int i = 0; i < n_threads / 2; i++)
        pthread_join(threads[i], NULL);
    run = recorded_stop();
    CHECK_INT(run_counters(run), 2);
    for (uint32_t c = 0; c < 2; c++) {
        const struct counter *counter = run_counter(run, c);

        for (size_t i = 1; i < counter->n_points; i++)
            CHECK(counter->points[i].time_ns >= counter->points[i - 1].time_ns);
    }
    run_free(run);
}
