/* What the views say about a model's run: its work, its stages, what was fused
 * away. The numbers are those of made_model() in made_runs.h. */
#include "base/mem.h"
#include "made_runs.h"
#include "test.h"
#include "views/columns_internal.h"
#include "views/scope_rows.h"

#include <math.h>
#include <string.h>

static struct view_options options_for(int width)
{
    struct view_options options = view_defaults(term_plain(width));

    options.source = "run.assay";
    return options;
}

static void check_view(run_view *view, const struct view_options *options,
                       const char *golden)
{
    struct run *run = made_model(10);
    struct str text = view_text(view, run, options);

    check_golden(golden, &text);
    str_release(&text);
    run_free(run);
}

/* The view has every one of these parts; NULL ends them. */
static void check_parts(run_view *view, struct run *run,
                        const struct view_options *options,
                        const char *const *parts)
{
    struct str text = view_text(view, run, options);

    for (; *parts; parts++)
        CHECK_HAS(str_text(&text), *parts);
    str_release(&text);
    run_free(run);
}

static void check_lacks(run_view *view, struct run *run,
                        const struct view_options *options, const char *part)
{
    struct str text = view_text(view, run, options);

    if (strstr(str_text(&text), part))
        fail_msg("has '%s':\n%s", part, str_text(&text));
    str_release(&text);
}

TEST(the_summary_of_a_model_is_one_screen)
{
    struct view_options options = options_for(100);

    check_view(view_summary, &options, "model-summary-100.txt");
}

static struct run *with_fact(const char *key, const char *value)
{
    struct run *run = made_model(10);

    CHECK_INT(run_fact_set(run, key, value, NULL), ASSAY_OK);
    return run;
}

TEST(weights_mapped_from_their_file_are_shown_next_to_the_peak)
{
    static const char *const parts[] = {
        "at backbone.fpn.layer_blocks.0: weights 159, activations 357, "
        "scratch 96 MiB, and 160 MiB mapped from the weights' file",
        NULL};
    struct view_options options = options_for(200);

    check_parts(view_summary, with_fact("memory.mapped_bytes", "167772160"),
                &options, parts);
}

/* A peak from before all weights were there. */
TEST(parts_that_exceed_the_peak_are_not_shown)
{
    static const char *const parts[] = {
        "peak 612 MiB at backbone.fpn.layer_blocks.0\n", NULL};
    struct view_options options = options_for(200);

    check_parts(view_summary, with_fact("memory.weights_bytes", "641728512"),
                &options, parts);
    check_parts(view_summary, with_fact("memory.weights_bytes", "many"),
                &options, parts);
}

/* A list of two modules, with peaks of 3 and 2 KiB. */
TEST(a_row_that_only_groups_has_the_peak_of_what_is_below)
{
    struct sample sample = {.iteration = RUN_NONE, .duration_ns = 1000};
    uint32_t thread, list, module;
    struct rows rows = {0};
    struct run *run;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), 0);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "list", "ModuleList", &list, NULL),
              ASSAY_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(run_scope_add(run, list, i ? "b" : "a", "", &module, NULL),
                  ASSAY_OK);
        sample.scope = module;
        sample.peak_bytes = i ? 2048 : 3072;
        CHECK_INT(run_count(run, &sample, NULL), ASSAY_OK);
    }
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    CHECK_INT(rows_build(run, &rows, NULL), ASSAY_OK);
    CHECK_STR(rows.items[list].name, "list");
    CHECK(!rows.items[list].is_called);
    CHECK_INT(rows.items[list].peak_bytes, 3072);
    rows_release(&rows);
    run_free(run);
}

TEST(the_tree_shows_fused_modules_in_their_place)
{
    struct view_options options = options_for(120);

    options.all = true;
    check_view(view_tree, &options, "model-tree-all.txt");
}

TEST(tables_show_work_and_fused_modules)
{
    struct view_options options = options_for(100);

    options.all = true;
    check_view(view_table, &options, "model-table-all.txt");
    check_view(view_markdown, &options, "model-table.md");
    check_view(view_csv, &options, "model-table.csv");
}

