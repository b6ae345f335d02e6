/* The output of view_json() and view_trace(), read back. */
#include "base/json.h"
#include "made_runs.h"
#include "test.h"

#include <string.h>

static struct error err;
#define MUST(call) CHECK_STATUS(call, ASSAY_OK, &err)

static void pull(struct json_reader *reader, enum json_token *token)
{
    CHECK_STATUS(json_next(reader, token, &err), ASSAY_OK, &err);
}

static struct json_reader *open_text(const struct str *text)
{
    struct json_reader *reader;

    err = (struct error){0};
    CHECK_STATUS(json_reader_new_text(text->text, text->n, &reader, &err),
                 ASSAY_OK, &err);
    return reader;
}

static void check_valid(const struct str *text)
{
    struct json_reader *reader = open_text(text);
    enum json_token token;

    do
        pull(reader, &token);
    while (token != JSON_END);
    json_reader_free(reader);
}

static enum assay_status trace(const struct run *run,
                               const struct view_options *options,
                               struct sink *sink, struct error *error)
{
    (void)options;
    return view_trace(run, sink, error);
}

TEST(json_holds_what_the_screen_shows)
{
    struct view_options options = view_defaults(term_plain(80));
    struct run *run = made_detector();
    struct str text;

    options.source = "run.assay";
    text = view_text(view_json, run, &options);
    check_valid(&text);
    check_golden("run.json", &text);
    str_release(&text);
    run_free(run);
}

TEST(a_run_without_iterations_has_null_for_its_latency)
{
    struct view_options options = view_defaults(term_plain(80));
    struct run *run = made_pipeline();
    struct str text = view_text(view_json, run, &options);

    check_valid(&text);
    CHECK_HAS(str_text(&text), "\"median_ms\": null");
    CHECK_HAS(str_text(&text), "\"per_second\": null");
    CHECK_HAS(str_text(&text), "\"steady\": null");
    CHECK_HAS(str_text(&text), "\"memory\": null");
    CHECK_HAS(str_text(&text), "\"threads_add_up\": true");
    str_release(&text);
    run_free(run);
}

TEST(what_was_found_has_one_line_per_photograph)
{
    const struct found_object objects[] = {
        {.name = "a \"dog\"",
         .label = 18,
         .score = 0.9812345678,
         .has_box = true,
         .box = {1, 2.5, 30, 40}},
        {.name = "7", .label = 7, .score = 0.25}};
    const struct found_photo photos[] = {{"a.jpg", objects, 2},
                                         {"b.jpg", NULL, 0}};
    struct view_options options = view_defaults(term_plain(80));
    struct run *run = made_pipeline();
    struct str text = view_text(view_json, run, &options);

    CHECK(!strstr(str_text(&text), "\"found\""));
    str_release(&text);
    for (size_t i = 0; i < 2; i++)
        CHECK_STATUS(run_found_add(run, &photos[i], &err), ASSAY_OK, &err);
    text = view_text(view_json, run, &options);
    check_valid(&text);
    CHECK_HAS(str_text(&text),
              "{\"photograph\":\"a.jpg\",\"items\":[{\"label\":18,\"name\":"
              "\"a \\\"dog\\\"\",\"score\":0.981235,"
              "\"box\":[1,2.5,30,40]},"
              "{\"label\":7,\"name\":\"7\",\"score\":0.25}]},\n");
    CHECK_HAS(str_text(&text), "{\"photograph\":\"b.jpg\",\"items\":[]}\n");
    str_release(&text);
    run_free(run);
}

TEST(hostile_names_break_neither_layout_nor_json)
{
    static char ten_thousand[10001];
    const char *names[] = {"<img src=x onerror=alert(1)>",
                           "\x1b[2J\x1b]0;title\x07",
                           "\xe2\x80\xaegnp.exe",
                           "\xff\xfe broken \xc3",
                           "quote \" backslash \\ \n newline \t tab \x01",
                           "%s%n%d",
                           ten_thousand};
    run_view *const views[] = {view_summary, view_tree, view_table};

    memset(ten_thousand, 'n', sizeof ten_thousand - 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct run *run = made_with_name(names[i], names[i]);
        struct view_options options = view_defaults(term_plain(80));
        struct str text = view_text(view_json, run, &options);

        options.source = names[i];
        check_valid(&text);
        str_release(&text);
        text = view_text(trace, run, &options);
        check_valid(&text);
        str_release(&text);
        for (size_t k = 0; k < 3; k++) {
            text = view_text(views[k], run, &options);
            CHECK(widest_line(str_text(&text)) <= 80);
            CHECK(strpbrk(str_text(&text), "\x1b\x07\x01\t") == NULL);
            str_release(&text);
        }
        run_free(run);
    }
}

