/* The screen that runs end with: 80 columns, 24 lines with the prompt. */
#include "base/mem.h"
#include "made_report.h"
#include "made_runs.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { LINES = 23, COLUMNS = 80 };

static struct error err;

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

static struct view_options options_of_brief(void)
{
    struct view_options options = view_defaults(term_plain(COLUMNS));

    options.source = "run.assay";
    return options;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static struct str brief_of(struct run *run, const struct view_options *options)
{
    struct str text = view_text(view_brief, run, options);

    CHECK(count_lines(str_text(&text)) <= LINES);
    CHECK(widest_line(str_text(&text)) <= COLUMNS);
    run_free(run);
    return text;
}

static void check_brief(struct run *run, const char *golden)
{
    struct view_options options = options_of_brief();
    struct str text = brief_of(run, &options);

    check_golden(golden, &text);
    str_release(&text);
}

TEST(the_brief_screen_of_a_model_is_one_line_for_each_subject)
{
    check_brief(made_model(30), "brief-model.txt");
}

TEST(the_brief_screen_shows_the_modules_that_cost_most)
{
    check_brief(made_bound_model(), "brief-bound.txt");
}

TEST(the_brief_screen_of_photographs_fits)
{
    check_brief(made_photographs(24, 1), "brief-photographs.txt");
}

TEST(the_brief_screen_of_a_run_without_a_model_fits)
{
    check_brief(made_detector(), "brief-detector.txt");
    check_brief(made_pipeline(), "brief-pipeline.txt");
}

TEST(long_names_do_not_break_the_brief_screen)
{
    struct view_options options = options_of_brief();
    struct str text = brief_of(made_hostile(), &options);

    str_release(&text);
}

TEST(a_long_list_of_what_was_found_is_counted_and_not_cut)
{
    struct found_object objects[19];
    struct found_photo photo = {"faces.jpg", objects, 19};
    struct view_options options = options_of_brief();
    struct run *run = made_model(30);
    struct str text;

    for (size_t i = 0; i < 19; i++)
        objects[i] = (struct found_object){.name = "face", .score = 0.99};
    OK(run_found_add(run, &photo, &err));
    text = brief_of(run, &options);
    CHECK_HAS(str_text(&text), "found    faces.jpg: face 0.99, face 0.99, face "
                               "0.99, face 0.99 and 15 more\n");
    str_release(&text);
}

/* What --random makes has the shape of images, and so do its rates. */
TEST(the_rate_counts_images_of_random_values_too)
{
    static const char *const images[] = {"1", "4"};
    static const char *const rates[] = {" 10 img/s", " 40 img/s"};
    struct view_options options = options_of_brief();

    for (size_t i = 0; i < 2; i++) {
        struct run *run;
        struct str text;
        uint32_t thread;

        OK(run_new(&run, &err));
        OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
        OK(run_fact_set(run, "input.images", images[i], &err));
        for (uint32_t k = 0; k < 3; k++)
            made_call(run, RUN_ROOT, thread, k, 100, 100);
        OK(run_seal(run, &err));
        text = brief_of(run, &options);
        CHECK_HAS(str_text(&text), rates[i]);
        str_release(&text);
    }
}

/* Next to a long input there is no room for both: without the count, a mean of
 * 100 ms beside a maximum of 900 would look like a mistake. */
TEST(left_out_iterations_are_counted_before_the_warm_up)
{
    struct view_options options = options_of_brief();
    uint32_t thread;
    struct run *run;
    struct str text;

    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    OK(run_fact_set(run, "input.note", "random values: images 1x3x224x224",
                    &err));
    for (uint32_t i = 0; i < 40; i++) {
        double ms = i == 20 ? 900 : 100 + i % 3;

        made_call(run, RUN_ROOT, thread, i, ms, ms);
    }
    OK(run_seal(run, &err));
    text = brief_of(run, &options);
    CHECK_HAS(str_text(&text), "input    random values: images 1x3x224x224   "
                               "measured 40 (1 disturbed left out)\n");
    str_release(&text);
}

/* n nodes in a row, every third a Concat of half the time. */
static struct run *flat_run(uint32_t n)
{
    uint32_t model, thread;
    struct run *run;
    char name[16];

    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    model = made_scope(run, RUN_ROOT, "model", "");
    for (uint32_t i = 0; i < n; i++) {
        bool is_concat = i % 3 == 2;

        snprintf(name, sizeof name, "node_%u", i);
        made_call(run,
                  made_scope(run, model, name, is_concat ? "Concat" : "Conv2d"),
                  thread, 0, is_concat ? 1 : 2, is_concat ? 1 : 2);
    }
    made_call(run, model, thread, 0, n / 3 * 5, 0);
    made_call(run, RUN_ROOT, thread, 0, n / 3 * 5, 0);
    OK(run_seal(run, &err));
    return run;
}

TEST(many_modules_side_by_side_are_summarised_by_class)
{
    static run_view *const views[] = {view_brief, view_summary};
    struct view_options options = options_of_brief();

    for (size_t i = 0; i < 2; i++) {
        struct run *run = flat_run(30);
        struct str text = view_text(views[i], run, &options);

        CHECK_HAS(str_text(&text), "class ");
        CHECK_HAS(str_text(&text), "Conv2d                                 "
                                   "      20      40.0   80 % ████████  \n");
        CHECK_HAS(str_text(&text), "Concat                                 "
                                   "      10      10.0   20 % ██        \n");
        str_release(&text);
        run_free(run);
    }
}

/* Thirty convolutions of 1 GMAC that a device takes 2 ms each for, and results
 * that are waited for. */
static struct run *device_run(void)
{
    struct scope_work work = scope_work_unknown();
    uint32_t model, thread, queue;
    struct run *run;
    char name[16];