TEST(the_json_of_a_model_has_its_work_stages_and_balance)
{
    struct view_options options = options_for(80);

    check_view(view_json, &options, "model.json");
}

TEST(the_work_of_a_class_is_summed)
{
    static const char *const parts[] = {
        /* Both convolutions: 54.8 ms, 5.48 GMAC, 200 GFLOP/s. */
        "Conv2d                2      54.8      54.8   55 %     5.48      200  "
        "  599 k\n",
        NULL};
    struct view_options options = options_for(80);

    options.group = GROUP_CLASS;
    check_parts(view_table, made_model(10), &options, parts);
}

TEST(the_plain_tree_of_a_model_is_a_pipeline_of_three_parts)
{
    struct view_options options = options_for(80);
    struct run *run = made_model(10);
    struct str text = view_text(view_tree_plain, run, &options);

    CHECK_STR(str_text(&text),
              "Pipeline (PIPELINE) took 100.00ms (self: 0.50ms)\n"
              ". Preprocessing (PREPROCESSING) took 15.00ms (self: -)\n"
              ". . decode () took 5.00ms (self: 5.00ms)\n"
              ". . preprocess () took 10.00ms (self: 2.00ms)\n"
              ". . . to_tensor () took 8.00ms (self: 8.00ms)\n"
              ". Model (FasterRCNN) took 80.00ms (self: 0.40ms)\n"
              ". . transform (RCNNTransform) took 6.00ms (self: 6.00ms)\n"
              ". . backbone (BackboneWithFPN) took 60.00ms (self: 1.00ms)\n"
              ". . . body (LayerGetter) took 44.00ms (self: 0.60ms)\n"
              ". . . . conv1 (Conv2d) took 40.00ms (self: 40.00ms)\n"
              ". . . . bn1 (FrozenBatchNorm2d) took - (self: -)\n"
              ". . . . relu (ReLU) took 3.40ms (self: 3.40ms)\n"
              ". . . fpn (FeaturePyramid) took 15.00ms (self: 0.20ms)\n"
              ". . . . layer_blocks (ModuleList) took 14.80ms (self: -)\n"
              ". . . . . 0 (Conv2d) took 14.80ms (self: 14.80ms)\n"
              ". . . add (Add) took - (self: -)\n"
              ". . roi_heads (RoIHeads) took 13.60ms (self: 0.60ms)\n"
              ". . . fc6 (Linear) took 10.00ms (self: 10.00ms)\n"
              ". . . relu6 (ReLU) took - (self: -)\n"
              ". . . nms () took 3.00ms (self: 3.00ms)\n"
              ". Postprocessing (POSTPROCESSING) took 4.50ms (self: 4.50ms)\n");
    str_release(&text);
    options.depth = 1;
    text = view_text(view_tree_plain, run, &options);
    CHECK_STR(str_text(&text),
              "Pipeline (PIPELINE) took 100.00ms (self: 0.50ms)\n"
              ". Preprocessing (PREPROCESSING) took 15.00ms (self: -)\n"
              ". Model (FasterRCNN) took 80.00ms (self: 0.40ms)\n"
              ". Postprocessing (POSTPROCESSING) took 4.50ms (self: 4.50ms)\n");
    str_release(&text);
    run_free(run);
}

