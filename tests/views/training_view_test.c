/* The summary of a training. */
#include "views/training_internal.h"

#include "base/mem.h"
#include "made_runs.h"
#include "test.h"

#include <math.h>
#include <string.h>

static struct error err;

static void set_fact(struct run *run, const char *key, const char *value)
{
    CHECK_STATUS(run_fact_set(run, key, value, &err), ASSAY_OK, &err);
}

static void observe(struct run *run, const char *name, double first,
                    double last)
{
    uint32_t id;

    CHECK_STATUS(run_series_add(run, name, "", &id, &err), ASSAY_OK, &err);
    CHECK_STATUS(run_series_put(run, id, 0, first, &err), ASSAY_OK, &err);
    CHECK_STATUS(run_series_put(run, id, 11, last, &err), ASSAY_OK, &err);
}

static void hold(struct run *run, uint32_t scope, int64_t mib)
{
    struct scope_work work = scope_work_unknown();

    work.kept_bytes = (double)(mib << 20);
    CHECK_STATUS(run_work_set(run, scope, &work, &err), ASSAY_OK, &err);
}

/* Twelve equal steps, in ms:
 *
 *     step       212
 *       data      31
 *       forward   58    backbone 50 (conv1 20, conv2 30), head 8
 *       backward 101    head 11, backbone 90 (conv2 60, conv1 30)
 *       optimizer 18    backbone 15 (conv1 5, conv2 10), head 3
 *
 * conv1 keeps 20 MiB for its backward pass, conv2 10, head 1. */
static struct run *empty_run(void)
{
    struct run *run;
    uint32_t thread;

    err = (struct error){0};
    CHECK_STATUS(run_new(&run, &err), ASSAY_OK, &err);
    CHECK_STATUS(run_name_root(run, "step", "", &err), ASSAY_OK, &err);
    CHECK_STATUS(run_thread_add(run, "main", THREAD_CPU, &thread, &err),
                 ASSAY_OK, &err);
    return run;
}

static void train_step(struct run *run, uint32_t step)
{
    static const struct {
        const char *name;
        double ms, conv1, conv2, head;
    } parts[] = {{"forward", 58, 20, 30, 8},
                 {"backward", 101, 30, 60, 11},
                 {"optimizer", 18, 5, 10, 3}};

    made_call(run, made_scope(run, RUN_ROOT, "data", ""), 0, step, 31, 31);
    for (size_t i = 0; i < 3; i++) {
        uint32_t part = made_scope(run, RUN_ROOT, parts[i].name, "");
        uint32_t backbone = made_scope(run, part, "backbone", "Backbone");
        double body = parts[i].conv1 + parts[i].conv2;

        made_call(run, made_scope(run, backbone, "conv1", "Conv2d"), 0, step,
                  parts[i].conv1, parts[i].conv1);
        made_call(run, made_scope(run, backbone, "conv2", "Conv2d"), 0, step,
                  parts[i].conv2, parts[i].conv2);
        made_call(run, made_scope(run, part, "head", "Head"), 0, step,
                  parts[i].head, parts[i].head);
        made_call(run, backbone, 0, step, body, 0);
        made_call(run, part, 0, step, parts[i].ms,
                  parts[i].ms - body - parts[i].head);
    }
    made_call(run, RUN_ROOT, 0, step, 212, 4);
}

static void hold_all(struct run *run)
{
    uint32_t forward = made_scope(run, RUN_ROOT, "forward", "");
    uint32_t backbone = made_scope(run, forward, "backbone", "Backbone");

    hold(run, made_scope(run, backbone, "conv1", "Conv2d"), 20);
    hold(run, made_scope(run, backbone, "conv2", "Conv2d"), 10);
    hold(run, made_scope(run, forward, "head", "Head"), 1);
    run_memory(run)->peak_bytes = 31 << 20;
}

static struct run *made_training(void)
{
    struct run *run = empty_run();

    for (uint32_t step = 0; step < 12; step++)
        train_step(run, step);
    hold_all(run);
    set_fact(run, "model.name", "small_detector");
    set_fact(run, "training.batch_images", "2");
    set_fact(run, "loader.workers", "4");
    set_fact(run, "loader.wanted_workers", "6");
    set_fact(run, "loader.image_ns", "480000000");
    observe(run, "train.loss", 2.5, 0.75);
    observe(run, "train.loss_classifier", 2, 0.5);
    observe(run, "train.loss_box_reg", 0.5, 0.25);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    return run;
}