TEST(the_json_of_a_deep_tree_is_flat)
{
    struct view_options options = view_defaults(term_plain(80));
    struct run *run = made_chain(1000);
    struct str text = view_text(view_json, run, &options);

    check_valid(&text);
    CHECK_HAS(str_text(&text), "\"parent\": 999");
    str_release(&text);
    run_free(run);
}

/* ---- the trace -------------------------------------------------------- */

struct event {
    char phase[4], name[32];
    double pid, tid, ts, dur;
};

/* Reads one event, after its OBJECT_BEGIN. */
static struct event read_event(struct json_reader *reader)
{
    struct event event = {.dur = -1, .ts = -1};
    enum json_token token;

    for (pull(reader, &token); token == JSON_KEY; pull(reader, &token)) {
        char key[32];

        snprintf(key, sizeof key, "%s", json_text(reader, NULL));
        if (strcmp(key, "args") == 0) {
            CHECK_STATUS(json_skip(reader, &err), ASSAY_OK, &err);
            continue;
        }
        pull(reader, &token);
        if (strcmp(key, "ph") == 0)
            snprintf(event.phase, sizeof event.phase, "%s",
                     json_text(reader, NULL));
        else if (strcmp(key, "name") == 0)
            snprintf(event.name, sizeof event.name, "%s",
                     json_text(reader, NULL));
        else if (strcmp(key, "pid") == 0)
            event.pid = json_double(reader);
        else if (strcmp(key, "tid") == 0)
            event.tid = json_double(reader);
        else if (strcmp(key, "ts") == 0)
            event.ts = json_double(reader);
        else if (strcmp(key, "dur") == 0)
            event.dur = json_double(reader);
    }
    CHECK_INT(token, JSON_OBJECT_END);
    return event;
}

static size_t read_events(const struct str *text, struct event *events,
                          size_t most)
{
    struct json_reader *reader = open_text(text);
    enum json_token token;
    size_t n = 0;

    do
        pull(reader, &token);
    while (token != JSON_KEY ||
           strcmp(json_text(reader, NULL), "traceEvents") != 0);
    pull(reader, &token);
    CHECK_INT(token, JSON_ARRAY_BEGIN);
    for (pull(reader, &token); token == JSON_OBJECT_BEGIN;
         pull(reader, &token)) {
        CHECK(n < most);
        events[n++] = read_event(reader);
    }
    CHECK_INT(token, JSON_ARRAY_END);
    json_reader_free(reader);
    return n;
}

static size_t count_events(const struct event *events, size_t n,
                           const char *phase)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += strcmp(events[i].phase, phase) == 0;
    return count;
}

TEST(a_trace_holds_every_kept_sample_iteration_and_counter)
{
    struct run *run = made_detector();
    struct str text = view_text(trace, run, NULL);
    struct event events[100];
    size_t n = read_events(&text, events, 100);

    /* 9 samples below the root and 10 iterations */
    CHECK_INT(count_events(events, n, "X"), 19);
    /* 10 iterations and the peak of memory */
    CHECK_INT(count_events(events, n, "i"), 11);
    CHECK_INT(count_events(events, n, "C"), 8);
    /* a process, "iterations" and 3 threads, each with a name and a place */
    CHECK_INT(count_events(events, n, "M"), 10);
    check_golden("trace.json", &text);
    str_release(&text);
    run_free(run);
}

/* A scope with 100 multiply-adds per iteration, called twice in each of two
 * iterations, of which the first is kept. */
static struct run *run_with_macs(void)
{
    struct scope_work work = scope_work_unknown();
    struct run *run;
    uint32_t model, conv, thread;

