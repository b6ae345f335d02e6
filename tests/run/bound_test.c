/* tests/run/bound_test.c - bounds, shares and floors of made-up runs, with the
 * answers worked out by hand. */
#include "base/mem.h"
#include "run/bound.h"
#include "test.h"

#include <math.h>
#include <string.h>

static struct error err;

/* A machine of round numbers: 100 GFLOP/s, 10 GB/s from memory, 40 GB/s from a
 * cache of 1 MB, 5 us to start a kernel. */
static void state_machine(struct run *run)
{
    static const char *const facts[][2] = {
        {"machine.peak_gflops", "100"}, {"machine.read_gbs", "10"},
        {"machine.write_gbs", "6"},     {"machine.copy_gbs", "8"},
        {"machine.launch_us", "5"},     {"machine.l2_bytes", "1000000"},
        {"machine.l2_gbs", "40"}};

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        CHECK_INT(run_fact_set(run, facts[i][0], facts[i][1], &err), 0);
}

/* What a scope does per iteration, and how long it takes. */
struct part {
    const char *name;
    uint32_t parent;
    int64_t total_us, self_us;
    uint32_t calls;
    double macs, done_flops, done_bytes; /* done_flops < 0: unknown */
};

static void count(struct run *run, uint32_t scope, uint32_t iteration,
                  const struct part *part)
{
    for (uint32_t i = 0; i < part->calls; i++) {
        struct sample sample = {.scope = scope,
                                .iteration = iteration,
                                .duration_ns =
                                    part->total_us * 1000 / part->calls,
                                .self_ns = part->self_us * 1000 / part->calls,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        CHECK_INT(run_count(run, &sample, &err), 0);
    }
}

/* Scope 1 is the first part; two iterations, alike. */
static struct run *open_run_of(const struct part *parts, size_t n)
{
    struct run *run;
    uint32_t id;
    struct part whole = {.total_us = 100000, .self_us = 0, .calls = 1};

    err = (struct error){0};
    CHECK_INT(run_new(&run, &err), 0);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &id, &err), 0);
    for (size_t i = 0; i < n; i++) {
        struct scope_work work = scope_work_unknown();

        CHECK_INT(
            run_scope_add(run, parts[i].parent, parts[i].name, "", &id, &err),
            0);
        CHECK_INT(id, i + 1);
        if (parts[i].done_flops < 0)
            continue;
        work.macs = parts[i].macs;
        work.done_flops = parts[i].done_flops;
        work.done_bytes = parts[i].done_bytes;
        CHECK_INT(run_work_set(run, id, &work, &err), 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < n; k++)
            count(run, (uint32_t)k + 1, i, &parts[k]);
        count(run, RUN_ROOT, i, &whole);
    }
    return run;
}

static struct run *run_of(const struct part *parts, size_t n)
{
    struct run *run = open_run_of(parts, n);

    CHECK_INT(run_seal(run, &err), 0);
    return run;
}

static struct bounds bounds_of(const struct run *run)
{
    struct bounds bounds = {0};

    CHECK_STATUS(bounds_build(run, &bounds, &err), ASSAY_OK, &err);
    return bounds;
}

static void end(struct run *run, struct bounds *bounds)
{
    bounds_release(bounds);
    run_free(run);
}

