/* What the rules find in a run, and that they are silent where there is
 * nothing: each rule both ways. */
#include "base/mem.h"
#include "findings/findings.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct error err;

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

enum { N = 30 };

/* ---- a run in which there is nothing to find ---------------------------- */

/* Iterations of `ms`, all but the same, on one thread. */
static struct run *quiet_run(double ms)
{
    struct run *run;
    uint32_t thread;

    err = (struct error){0};
    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    for (uint32_t i = 0; i < N; i++) {
        struct sample sample = {.iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns =
                                    (int64_t)(ms * 1e6) + (i * 7) % 5,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
    }
    return run;
}

/* A scope that takes `ms` of every iteration, itself `self_ms` of it. */
static uint32_t add_scope(struct run *run, uint32_t parent, const char *name,
                          const char *class_name, double ms, double self_ms)
{
    uint32_t id;

    OK(run_scope_add(run, parent, name, class_name, &id, &err));
    for (uint32_t i = 0; i < N; i++) {
        struct sample sample = {.scope = id,
                                .iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns = (int64_t)(ms * 1e6),
                                .self_ns = (int64_t)(self_ms * 1e6),
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
    }
    return id;
}

static void add_series(struct run *run, const char *name, double value)
{
    uint32_t id;

    OK(run_series_add(run, name, "", &id, &err));
    for (uint32_t i = 0; i < N; i++)
        OK(run_series_put(run, id, i, value, &err));
}

static void set(struct run *run, const char *key, const char *value)
{
    OK(run_fact_set(run, key, value, &err));
}

static struct finding_list find(struct run *run)
{
    struct finding_list list;

    OK(run_seal(run, &err));
    OK(findings_find(run, &list, &err));
    run_free(run);
    return list;
}

/* The only finding is of that rule, in these words, and would save so much. */
static void check_found(struct run *run, const char *rule, double saved_ms,
                        const char *text, const char *help)
{
    struct finding_list list = find(run);

    CHECK_INT(list.n, 1);
    CHECK_STR(list.items[0].rule, rule);
    CHECK_HAS(list.items[0].text, text);
    CHECK_HAS(list.items[0].help, help);
    CHECK(list.items[0].saved_ns > saved_ms * 0.99e6);
    CHECK(list.items[0].saved_ns < saved_ms * 1.01e6);
}

static void check_silent(struct run *run)
{
    struct finding_list list = find(run);

    if (list.n)
        fail_msg("%s: %s", list.items[0].rule, list.items[0].text);
}

TEST(a_quiet_run_has_no_findings)
{
    check_silent(quiet_run(100));
}

TEST(a_run_without_iterations_has_no_findings)
{
    struct run *run;

    OK(run_new(&run, &err));
    set(run, "settings.threads", "8");
    set(run, "machine.cores", "2");
    check_silent(run);
}

/* ---- stages -------------------------------------------------------------- */

TEST(decoding_is_told_from_one_percent_on)
{
    struct run *run = quiet_run(100);

    set(run, "settings.mode", "optimised");
    add_scope(run, RUN_ROOT, "decode", "", 9, 9);
    check_found(run, "decode", 9, "decode is serial and takes 9.00 ms (9.0 %)",
                "another thread");
    run = quiet_run(100);
    set(run, "settings.mode", "optimised");
    add_scope(run, RUN_ROOT, "decode", "", 0.9, 0.9);
    check_silent(run);
}

TEST(nothing_is_made_of_a_name_in_a_program_of_others)
{
    struct run *run = quiet_run(100);
    uint32_t stage = add_scope(run, RUN_ROOT, "postprocess", "", 6, 1);

    add_scope(run, RUN_ROOT, "decode", "", 9, 9);
    add_scope(run, stage, "encode", "", 5, 5);
    check_silent(run);
}

TEST(drawing_and_encoding_are_told_together)
{
    struct run *run = quiet_run(100);
    uint32_t stage = add_scope(run, RUN_ROOT, "postprocess", "", 6, 1);

    set(run, "settings.mode", "optimised");
    add_scope(run, stage, "draw", "", 2, 2);
    add_scope(run, stage, "encode", "", 3, 3);
    check_found(run, "encode", 5, "takes 5.00 ms (5.0 %)", "--score");
    run = quiet_run(100);
    stage = add_scope(run, RUN_ROOT, "postprocess", "", 6, 6);
    check_silent(run);
}

TEST(time_between_ops_is_what_modules_take_that_hold_others)
{
    struct run *run = quiet_run(100);
    uint32_t model = add_scope(run, RUN_ROOT, "model", "Net", 90, 1);
    uint32_t body = add_scope(run, model, "body", "Sequential", 89, 5);

    add_scope(run, body, "conv", "Conv2d", 84, 84);
    check_found(run, "gaps", 6, "6.00 ms (6.0 %) pass between the ops",
                "larger batches");
    run = quiet_run(100);
    model = add_scope(run, RUN_ROOT, "model", "Net", 90, 2);
    add_scope(run, model, "conv", "Conv2d", 88, 88);
    check_silent(run);
}

/* ---- against the machine --------------------------------------------------
 */

/* A machine of 100 GFLOP/s and 10 GB/s with a layer that has to do so much. */
static struct run *bounded_run(double ms, double flops, double bytes)
{
    struct run *run = quiet_run(100);
    uint32_t model = add_scope(run, RUN_ROOT, "model", "Net", 90, 0.1);
    uint32_t layer = add_scope(run, model, "fc", "Linear", ms, ms);
    struct scope_work work = {.macs = flops / 2,
                              .read_bytes = bytes,
                              .done_flops = flops,
                              .done_bytes = bytes,
                              .done_by = RUN_NONE};

    OK(run_work_set(run, layer, &work, &err));
    set(run, "machine.peak_gflops", "100");
    set(run, "machine.read_gbs", "10");
    set(run, "machine.write_gbs", "10");
    set(run, "machine.copy_gbs", "10");
    set(run, "machine.launch_us", "1");
    return run;
}

/* 3.6 GFLOP need 36 ms at the peak and take 80. */
TEST(a_layer_far_below_the_peak_is_told_with_what_it_reaches)
{
    check_found(bounded_run(80, 3.6e9, 1e6), "compute", 44,
                "fc runs at 45 GFLOP/s, 45 % of the peak: 44.0 ms (44 %)",
                "--explain");
    check_silent(bounded_run(80, 7.6e9, 1e6));
}

/* 360 MB need 36 ms at 10 GB/s and take 80. */
TEST(layers_far_below_the_bandwidth_are_told_together)
{
    check_found(bounded_run(80, 1e6, 360e6), "bandwidth", 44,
                "1 layers that memory bounds get less than half of it: 44.0 ms",
                "--batch");
    check_silent(bounded_run(80, 1e6, 760e6));
}

/* What other programs take from a layer is not the layer's. */
static void check_only_load(struct run *run)
{
    struct finding_list list;

    add_series(run, "steady.wait", 20);
    list = find(run);
    CHECK_INT(list.n, 1);
    CHECK_STR(list.items[0].rule, "load");
}

TEST(layers_are_not_blamed_on_a_disturbed_machine)
{
    check_only_load(bounded_run(80, 3.6e9, 1e6));
    check_only_load(bounded_run(80, 1e6, 360e6));
    check_only_load(bounded_run(20, 1e6, 1e6));
}

/* Neither needs a tenth of the time. */
TEST(a_part_that_nothing_explains_is_told_as_latency)
{
    check_found(bounded_run(20, 1e6, 1e6), "latency", 19.9,
                "fc takes 20.0 ms (20 %), and its arithmetic and memory "
                "explain 0.5 % of that",
                "--threads do not help");
    check_silent(bounded_run(0.9, 1e3, 1e3));
}

/* An optimizer's 40 tensors of 1 MB: the cache could give each of them in 5 us
 * of 500, memory all of them in 4 ms of 20, or with 3 MB in 12. */
static struct run *streaming_run(double bytes)
{
    struct run *run = bounded_run(20, 1.9e9, 1e6);
    uint32_t stage = add_scope(run, RUN_ROOT, "optimizer", "", 20, 0);
    struct scope_work work = {.flops = 1e3,
                              .done_flops = 1e3,
                              .done_bytes = bytes,
                              .done_by = RUN_NONE};

    set(run, "machine.l2_bytes", "4194304");
    set(run, "machine.l2_gbs", "200");
    for (int i = 0; i < 40; i++) {
        char name[16];

        snprintf(name, sizeof name, "w%d", i);
        OK(run_work_set(run, add_scope(run, stage, name, "", 0.5, 0.5), &work,
                        &err));
    }
    return run;
}

TEST(many_small_calls_that_memory_may_explain_are_not_told_as_latency)
{
    check_found(streaming_run(1e6), "latency", 19.8, "optimizer takes 20.0 ms",
                "--threads do not help");
    check_silent(streaming_run(3e6));
}

/* ---- settings --------------------------------------------------------------
 */

TEST(plain_mode_is_told_by_what_fusing_takes_away)
{
    struct run *run = quiet_run(100);
    uint32_t model = add_scope(run, RUN_ROOT, "model", "Net", 90, 0.5);

    add_scope(run, model, "bn", "FrozenBatchNorm2d", 6, 6);
    add_scope(run, model, "relu", "ReLU", 4, 4);
    add_scope(run, model, "conv", "Conv2d", 79.5, 79.5);
    set(run, "settings.mode", "plain");
    check_found(run, "plain", 10,
                "2 batch norms and activations run on their own and take 10.0 "
                "ms (10 %)",
                "without --plain");
    run = quiet_run(100);
    model = add_scope(run, RUN_ROOT, "model", "Net", 90, 0.5);
    add_scope(run, model, "bn", "BatchNorm2d", 6, 6);
    set(run, "settings.mode", "optimised");
    check_silent(run);
}

static struct run *threaded_run(const char *threads, const char *cores)
{
    struct run *run = quiet_run(100);

    set(run, "settings.threads", threads);
    set(run, "machine.cores", cores);
    return run;
}

TEST(more_threads_than_processors_are_told)
{
    struct run *run = threaded_run("8", "2");

    add_series(run, "steady.involuntary_switches", 400);
    add_series(run, "steady.wait", 12);
    check_found(run, "threads", 12,
                "8 threads share 2 processors and are interrupted 400 times",
                "--threads 2");
    check_silent(threaded_run("2", "2"));
}

TEST(threads_with_nothing_to_do_are_told)
{
    struct run *run = threaded_run("4", "8");
    struct finding_list list;

    add_series(run, "steady.cpu", 200);
    check_found(run, "idle", 50, "4 threads keep 2.0 processors busy",
                "--threads 2");
    run = threaded_run("2", "8"); /* 1.4 of them: there are no fewer than 2 */
    add_series(run, "steady.cpu", 140);
    list = find(run);
    CHECK_STR(list.items[0].rule, "idle");
    CHECK(!strstr(list.items[0].help, "--threads"));
    run = threaded_run("4", "8");
    add_series(run, "steady.cpu", 390);
    check_silent(run);
}

/* ---- content ----------------------------------------------------------------
 */

/* Six photographs in turn; the time is 80 ms and so much a detection. */
static struct run *photo_run(double detection_ms, const double detections[6])
{
    struct run *run;
    uint32_t photo, found, thread;

    err = (struct error){0};
    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    OK(run_series_add(run, "input.photo", "", &photo, &err));
    OK(run_series_add(run, "content.detections", "", &found, &err));
    for (unsigned i = 0; i < 6; i++) {
        char name[16];

        snprintf(name, sizeof name, "%u.jpg", i);
        OK(run_series_label(run, photo, name, &err));
    }
    for (uint32_t i = 0; i < N; i++) {
        double n = detections[i % 6];
        struct sample sample = {.iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns =
                                    (int64_t)((80 + detection_ms * n) * 1e6),
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
        OK(run_series_put(run, photo, i, i % 6, &err));
        OK(run_series_put(run, found, i, n, &err));
    }
    return run;
}

TEST(detections_that_cost_are_told_with_their_price)
{
    static const double even[] = {8, 12, 9, 11, 10, 10};

    check_found(photo_run(2, even), "detections", 20,
                "each detection costs 2.00 ms: 10 of them, the mean, 20.0 ms "
                "(20 %)",
                "fewer");
    check_silent(photo_run(0.01, even));
}

TEST(one_slow_photograph_is_named)
{
    static const double uneven[] = {0, 1, 0, 97, 1, 0};
    struct finding_list list = find(photo_run(1, uneven));

    CHECK_INT(list.n, 2);
    CHECK_STR(list.items[0].rule, "detections");
    CHECK_STR(list.items[1].rule, "photo");
    CHECK_HAS(list.items[1].text,
              "3.jpg takes 177 ms, and never less than 1.3 times");
    CHECK_HAS(list.items[1].text, "97 detections");
}

/* Slow four times in five, and once as fast as the others. */
TEST(a_photograph_that_was_fast_once_is_not_blamed)
{
    struct run *run = quiet_run(100);
    struct finding_list list;
    uint32_t photo;

    OK(run_series_add(run, "input.photo", "", &photo, &err));
    for (unsigned i = 0; i < 6; i++)
        OK(run_series_label(run, photo, "x.jpg", &err));
    for (uint32_t i = 0; i < N; i++)
        OK(run_series_put(run, photo, i, i % 6, &err));
    for (uint32_t i = N; i < N + 24; i++) {
        struct sample sample = {.iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns =
                                    i % 6 == 3 ? 300000000 : 100000000,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
        OK(run_series_put(run, photo, i, i % 6, &err));
    }
    list = find(run);
    for (size_t i = 0; i < list.n; i++)
        CHECK(strcmp(list.items[i].rule, "photo") != 0);
}

/* ---- the machine while it ran
 * ------------------------------------------------ */

TEST(waiting_for_a_processor_is_told_as_other_load)
{
    struct run *run = quiet_run(100);

    add_series(run, "steady.wait", 7);
    check_found(run, "load", 7,
                "other work on the machine: a thread waited 7.00 ms (7.0 %) of "
                "an iteration for a processor",
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

TEST(page_faults_while_measuring_are_told)
{
    struct run *run = quiet_run(100);

    add_series(run, "steady.page_faults", 20000);
    check_found(run, "faults", 10, "20000 page faults an iteration, about 10.0",
                "MALLOC_TRIM_THRESHOLD_");
    run = quiet_run(100);
    add_series(run, "steady.page_faults", 100);
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

TEST(a_warm_up_that_was_too_short_is_told)
{
    struct run *run = drifting_run(-1);
    struct finding_list list;

    set(run, "settings.mode", "plain");
    list = find(run);
    CHECK_INT(list.n, 1);
    CHECK_STR(list.items[0].rule, "drift");
    CHECK_HAS(list.items[0].text, "the warm-up was too short");
    CHECK_HAS(list.items[0].help, "--warmup 11");
    list = find(drifting_run(-1)); /* a program of others has no such option */
    CHECK_HAS(list.items[0].help, "assay show --iterations 11..");
    list = find(drifting_run(1));
    CHECK_INT(list.n, 1);
    CHECK_HAS(list.items[0].text, "throttles");
}

TEST(nothing_else_is_read_out_of_a_disturbed_run)
{
    static const double even[] = {8, 12, 9, 11, 10, 10};
    struct run *run = quiet_run(105);

    check_only_load(drifting_run(-1));
    check_only_load(photo_run(2, even));
    set(run, "recording.cost_share", "0.05");
    set(run, "recording.cost_low", "0.02");
    check_only_load(run);
}

TEST(a_recording_that_costs_too_much_is_told_where_that_is_certain)
{
    struct run *run = quiet_run(105);

    set(run, "recording.cost_share", "0.05");
    set(run, "recording.cost_low", "0.02");
    set(run, "recording.pairs", "9");
    check_found(run, "recording", 5, "recording costs 5.00 ms (4.8 %), by 9",
                "--record");
    run = quiet_run(105);
    set(run, "recording.cost_share", "0.05");
    set(run, "recording.cost_low", "-0.01");
    check_silent(run);
}

/* ---- all together
 * -------------------------------------------------------------- */

TEST(the_five_that_save_the_most_come_in_order)
{
    struct run *run = threaded_run("1", "2");
    struct finding_list list;
    uint32_t stage;

    add_scope(run, RUN_ROOT, "decode", "", 4, 4);
    stage = add_scope(run, RUN_ROOT, "postprocess", "", 6, 1);
    add_scope(run, stage, "encode", "", 5, 5);
    stage = add_scope(run, RUN_ROOT, "model", "Net", 90, 7);
    add_scope(run, stage, "relu", "ReLU", 3, 3);
    set(run, "settings.mode", "plain");
    set(run, "recording.cost_share", "0.02");
    set(run, "recording.cost_low", "0.01");
    add_series(run, "steady.wait", 4.5);
    add_series(run, "steady.page_faults", 2000);
    list = find(run);
    CHECK_INT(list.n, FINDINGS_MOST);
    CHECK_STR(list.items[0].rule, "gaps");
    CHECK_STR(list.items[1].rule, "encode");
    CHECK_STR(list.items[2].rule, "load");
    CHECK_STR(list.items[3].rule, "decode");
    CHECK_STR(list.items[4].rule, "plain");
    for (size_t i = 0; i < list.n; i++)
        CHECK(list.items[i].help[0] != '\0');
}

TEST(names_of_any_length_fit)
{
    struct run *run = bounded_run(20, 1e6, 1e6);
    struct finding_list list;
    char name[1000];
    uint32_t parent = run_model_scope(run);

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < 3; i++)
        parent = add_scope(run, parent, name, "", 1, 1);
    list = find(run);
    CHECK(list.n >= 1);
    CHECK(memchr(list.items[0].text, '\0', FINDING_TEXT) != NULL);
}

TEST(every_rule_has_a_name_of_its_own)
{
    const char *const *names = findings_rules();
    size_t n = 0;

    for (; names[n]; n++) {
        for (size_t i = 0; i < n; i++)
            CHECK(strcmp(names[i], names[n]) != 0);
    }
    CHECK(n >= 8);
}

TEST(findings_leak_nothing_whichever_allocation_fails)
{
    static const double uneven[] = {0, 1, 0, 97, 1, 0};
    struct run *run = photo_run(1, uneven);
    struct finding_list list;
    enum assay_status st;
    long nth = 0, before;

    OK(run_seal(run, &err));
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = findings_find(run, &list, NULL);
        mem_fail_at(-1);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 5);
    run_free(run);
}