    MUST(run_new(&run, &err));
    MUST(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    MUST(run_scope_add(run, RUN_ROOT, "model", "Net", &model, &err));
    MUST(run_scope_add(run, model, "conv", "Conv2d", &conv, &err));
    for (uint32_t i = 0; i < 2; i++) {
        struct sample samples[] = {
            {.scope = conv, .start_ns = 10, .duration_ns = 10},
            {.scope = conv, .start_ns = 30, .duration_ns = 10},
            {.scope = model, .start_ns = 5, .duration_ns = 40},
            {.scope = RUN_ROOT, .start_ns = 0, .duration_ns = 50},
        };

        for (size_t k = 0; k < 4; k++) {
            samples[k].iteration = i;
            samples[k].thread = thread;
            samples[k].start_ns += 100 * i;
            samples[k].bytes = samples[k].peak_bytes = RUN_UNKNOWN;
            MUST(run_count(run, &samples[k], &err));
            if (i == 0)
                MUST(run_keep(run, &samples[k], &err));
        }
    }
    work.macs = 100;
    MUST(run_work_set(run, conv, &work, &err));
    MUST(run_seal(run, &err));
    return run;
}

TEST(a_trace_says_how_much_it_holds_and_a_slice_what_it_computes)
{
    struct run *run = run_with_macs();
    struct str text = view_text(trace, run, NULL);

    CHECK_HAS(text.text, "\"trace.iterations\": 1,");
    CHECK_HAS(text.text, "\"trace.of_iterations\": 2,");
    CHECK_HAS(text.text, "\"trace.slices\": 3,");
    CHECK_HAS(text.text, "\"trace.of_slices\": 6");
    CHECK_HAS(text.text, "\"iterations (1 of 2 in full)\"");
    /* All of the iteration in the model, half of it in each call. */
    CHECK_HAS(text.text, "{\"path\": \"model\", \"class\": \"Net\", "
                         "\"iteration\": 0, \"self_us\": 0, \"macs\": 100}");
    CHECK_HAS(text.text, "{\"path\": \"model.conv\", \"class\": \"Conv2d\", "
                         "\"iteration\": 0, \"self_us\": 0, \"macs\": 50}");
    str_release(&text);
    run_free(run);
}

/* The recorder's writer: its samples are of the root, and no iterations. */
TEST(a_slice_of_no_module_is_named_after_its_lane)
{
    struct sample sample = {.scope = RUN_ROOT,
                            .iteration = RUN_NONE,
                            .start_ns = 1000,
                            .duration_ns = 2000,
                            .self_ns = 2000,
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};
    struct str text;
    struct run *run;

    MUST(run_new(&run, &err));
    MUST(run_thread_add(run, "writer", THREAD_HELPER, &sample.thread, &err));
    MUST(run_keep(run, &sample, &err));
    MUST(run_seal(run, &err));
    text = view_text(trace, run, NULL);
    CHECK_HAS(text.text, "\"trace.slices\": 0,");
    CHECK_HAS(text.text,
              "{\"ph\": \"X\", \"name\": \"writer\", \"pid\": 1, \"tid\": 2, "
              "\"cat\": \"scope\", \"ts\": 1, \"dur\": 2, "
              "\"args\": {\"self_us\": 2}}");
    str_release(&text);
    run_free(run);
}

TEST(slices_of_a_track_nest)
{
    struct run *run = made_detector();
    struct str text = view_text(trace, run, NULL);
    struct event events[100], open[100];
    size_t n = read_events(&text, events, 100), depth = 0, deepest = 0;

    for (size_t i = 0; i < n; i++) {
        const struct event *event = &events[i];

        if (strcmp(event->phase, "X") != 0 || event->tid != 2)
            continue;
        while (depth > 0 &&
               open[depth - 1].ts + open[depth - 1].dur <= event->ts)
            depth--;
        if (depth > 0)
            CHECK(event->ts + event->dur <=
                  open[depth - 1].ts + open[depth - 1].dur);
        open[depth++] = *event;
        deepest = depth > deepest ? depth : deepest;
    }
    CHECK_INT(deepest, 3); /* backbone, body, conv1 */
    str_release(&text);
    run_free(run);
}

TEST(times_before_the_beginning_are_shifted_not_negative)
{
    struct run *run;
    struct str text;
    struct event events[100];
    uint32_t thread, scope;
    struct sample sample = {.iteration = RUN_NONE,
                            .start_ns = -1500,
                            .duration_ns = 1001,
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};
    size_t n;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    scope = made_scope(run, RUN_ROOT, "early", "");
    sample.scope = scope;
    CHECK_INT(run_keep(run, &sample, NULL), ASSAY_OK);
    sample.start_ns = 1;
    CHECK_INT(run_keep(run, &sample, NULL), ASSAY_OK);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    text = view_text(trace, run, NULL);
    n = read_events(&text, events, 100);
    CHECK(n >= 2);
    CHECK_NEAR(events[n - 2].ts, 0, 0);
    CHECK_NEAR(events[n - 2].dur, 1.001, 1e-12);
    CHECK_NEAR(events[n - 1].ts, 1.501, 1e-12);
    str_release(&text);
    run_free(run);
}

TEST(devices_have_a_process_and_overlapping_spans_a_begin_and_an_end)
{
    struct run *run;
    struct str text;
    struct event events[100];
    uint32_t device, async, scope;
    struct sample sample = {.iteration = RUN_NONE,
                            .duration_ns = 1000,
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};
    size_t n;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "stream 7", THREAD_DEVICE, &device, NULL),
              ASSAY_OK);
    CHECK_INT(run_thread_add(run, "copies", THREAD_ASYNC, &async, NULL),
              ASSAY_OK);
    scope = made_scope(run, RUN_ROOT, "kernel", "");
    sample.scope = scope;
    sample.thread = device;
    CHECK_INT(run_keep(run, &sample, NULL), ASSAY_OK);
    sample.thread = async;
    CHECK_INT(run_keep(run, &sample, NULL), ASSAY_OK);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    text = view_text(trace, run, NULL);
    n = read_events(&text, events, 100);
    CHECK_STR(events[n - 3].phase, "X");
    CHECK_NEAR(events[n - 3].pid, 2, 0);
    CHECK_STR(events[n - 2].phase, "b");
    CHECK_STR(events[n - 1].phase, "e");
    CHECK_NEAR(events[n - 1].ts, 1, 0);
    str_release(&text);
    run_free(run);
}