TEST(a_scope_is_bound_by_the_largest_part_of_its_floor)
{
    /* 1 GFLOP takes 10 ms at the peak; 50 MB take 5 ms from memory; 0.8 MB
     * take 20 us from the cache. */
    static const struct part parts[] = {
        {"conv", 0, 20000, 20000, 1, 0.5e9, 1e9, 5e6},
        {"add", 0, 8000, 8000, 1, 0, 1e6, 50e6},
        {"nms", 0, 400, 400, 1, 0, 0, 0.8e6},
        {"tiny", 0, 20, 20, 2, 0, 1000, 1000}};
    struct run *run = run_of(parts, 4);
    struct bounds bounds;

    state_machine(run);
    bounds = bounds_of(run);
    CHECK_INT(bounds.items[1].kind, BOUND_COMPUTE);
    CHECK_NEAR(bounds.items[1].floor_ns, 10e6, 1);
    CHECK_NEAR(bounds.items[1].share, 0.5, 1e-9);
    CHECK_NEAR(bounds.items[1].saved_ns, 10e6, 1);
    CHECK_NEAR(bounds.items[1].gflops, 50, 1e-9);
    CHECK_NEAR(bounds.items[1].gbs, 0.25, 1e-9);
    CHECK_NEAR(bounds.items[1].intensity, 200, 1e-9);
    CHECK_INT(bounds.items[2].kind, BOUND_MEMORY);
    CHECK_NEAR(bounds.items[2].floor_ns, 5e6, 1);
    CHECK_NEAR(bounds.items[2].share, 0.625, 1e-9);
    CHECK(isnan(bounds.items[2].gflops));
    CHECK_INT(bounds.items[3].kind, BOUND_LATENCY);
    CHECK_NEAR(bounds.items[3].floor_ns, 20e3, 1e-3);
    /* Two launches of 5 us each are half of its 20. */
    CHECK_INT(bounds.items[4].kind, BOUND_LATENCY);
    CHECK_NEAR(bounds.items[4].floor_ns, 10e3, 1e-3);
    CHECK(bounds.is_known);
    CHECK(!bounds.peaks.is_raised);
    end(run, &bounds);
}

/* Launching takes 10 us on the host; the device runs 20 ms, and the host adds
 * a second layer that takes 16 ms itself. */
TEST(a_scope_that_a_device_works_for_has_the_time_of_the_device)
{
    struct sample launch = {.scope = 2,
                            .duration_ns = 10000,
                            .self_ns = 10000,
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};
    struct scope_work work = scope_work_unknown();
    struct sample kernel = launch, host = launch, whole = launch;
    struct bounds bounds;
    struct run *run;
    uint32_t id;

    err = (struct error){0};
    CHECK_INT(run_new(&run, &err), 0);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &id, &err), 0);
    CHECK_INT(run_thread_add(run, "queue", THREAD_DEVICE, &id, &err), 0);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "net", "", &id, &err), 0);
    CHECK_INT(run_scope_add(run, 1, "conv", "", &id, &err), 0);
    CHECK_INT(run_scope_add(run, 1, "host", "", &id, &err), 0);
    work.macs = 0.5e9, work.done_flops = 1e9, work.done_bytes = 5e6;
    CHECK_INT(run_work_set(run, 2, &work, &err), 0);
    CHECK_INT(run_work_set(run, 3, &work, &err), 0);
    kernel.thread = 1, kernel.duration_ns = kernel.self_ns = 20000000;
    host.scope = 3, host.duration_ns = host.self_ns = 16000000;
    whole.scope = 1, whole.duration_ns = 30000000, whole.self_ns = 0;
    CHECK_INT(run_count(run, &launch, &err), 0);
    CHECK_INT(run_count(run, &kernel, &err), 0);
    CHECK_INT(run_count(run, &host, &err), 0);
    CHECK_INT(run_count(run, &whole, &err), 0);
    whole.scope = RUN_ROOT;
    CHECK_INT(run_count(run, &whole, &err), 0);
    CHECK_INT(run_seal(run, &err), 0);
    state_machine(run);
    bounds = bounds_of(run);
    CHECK_NEAR(bounds.items[2].time_ns, 20e6, 1);
    CHECK_NEAR(bounds.items[2].gflops, 50, 1e-9);
    CHECK_NEAR(bounds.items[2].share, 0.5, 1e-9);
    CHECK_NEAR(bounds.items[3].time_ns, 16e6, 1);
    CHECK_NEAR(bounds.items[1].time_ns, 20e6, 1);
    CHECK_NEAR(bounds.items[1].macs, 0.5e9, 1);
    CHECK_NEAR(bounds.items[1].covered_ns, 20e6, 1);
    end(run, &bounds);
}

/* A layer that takes three times as long because others use the processors is
 * not bound by latency. */