/* The stages of a run in another order, and with other scopes besides. */
TEST(the_plain_tree_puts_stages_in_order_and_the_rest_after_them)
{
    static const char *const names[] = {"model",       "upload", "decode",
                                        "postprocess", "log",    "preprocess"};
    struct view_options options = options_for(80);
    struct str text;
    struct run *run;
    uint32_t thread, below;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    for (uint32_t i = 0; i < 6; i++)
        made_call(run, made_scope(run, RUN_ROOT, names[i], ""), thread, 0,
                  i + 1, i + 1);
    below = made_scope(run, 2, "send", "");
    made_call(run, below, thread, 0, 1, 1);
    made_call(run, RUN_ROOT, thread, 0, 21, 0);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    text = view_text(view_tree_plain, run, &options);
    CHECK_STR(str_text(&text),
              "Pipeline (PIPELINE) took 21.00ms (self: 0.00ms)\n"
              ". Preprocessing (PREPROCESSING) took 9.00ms (self: -)\n"
              ". . decode () took 3.00ms (self: 3.00ms)\n"
              ". . preprocess () took 6.00ms (self: 6.00ms)\n"
              ". Model () took 1.00ms (self: 1.00ms)\n"
              ". Postprocessing (POSTPROCESSING) took 4.00ms (self: 4.00ms)\n"
              ". upload () took 2.00ms (self: 2.00ms)\n"
              ". . send () took 1.00ms (self: 1.00ms)\n"
              ". log () took 5.00ms (self: 5.00ms)\n");
    str_release(&text);
    run_free(run);
}

TEST(the_plain_table_leaves_out_fused_modules)
{
    struct view_options options = options_for(80);
    struct run *run = made_model(10);

    options.all = true;
    check_lacks(view_table_plain, run, &options, "bn1");
    check_lacks(view_table_plain, run, &options, "nan");
    run_free(run);
}

TEST(a_narrow_screen_has_no_room_for_work)
{
    static const int widths[] = {60, 71, 72, 80, 89, 100, 120, 130, 200};
    static run_view *const views[] = {view_summary, view_tree, view_table};
    struct run *run = made_model(3);

    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        struct view_options options = options_for(widths[w]);

        options.all = true;
        for (size_t i = 0; i < 3; i++) {
            struct str text = view_text(views[i], run, &options);

            CHECK(widest_line(str_text(&text)) <= (size_t)widths[w]);
            if (i == 1)
                CHECK_INT(strstr(text.text, "GFLOP/s") != NULL,
                          widths[w] >= 72);
            str_release(&text);
        }
    }
    run_free(run);
}

/* The column of the tree has 8, one of them between it and the calls. */
TEST(work_of_any_size_leaves_a_space_before_it)
{
    for (double macs = 1; macs < 1e16; macs *= 1.07) {
        struct row row = {.work = {.macs = macs}};
        char text[UNITS_MAX];

        CHECK(text_columns(column_gmac(text, &row)) <= 7);
        CHECK_INT(strcmp(text, "<0.001") == 0, macs < 1e6);
    }
}

/* Nobody knows how often the work of an iteration was done. */
TEST(without_iterations_there_is_no_rate)
{
    static const char *const parts[] = {"\"macs\": 4000000000,", NULL};
    struct view_options options = options_for(80);
    struct run *run;
    uint32_t thread, conv;
    struct scope_work work = scope_work_unknown();

    work.macs = 4e9;
    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    conv = made_scope(run, RUN_ROOT, "conv", "");
    made_call(run, conv, thread, RUN_NONE, 40, 40);
    CHECK_INT(run_work_set(run, conv, &work, NULL), ASSAY_OK);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    check_lacks(view_json, run, &options, "\"gflops\": 200");
    check_parts(view_json, run, &options, parts);
}

static void fuse(struct run *run, uint32_t scope, uint32_t into)
{
    struct scope_work work = scope_work_unknown();

    work.done_by = into;
    CHECK_INT(run_work_set(run, scope, &work, NULL), ASSAY_OK);
}

