/* What the rules find in a run, and that they are silent if there is
 * nothing: each rule both ways. */
#include "base/mem.h"
#include "findings/finding_runs.h"

#include <stdio.h>
#include <string.h>

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

TEST(decoding_is_reported_from_one_percent_on)
{
    struct run *run = quiet_run(100);

    set(run, "settings.mode", "optimised");
    add_scope(run, RUN_ROOT, "decode", "", 9, 9);
    check_found(run, "decode", 9, "decode is serial and takes 9.00 ms (9.0 %)",
                "smaller photographs");
    run = quiet_run(100);
    set(run, "settings.mode", "optimised");
    add_scope(run, RUN_ROOT, "decode", "", 0.9, 0.9);
    check_silent(run);
}

TEST(scope_names_of_other_programs_mean_nothing)
{
    struct run *run = quiet_run(100);
    uint32_t stage = add_scope(run, RUN_ROOT, "postprocess", "", 6, 1);

    add_scope(run, RUN_ROOT, "decode", "", 9, 9);
    add_scope(run, stage, "encode", "", 5, 5);
    check_silent(run);
}

TEST(drawing_and_encoding_are_reported_together)
{
    struct run *run = quiet_run(100);
    uint32_t stage = add_scope(run, RUN_ROOT, "postprocess", "", 6, 1);

    set(run, "settings.mode", "optimised");
    add_scope(run, stage, "draw", "", 2, 2);
    add_scope(run, stage, "encode", "", 3, 3);
    check_found(run, "encode", 5, "takes 5.00 ms (5.0 %)", "");
    run = quiet_run(100);
    stage = add_scope(run, RUN_ROOT, "postprocess", "", 6, 6);
    check_silent(run);
}

TEST(time_between_ops_is_the_self_time_of_containers)
{
    struct run *run = quiet_run(100);
    uint32_t model = add_scope(run, RUN_ROOT, "model", "Net", 90, 1);
    uint32_t body = add_scope(run, model, "body", "Sequential", 89, 5);

    add_scope(run, body, "conv", "Conv2d", 84, 84);
    check_found(run, "gaps", 6, "6.00 ms (6.0 %) pass between the ops", "");
    run = quiet_run(100);
    model = add_scope(run, RUN_ROOT, "model", "Net", 90, 2);
    add_scope(run, model, "conv", "Conv2d", 88, 88);
    check_silent(run);
}

/* ---- against the machine ---------------------------------------------- */

/* On a machine of 100 GFLOP/s and 10 GB/s. */
static struct run *machine_run(void)
{
    struct run *run = quiet_run(100);

    set(run, "machine.peak_gflops", "100");
    set(run, "machine.read_gbs", "10");
    set(run, "machine.write_gbs", "10");
    set(run, "machine.copy_gbs", "10");
    set(run, "machine.launch_us", "1");
    return run;
}

/* A layer with this much to do. */
static void add_layer(struct run *run, uint32_t parent, const char *name,
                      const char *class_name, double ms, double flops,
                      double bytes, double parameters)
{
    struct scope_work work = {.macs = flops / 2,
                              .read_bytes = bytes,
                              .parameters = parameters,
                              .done_flops = flops,
                              .done_bytes = bytes,
                              .done_by = RUN_NONE};
    uint32_t layer = add_scope(run, parent, name, class_name, ms, ms);

    OK(run_work_set(run, layer, &work, &err));
}

static struct run *bounded_run(double ms, double flops, double bytes)
{
    struct run *run = machine_run();
    uint32_t model = add_scope(run, RUN_ROOT, "model", "Net", 90, 0.1);

    add_layer(run, model, "fc", "Linear", ms, flops, bytes, 0);
    return run;
}

/* 3.6 GFLOP need 36 ms at the peak and take 80. */
TEST(a_layer_far_below_the_peak_is_reported_with_its_rate)
{
    struct run *run = bounded_run(80, 3.6e9, 1e6);

    set(run, "settings.mode", "optimised");
    check_found(run, "compute", 44,
                "1 Linear runs at 45 GFLOP/s, 45 % of the peak: 44.0 ms (44 %) "
                "above the floor: fc",
                "--explain");
    check_silent(bounded_run(80, 7.6e9, 1e6));
}

/* 360 MB need 36 ms at 10 GB/s and take 80. */
TEST(a_layer_far_below_the_bandwidth_is_reported_with_its_rate)
{
    check_found(bounded_run(80, 1e6, 360e6), "bandwidth", 44,
                "1 Linear takes 80.0 ms (80 %) at 4.5 GB/s, where this machine "
                "could do with 36.0 ms: fc",
                "");
    check_silent(bounded_run(80, 1e6, 760e6));
}

/* 36 ms in 12 layers of 4.5 MB: 1.5 of 10 GB/s. Beside them a faster layer of
 * the same class, and one of another class that takes longer than each. */