static struct str summary_of(struct run *run, int width)
{
    struct view_options options = view_defaults(term_plain(width));
    struct str text;

    options.source = "run.assay";
    text = view_text(view_summary, run, &options);
    run_free(run);
    return text;
}

TEST(the_parts_of_a_step_add_up_on_one_line)
{
    struct str text = summary_of(made_training(), 100);

    CHECK_HAS(text.text, "\nstep     212 ms = data 31 (stall 15 %) + forward "
                         "58 + backward 101 + optimizer 18 + other 4\n");
    CHECK_HAS(text.text, "\nrate     9.43 images/s   2 images per step\n");
    CHECK(!strstr(text.text, "\nstages"));
    str_release(&text);
}

/* What a device did for conv2: 70 ms forward and 90 backward. */
TEST(a_training_on_a_device_has_the_passes_by_the_devices_time)
{
    struct run *run = empty_run();
    uint32_t queue;
    struct str text;

    CHECK_STATUS(run_thread_add(run, "queue", THREAD_DEVICE, &queue, &err),
                 ASSAY_OK, &err);
    for (uint32_t step = 0; step < 12; step++) {
        for (int i = 0; i < 2; i++) {
            uint32_t part =
                made_scope(run, RUN_ROOT, i ? "backward" : "forward", "");
            uint32_t backbone = made_scope(run, part, "backbone", "Backbone");

            made_call(run, made_scope(run, backbone, "conv2", "Conv2d"), queue,
                      step, i ? 90 : 70, i ? 90 : 70);
        }
        train_step(run, step);
    }
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    text = summary_of(run, 100);
    CHECK_HAS(text.text, "host ms    device   forward  backward  share");
    CHECK_HAS(text.text, "100.0     160.0      70.0      90.0   75 %");
    str_release(&text);
}

TEST(the_parts_of_a_short_step_add_up_after_rounding)
{
    struct run *run = empty_run();
    struct str text;

    made_call(run, made_scope(run, RUN_ROOT, "forward", ""), 0, 0, 1.006,
              1.006);
    made_call(run, made_scope(run, RUN_ROOT, "backward", ""), 0, 0, 1.006,
              1.006);
    made_call(run, RUN_ROOT, 0, 0, 2.019, 0.007);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    text = summary_of(run, 100);
    CHECK_HAS(text.text,
              "\nstep     2.02 ms = forward 1.01 + backward 1.01 + other 0.00");
    str_release(&text);
}

TEST(parts_that_are_all_rounded_up_do_not_exceed_the_step)
{
    struct run *run = empty_run();
    struct str text;

    made_call(run, made_scope(run, RUN_ROOT, "forward", ""), 0, 0, 100.6,
              100.6);
    made_call(run, made_scope(run, RUN_ROOT, "backward", ""), 0, 0, 200.7,
              200.7);
    made_call(run, RUN_ROOT, 0, 0, 301.4, 0.1);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    text = summary_of(run, 100);
    CHECK_HAS(text.text,
              "\nstep     301 ms = forward 101 + backward 200 + other 0\n");
    str_release(&text);
}

TEST(losses_are_separate_from_the_forward_pass)
{
    struct run *run = empty_run();
    uint32_t forward = made_scope(run, RUN_ROOT, "forward", "");
    uint32_t loss =
        made_scope(run, forward, "loss_classifier", "SoftmaxCrossEntropyLoss");
    struct str text;

    made_call(run, loss, 0, 0, 30, 30);
    made_call(run, forward, 0, 0, 100, 70);
    made_call(run, made_scope(run, RUN_ROOT, "loss", ""), 0, 0, 10, 10);
    made_call(run, made_scope(run, RUN_ROOT, "backward", ""), 0, 0, 200, 200);
    made_call(run, RUN_ROOT, 0, 0, 315, 5);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    text = summary_of(run, 100);
    CHECK_HAS(text.text, "\nstep     315 ms = forward 70 + loss 40 + backward "
                         "200 + other 5\n");
    str_release(&text);
}

TEST(the_losses_go_from_the_first_step_to_the_last)
{
    struct str text = summary_of(made_training(), 100);

    CHECK_HAS(text.text, "\nloss     2.50 to 0.750 = classifier 0.500 + "
                         "box_reg 0.250\n");
    str_release(&text);
}

