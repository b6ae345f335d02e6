/* What the rules find in how the machine and the iterations behaved: each rule
 * both ways. */
#include "findings/finding_runs.h"

TEST(waiting_for_a_processor_is_reported_as_other_load)
{
    struct run *run = quiet_run(100);

    add_series(run, "steady.wait", 7);
    check_found(run, "load", 7,
                "other work on the machine: a thread waited 7.00 ms (7.0 %) "
                "per iteration for a processor",
                "quiet machine");
    run = quiet_run(100); /* several threads together */
    add_series(run, "steady.wait", 330);
    check_found(run, "load", 100,
                "other work on the machine: threads waited longer for a "
                "processor than an iteration takes",
                "quiet machine");
    run = quiet_run(100);
    add_series(run, "steady.wait", 0.5);
    check_silent(run);
}

static void check_taker(const char *series, double processors,
                        const char *words)
{
    struct run *run = threaded_run("2", "2");

    add_series(run, "steady.wait", 4);
    add_series(run, "steady.others", processors);
    add_series(run, series, processors);
    check_found(run, "load", 4, words, "quiet machine");
}

TEST(who_took_the_processors_is_named)
{
    check_taker("steady.busy", 1.25,
                "other programs kept 1.25 of 2 processors busy: a thread "
                "waited 4.00 ms");
    check_taker("steady.stolen", 0.5,
                "the host gave 0.50 of 2 processors to other guests");
}

TEST(the_limit_of_a_container_is_named)
{
    struct run *run = threaded_run("2", "2");

    add_series(run, "steady.wait", 4);
    add_series(run, "steady.others", 0.01);
    add_series(run, "steady.throttled", 0.6);
    check_found(run, "load", 4, "the container's limit held it back",
                "quiet machine");
}

TEST(threads_that_wait_for_each_other_do_not_blame_others)
{
    struct run *run = threaded_run("2", "2");

    add_series(run, "steady.wait", 7);
    add_series(run, "steady.others", 0.02);
    check_found(run, "load", 7,
                "the run's own threads took turns: a thread waited 7.00 ms",
                "");
}

TEST(page_faults_while_measuring_are_reported)
{
    struct run *run = quiet_run(100);

    add_series(run, "steady.page_faults", 20000);
    set(run, "machine.fault_ns", "500");
    check_found(run, "faults", 10,
                "20000 page faults per iteration at 500 ns each, together 10.0",
                "MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1");
    run = quiet_run(100);
    add_series(run, "steady.page_faults", 100);
    set(run, "machine.fault_ns", "500");
    check_silent(run);
    run = quiet_run(100); /* nobody measured what they cost */
    add_series(run, "steady.page_faults", 20000);
    check_silent(run);
}

/* Thirty iterations that get faster, or slower, by a fifth. */
static struct run *drifting_run(int direction)
{
    struct run *run;
    uint32_t thread;

    err = (struct error){0};
    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    for (uint32_t i = 0; i < N; i++) {
        double ms = 100 + direction * (int)i * 0.7;
        struct sample sample = {.iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns = (int64_t)(ms * 1e6),
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
    }
    return run;
}

/* 60 iterations, the first 15 of them slower by a tenth: not so much that they
 * would count as disturbed. */
static struct run *warming_run(void)
{
    struct run *run;
    uint32_t thread;

    err = (struct error){0};
    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    for (uint32_t i = 0; i < 60; i++) {
        double ms = (i < 15 ? 110 : 100) + (i * 7) % 5 * 2;
        struct sample sample = {.iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns = (int64_t)(ms * 1e6),
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
    }
    return run;
}

/* The advice is taken: without as many iterations the finding is gone, and the
 * mean has fallen as it said. */
TEST(a_warm_up_that_was_too_short_is_reported_and_the_advice_holds)
{
    struct run *run = warming_run(), *rest;
    struct run_filter filter = {.first_iteration = 15,
                                .last_iteration = UINT64_MAX};
    struct finding_list list;
    double before = 0, after = 0;

    set(run, "settings.mode", "optimised");
    OK(run_seal(run, &err));
    OK(findings_find(run, &list, &err));
    CHECK_INT(list.n, 1);
    CHECK_STR(list.items[0].rule, "drift");
    CHECK_HAS(list.items[0].text, "the first 15 iterations are slower");
    CHECK_STR(list.items[0].help, "--warmup 15");
    OK(run_subset(run, &filter, &rest, &err));
    for (size_t i = 0; i < 60; i++)
        before += (double)run_iteration(run, i)->duration_ns / 60;
    for (size_t i = 0; i < 45; i++)
        after += (double)run_iteration(rest, i)->duration_ns / 45;
    CHECK_NEAR(list.items[0].saved_ns, before - after, 1);
    CHECK(list.items[0].low_ns < before - after);
    OK(findings_find(rest, &list, &err));
    CHECK_INT(list.n, 0);
    run_free(rest);
    run_free(run);
    list = find(warming_run()); /* other programs have no such option */
    CHECK_HAS(list.items[0].help, "assay show --iterations 15..");
}

/* Iterations that wait for the workers of a loader now and then, in
 * milliseconds; the first one starts a device. */
static struct run *starting_run(void)
{
    static const double times_ms[] = {
        972, 40, 25,  25,  27, 30, 28,  33,  34, 67, 58,  36,  33,  152,
        74,  37, 34,  130, 75, 30, 28,  134, 92, 32, 29,  105, 118, 30,
        30,  78, 149, 32,  32, 48, 177, 30,  31, 32, 197, 30};
    struct run *run;
    uint32_t thread;