TEST(slow_layers_of_one_class_are_reported_together)
{
    struct run *run = machine_run();
    uint32_t model = add_scope(run, RUN_ROOT, "model", "Net", 90, 0.1);
    struct finding_list list;

    for (int i = 0; i < 12; i++) {
        char name[16];

        snprintf(name, sizeof name, "act%d", i);
        add_layer(run, model, name, "SiLU", i == 7 ? 3.1 : 3, 1e6, 4.5e6, 0);
    }
    add_layer(run, model, "fast", "SiLU", 3, 1e6, 25e6, 0);
    add_layer(run, model, "conv", "Conv2d", 40, 3.9e9, 1e6, 0);
    list = find(run);
    CHECK_INT(list.n, 1);
    CHECK_STR(list.items[0].rule, "bandwidth");
    CHECK_STR(list.items[0].text,
              "12 SiLU take 36.1 ms (36 %) at 1.5 GB/s, where this machine "
              "could do with 5.40 ms, most of it in act7");
    CHECK_STR(list.items[0].help, "");
    CHECK_NEAR(list.items[0].saved_ns, 36.1e6 - 5.4e6, 1);
}

/* 80 MB of weights at 2 GB/s. Twice the batch reads them once for two images:
 * bench/findings_bench.c tries that. */
TEST(a_larger_batch_is_advised_only_where_weights_are_most_of_the_data)
{
    static const double parameters[] = {19e6, 9e6};

    for (int i = 0; i < 2; i++) {
        struct run *run = machine_run();
        uint32_t model = add_scope(run, RUN_ROOT, "model", "Net", 90, 0.1);
        struct finding_list list;

        set(run, "settings.mode", "optimised");
        add_layer(run, model, "fc", "Linear", 40, 1e6, 80e6, parameters[i]);
        list = find(run);
        CHECK_INT(list.n, 1);
        CHECK_INT(strstr(list.items[0].help, "--batch") != NULL, i == 0);
    }
}