/* The recorder learns of them late, and of some through others. */
TEST(fused_modules_follow_the_module_that_does_their_work)
{
    static const char *const parts[] = {
        "├─ conv   ",
        "├─ relu   fused into conv\n├─ bn   fused into conv\n├─ pool",
        "└─ fc  ", "2 modules ran in another's kernel", NULL};
    struct view_options options = options_for(80);
    uint32_t conv, pool, fc, relu, bn, thread;
    struct run *run;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    conv = made_scope(run, RUN_ROOT, "conv", "Conv2d");
    pool = made_scope(run, RUN_ROOT, "pool", "");
    fc = made_scope(run, RUN_ROOT, "fc", "");
    relu = made_scope(run, RUN_ROOT, "relu", "");
    bn = made_scope(run, RUN_ROOT, "bn", "");
    made_call(run, conv, thread, 0, 5, 5);
    made_call(run, pool, thread, 0, 3, 3);
    made_call(run, fc, thread, 0, 2, 2);
    made_call(run, RUN_ROOT, thread, 0, 10, 0);
    fuse(run, bn, conv);
    fuse(run, relu, conv);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    check_parts(view_tree, run, &options, parts);
}

/* A scope that was called does its own work, whatever the file says. */
TEST(a_module_that_was_called_is_not_shown_as_fused)
{
    struct view_options options = options_for(200);
    struct run *run = made_model(1);
    struct scope_work work = scope_work_unknown();
    uint32_t id;

    CHECK_INT(run_scope_find(run, 4, "transform", "RCNNTransform", &id, NULL),
              ASSAY_OK);
    CHECK_INT(id, 5);
    work.done_by = 8;
    CHECK_INT(run_work_set(run, id, &work, NULL), ASSAY_OK);
    check_lacks(view_tree, run, &options, "transform   in");
    run_free(run);
}

static void set_fact(struct run *run, const char *key, const char *value)
{
    CHECK_INT(run_fact_set(run, key, value, NULL), ASSAY_OK);
}

TEST(lines_without_facts_are_left_out)
{
    static const char *const labels[] = {"\nmodel ",  "\ninput ", "\nstages ",
                                         "\nbalance", "content ", "\nwork ",
                                         "GMAC"};
    struct view_options options = options_for(100);
    struct run *run = made_detector();

    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        check_lacks(view_summary, run, &options, labels[i]);
    run_free(run);
}

TEST(a_line_shows_as_much_as_is_known)
{
    static const char *const parts[] = {
        "model    tiny   900 params   3.5 KiB\n",
        "\ninput    1 photograph\n",
        "\ncontent  detections 0\n",
        NULL,
    };
    struct view_options options = options_for(100);
    struct run *run = made_detector();

    set_fact(run, "model.name", "tiny");
    set_fact(run, "model.parameters", "900");
    set_fact(run, "model.parameter_bytes", "3600");
    set_fact(run, "input.photographs", "1");
    set_fact(run, "content.detections", "0");
    check_parts(view_summary, run, &options, parts);
}

TEST(facts_that_are_not_numbers_are_ignored)
{
    static const char *const parts[] = {"model    tiny   fp32\n", NULL};
    struct view_options options = options_for(100);
    struct run *run = made_detector();

    set_fact(run, "model.name", "tiny");
    set_fact(run, "model.parameters", "many");
    set_fact(run, "model.parameter_bytes", "12 MiB");
    set_fact(run, "model.precision", "fp32");
    check_parts(view_summary, run, &options, parts);
    run = made_model(2);
    set_fact(run, "recording.cost_share", "inf");
    check_lacks(view_summary, run, &options, "recording cost");
    run_free(run);
}

TEST(views_of_work_leak_nothing_whichever_allocation_fails)
{
    static run_view *const views[] = {view_summary,   view_tree, view_table,
                                      view_json,      view_csv,  view_markdown,
                                      view_tree_plain};
    struct view_options options = options_for(80);
    struct run *run = made_model(3);

    options.all = true;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        long nth = 0, before = mem_live();
        enum assay_status st;

        do {
            struct str text = {0};
            struct sink sink = sink_to_str(&text);
            struct error err = {0};

            mem_fail_at(nth++);
            st = views[i](run, &options, &sink, &err);
            mem_fail_at(-1);
            if (st)
                CHECK(err.text[0] != '\0');
            str_release(&text);
            CHECK_INT(mem_live(), before);
        } while (st == ASSAY_NOMEM);
        CHECK_INT(st, ASSAY_OK);
    }
    run_free(run);
}

