/* The views for people: the summary and the trees. */
#include "base/mem.h"
#include "made_runs.h"
#include "test.h"
#include "views/line.h"

#include <string.h>

static struct view_options options_for(int width)
{
    struct view_options options = view_defaults(term_plain(width));

    options.source = "run.assay";
    return options;
}

static void check_view(run_view *view, struct run *run,
                       const struct view_options *options, const char *golden)
{
    struct str text = view_text(view, run, options);

    check_golden(golden, &text);
    CHECK(widest_line(str_text(&text)) <= (size_t)options->term.width);
    str_release(&text);
    run_free(run);
}

static void check_has(run_view *view, struct run *run,
                      const struct view_options *options, const char *part)
{
    struct str text = view_text(view, run, options);

    CHECK_HAS(str_text(&text), part);
    str_release(&text);
    run_free(run);
}

TEST(the_summary_is_one_screen)
{
    struct view_options options = options_for(80);

    check_view(view_summary, made_detector(), &options, "summary-80.txt");
}

TEST(a_wide_screen_shows_classes_and_longer_bars)
{
    struct view_options options = options_for(120);

    check_view(view_summary, made_detector(), &options, "summary-120.txt");
}

TEST(without_utf8_the_summary_is_ascii)
{
    struct view_options options = options_for(80);
    struct run *run = made_detector();
    struct str text;

    options.term.has_utf8 = false;
    text = view_text(view_summary, run, &options);
    for (size_t i = 0; i < text.n; i++)
        CHECK((unsigned char)text.text[i] < 0x80);
    str_release(&text);
    check_view(view_summary, run, &options, "summary-ascii.txt");
}

TEST(colour_is_used_only_on_a_terminal_that_has_it)
{
    struct view_options options = options_for(80);
    struct run *run = made_detector();
    struct str text = view_text(view_summary, run, &options);

    CHECK(strchr(text.text, '\x1b') == NULL);
    str_release(&text);
    options.term.has_colour = true;
    check_has(view_summary, run, &options, "\x1b[36m██");
}

/* Fewer columns rather than rows that seem to be side by side. */
TEST(a_narrow_tree_keeps_its_branches)
{
    for (int width = 34; width < 60; width++) {
        struct view_options options = options_for(width);
        struct run *run = made_detector();
        struct str text = view_text(view_tree, run, &options);
        const char *at = strstr(str_text(&text), "module  ");

        CHECK(at);
        CHECK(strstr(at, "│  ├─"));
        CHECK(strcspn(at, "\n") <= (size_t)width);
        str_release(&text);
        run_free(run);
    }
}

TEST(no_line_exceeds_the_width)
{
    static const int widths[] = {60, 80, 100, 120, 200};
    static run_view *const views[] = {view_summary, view_tree, view_table};
    struct run *runs[] = {made_detector(), made_pipeline(), made_chain(300),
                          made_with_name("a name that is a good deal longer "
                                         "than any screen is likely to be "
                                         "wide, and then some more of it",
                                         "Class")};

    for (size_t w = 0; w < 5; w++) {
        struct view_options options = options_for(widths[w]);

        for (size_t i = 0; i < 12; i++) {
            struct str text = view_text(views[i % 3], runs[i / 3], &options);

            CHECK(widest_line(str_text(&text)) <= (size_t)widths[w]);
            str_release(&text);
        }
    }
    for (size_t i = 0; i < 4; i++)
        run_free(runs[i]);
}

TEST(the_caption_says_if_threads_add_up)
{
    struct view_options options = options_for(80);

    check_view(view_summary, made_pipeline(), &options, "pipeline.txt");
}

TEST(problems_are_reported)
{
    struct view_options options = options_for(100);
    struct run *run = made_pipeline();
    struct run_health *health = run_health(run);
    struct str text;

    health->is_incomplete = true;
    health->lost_spans = 12;
    health->unbalanced_ends = 1;
    health->open_at_end = 2;
    health->too_deep = 3;
    text = view_text(view_summary, run, &options);
    CHECK_HAS(str_text(&text), "WARNING  incomplete: the program did not");
    CHECK_HAS(str_text(&text), "WARNING  12 spans were lost");
    CHECK_HAS(str_text(&text), "WARNING  1 end without a begin was");
    CHECK_HAS(str_text(&text), "WARNING  2 spans were still open");
    CHECK_HAS(str_text(&text), "WARNING  3 spans were nested too deep");
    str_release(&text);
    run_free(run);
}

TEST(an_import_shows_what_was_read)
{
    struct view_options options = options_for(80);
    struct run *run = made_pipeline();

    CHECK_INT(run_fact_set(run, "import.events", "10", NULL), ASSAY_OK);
    CHECK_INT(run_fact_set(run, "import.events.X", "9", NULL), ASSAY_OK);
    CHECK_INT(run_fact_set(run, "import.kernels_us", "1500", NULL), ASSAY_OK);
    check_has(view_summary, run, &options,
              "import   10 events   kernels 1.50 ms\n");
}

