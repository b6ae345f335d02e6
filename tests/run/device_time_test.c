/* tests/run/device_time_test.c - device time next to host time. */
#include "test.h"

#include "base/mem.h"
#include "run/run.h"

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

/* Two scopes below one another. In each of n iterations the host is in both for
 * 10 and 4, the device in the outer for 100 * (i + 1) and inside that in the
 * inner for 60; 30 more by a second queue. */
static struct run *made_run(uint32_t n)
{
    struct error err = {0};
    struct run *run;
    uint32_t host, queue, second, outer, inner;

    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &host, &err));
    OK(run_thread_add(run, "queue", THREAD_DEVICE, &queue, &err));
    OK(run_thread_add(run, "second", THREAD_DEVICE, &second, &err));
    OK(run_scope_add(run, RUN_ROOT, "outer", "", &outer, &err));
    OK(run_scope_add(run, outer, "inner", "", &inner, &err));
    for (uint32_t i = 0; i < n; i++) {
        int64_t whole = 100 * ((int64_t)i + 1);
        const struct sample samples[] = {
            {.scope = inner, .thread = host, .duration_ns = 4, .self_ns = 4},
            {.scope = outer, .thread = host, .duration_ns = 10, .self_ns = 6},
            {.scope = inner, .thread = queue, .duration_ns = 60, .self_ns = 60},
            {.scope = outer,
             .thread = queue,
             .duration_ns = whole,
             .self_ns = whole - 60},
            {.scope = inner,
             .thread = second,
             .duration_ns = 30,
             .self_ns = 30},
            {.scope = RUN_ROOT, .duration_ns = 12, .self_ns = 2},
        };

        for (size_t k = 0; k < sizeof samples / sizeof samples[0]; k++) {
            struct sample sample = samples[k];

            sample.iteration = i;
            sample.bytes = sample.peak_bytes = RUN_UNKNOWN;
            OK(run_count(run, &sample, &err));
        }
    }
    OK(run_seal(run, &err));
    return run;
}

TEST(device_time_of_a_scope_includes_everything_below)
{
    struct run *run = made_run(5);
    struct scope_stats stats;
    struct error err = {0};

    OK(run_scope_device_stats(run, 1, RUN_ANY, &stats, &err));
    CHECK_INT(stats.calls, 15);
    CHECK_INT(stats.n, 5);
    CHECK_NEAR(stats.total_ns, 100 + 200 + 300 + 400 + 500 + 5 * 30, 0);
    CHECK_NEAR(stats.self_ns, 1500 - 5 * 60, 0);
    CHECK_NEAR(stats.mean_ns, 330, 0);
    CHECK_NEAR(stats.median_ns, 330, 0);
    CHECK_NEAR(stats.min_ns, 130, 0);
    CHECK_NEAR(stats.max_ns, 530, 0);
    OK(run_scope_device_stats(run, RUN_ROOT, RUN_ANY, &stats, &err));
    CHECK_NEAR(stats.total_ns, 1650, 0);
    CHECK_NEAR(stats.self_ns, 0, 0);
    run_free(run);
}

TEST(host_time_does_not_change_because_of_a_device)
{
    struct run *run = made_run(5);
    struct scope_stats stats;
    struct error err = {0};

    OK(run_scope_stats(run, 1, RUN_ANY, &stats, &err));
    CHECK_INT(stats.calls, 5);
    CHECK_NEAR(stats.total_ns, 50, 0);
    CHECK_NEAR(stats.self_ns, 30, 0);
    CHECK_NEAR(stats.max_ns, 10, 0);
    run_free(run);
}

TEST(a_scope_that_only_a_device_ran_has_the_devices_time)
{
    struct run_filter filter = {.thread = "queue",
                                .last_iteration = UINT64_MAX};
    struct run *run = made_run(5), *part;
    struct scope_stats stats;
    struct error err = {0};

    OK(run_subset(run, &filter, &part, &err));
    OK(run_scope_stats(part, 1, RUN_ANY, &stats, &err));
    CHECK_NEAR(stats.total_ns, 1500, 0);
    run_free(part);
    run_free(run);
}

TEST(without_a_device_there_are_no_calls)
{
    struct error err = {0};
    struct scope_stats stats;
    struct run *run;

    OK(run_new(&run, &err));
    OK(run_seal(run, &err));
    OK(run_scope_device_stats(run, RUN_ROOT, RUN_ANY, &stats, &err));
    CHECK_INT(stats.calls, 0);
    run_free(run);
}

TEST(many_iterations_are_thinned_and_nothing_leaks_without_memory)
{
    struct run *run = made_run(3000);
    long before = mem_live(), nth = 0;
    struct scope_stats stats;
    enum assay_status st;

    do {
        mem_fail_at(nth++);
        st = run_scope_device_stats(run, 1, RUN_ANY, &stats, NULL);
        mem_fail_at(-1);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 2);
    CHECK_INT(stats.n, 3000);
    CHECK_NEAR(stats.mean_ns, 100 * 3001 / 2.0 + 30, 1e-6);
    CHECK(stats.median_ns > 130000 && stats.median_ns < 170000);
    run_free(run);
}