/* Times that vary so much that their mean may be next to nothing. */
TEST(what_is_not_surely_worth_telling_is_not_told)
{
    struct run *run = quiet_run(100);
    uint32_t id;

    set(run, "settings.mode", "optimised");
    OK(run_scope_add(run, RUN_ROOT, "decode", "", &id, &err));
    for (uint32_t i = 0; i < N; i++) {
        struct sample sample = {.scope = id,
                                .iteration = i,
                                .duration_ns = i % 10 == 0 ? 20000000 : 0,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
    }
    check_silent(run); /* 2 ms on average, but [-0.3, 4.3] */
}

TEST(layers_are_not_blamed_on_a_disturbed_machine)
{
    check_only_load(bounded_run(80, 3.6e9, 1e6));
    check_only_load(bounded_run(80, 1e6, 360e6));
    check_only_load(bounded_run(20, 1e6, 1e6));
}

/* Neither needs a tenth of the time. */
TEST(an_unexplained_part_is_reported_as_latency)
{
    struct run *run = machine_run();
    uint32_t model = add_scope(run, RUN_ROOT, "model", "Net", 90, 0.1);

    add_layer(run, model, "filter_proposals", "", 20, 1e6, 1e6, 0);
    check_found(run, "latency", 19.9,
                "filter_proposals takes 20.0 ms (20 %), of which its "
                "arithmetic and memory explain 0.5 %",
                "");
    check_silent(bounded_run(0.9, 1e3, 1e3));
}

/* The class says it all. */
TEST(a_module_of_slow_layers_is_not_reported_again)
{
    struct run *run = machine_run();
    uint32_t model = add_scope(run, RUN_ROOT, "model", "Net", 90, 0.1);
    uint32_t body = add_scope(run, model, "body", "Sequential", 40, 0.1);

    add_layer(run, body, "act1", "SiLU", 20, 1e6, 1e6, 0);
    add_layer(run, body, "act2", "SiLU", 19.9, 1e6, 1e6, 0);
    check_found(run, "bandwidth", 39.7, "2 SiLU take 39.9 ms (40 %)", "");
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

TEST(many_small_calls_that_memory_may_explain_are_not_latency)
{
    check_found(streaming_run(1e6), "latency", 19.8, "optimizer takes 20.0 ms",
                "");
    check_silent(streaming_run(3e6));
}

/* ---- settings --------------------------------------------------------- */

TEST(plain_mode_is_reported_with_what_fusing_would_save)
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

TEST(more_threads_than_processors_are_reported)
{
    struct run *run = threaded_run("8", "2");

    set(run, "settings.mode", "optimised");
    add_series(run, "steady.involuntary_switches", 400);
    add_series(run, "steady.wait", 12);
    check_found(run, "threads", 12,
                "8 threads share 2 processors and are interrupted 400 times",
                "--threads 2 gives each a processor");
    check_silent(threaded_run("2", "2"));
    /* Next to other programs, more threads may get more of the processors. */
    run = threaded_run("8", "2");
    add_series(run, "steady.others", 1);
    check_silent(run);
}

/* The processor time and the time of the same iterations, long and short ones:
 * a median of one over a mean of the other said 1.1 processors. */
TEST(idle_threads_are_reported)
{
    struct run *run = threaded_run("4", "8");
    uint32_t id;

    add_series(run, "steady.cpu", 200);
    check_found(run, "idle", 50, "4 threads keep only 2.0 processors busy", "");
    run = threaded_run("4", "8");
    add_series(run, "steady.cpu", 390);
    check_silent(run);

    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &id, &err));
    OK(run_series_add(run, "steady.cpu", "ms", &id, &err));
    for (uint32_t i = 0; i < N; i++) {
        int64_t ms = i % 5 < 2 ? 200 : 60;
        struct sample sample = {.iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns = ms * 1000000,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
        OK(run_series_put(run, id, i, 1.9 * (double)ms, &err));
    }
    set(run, "settings.threads", "2");
    set(run, "machine.cores", "2");
    check_silent(run);
}

/* Each of these alone is reported on a quiet machine: see the tests above. */
TEST(stages_and_settings_are_not_blamed_on_a_disturbed_machine)
{
    struct run *run = quiet_run(100);
    uint32_t above;

    set(run, "settings.mode", "optimised");
    add_scope(run, RUN_ROOT, "decode", "", 6, 6);
    check_only_load(run);

    run = quiet_run(100);
    set(run, "settings.mode", "optimised");
    above = add_scope(run, RUN_ROOT, "postprocess", "", 6, 1);
    add_scope(run, above, "draw", "", 5, 5);
    check_only_load(run);

    run = quiet_run(100);
    above = add_scope(run, RUN_ROOT, "model", "Net", 90, 6);
    add_scope(run, above, "conv", "Conv2d", 84, 84);
    check_only_load(run);

    run = quiet_run(100);
    set(run, "settings.mode", "plain");
    above = add_scope(run, RUN_ROOT, "model", "Net", 90, 0.5);
    add_scope(run, above, "bn", "BatchNorm2d", 10, 10);
    check_only_load(run);
}

/* Two images have twice the work for the threads to share, unless other stages,
 * which run on one thread, are what keeps them idle. */
TEST(a_larger_batch_is_advised_for_idle_threads_of_a_model_alone)
{
    static const double model_ms[] = {90, 90, 60};

    for (int i = 0; i < 3; i++) {
        struct run *run = threaded_run("4", "8");
        struct finding_list list;

        set(run, "settings.mode", "optimised");
        if (i == 1)
            set(run, "settings.batch", "2 images");
        add_scope(run, RUN_ROOT, "model", "Net", model_ms[i], model_ms[i]);
        add_series(run, "steady.cpu", 200);
        list = find(run);
        CHECK_INT(list.n, 1);
        CHECK_STR(list.items[0].rule, "idle");
        CHECK_INT(strstr(list.items[0].help, "--batch") != NULL, i == 0);
    }
}

/* Other programs need 5 of the 8 processors, so one is missing. */
TEST(idle_threads_are_not_blamed_on_a_disturbed_machine)
{
    for (int i = 0; i < 2; i++) {
        struct run *run = threaded_run("4", "8");
        struct finding_list list;

        add_series(run, "steady.cpu", 200);
        add_series(run, "steady.others", i ? 5 : 3);
        list = find(run);
        CHECK_INT(list.n, 1);
        CHECK_STR(list.items[0].rule, i ? "load" : "idle");
    }
}

/* ---- content ---------------------------------------------------------- */

/* Six photographs in turn; the time is 80 ms plus this much per detection. */
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

TEST(costly_detections_are_reported_with_their_cost)
{
    static const double even[] = {8, 12, 9, 11, 10, 10};

    check_found(photo_run(2, even), "detections", 20,
                "each detection costs 2.00 ms; the mean of 10 costs 20.0 ms "
                "(20 %)",
                "");
    check_silent(photo_run(0.01, even));
}

TEST(detections_are_not_blamed_on_a_disturbed_machine)
{
    static const double even[] = {8, 12, 9, 11, 10, 10};

    check_only_load(photo_run(2, even));
}

TEST(one_slow_photograph_is_named)
{
    static const double uneven[] = {0, 1, 0, 97, 1, 0};
    struct finding_list list = find(photo_run(1, uneven));

    CHECK_INT(list.n, 2);
    CHECK_STR(list.items[0].rule, "detections");
    CHECK_STR(list.items[1].rule, "photo");
    CHECK_HAS(list.items[1].text,
              "3.jpg takes 177 ms, always at least 1.3 times");
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

TEST(no_photograph_of_a_batch_is_blamed)
{
    static const double uneven[] = {0, 1, 0, 97, 1, 0};
    struct run *run = photo_run(1, uneven);
    struct finding_list list;

    set(run, "settings.batch", "2 images");
    list = find(run);
    CHECK_INT(list.n, 1);
    CHECK_STR(list.items[0].rule, "detections");
}

TEST(a_slow_photograph_is_not_blamed_on_a_disturbed_machine)
{
    static const double uneven[] = {0, 1, 0, 97, 1, 0};

    check_only_load(photo_run(1, uneven));
}

/* ---- all together
 * -------------------------------------------------------------- */

TEST(the_five_with_the_most_to_save_come_in_order)
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