TEST(a_name_that_a_shell_would_split_is_quoted)
{
    struct view_options options = options_for(200);

    options.source = "my run's.assay";
    check_has(view_summary, made_pipeline(), &options,
              "assay show 'my run'\\''s.assay' --table");
}

TEST(a_counter_without_a_unit_has_no_trailing_space)
{
    struct view_options options = options_for(80);
    struct run *run = made_detector();
    struct error err = {0};
    uint32_t losses;

    CHECK_STATUS(run_counter_add(run, "losses", "", &losses, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(run_counter_count(run, losses, 0, 7, &err), ASSAY_OK, &err);
    check_has(view_summary, run, &options, "losses 7 (7 .. 7)\n");
}

TEST(unknown_memory_is_not_mentioned)
{
    struct view_options options = options_for(80);
    struct run *run = made_pipeline();
    struct str text = view_text(view_summary, run, &options);

    CHECK(strstr(str_text(&text), "memory") == NULL);
    str_release(&text);
    run_free(run);
}

TEST(the_tree_hides_small_modules_and_says_so)
{
    struct view_options options = options_for(80);

    check_view(view_tree, made_detector(), &options, "tree.txt");
}

TEST(all_hides_nothing)
{
    struct view_options options = options_for(80);

    options.all = true;
    check_view(view_tree, made_detector(), &options, "tree-all.txt");
}

TEST(depth_limits_the_levels)
{
    struct view_options options = options_for(80);

    options.depth = 1;
    check_view(view_tree, made_detector(), &options, "tree-depth-1.txt");
}

TEST(short_runs_are_shown_in_microseconds)
{
    struct view_options options = options_for(80);
    struct run *run = made_with_name("step", "");
    struct run *short_run;
    uint32_t thread, step;

    check_has(view_tree, run, &options, "total ms");
    CHECK_INT(run_new(&short_run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(short_run, "main", THREAD_CPU, &thread, NULL),
              ASSAY_OK);
    step = made_scope(short_run, RUN_ROOT, "step", "");
    made_call(short_run, step, thread, 0, 0.042, 0.042);
    made_call(short_run, RUN_ROOT, thread, 0, 0.05, 0.008);
    CHECK_INT(run_seal(short_run, NULL), ASSAY_OK);
    check_has(view_tree, short_run, &options,
              "└─ step                                 42.0      42.0   84 %");
}

/* Iterations of these milliseconds, with a stage that is most of them. */
static struct run *run_of_times(const double *ms, uint32_t n)
{
    struct run *run;
    uint32_t thread, model;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    model = made_scope(run, RUN_ROOT, "model", "Net");
    for (uint32_t i = 0; i < n; i++) {
        made_call(run, model, thread, i, ms[i] * 0.9, ms[i] * 0.9);
        made_call(run, RUN_ROOT, thread, i, ms[i], ms[i] * 0.1);
    }
    return run;
}

TEST(stages_of_short_runs_are_in_microseconds)
{
    static const char *const others[] = {"decode", "preprocess", "postprocess"};
    static const double ms[] = {0.25, 0.25, 0.25};
    struct view_options options = options_for(80);
    struct run *run = run_of_times(ms, 3);

    for (size_t i = 0; i < 3; i++) {
        uint32_t stage = made_scope(run, RUN_ROOT, others[i], "");

        for (uint32_t k = 0; k < 3; k++)
            made_call(run, stage, 0, k, 0.002, 0.002);
    }
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    check_has(view_summary, run, &options,
              "decode 2.0 | preprocess 2.0 | model 225 | postprocess 2.0 us\n");
}

/* Neighbours resemble each other, so that five of them say next to nothing. */
TEST(an_interval_wider_than_the_mean_is_not_shown)
{
    static const double noisy[] = {100, 300, 900, 120, 1400, 110};
    static const double quiet[] = {100, 101, 99, 100, 102, 100};
    struct view_options options = options_for(80);
    struct run *run = run_of_times(noisy, 6);

    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    check_has(view_summary, run, &options, "[too noisy]");
    run = run_of_times(quiet, 6);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    check_has(view_summary, run, &options, "mean 100 ms [99.");
}

/* No line ends with a number whose unit begins the next. */
TEST(a_number_keeps_its_unit_when_a_line_breaks)
{
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    for (int width = 20; width < 60; width++) {
        struct term term = term_plain(width);
        struct line line = line_begin(&sink, &term, "load");

        line_sentence(&line, "waited 36.8 ms [33.8 ms, 39.7 ms] (59 %) of "
                             "12 MiB; see 4 messages");
        line_end(&line);
    }
    CHECK(!sink_status(&sink, NULL));
    for (const char *end = strchr(text.text, '\n'); end;
         end = strchr(end + 1, '\n')) {
        const char *next = end + 1 + strspn(end + 1, " ");

        CHECK(strncmp(next, "ms", 2) != 0 && *next != '%' &&
              strncmp(next, "MiB", 3) != 0);
    }
    CHECK(strstr(text.text, "4\n         messages") != NULL);
    str_release(&text);
}

TEST(a_scope_around_the_iterations_groups_what_is_in_them)
{
    struct view_options options = options_for(80);
    struct run *run;
    uint32_t thread, train, step;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    train = made_scope(run, RUN_ROOT, "train", "");
    step = made_scope(run, train, "step", "");
    for (uint32_t i = 0; i < 2; i++) {
        made_call(run, step, thread, i, 40, 40);
        made_call(run, RUN_ROOT, thread, i, 50, 10);
    }
    made_call(run, train, thread, RUN_NONE, 500, 400);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    check_has(view_tree, run, &options,
              "└─ train                                40.0         -   80 % "
              "████████         -\n");
}

TEST(the_plain_tree_has_the_layout_for_other_programs)
{
    struct view_options options = options_for(80);
    struct run *run = made_detector();
    struct str text = view_text(view_tree_plain, run, &options);

    CHECK_STR(str_text(&text),
              "detector (Detector) took 100.00ms (self: 5.00ms)\n"
              ". transform () took 10.00ms (self: 10.00ms)\n"
              ". backbone (Backbone) took 60.00ms (self: 0.00ms)\n"
              ". . body (Body) took 45.00ms (self: 5.00ms)\n"
              ". . . conv1 (Conv2d) took 30.00ms (self: 30.00ms)\n"
              ". . . relu (ReLU) took 10.00ms (self: 10.00ms)\n"
              ". . fpn () took 15.00ms (self: 15.00ms)\n"
              ". head (Head) took 24.00ms (self: 24.00ms)\n"
              ". tiny () took 1.00ms (self: 1.00ms)\n"
              ". setup () took 250.00ms (self: 50.00ms)\n"
              ". . load_weights () took 200.00ms (self: 200.00ms)\n");
    str_release(&text);
    run_free(run);
}

TEST(four_thousand_levels_are_drawn)
{
    struct view_options options = options_for(80);
    struct run *run = made_chain(4000);
    struct str text = view_text(view_tree, run, &options);
    size_t lines = 0;

    for (size_t i = 0; i < text.n; i++)
        lines += text.text[i] == '\n';
    CHECK_INT(lines, 1 + 1 + 4001);
    CHECK(widest_line(str_text(&text)) <= 80);
    str_release(&text);
    text = view_text(view_tree_plain, run, &options);
    CHECK(text.n > 4000);
    str_release(&text);
    run_free(run);
}

TEST(the_summary_leaks_nothing_whichever_allocation_fails)
{
    struct view_options options = options_for(80);
    struct run *run = made_detector();
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        struct str text = {0};
        struct sink sink = sink_to_str(&text);
        struct error err = {0};

        mem_fail_at(nth++);
        st = view_summary(run, &options, &sink, &err);
        mem_fail_at(-1);
        if (st)
            CHECK(err.text[0] != '\0');
        str_release(&text);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    run_free(run);
}

static void count(struct run *run, uint32_t scope, uint32_t thread,
                  int64_t duration_ns)
{
    const struct sample sample = {.scope = scope,
                                  .thread = thread,
                                  .iteration = 0,
                                  .duration_ns = duration_ns,
                                  .self_ns = duration_ns,
                                  .bytes = RUN_UNKNOWN,
                                  .peak_bytes = RUN_UNKNOWN};

    CHECK_INT(run_count(run, &sample, NULL), ASSAY_OK);
}

/* An operator of 8 ms launches 40 ms of work on a device; another launches
 * nothing. */
static struct run *made_launches(void)
{
    struct run *run = NULL;
    uint32_t host, queue, module, op, kernel, other;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &host, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "stream", THREAD_DEVICE, &queue, NULL),
              ASSAY_OK);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "module", "", &module, NULL),
              ASSAY_OK);
    CHECK_INT(run_scope_add(run, module, "op", "", &op, NULL), ASSAY_OK);
    CHECK_INT(run_scope_add(run, op, "gemm", "", &kernel, NULL), ASSAY_OK);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "other", "", &other, NULL),
              ASSAY_OK);
    count(run, op, host, 8000000);
    count(run, module, host, 9000000);
    count(run, other, host, 7000000);
    count(run, RUN_ROOT, host, 50000000);
    count(run, kernel, queue, 40000000);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    return run;
}