TEST(a_slow_loader_is_shown_with_the_workers_it_needs)
{
    struct str text = summary_of(made_training(), 120);

    CHECK_HAS(
        text.text,
        "\nloader   4 workers   480 ms per image   the step waits 15 % of "
        "the time; num_workers = 6 would remove that\n");
    str_release(&text);
}

TEST(a_loader_that_keeps_up_gets_no_advice)
{
    struct run *run = empty_run();
    struct str text;

    made_call(run, made_scope(run, RUN_ROOT, "data", ""), 0, 0, 1, 1);
    made_call(run, made_scope(run, RUN_ROOT, "forward", ""), 0, 0, 99, 99);
    made_call(run, made_scope(run, RUN_ROOT, "backward", ""), 0, 0, 100, 100);
    made_call(run, RUN_ROOT, 0, 0, 200, 0);
    set_fact(run, "loader.workers", "4");
    set_fact(run, "loader.wanted_workers", "6");
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    text = summary_of(run, 100);
    CHECK_HAS(text.text, "\nloader   4 workers   keeps up\n");
    str_release(&text);
}

TEST(the_screen_shows_what_recomputing_a_module_saves_and_costs)
{
    struct run *run = made_training();
    struct str text;

    set_fact(run, "training.recompute", "backbone.conv1");
    observe(run, "recompute.spared", 3 << 20, 5 << 20);
    observe(run, "recompute.time", 10.6, 10.6);
    text = summary_of(run, 100);
    CHECK_HAS(text.text, "\nagain    backbone.conv1   4.0 MiB not kept   "
                         "recomputed in 10.6 ms (5.0 % of a step)\n");
    str_release(&text);
}

TEST(modules_have_the_times_of_all_passes_side_by_side)
{
    struct str text = summary_of(made_training(), 100);

    CHECK_HAS(text.text, "  total ms   forward  backward optimizer  share");
    CHECK_HAS(text.text, "kept MiB\n");
    CHECK_HAS(text.text, "     177.0      58.0     101.0      18.0   83 %");
    CHECK_HAS(text.text, "     155.0      50.0      90.0      15.0   73 %");
    CHECK_HAS(text.text, "      55.0      20.0      30.0       5.0   26 %");
    CHECK_HAS(text.text, "      22.0       8.0      11.0       3.0   10 %");
    CHECK_HAS(text.text, "      31.0\n");
    CHECK_HAS(text.text, "      30.0\n");
    CHECK_HAS(text.text, "      20.0\n");
    CHECK(widest_line(text.text) <= 100);
    str_release(&text);
}