TEST(nothing_is_bound_by_anything_on_a_disturbed_machine)
{
    static const struct part parts[] = {
        {"conv", 0, 40000, 40000, 1, 0.5e9, 1e9, 5e6},
        {"add", 0, 8000, 8000, 1, 0, 1e6, 50e6}};
    struct run *run = run_of(parts, 2);
    struct bounds bounds;
    struct bound both;
    uint32_t id;

    state_machine(run);
    CHECK_INT(run_fact_set(run, "machine.cores", "2", &err), 0);
    CHECK_INT(run_fact_set(run, "settings.threads", "2", &err), 0);
    CHECK_INT(run_series_add(run, "steady.others", "", &id, &err), 0);
    CHECK_INT(run_series_put(run, id, 0, 1.6, &err), 0);
    bounds = bounds_of(run);
    CHECK(!bounds.is_known);
    for (size_t i = 0; i < bounds.n; i++)
        CHECK_INT(bounds.items[i].kind, BOUND_UNKNOWN);
    CHECK(isnan(bounds.items[1].share) && isnan(bounds.items[1].saved_ns));
    both = bounds.items[1];
    bound_add(&both, &bounds.items[2]);
    CHECK_INT(both.kind, BOUND_UNKNOWN);
    CHECK(isnan(both.share) && isnan(both.saved_ns));
    end(run, &bounds);
}

TEST(winograd_has_the_direct_algorithms_rate_and_its_own_share)
{
    /* 2 GFLOP of the direct algorithm in 12 ms, of which 0.9 were done: faster
     * than the peak would allow, yet at three quarters of it. */
    static const struct part parts[] = {
        {"conv", 0, 12000, 12000, 1, 1e9, 0.9e9, 1e6}};
    struct run *run = run_of(parts, 1);
    struct bounds bounds;

    state_machine(run);
    bounds = bounds_of(run);
    CHECK_NEAR(bounds.items[1].gflops, 2e9 / 12e6, 1e-6);
    CHECK_NEAR(bounds.items[1].done_gflops, 75, 1e-9);
    CHECK_NEAR(bounds.items[1].share, 0.75, 1e-9);
    end(run, &bounds);
}

TEST(a_module_adds_up_the_floors_of_what_is_below_it)
{
    /* head: 0.6 ms of its own with unknown work. */
    static const struct part parts[] = {
        {"head", 0, 3000, 600, 1, 0, -1, 0},
        {"a", 1, 2000, 2000, 1, 0.05e9, 0.1e9, 1000},
        {"b", 1, 400, 400, 1, 0, 0, 2e6},
        {"tail", 0, 10000, 9000, 1, 0, -1, 0},
        {"c", 4, 1000, 1000, 1, 0.05e9, 0.1e9, 1000}};
    struct run *run = run_of(parts, 5);
    struct bounds bounds;

    state_machine(run);
    bounds = bounds_of(run);
    CHECK_NEAR(bounds.items[1].time_ns, 3e6, 1e-3);
    CHECK_NEAR(bounds.items[1].covered_ns, 2.4e6, 1e-3);
    CHECK_NEAR(bounds.items[1].floor_ns, 1e6 + 0.2e6, 1e-3);
    CHECK_NEAR(bounds.items[1].share, 0.5, 1e-9);
    CHECK_NEAR(bounds.items[1].saved_ns, 1.2e6, 1e-3);
    CHECK_NEAR(bounds.items[1].gflops, 0.1e9 / 3e6, 1e-9);
    /* 2 of the 2.4 ms are bound by compute. */
    CHECK_INT(bounds.items[1].kind, BOUND_COMPUTE);
    /* Only a tenth of the tail is known. */
    CHECK_INT(bounds.items[4].kind, BOUND_UNKNOWN);
    CHECK_NEAR(bounds.items[4].saved_ns, 0, 1e-3);
    end(run, &bounds);
}

TEST(a_module_without_a_main_bound_is_mixed)
{
    static const struct part parts[] = {
        {"block", 0, 2000, 0, 1, 0, -1, 0},
        {"a", 1, 1000, 1000, 1, 0.05e9, 0.1e9, 1000},
        {"b", 1, 1000, 1000, 1, 0, 0, 10e6}};
    struct run *run = run_of(parts, 3);
    struct bounds bounds;

    state_machine(run);
    bounds = bounds_of(run);
    CHECK_INT(bounds.items[2].kind, BOUND_COMPUTE);
    CHECK_INT(bounds.items[3].kind, BOUND_MEMORY);
    CHECK_INT(bounds.items[1].kind, BOUND_MIXED);
    CHECK_STR(bound_kind_text(bounds.items[1].kind), "mixed");
    end(run, &bounds);
}