/* 4 GMAC in 40 ms of one thread, and in as many of another if it has one. */
static struct run *run_on(bool has_second)
{
    struct scope_work work = scope_work_unknown();
    uint32_t conv, main_thread, second;
    struct run *run;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &main_thread, NULL),
              ASSAY_OK);
    CHECK_INT(run_thread_add(run, "second", THREAD_CPU, &second, NULL),
              ASSAY_OK);
    conv = made_scope(run, RUN_ROOT, "conv", "Conv2d");
    work.macs = 4e9;
    CHECK_INT(run_work_set(run, conv, &work, NULL), ASSAY_OK);
    made_call(run, conv, main_thread, 0, 40, 40);
    if (has_second)
        made_call(run, conv, second, 0, 40, 40);
    made_call(run, RUN_ROOT, main_thread, 0, 100, 60);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    return run;
}

static double rate_on_main(struct run *run)
{
    struct run_filter filter = {.thread = "main", .last_iteration = UINT64_MAX};
    struct rows rows = {0};
    struct run *part;
    double rate;

    CHECK_INT(run_subset(run, &filter, &part, NULL), ASSAY_OK);
    CHECK_INT(rows_build(part, &rows, NULL), ASSAY_OK);
    rate = row_gflops(&rows, &rows.items[1]);
    rows_release(&rows);
    run_free(part);
    run_free(run);
    return rate;
}

TEST(a_rate_is_shown_only_if_all_of_its_time_is_known)
{
    CHECK_NEAR(rate_on_main(run_on(false)), 200, 1e-9);
    CHECK(isnan(rate_on_main(run_on(true))));
}

/* ---- against the machine ------------------------------------------------ */

static void check_bound(run_view *view, int width, const char *golden)
{
    struct run *run = made_bound_model();
    struct view_options options = options_for(width);
    struct str text = view_text(view, run, &options);

    check_golden(golden, &text);
    CHECK(widest_line(str_text(&text)) <= (size_t)width);
    str_release(&text);
    run_free(run);
}

/* 2 GMAC in 10 ms are 400 GFLOP/s where the machine has 250. */
TEST(a_rate_above_the_peak_is_explained)
{
    static const char *const explained[] = {
        "above the peak: Winograd multiplies less\n", NULL};
    struct view_options options = options_for(100);
    struct scope_work work = scope_work_unknown();
    struct run *run = made_bound_model();
    uint32_t thread, conv;

    check_lacks(view_summary, run, &options, "above the peak");
    run_free(run);
    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    CHECK_INT(run_fact_set(run, "machine.peak_gflops", "250", NULL), ASSAY_OK);
    CHECK_INT(run_fact_set(run, "machine.read_gbs", "20", NULL), ASSAY_OK);
    conv = made_scope(run, RUN_ROOT, "conv", "Conv2d");
    work.macs = 2e9;
    work.done_flops = 1e9;
    work.done_bytes = 1e6;
    CHECK_INT(run_work_set(run, conv, &work, NULL), ASSAY_OK);
    made_call(run, conv, thread, 0, 10, 10);
    made_call(run, RUN_ROOT, thread, 0, 11, 1);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    check_parts(view_tree, run, &options, explained);
}

TEST(the_summary_shows_the_bound_of_each_module_and_what_is_missing)
{
    check_bound(view_summary, 100, "bound-summary-100.txt");
}

TEST(a_wide_table_shows_what_the_roofline_would_save)
{
    check_bound(view_table, 150, "bound-table-150.txt");
}

