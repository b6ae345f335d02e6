/* How the machine treats a process, as the kernel counts it. */
#include "base/child.h"
#include "base/clock.h"
#include "base/mem.h"
#include "observe/fault_cost.h"
#include "observe/steady.h"
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static struct steady_sample between(void (*work)(void))
{
    struct steady_sample before, after;
    struct steady steady;

    steady_open(&steady);
    before = steady_before(&steady);
    work();
    after = steady_after(&steady);
    steady_close(&steady);
    return steady_between(&before, &after);
}

static void touch_pages(void)
{
    enum { bytes = 64 * 4096 };
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(pages != MAP_FAILED);
    CHECK_INT(madvise(pages, bytes, MADV_NOHUGEPAGE), 0);
    for (size_t i = 0; i < bytes; i += 4096)
        pages[i] = 1;
    munmap(pages, bytes);
}

TEST(pages_touched_for_the_first_time_are_faults)
{
    struct steady_sample gone = between(touch_pages);

    CHECK(gone.values[STEADY_FAULTS] >= 64);
    CHECK(gone.values[STEADY_MAJOR_FAULTS] >= 0);
}

static void sleep_often(void)
{
    static const struct timespec moment = {.tv_nsec = 100000};

    for (int i = 0; i < 20; i++)
        nanosleep(&moment, NULL);
}

TEST(sleeping_is_a_voluntary_switch)
{
    struct steady_sample gone = between(sleep_often);

    CHECK(gone.values[STEADY_VOLUNTARY] >= 20);
    CHECK(gone.values[STEADY_INVOLUNTARY] >= 0);
}

static void spin(void)
{
    struct timespec now;

    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_nsec % 50000000 < 40000000);
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_nsec % 50000000 >= 40000000);
}

/* It spins through at least ten milliseconds of its own time. */
TEST(processor_time_is_counted_in_milliseconds)
{
    struct steady_sample gone = between(spin);

    CHECK(gone.values[STEADY_CPU] >= 5);
    CHECK(gone.values[STEADY_CPU] < 10000);
}

TEST(momentary_values_are_the_later_ones_and_the_rest_differences)
{
    struct steady_sample before = {.processor = 0}, after = before, gone;

    for (int i = 0; i < N_STEADY; i++) {
        before.values[i] = 100;
        after.values[i] = 107;
    }
    gone = steady_between(&before, &after);
    CHECK(gone.values[STEADY_FREQUENCY] == 107);
    CHECK(gone.values[STEADY_FAULTS] == 7);
    CHECK(gone.values[STEADY_MIGRATIONS] == 7);
}

/* If the kernel counts no migrations for us, two moments show one. */
TEST(a_migration_is_seen_by_the_processor)
{
    struct steady_sample before = {.processor = 0}, after = {.processor = 1};

    before.values[STEADY_MIGRATIONS] = after.values[STEADY_MIGRATIONS] = NAN;
    CHECK(steady_between(&before, &after).values[STEADY_MIGRATIONS] == 1);
    after.processor = 0;
    CHECK(steady_between(&before, &after).values[STEADY_MIGRATIONS] == 0);
}

/* As if all had been read `ago` nanoseconds ago, on a processor that is not
 * there, after an iteration of `lasted` nanoseconds. */
static struct steady opened(int64_t ago, int64_t lasted)
{
    struct steady steady;

    steady_open(&steady);
    steady_before(&steady);
    steady.sample.processor = -7;
    steady.sample.values[STEADY_FAULTS] = -7;
    steady.read_ns = clock_monotonic_ns() - ago;
    steady.lasted_ns = lasted;
    return steady;
}

static const int64_t an_hour = INT64_C(3600000000000);

TEST(what_was_read_a_moment_ago_is_not_read_again_after_an_iteration)
{
    struct steady steady = opened(-an_hour, 0); /* however busy this is */
    struct steady_sample sample = steady_after(&steady);

    CHECK_INT(sample.processor, -7);
    CHECK(sample.values[STEADY_FAULTS] >= 0);
    steady_close(&steady);
    steady = opened(an_hour, 0);
    CHECK(steady_after(&steady).processor >= 0);
    steady_close(&steady);
}

TEST(what_happens_in_short_iterations_counts_with_a_later_one)
{
    struct steady steady = opened(an_hour, 300000);

    CHECK_INT(steady_before(&steady).processor, -7);
    CHECK(steady_after(&steady).processor >= 0);
    steady_close(&steady);
    steady = opened(0, 2000000);
    CHECK(steady_before(&steady).processor >= 0);
    steady_close(&steady);
}

TEST(every_value_has_a_series_of_its_own)
{
    for (int i = 0; i < N_STEADY; i++) {
        const char *name = steady_series((enum steady_value)i);

        CHECK(strncmp(name, "steady.", 7) == 0);
        for (int k = 0; k < i; k++)
            CHECK(strcmp(name, steady_series((enum steady_value)k)) != 0);
    }
}

static void *wait_for_the_end(void *mutex)
{
    pthread_setname_np(pthread_self(), "assay-team");
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

TEST(threads_of_the_team_are_watched_as_they_come)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct steady_sample before, after;
    struct steady steady;
    pthread_t thread;

    steady_open(&steady);
    before = steady_before(&steady);
    if (before.n_waits == 0)
        SKIP("the kernel keeps no schedstat");
    pthread_mutex_lock(&mutex);
    CHECK_INT(pthread_create(&thread, NULL, wait_for_the_end, &mutex), 0);
    do { /* until it has its name */
        steady.n_threads = 0;
        after = steady_after(&steady);
    } while (after.n_waits == before.n_waits);
    CHECK_INT(after.n_waits, before.n_waits + 1);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    steady_close(&steady);
}

TEST(the_wait_is_that_of_the_thread_that_waited_longest)
{
    struct steady_sample before = {.waits_ms = {10, 20, 30}, .n_waits = 3};
    struct steady_sample after = {.waits_ms = {11, 27, 33}, .n_waits = 3};

    CHECK_NEAR(steady_between(&before, &after).values[STEADY_WAIT], 7, 1e-9);
}

static void spin_for_ever(void *context, int line)
{
    (void)context;
    (void)line;
    for (volatile unsigned i = 0;; i++)
        continue;
}

TEST(processors_that_others_keep_busy_are_counted)
{
    static const struct timespec moment = {.tv_nsec = 400000000};
    const struct child_options options = {.what = "a test"};
    struct steady_sample before, after;
    struct steady steady;
    struct child other;

    CHECK_INT(child_start(&other, &options, spin_for_ever, NULL, NULL),
              ASSAY_OK);
    steady_open(&steady);
    before = steady_before(&steady);
    nanosleep(&moment, NULL);
    after = steady_after(&steady);
    steady_close(&steady);
    child_end(&other, true, NULL);
    CHECK(steady_between(&before, &after).values[STEADY_OTHERS] > 0.2);
}

TEST(a_page_fault_has_a_cost)
{
    double ns = fault_cost_ns();

    CHECK(ns > 0);
}