TEST(a_slice_on_a_device_says_what_it_reached_of_the_peaks)
{
    struct scope_work work = scope_work_unknown();
    struct run *run;
    struct str text;
    uint32_t host, device, conv;
    struct sample sample = {.duration_ns = 2000000,
                            .self_ns = 2000000,
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};

    work.macs = 1e9;
    work.done_flops = 2e9;
    work.done_bytes = 4e6;
    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &host, NULL), 0);
    CHECK_INT(run_thread_add(run, "cuda:0", THREAD_DEVICE, &device, NULL), 0);
    conv = made_scope(run, RUN_ROOT, "conv", "Conv2d");
    for (int i = 0; i < 3; i++) {
        sample.scope = i ? conv : RUN_ROOT;
        sample.thread = i < 2 ? host : device;
        CHECK_INT(run_count(run, &sample, NULL), ASSAY_OK);
        CHECK_INT(run_keep(run, &sample, NULL), ASSAY_OK);
    }
    CHECK_INT(run_work_set(run, conv, &work, NULL), ASSAY_OK);
    CHECK_INT(run_fact_set(run, "machine.peak_gflops", "5000", NULL), 0);
    CHECK_INT(run_fact_set(run, "machine.read_gbs", "40", NULL), 0);
    CHECK_INT(run_fact_set(run, "machine.copy_gbs", "40", NULL), 0);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    text = view_text(trace, run, NULL);
    /* 2 GFLOP and 4 MB in 2 ms. */
    CHECK_HAS(text.text, "\"gflops\": 1000, \"peak_gflops\": 5000, "
                         "\"gbs\": 2, \"peak_gbs\": 40");
    str_release(&text);
    run_free(run);
}

TEST(an_arrow_leads_from_the_launch_on_the_host_to_the_slice_on_the_device)
{
    struct run *run;
    struct str text;
    uint32_t host, device, outer, conv, other;
    struct sample sample = {
        .iteration = RUN_NONE, .bytes = RUN_UNKNOWN, .peak_bytes = RUN_UNKNOWN};

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "stream", THREAD_DEVICE, &device, NULL), 0);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &host, NULL), 0);
    outer = made_scope(run, RUN_ROOT, "model", "");
    conv = made_scope(run, outer, "conv", "Conv2d");
    other = made_scope(run, RUN_ROOT, "other", "");
    sample.thread = host;
    for (int i = 0; i < 3; i++) {
        sample.scope = (uint32_t[]){outer, conv, other}[i];
        sample.start_ns = (int64_t[]){0, 2000, 60000}[i];
        sample.duration_ns = (int64_t[]){50000, 3000, 5000}[i];
        CHECK_INT(run_keep(run, &sample, NULL), ASSAY_OK);
    }
    sample.thread = device;
    sample.scope = conv;
    sample.start_ns = 70000;
    sample.queued_ns = 66000; /* launched at 4 us, inside conv */
    CHECK_INT(run_keep(run, &sample, NULL), ASSAY_OK);
    sample.start_ns = 80000;
    sample.queued_ns = 19000; /* at 61 us, in what is not a part of conv */
    CHECK_INT(run_keep(run, &sample, NULL), ASSAY_OK);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    text = view_text(trace, run, NULL);
    CHECK(strstr(text.text,
                 "{\"ph\": \"s\", \"name\": \"launch\", \"pid\": 1, \"tid\": 3,"
                 " \"cat\": \"launch\", \"id\": 0, \"ts\": 4}"));
    CHECK(strstr(text.text,
                 "{\"ph\": \"f\", \"name\": \"launch\", \"pid\": 2, \"tid\": 2,"
                 " \"cat\": \"launch\", \"id\": 0, \"ts\": 70, "
                 "\"bp\": \"e\"}"));
    CHECK(strstr(text.text, "\"queued_us\": 66"));
    CHECK(!strstr(text.text, "\"id\": 1"));
    str_release(&text);
    run_free(run);
}