TEST(json_has_the_bound_of_every_row_and_the_peaks)
{
    static const char *const parts[] = {
        "\"peaks\": {\n    \"gflops\": 250,\n    \"gbs\": 20,\n"
        "    \"launch_us\": 3,\n    \"is_raised\": false,",
        "\"done_flops\": 1850000000, \"done_bytes\": 20000000, "
        "\"kept_bytes\": null, "
        "\"done_gflops\": 125, \"gbs\": 1.3513513513513513, "
        "\"floor_ms\": 7.4, \"reached\": 0.5, \"saved_ms\": 7.4, "
        "\"device_ms\": null, \"done_by\": null, \"bound\": \"compute\"",
        "\"saved_ms\": null, \"device_ms\": null, "
        "\"done_by\": \"model.backbone.body.conv1\", "
        "\"bound\": null",
        NULL};
    struct view_options options = options_for(100);

    check_parts(view_json, made_bound_model(), &options, parts);
}

TEST(csv_has_the_bound_at_the_end)
{
    static const char *const parts[] = {",7.5,0.75,2.5,,,memory\r\n", NULL};
    struct view_options options = options_for(100);

    check_parts(view_csv, made_bound_model(), &options, parts);
}

TEST(the_bounds_of_a_class_are_summed)
{
    /* Both convolutions: 54.8 ms, 39.4 at the bound. */
    static const char *const parts[] = {"compute    72 %     15.4", NULL};
    struct view_options options = options_for(200);

    options.group = GROUP_CLASS;
    check_parts(view_table, made_bound_model(), &options, parts);
}

TEST(a_peak_that_the_run_exceeded_is_shown_as_raised)
{
    struct run *run = made_bound_model();
    static const char *const parts[] = {
        "peak 200 GFLOP/s, 20.0 GB/s (raised by this run)", NULL};
    struct view_options options = options_for(160);

    CHECK_INT(run_fact_set(run, "machine.peak_gflops", "150", NULL), 0);
    check_parts(view_summary, run, &options, parts);
}

TEST(what_a_gpu_s_cache_gave_does_not_count_as_its_memory)
{
    struct run *run = made_bound_model();
    static const char *const parts[] = {
        "peak 200 GFLOP/s, 0.500 GB/s (measured)", NULL};
    struct view_options options = options_for(160);

    CHECK_INT(run_fact_set(run, "machine.gpu", "GPU", NULL), 0);
    CHECK_INT(run_fact_set(run, "machine.peak_gflops", "150", NULL), 0);
    CHECK_INT(run_fact_set(run, "machine.read_gbs", "0.5", NULL), 0);
    CHECK_INT(run_fact_set(run, "machine.write_gbs", "0.5", NULL), 0);
    CHECK_INT(run_fact_set(run, "machine.copy_gbs", "0.5", NULL), 0);
    check_parts(view_summary, run, &options, parts);
}

TEST(the_rates_of_a_gpu_are_in_tflops)
{
    struct run *run = made_bound_model();
    static const char *const parts[] = {"peak 400 TFLOP/s, 4.20 TB/s",
                                        "TFLOP/s  bound", "0.200", NULL};
    struct view_options options = options_for(160);

    CHECK_INT(run_fact_set(run, "machine.peak_gflops", "400000", NULL), 0);
    CHECK_INT(run_fact_set(run, "machine.read_gbs", "4200", NULL), 0);
    check_parts(view_summary, run, &options, parts);
}

TEST(a_model_s_run_without_peaks_says_how_to_get_them)
{
    static const char *const parts[] = {"peak - (assay machine measures it)",
                                        NULL};
    struct view_options options = options_for(160);

    check_parts(view_summary, made_model(10), &options, parts);
}

TEST(processors_are_shown_by_the_telling_part_of_their_name)
{
    static const char *const names[][2] = {
        {"Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "Xeon Gold 6338 2 cores"},
        {"AMD EPYC 7763 64-Core Processor", "EPYC 7763 2 cores"},
        {"Intel(R) Xeon(R) Processor", "Xeon 2 cores"},
        {"Apple M1", "Apple M1 2 cores"},
        {"Intel(R) CPU", "Intel(R) CPU 2 cores"},
        {"Half (open", "Half 2 cores"}};
    struct view_options options = options_for(160);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *parts[] = {names[i][1], NULL};

        check_parts(view_summary, with_fact("machine.cpu", names[i][0]),
                    &options, parts);
    }
}