TEST(what_devices_did_for_a_module_has_a_column_of_its_own)
{
    struct view_options options = options_for(100);
    struct run *run = made_launches();
    struct str text = view_text(view_tree, run, &options);

    CHECK_HAS(str_text(&text), "total ms      self    device  share");
    /* The share is that of the longer time: 40 of 50 ms. */
    CHECK_HAS(str_text(&text), "9.0       9.0      40.0   80 %");
    CHECK_HAS(str_text(&text), "8.0       8.0      40.0   80 %");
    CHECK_HAS(str_text(&text), "7.0       7.0         -   14 %");
    str_release(&text);
    text = view_text(view_table, run, &options);
    CHECK_HAS(str_text(&text), "device ms");
    str_release(&text);
    text = view_text(view_json, run, &options);
    CHECK_HAS(str_text(&text), "\"device_ms\": 40");
    str_release(&text);
    run_free(run);
}

static void keep(struct run *run, uint32_t scope, uint32_t thread,
                 int64_t duration_ns)
{
    const struct sample sample = {.scope = scope,
                                  .thread = thread,
                                  .start_ns = 1000,
                                  .duration_ns = duration_ns,
                                  .self_ns = duration_ns,
                                  .bytes = RUN_UNKNOWN,
                                  .peak_bytes = RUN_UNKNOWN};

    count(run, scope, thread, duration_ns);
    CHECK_INT(run_keep(run, &sample, NULL), ASSAY_OK);
}