TEST(no_share_exceeds_one_because_peaks_rise_to_what_was_seen)
{
    /* 125 GFLOP/s, 20 GB/s from memory, 80 GB/s from the cache. */
    static const struct part parts[] = {
        {"conv", 0, 8000, 8000, 1, 0.5e9, 1e9, 1000},
        {"half", 0, 16000, 16000, 1, 0.5e9, 1e9, 1000},
        {"copy", 0, 1000, 1000, 1, 0, 0, 20e6},
        {"near", 0, 10, 10, 1, 0, 0, 0.8e6}};
    struct run *run = run_of(parts, 4);
    struct bounds bounds;

    state_machine(run);
    bounds = bounds_of(run);
    CHECK(bounds.peaks.is_raised);
    CHECK_NEAR(bounds.peaks.gflops, 125, 1e-9);
    CHECK_NEAR(peaks_gbs(&bounds.peaks, 20e6), 20, 1e-9);
    CHECK_NEAR(peaks_gbs(&bounds.peaks, 1e3), 80, 1e-9);
    CHECK_NEAR(bounds.items[1].share, 1, 1e-9);
    CHECK_NEAR(bounds.items[2].share, 0.5, 1e-9);
    CHECK_NEAR(bounds.items[3].share, 1, 1e-9);
    CHECK_NEAR(bounds.items[4].share, 1, 1e-9);
    CHECK_NEAR(bounds.items[1].saved_ns, 0, 1e-3);
    end(run, &bounds);
}

TEST(what_a_cache_could_have_held_does_not_raise_the_memory_s_peak)
{
    /* 3 MB that are moved at 30 GB/s may be 0.75 MB that are moved four times.
     */
    static const struct part parts[] = {{"twice", 0, 100, 100, 1, 0, 0, 3e6},
                                        {"copy", 0, 4000, 4000, 1, 0, 0, 20e6}};
    struct run *run = run_of(parts, 2);
    struct bounds bounds;

    state_machine(run);
    bounds = bounds_of(run);
    CHECK(!bounds.peaks.is_raised);
    CHECK_NEAR(peaks_gbs(&bounds.peaks, 20e6), 10, 1e-9);
    CHECK_NEAR(bounds.items[1].share, 1, 1e-9);
    CHECK_NEAR(bounds.items[1].saved_ns, 0, 1e-3);
    CHECK_INT(bounds.items[1].kind, BOUND_MEMORY);
    CHECK_NEAR(bounds.items[2].share, 0.5, 1e-9);
    end(run, &bounds);
}

TEST(a_call_shorter_than_a_launch_has_none_in_its_floor)
{
    static const struct part parts[] = {{"scalar", 0, 3, 3, 1, 0, 100e3, 1000},
                                        {"view", 0, 1000, 1000, 100, 0, 0, 0}};
    struct run *run = run_of(parts, 2);
    struct bounds bounds;

    state_machine(run);
    bounds = bounds_of(run);
    CHECK_NEAR(bounds.items[1].floor_ns, 1000, 1e-3);
    CHECK_NEAR(bounds.items[2].floor_ns, 0, 1e-3);
    CHECK_INT(bounds.items[2].kind, BOUND_LATENCY);
    end(run, &bounds);
}

TEST(without_peaks_or_executed_work_the_bound_is_unknown)
{
    static const struct part parts[] = {
        {"conv", 0, 20000, 20000, 1, 0.5e9, 1e9, 5e6},
        {"other", 0, 1000, 1000, 1, 0, -1, 0}};
    struct run *run = run_of(parts, 2);
    struct bounds bounds = bounds_of(run);

    CHECK_INT(bounds.items[1].kind, BOUND_UNKNOWN);
    CHECK(isnan(bounds.items[1].share));
    CHECK(isnan(bounds.items[1].saved_ns));
    CHECK_NEAR(bounds.items[1].gflops, 50, 1e-9);
    CHECK(!bounds.is_known);
    bounds_release(&bounds);
    state_machine(run);
    bounds = bounds_of(run);
    CHECK_INT(bounds.items[1].kind, BOUND_COMPUTE);
    CHECK_INT(bounds.items[2].kind, BOUND_UNKNOWN);
    CHECK(isnan(bounds.items[2].floor_ns));
    end(run, &bounds);
}