/* `assay train` has no --plain. */
TEST(fused_modules_of_a_training_come_without_advice)
{
    struct run *run = empty_run();
    struct scope_work work = scope_work_unknown();
    uint32_t backbone;
    struct str text;

    for (uint32_t step = 0; step < 12; step++)
        train_step(run, step);
    backbone = made_scope(run, made_scope(run, RUN_ROOT, "forward", ""),
                          "backbone", "Backbone");
    work.done_by = made_scope(run, backbone, "conv1", "Conv2d");
    CHECK_STATUS(run_work_set(run, made_scope(run, backbone, "relu", "ReLU"),
                              &work, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    text = summary_of(run, 100);
    CHECK_HAS(str_text(&text), "1 fused into others");
    CHECK(!strstr(str_text(&text), "--plain"));
    str_release(&text);
}

TEST(a_module_without_a_backward_pass_has_only_its_forward_pass)
{
    struct run *run = empty_run();
    struct rows rows = {0};
    const struct row *last;

    train_step(run, 0);
    made_call(
        run,
        made_scope(run, made_scope(run, RUN_ROOT, "forward", ""), "nms", ""), 0,
        0, 1, 1);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    CHECK_STATUS(training_rows_build(run, &rows, &err), ASSAY_OK, &err);
    last = &rows.items[rows.n - 1];
    CHECK_STR(last->name, "nms");
    CHECK_NEAR(last->total_ns, 1e6, 1);
    CHECK(isnan(last->pass_ns[PASS_BACKWARD]));
    CHECK_STR(rows.items[last->parent].name, "model");
    rows_release(&rows);
    run_free(run);
}

TEST(the_tree_fits_a_narrow_screen)
{
    struct str text = summary_of(made_training(), 60);

    CHECK(widest_line(text.text) <= 60);
    CHECK(!strstr(text.text, "kept MiB"));
    str_release(&text);
}

TEST(the_summary_of_a_training_leaks_nothing_without_memory)
{
    struct run *run = made_training();
    struct view_options options = view_defaults(term_plain(100));
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        struct str text = {0};
        struct sink sink = sink_to_str(&text);

        err = (struct error){0};
        mem_fail_at(nth++);
        st = view_summary(run, &options, &sink, &err);
        mem_fail_at(-1);
        str_release(&text);
        CHECK_INT(mem_live(), before);
    } while (st);
    CHECK(nth > 10);
    run_free(run);
}

/* What the convolutions executed in a pass, at peaks of 100 GFLOP/s and
 * 10 GB/s. */
static void set_done(struct run *run, const char *pass, const char *name,
                     double flops, double bytes)
{
    uint32_t top = made_scope(run, RUN_ROOT, pass, "");
    uint32_t backbone = made_scope(run, top, "backbone", "Backbone");
    struct scope_work work = scope_work_unknown();

    work.macs = flops / 2;
    work.done_flops = flops;
    work.done_bytes = bytes;
    CHECK_STATUS(run_work_set(run, made_scope(run, backbone, name, "Conv2d"),
                              &work, &err),
                 ASSAY_OK, &err);
}

TEST(threads_that_differ_in_a_number_are_counted)
{
    static const char *const names[] = {"loader 3", "loader 0", "loader 12",
                                        "writer 7", "4"};
    struct run *run = empty_run();
    struct str text;
    uint32_t thread;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_INT(run_thread_add(run, names[i], THREAD_CPU, &thread, &err),
                  ASSAY_OK);
    for (uint32_t step = 0; step < 12; step++)
        train_step(run, step);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    text = summary_of(run, 100);
    CHECK_HAS(text.text, "\nthreads  main   loader x3   writer 7   4\n");
    str_release(&text);
}

/* Three times and the kept bytes leave no room for bars next to names. */
TEST(on_80_columns_the_tree_keeps_its_levels)
{
    struct str text = summary_of(made_training(), 80);

    CHECK_HAS(text.text,
              "\n   │  ├─ conv1               55.0      20.0      30.0       "
              "5.0   26 %      20.0\n");
    str_release(&text);
}

/* The last word of the line with that name in it. */
static void check_bound(const char *tree, const char *name, const char *bound)
{
    const char *at = strstr(tree, name);
    const char *end = at ? strchr(at, '\n') : NULL;
    size_t n = strlen(bound);

    CHECK(end != NULL);
    CHECK(strncmp(end - n - 1, " ", 1) == 0);
    CHECK(strncmp(end - n, bound, n) == 0);
}

TEST(a_module_s_bound_is_that_of_most_of_its_passes)
{
    struct run *run = empty_run();
    struct view_options options = view_defaults(term_plain(160));
    struct str text;

    for (uint32_t step = 0; step < 12; step++)
        train_step(run, step);
    set_fact(run, "machine.peak_gflops", "100");
    set_fact(run, "machine.read_gbs", "10");
    set_fact(run, "machine.launch_us", "1");
    /* Of 20 ms the arithmetic needs 15, of 30 ms memory 25. */
    set_done(run, "forward", "conv1", 1.5e9, 1e6);
    set_done(run, "backward", "conv1", 1e9, 250e6);
    /* Of 30 and 60 ms the arithmetic needs 20 and 50. */
    set_done(run, "forward", "conv2", 2e9, 1e6);
    set_done(run, "backward", "conv2", 5e9, 1e6);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    text = view_text(view_tree, run, &options);
    check_bound(text.text, "conv1 ", "mixed");
    check_bound(text.text, "conv2 ", "compute");
    check_bound(text.text, "head ", "-");
    str_release(&text);
    run_free(run);
}

TEST(a_run_without_a_backward_pass_is_not_a_training)
{
    struct run *run = made_detector();
    struct rows rows = {0};
    struct training training;

    CHECK_STATUS(rows_build(run, &rows, &err), ASSAY_OK, &err);
    CHECK(!training_find(&rows, &training));
    rows_release(&rows);
    run_free(run);
}