TEST(the_line_of_a_stream_has_its_rate_and_what_the_device_waited_for)
{
    static const char *const facts[][2] = {
        {"stream.in_flight", "2"},
        {"stream.images_per_second", "12345"},
        {"stream.latency_ms", "4.61"},
        {"stream.p95_ms", "5.5"},
        {"stream.busy_ms", "2.25"},
        {"stream.idle_ms", "0.75"},
        {"stream.idle.photograph_ms", "0.6"},
        {"stream.idle.copy_ms", "0.13"},
        {"stream.idle.host_ms", "0.02"}, /* under a hundredth */
        {"stream.compared", "64"},
        {"stream.same", "63"},
        {"stream.decoders", "8"}};
    struct view_options options = options_for(100);
    struct run *run = NULL;
    struct str text;
    uint32_t host;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &host, NULL), ASSAY_OK);
    count(run, RUN_ROOT, host, 5000000);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        CHECK_INT(run_fact_set(run, facts[i][0], facts[i][1], NULL), ASSAY_OK);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    text = view_text(view_summary, run, &options);
    CHECK_HAS(str_text(&text), "stream   2 in flight   12.3 k img/s   "
                               "pass 4.6 ms (p95 5.5)   device idle 25 %");
    CHECK_HAS(str_text(&text),
              "idle for: copy 0.13, photograph 0.6 ms per pass");
    CHECK_HAS(str_text(&text), "results differ from one at a time in 1 of 64");
    CHECK_HAS(str_text(&text), "8 threads decode ahead");
    str_release(&text);
    options = options_for(80);
    text = view_text(view_brief, run, &options);
    CHECK_HAS(str_text(&text), "device idle 25 %");
    CHECK_HAS(str_text(&text), "results differ");
    str_release(&text);
    run_free(run);
}

TEST(the_line_of_a_device_has_what_else_is_known_of_it)
{
    static const char *const facts[][2] = {
        {"device.one_launch_ms", "2.63"},
        {"device.one_by_one_ms", "4.38"},
        {"device.joules_per_image", "2.4"},
        {"device.others", "2"},
        {"device.others_bytes", "3221225472"},
        {"device.throttling", "power limit"},
        {"device.unpinned", "out of memory"}};
    struct view_options options = options_for(100);
    uint32_t host, queue, model;
    struct run *run = NULL;
    struct str text;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &host, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "cuda:0", THREAD_DEVICE, &queue, NULL),
              ASSAY_OK);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "model", "", &model, NULL),
              ASSAY_OK);
    keep(run, model, host, 4000000);
    keep(run, RUN_ROOT, host, 5000000);
    keep(run, model, queue, 1000000);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        CHECK_INT(run_fact_set(run, facts[i][0], facts[i][1], NULL), ASSAY_OK);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    text = view_text(view_summary, run, &options);
    CHECK_HAS(str_text(&text),
              "model as one launch 2.63 ms, one by one 4.38 ms");
    CHECK_HAS(str_text(&text), "2.4 J per image");
    CHECK_HAS(str_text(&text), "2 other processes on it, with 3072 MiB");
    CHECK_HAS(str_text(&text), "slowed down: power limit");
    CHECK_HAS(str_text(&text),
              "copies are slower, without pinned memory: out of memory");
    str_release(&text);
    /* What it waited for is told also where most lines are cut. */
    options = options_for(80);
    text = view_text(view_brief, run, &options);
    CHECK_HAS(str_text(&text), "idle for: ");
    str_release(&text);
    run_free(run);
}