TEST(caches_come_from_the_facts_and_serve_what_fits)
{
    struct run *run = run_of(NULL, 0);
    struct peaks peaks = peaks_of_facts(run);

    CHECK(isnan(peaks.gflops));
    CHECK(isnan(peaks_gbs(&peaks, 1)));
    state_machine(run);
    CHECK_INT(run_fact_set(run, "machine.l3_bytes", "8e6", &err), 0);
    CHECK_INT(run_fact_set(run, "machine.l3_gbs", "20", &err), 0);
    CHECK_INT(run_fact_set(run, "machine.peak_gflops", "fast", &err), 0);
    peaks = peaks_of_facts(run);
    CHECK(isnan(peaks.gflops));
    CHECK_INT(peaks.n_caches, 2);
    CHECK_INT(peaks.caches[1].level, 3);
    CHECK_NEAR(peaks_gbs(&peaks, 1e6), 40, 1e-9);
    CHECK_NEAR(peaks_gbs(&peaks, 1e6 + 1), 20, 1e-9);
    CHECK_NEAR(peaks_gbs(&peaks, 9e6), 10, 1e-9);
    CHECK_NEAR(peaks.launch_ns, 5000, 1e-9);
    run_free(run);
}

TEST(bounds_of_several_scopes_add_up)
{
    static const struct part parts[] = {
        {"a", 0, 2000, 2000, 1, 0.05e9, 0.1e9, 1000},
        {"b", 0, 400, 400, 1, 0, 0, 2e6}};
    struct run *run = run_of(parts, 2);
    struct bound sum = bound_unknown();
    struct bounds bounds;

    state_machine(run);
    bounds = bounds_of(run);
    bound_add(&sum, &bounds.items[1]);
    bound_add(&sum, &bounds.items[2]);
    CHECK_NEAR(sum.time_ns, 2.4e6, 1e-3);
    CHECK_NEAR(sum.floor_ns, 1.2e6, 1e-3);
    CHECK_NEAR(sum.share, 0.5, 1e-9);
    CHECK_INT(sum.kind, BOUND_COMPUTE);
    end(run, &bounds);
}

TEST(no_failing_allocation_of_bounds_goes_unnoticed)
{
    struct run *run = run_of(NULL, 0);
    long before = mem_live(), nth = 0;
    enum assay_status st;

    do {
        struct bounds bounds = {0};

        mem_fail_at(nth++);
        st = bounds_build(run, &bounds, NULL);
        mem_fail_at(-1);
        bounds_release(&bounds);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK_INT(nth, 3);
    run_free(run);
}

TEST(work_of_a_device_is_set_against_the_devices_time)
{
    static const struct part parts[] = {{.name = "conv",
                                         .total_us = 500,
                                         .self_us = 500,
                                         .calls = 1,
                                         .done_flops = 100e6,
                                         .done_bytes = 1e3}};
    struct run *run = open_run_of(parts, 1);
    struct bounds bounds = {0};
    uint32_t lane;

    state_machine(run);
    CHECK_INT(run_thread_add(run, "cuda:0", THREAD_DEVICE, &lane, &err), 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct sample sample = {.scope = 1,
                                .thread = lane,
                                .iteration = i,
                                .duration_ns = 2000000,
                                .self_ns = 2000000,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        CHECK_INT(run_count(run, &sample, &err), 0);
    }
    CHECK_INT(run_seal(run, &err), 0);
    CHECK_INT(bounds_build(run, &bounds, &err), 0);
    CHECK_NEAR(bounds.items[1].time_ns, 2e6, 0);
    CHECK_NEAR(bounds.items[1].done_gflops, 50, 1e-9);
    CHECK_NEAR(bounds.items[1].share, 0.5, 1e-9); /* of 100 GFLOP/s */
    bounds_release(&bounds);
    run_free(run);
}