    err = (struct error){0};
    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    for (uint32_t i = 0; i < 40; i++) {
        struct sample sample = {.iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns = (int64_t)(times_ms[i] * 1e6),
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
    }
    set(run, "training.first_step", "1"); /* slow steps count, too */
    return run;
}

TEST(a_first_iteration_that_stands_out_is_reported_however_noisy_the_rest)
{
    struct finding_list list = find(starting_run());

    CHECK_INT(list.n, 1);
    CHECK_HAS(list.items[0].text, "the first iteration is slower: without it");
    CHECK_STR(list.items[0].help,
              "`assay show --iterations 1..` leaves it out");
}

TEST(iterations_that_never_settle_are_not_blamed_on_the_warm_up)
{
    struct finding_list list = find(drifting_run(-1));

    CHECK_INT(list.n, 1);
    CHECK_HAS(list.items[0].text, "they had not settled");
    CHECK_STR(list.items[0].help, "");
}

TEST(a_run_that_slows_down_names_only_a_cause_that_was_measured)
{
    struct run *run = drifting_run(1);
    struct finding_list list;
    uint32_t id;

    OK(run_series_add(run, "steady.frequency", "MHz", &id, &err));
    for (uint32_t i = 0; i < N; i++)
        OK(run_series_put(run, id, i, 3000 - 20.0 * i, &err));
    list = find(run);
    CHECK_INT(list.n, 1);
    CHECK_HAS(list.items[0].text, "the processor's frequency fell by 14 %");
    list = find(drifting_run(1));
    CHECK_HAS(list.items[0].text, "the cause was not measured");
}

static struct run *recorded_run(void)
{
    struct run *run = quiet_run(105);

    set(run, "recording.cost_share", "0.05");
    set(run, "recording.cost_low", "0.02");
    set(run, "recording.cost_high", "0.08");
    set(run, "recording.pairs", "9");
    return run;
}

TEST(a_disturbed_run_has_no_other_findings)
{
    check_only_load(drifting_run(-1));
    check_only_load(recorded_run());
}

TEST(a_recording_that_certainly_costs_too_much_is_reported)
{
    struct run *run;

    check_found(recorded_run(), "recording", 5,
                "recording costs 5.00 ms [2.06 ms, 7.78 ms] (4.8 %), measured "
                "with 9",
                "");
    run = quiet_run(105);
    set(run, "recording.cost_share", "0.05");
    set(run, "recording.cost_low", "-0.01");
    set(run, "recording.pairs", "9");
    check_silent(run);
    run = quiet_run(105); /* the least of 3 is no bound */
    set(run, "recording.cost_share", "0.09");
    set(run, "recording.cost_low", "0.04");
    set(run, "recording.pairs", "3");
    check_silent(run);
}

/* ---- devices --------------------------------------------------------------
 */

/* A model of 90 of 100 ms, for which a device works from `begin_ms` on for
 * `ms`. */
static struct run *device_run(double begin_ms, double ms)
{
    struct run *run = quiet_run(100);
    uint32_t model = add_scope(run, RUN_ROOT, "model", "Net", 90, 90);
    uint32_t lane;

    OK(run_thread_add(run, "cuda:0", THREAD_DEVICE, &lane, &err));
    for (uint32_t i = 0; i < N; i++) {
        int64_t start = (int64_t)i * 1000000000;
        struct sample sample = {.scope = model,
                                .thread = lane,
                                .iteration = i,
                                .start_ns = start + (int64_t)(begin_ms * 1e6),
                                .duration_ns = (int64_t)(ms * 1e6),
                                .self_ns = (int64_t)(ms * 1e6),
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
        OK(run_keep(run, &sample, &err));
    }
    return run;
}

TEST(a_device_that_waits_is_reported_from_ten_percent_on)
{
    check_found(device_run(60, 40), "device", 60,
                "the device is idle for 60.0 ms (60 %), most of it", "");
    check_silent(device_run(5, 91));
}

/* The same, with a photograph that is decoded in the first 50 ms. */
static struct run *device_run_after_decoding(void)
{
    struct run *run = device_run(50, 40);
    uint32_t decode = add_scope(run, RUN_ROOT, "decode", "", 50, 50);

    set(run, "settings.mode", "optimised");
    for (uint32_t i = 0; i < N; i++) {
        struct sample sample = {.scope = decode,
                                .iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns = 50000000,
                                .self_ns = 50000000,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_keep(run, &sample, &err));
    }
    return run;
}

/* The text and the advice of the finding about the device. */
static void check_waiting_for_photographs(struct run *run, const char *advice)
{
    struct finding_list list = find(run);
    bool is_found = false;

    for (size_t i = 0; i < list.n; i++) {
        if (strcmp(list.items[i].rule, "device") != 0)
            continue;
        is_found = true;
        CHECK_HAS(list.items[i].text, "most of it for the photograph");
        CHECK_STR(list.items[i].help, advice);
    }
    CHECK(is_found);
}

TEST(passes_in_flight_are_advised_where_a_device_waits_for_photographs)
{
    struct run *run = device_run_after_decoding();

    set(run, "stream.in_flight", "2");
    check_waiting_for_photographs(run, "");
    check_waiting_for_photographs(device_run_after_decoding(),
                                  "--in-flight 2 decodes photographs ahead");
}

TEST(a_device_that_waits_is_not_reported_on_a_disturbed_machine)
{
    check_only_load(device_run(60, 40));
}

/* The host launched everything and waits: more busy threads would not help. */
TEST(threads_that_wait_for_a_device_are_not_reported_as_idle)
{
    struct run *run = device_run(5, 91);

    set(run, "settings.threads", "4");
    set(run, "machine.cores", "4");
    add_series(run, "steady.cpu", 90);
    add_series(run, "steady.wait", 0);
    check_silent(run);
}