    work.macs = 1e9;
    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    OK(run_thread_add(run, "cuda:0", THREAD_DEVICE, &queue, &err));
    model = made_scope(run, RUN_ROOT, "model", "");
    for (uint32_t i = 0; i < 30; i++) {
        uint32_t scope;

        snprintf(name, sizeof name, "node_%u", i);
        scope = made_scope(run, model, name, "Conv2d");
        made_call(run, scope, thread, 0, 1, 1);
        made_call(run, scope, queue, 0, 2, 2);
        OK(run_work_set(run, scope, &work, &err));
    }
    made_call(run, made_scope(run, model, "results", "Results"), thread, 0, 11,
              11);
    made_call(run, model, thread, 0, 42, 1);
    made_call(run, RUN_ROOT, thread, 0, 44, 2);
    OK(run_seal(run, &err));
    return run;
}

TEST(the_rate_of_a_class_is_that_of_the_device)
{
    struct view_options options = options_of_brief();
    struct str text = brief_of(device_run(), &options);

    CHECK_HAS(str_text(&text), "Conv2d ");
    CHECK_HAS(str_text(&text), "  30.0     1000"); /* 60 GFLOP in 60 ms */
    str_release(&text);
}

TEST(waiting_for_results_is_a_part_of_the_balance)
{
    struct view_options options = options_of_brief();
    struct str text = brief_of(device_run(), &options);

    CHECK_HAS(str_text(&text), "balance  ops 30.0 + gaps 0.0 + results 11.0 + "
                               "residual 1.0 = model 42.0 ms");
    str_release(&text);
}

TEST(a_few_modules_are_shown_as_modules)
{
    struct view_options options = options_of_brief();
    struct str text = brief_of(flat_run(6), &options);

    CHECK_HAS(str_text(&text), "├─ node_0 ");
    CHECK(!strstr(str_text(&text), "class "));
    str_release(&text);
}

TEST(the_brief_screen_survives_every_failing_allocation)
{
    struct view_options options = options_of_brief();
    struct run *run = flat_run(30);
    enum assay_status st;
    long nth = 0;

    do {
        struct str text = {0};
        struct sink sink = sink_to_str(&text);
        long before = (long)mem_live();

        mem_fail_at(nth++);
        st = view_brief(run, &options, &sink, NULL);
        mem_fail_at(-1);
        str_release(&text);
        CHECK_INT((long)mem_live(), before);
    } while (st && nth < 10000);
    CHECK_INT(st, ASSAY_OK);
    run_free(run);
}
