/* The pages that report_page.py opens, and their runs as JSON next to
 * them, in tests/report of the build folder. */
#include "base/file.h"
#include "made_report.h"
#include "made_runs.h"
#include "test.h"
#include "views/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDER TEST_BINARY_DIR "/tests/report"

static struct error err;

static void write_page(const char *name, const struct report *report)
{
    struct output *output;
    char path[512];

    err = (struct error){0};
    CHECK(mkdir(FOLDER, 0777) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, FOLDER "/%s.html", name);
    CHECK_STATUS(output_open(path, &output, &err), ASSAY_OK, &err);
    CHECK_STATUS(view_html(report, output_sink(output), &err), ASSAY_OK, &err);
    CHECK(output_sink(output)->written < 1500000);
    CHECK_STATUS(output_commit(output, &err), ASSAY_OK, &err);
}

static void write_json(const char *name, const struct run *run)
{
    struct view_options options = view_defaults(term_plain(80));
    struct output *output;
    char path[512];

    snprintf(path, sizeof path, FOLDER "/%s.json", name);
    CHECK_STATUS(output_open(path, &output, &err), ASSAY_OK, &err);
    CHECK_STATUS(view_json(run, &options, output_sink(output), &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(output_commit(output, &err), ASSAY_OK, &err);
}

/* What `assay compare --json` prints. */
static void write_comparison(const char *name,
                             const struct comparison *comparison,
                             const struct gate_result *gate)
{
    struct compare_view view = {.term = term_plain(80),
                                .name_a = "old.assay",
                                .name_b = "new.assay",
                                .gate = gate};
    struct output *output;
    char path[512];

    snprintf(path, sizeof path, FOLDER "/%s.json", name);
    CHECK_STATUS(output_open(path, &output, &err), ASSAY_OK, &err);
    CHECK_STATUS(
        view_compare_json(comparison, &view, output_sink(output), &err),
        ASSAY_OK, &err);
    CHECK_STATUS(output_commit(output, &err), ASSAY_OK, &err);
}

static void write_one(const char *name, struct run *run)
{
    struct report report = {.sides = {{run, "made.assay"}}};

    write_page(name, &report);
    write_json(name, run);
    run_free(run);
}

TEST(a_page_with_everything_is_written)
{
    write_one("full", made_photographs(30, 1));
}

TEST(a_page_of_2000_scopes_and_20000_slices_is_written)
{
    write_one("busy", made_busy(2000, 20000));
}

TEST(a_page_of_200000_slices_stays_under_one_and_a_half_megabytes)
{
    write_one("many", made_busy(2000, 200000));
}

/* Bytes of a category: so many MiB from the last iteration on, and others 5 ms
 * later. */
static void made_held(struct run *run, const char *name, double first,
                      double then)
{
    const struct counter *live = NULL;
    int64_t start_ns;
    uint32_t id;

    for (uint32_t i = 0; i < run_counters(run); i++) {
        if (strcmp(run_counter(run, i)->name, RUN_LIVE_BYTES) == 0)
            live = run_counter(run, i);
    }
    CHECK(live != NULL);
    start_ns = live->points[0].time_ns;
    CHECK_STATUS(run_counter_add(run, name, "bytes", &id, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(run_counter_count(run, id, start_ns, first * 0x1p20, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(
        run_counter_count(run, id, start_ns + 5000000, then * 0x1p20, &err),
        ASSAY_OK, &err);
}

/* decode, then conv1, conv2, relu in the backbone, box_roi_pool and box_head in
 * the roi_heads: each computes with what the one before computed, box_roi_pool
 * with conv2's too. */
static struct run *made_wired(void)
{
    static const char *const names[] = {"conv1", "conv2", "relu",
                                        "box_roi_pool", "box_head"};
    struct run *run = made_photographs(3, 1);
    uint32_t scopes[5], before = RUN_NONE;

    for (uint32_t i = 0; i < run_scope_count(run); i++) {
        for (size_t k = 0; k < 5; k++) {
            if (strcmp(run_scope(run, i)->name, names[k]) == 0)
                scopes[k] = i;
        }
    }
    for (size_t k = 0; k <= 5; k++) {
        struct run_edge edge = {before, k < 5 ? scopes[k] : RUN_NONE};

        CHECK_STATUS(run_edge_add(run, &edge, &err), ASSAY_OK, &err);
        if (k == 3)
            CHECK_STATUS(
                run_edge_add(run, &(struct run_edge){scopes[1], edge.to}, &err),
                ASSAY_OK, &err);
        before = edge.to;
    }
    CHECK_STATUS(
        run_text_set(run, scopes[0],
                     &(struct scope_text){"1x3x112x112 -> 1x64x56x56", "gemm"},
                     &err),
        ASSAY_OK, &err);
    made_held(run, "memory.live.host.weights", 30, 30);
    made_held(run, "memory.live.host.activations", 20, 40);
    return run;
}

TEST(a_page_of_a_model_with_edges_is_written)
{
    write_one("graph", made_wired());
}

/* A machine with three caches, two of them nearly as fast as each other. */
TEST(a_page_of_a_machine_with_caches_is_written)
{
    static const char *const facts[][2] = {
        {"machine.l1_bytes", "32768"},    {"machine.l1_gbs", "400"},
        {"machine.l2_bytes", "1048576"},  {"machine.l2_gbs", "208"},
        {"machine.l3_bytes", "33554432"}, {"machine.l3_gbs", "173"}};
    struct run *run = made_photographs(5, 1);

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        CHECK_INT(run_fact_set(run, facts[i][0], facts[i][1], &err), ASSAY_OK);
    write_one("caches", run);
}

TEST(a_page_of_work_launched_on_a_device_is_written)
{
    write_one("streams", made_streams());
}

TEST(a_page_of_hostile_names_is_written)
{
    write_one("hostile", made_hostile());
}

TEST(a_page_of_a_run_that_knows_little_is_written)
{
    write_one("bare", made_pipeline());
}

TEST(a_page_of_a_deep_tree_is_written)
{
    write_one("deep", made_chain(300));
}

/* Eight steps of 200 ms: data 20, forward 60 with a loss of 4 in it, reading it
 * 1, backward 100, optimizer 15, other 4. The loss goes from 4 to 0.5. */
static struct run *made_steps(void)
{
    static const char *const facts[][2] = {{"settings.mode", "training"},
                                           {"training.images_per_s", "10"},
                                           {"training.first_step", "1"},
                                           {"loader.stall_share", "0.1"},
                                           {"config.training.steps", "11"}};
    struct run *run;
    uint32_t thread, loss, wait, forward;

    CHECK_STATUS(run_new(&run, &err), ASSAY_OK, &err);
    CHECK_STATUS(run_name_root(run, "training", "", &err), ASSAY_OK, &err);
    CHECK_STATUS(run_thread_add(run, "main", THREAD_CPU, &thread, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(run_series_add(run, "train.loss", "", &loss, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(run_series_add(run, "data.wait", "ms", &wait, &err), ASSAY_OK,
                 &err);
    run_health(run)->warm_up = 3;
    for (uint32_t i = 0; i < 11; i++) /* those of the warm-up too */
        CHECK_INT(run_series_put(run, loss, i, 5.5 - 0.5 * i, &err), ASSAY_OK);
    forward = made_scope(run, RUN_ROOT, "forward", "");
    for (uint32_t i = 0; i < 8; i++) {
        made_call(run, made_scope(run, RUN_ROOT, "data", ""), 0, i, 20, 20);
        made_call(run, made_scope(run, forward, "heads", "RPNLoss"), 0, i, 4,
                  4);
        made_call(run, forward, 0, i, 60, 56);
        made_call(run, made_scope(run, RUN_ROOT, "loss", ""), 0, i, 1, 1);
        made_call(run, made_scope(run, RUN_ROOT, "backward", ""), 0, i, 100,
                  100);
        made_call(run, made_scope(run, RUN_ROOT, "optimizer", ""), 0, i, 15,
                  15);
        made_call(run, RUN_ROOT, 0, i, 200, 4);
        CHECK_INT(run_series_put(run, wait, i, 20, &err), ASSAY_OK);
    }
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        CHECK_INT(run_fact_set(run, facts[i][0], facts[i][1], &err), ASSAY_OK);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    return run;
}

TEST(a_page_of_a_training_is_written)
{
    write_one("training", made_steps());
}

TEST(a_page_with_pictures_is_written)
{
    static const unsigned char pixel[] = {
        /* a PNG of one red pixel */
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d,
        0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01,
        0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00,
        0x0c, 0x49, 0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00,
        0x00, 0x03, 0x01, 0x01, 0x00, 0x18, 0xdd, 0x8d, 0xb0, 0x00, 0x00, 0x00,
        0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
    struct report_picture picture = {"<b>dog</b>_targets.jpg",
                                     (const char *)pixel, sizeof pixel};
    struct run *run = made_photographs(3, 1);
    struct report report = {
        .sides = {{run, "made.assay"}}, .pictures = &picture, .n_pictures = 1};

    write_page("pictures", &report);
    run_free(run);
}

TEST(a_page_of_two_runs_is_written)
{
    struct run *a = made_photographs(30, 1), *b = made_photographs(30, 1.25);
    struct compare_side side_a = {(const struct run *const *)&a, 1};
    struct compare_side side_b = {(const struct run *const *)&b, 1};
    struct compare_options options = {0};
    struct report report = {.sides = {{a, "old.assay"}, {b, "new.assay"}}};
    struct budgets budgets = {0};
    struct gate_result gate = {0};
    struct comparison *comparison;

    CHECK_STATUS(compare_new(&side_a, &side_b, &options, &comparison, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(budgets_add(&budgets, NULL, 0.05, &err), ASSAY_OK, &err);
    CHECK_STATUS(compare_gate(comparison, &budgets, &gate, &err), ASSAY_OK,
                 &err);
    report.comparison = comparison;
    write_page("two-no-gate", &report);
    report.gate = &gate;
    write_page("two", &report);
    write_comparison("two", comparison, &gate);
    gate_result_release(&gate);
    budgets_release(&budgets);
    compare_free(comparison);
    run_free(a);
    run_free(b);
}
