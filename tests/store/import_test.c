/* tests/store/import_test.c - how the events of a trace become a run. */
#include "base/mem.h"
#include "base/str.h"
#include "test.h"
#include "trace_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

static struct run *imported(const char *text)
{
    struct error err = {0};
    struct run *run = NULL;

    CHECK_STATUS(import_text(text, &run, &err), ASSAY_OK, &err);
    return run;
}

static struct scope_stats stats_at(const struct run *run, const char *path)
{
    struct scope_stats stats = {0};
    uint32_t scope = scope_at(run, path);

    if (scope == RUN_NONE)
        print_error("no scope %s\n", path);
    CHECK(scope != RUN_NONE);
    CHECK_INT(run_scope_stats(run, scope, RUN_ANY, &stats, NULL), ASSAY_OK);
    return stats;
}

static void check_scope(const struct run *run, const char *path, uint64_t calls,
                        double total_ns, double self_ns)
{
    struct scope_stats stats = stats_at(run, path);

    CHECK_INT(stats.calls, calls);
    CHECK_NEAR(stats.total_ns, total_ns, 0);
    CHECK_NEAR(stats.self_ns, self_ns, 0);
}

#define X(name, ts, dur)                                                       \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"" name "\",\"ts\":" #ts      \
    ",\"dur\":" #dur "}"
#define HALF(ph, name, ts)                                                     \
    "{\"ph\":\"" ph "\",\"pid\":1,\"tid\":1,\"name\":\"" name "\",\"ts\":" #ts \
    "}"
#define ASYNC(ph, id, name, ts)                                                \
    "{\"ph\":\"" ph "\",\"pid\":1,\"cat\":\"net\",\"id\":\"" id                \
    "\",\"name\":\"" name "\",\"ts\":" #ts "}"

/* ---- nesting ---------------------------------------------------------- */

TEST(spans_nest_by_time_whatever_their_order_in_the_file)
{
    struct run *run = imported("[" X("leaf", 12, 3) "," X("after", 30, 1) "," X(
        "inner", 11, 5) "," X("outer", 10, 20) "]");

    check_scope(run, "outer", 1, 20000, 15000);
    check_scope(run, "outer.inner", 1, 5000, 2000);
    check_scope(run, "outer.inner.leaf", 1, 3000, 3000);
    check_scope(run, "after", 1, 1000, 1000);
    CHECK_INT(run_duration_ns(run), 21000);
    run_free(run);
}

TEST(decimals_of_a_microsecond_are_exact)
{
    struct run *run = imported("[" X("a", 1212075548353.304, 173209.713) "," X(
        "b", 1212075548353.305, 0.001) "]");

    check_scope(run, "a", 1, 173209713, 173209712);
    check_scope(run, "a.b", 1, 1, 1);
    run_free(run);
}

TEST(a_child_that_outlasts_its_parent_by_rounding_stays_its_child)
{
    struct run *run =
        imported("[" X("parent", 10, 10) "," X("child", 15, 6) "]");

    check_scope(run, "parent", 1, 10000, 5000);
    check_scope(run, "parent.child", 1, 6000, 6000);
    CHECK_STR(run_fact(run, "import.overlaps"), "0");
    CHECK_INT(run_kept(run, 1)->scope, scope_at(run, "parent.child"));
    CHECK_INT(run_kept(run, 1)->duration_ns, 5000);
    run_free(run);
}

TEST(spans_that_really_overlap_are_siblings_and_counted)
{
    struct run *run = imported("[" X("first", 10, 10) "," X(
        "second", 15, 10) "," X("whole", 0, 40) "]");

    check_scope(run, "whole.first", 1, 10000, 10000);
    check_scope(run, "whole.second", 1, 10000, 10000);
    check_scope(run, "whole", 1, 40000, 25000);
    CHECK_STR(run_fact(run, "import.overlaps"), "1");
    run_free(run);
}

TEST(spans_with_the_same_times_nest_in_file_order)
{
    struct run *run = imported(
        "[" X("outer", 5, 5) "," X("inner", 5, 5) "," X("nothing", 5, 0) "]");

    check_scope(run, "outer", 1, 5000, 0);
    check_scope(run, "outer.inner.nothing", 1, 0, 0);
    run_free(run);
}

/* ---- begins and ends -------------------------------------------------- */

TEST(begins_and_ends_make_spans_whatever_their_order)
{
    struct run *run =
        imported("[" HALF("E", "", 20) "," HALF("E", "b", 15) "," HALF(
            "B", "b", 12) "," HALF("B", "a", 10) "," X("x", 13, 1) "]");

    check_scope(run, "a", 1, 10000, 7000);
    check_scope(run, "a.b", 1, 3000, 2000);
    check_scope(run, "a.b.x", 1, 1000, 1000);
    run_free(run);
}

TEST(an_end_and_the_next_begin_may_share_an_instant)
{
    struct run *run =
        imported("[" HALF("B", "a", 10) "," HALF("B", "b", 20) "," HALF(
            "E", "a", 20) "," HALF("E", "b", 25) "," HALF("B", "a",
                                                          25) "," HALF("E", "a",
                                                                       25) "]");

    check_scope(run, "a", 2, 10000, 10000);
    check_scope(run, "b", 1, 5000, 5000);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    CHECK_INT(run_health_of(run)->open_at_end, 0);
    run_free(run);
}

TEST(unbalanced_begins_and_ends_are_counted_and_closed)
{
    struct run *run = imported("[" HALF("E", "lost", 1) "," HALF(
        "B", "forgotten", 10) "," X("last", 12, 30) "]");

    CHECK_INT(run_health_of(run)->unbalanced_ends, 1);
    CHECK_INT(run_health_of(run)->open_at_end, 1);
    check_scope(run, "forgotten", 1, 32000, 2000);
    run_free(run);
}

TEST(asynchronous_spans_nest_by_id_on_a_lane_of_their_own)
{
    struct run *run = imported(
        "[" ASYNC("b", "1", "get", 10) "," ASYNC("b", "2", "get", 12) "," ASYNC(
            "b", "1", "wait",
            11) "," ASYNC("e", "1", "wait",
                          14) "," ASYNC("n", "1", "sign",
                                        14) "," ASYNC("e", "1", "get",
                                                      20) "," ASYNC("e", "2",
                                                                    "get",
                                                                    32) "," X("work",
                                                                              10,
                                                                              5) "]");

    check_scope(run, "get", 2, 30000, 27000);
    check_scope(run, "get.wait", 1, 3000, 3000);
    CHECK_INT(run_thread_count(run), 2);
    CHECK_INT(run_thread(run, 1)->kind, THREAD_ASYNC);
    CHECK_STR(run_thread(run, 1)->name, "async net");
    CHECK_STR(run_fact(run, "import.events.n"), "1");
    run_free(run);
}

/* ---- iterations ------------------------------------------------------- */

static const char three_steps[] =
    "[" X("ProfilerStep#8", 200, 90) "," X("op", 210, 30) "," X(
        "ProfilerStep#7", 100,
        100) "," X("op", 110,
                   10) "," X("op", 190,
                             10) "," X("ProfilerStep#9", 300,
                                       60) "," X("op", 295,
                                                 15) "," X("op", 90,
                                                           5) "," X("op", 292,
                                                                    2) ",{"
                                                                       "\"ph\":"
                                                                       "\"X\","
                                                                       "\"pid\""
                                                                       ":0,"
                                                                       "\"tid\""
                                                                       ":7,"
                                                                       "\"cat\""
                                                                       ":\"kern"
                                                                       "el\","
                                                                       "\"name"
                                                                       "\":"
                                                                       "\"k\","
                                                                       "\"ts\":"
                                                                       "250,"
                                                                       "\"dur\""
                                                                       ":80}]";

TEST(profiler_steps_are_the_iterations)
{
    struct run *run = imported(three_steps);
    struct scope_stats root;
    struct point *points;
    size_t n;

    CHECK_INT(run_iteration_count(run), 3);
    CHECK_INT(run_iteration(run, 0)->duration_ns, 100000);
    CHECK_INT(run_iteration(run, 1)->duration_ns, 90000);
    CHECK_INT(run_iteration(run, 2)->start_ns, 210000);
    CHECK_INT(run_scope_stats(run, RUN_ROOT, RUN_ANY, &root, NULL), ASSAY_OK);
    CHECK_NEAR(root.total_ns, 250000, 0);
    CHECK_INT(
        run_scope_points(run, scope_at(run, "op"), RUN_ANY, &points, &n, NULL),
        ASSAY_OK);
    CHECK_INT(n, 3);
    CHECK_INT(points[0].calls, 2);
    CHECK_INT(points[0].total_ns, 20000);
    CHECK_INT(points[1].total_ns, 30000);
    CHECK_INT(points[2].total_ns, 15000);
    mem_free(points);
    run_free(run);
}

TEST(device_spans_are_under_their_device_in_the_iteration_they_end_in)
{
    struct run *run = imported(three_steps);
    struct point *points;
    uint32_t kernel = scope_at(run, "GPU 0.k");
    size_t n;

    CHECK(kernel != RUN_NONE);
    CHECK_STR(run_scope(run, kernel)->class_name, "kernel");
    CHECK_STR(run_scope(run, run_scope(run, kernel)->parent)->class_name,
              "device");
    CHECK_INT(run_scope_points(run, kernel, RUN_ANY, &points, &n, NULL),
              ASSAY_OK);
    CHECK_INT(n, 1);
    CHECK_INT(points[0].iteration, 2);
    CHECK_INT(run_thread(run, 1)->kind, THREAD_DEVICE);
    CHECK_STR(run_thread(run, 1)->name, "GPU 0 stream 7");
    mem_free(points);
    run_free(run);
}

TEST(an_iterations_self_time_excludes_its_children)
{
    struct run *run = imported(three_steps);
    struct scope_stats root;

    CHECK_INT(run_scope_stats(run, RUN_ROOT, RUN_ANY, &root, NULL), ASSAY_OK);
    /* 100 - 20, 90 - 30, and 60 - nothing: the op that ends in the last one
     * began before it. */
    CHECK_NEAR(root.self_ns, 80000 + 60000 + 60000, 0);
    run_free(run);
}

/* Steps of 10, 50, 20, 30 us and so on, with one op in each. */
static void append_steps(struct str *text, int n, const int *durations)
{
    int at = 0;

    for (int i = 0; i < n; i++) {
        CHECK_INT(str_printf(text,
                             "%s{\"ph\":\"X\",\"name\":\"ProfilerStep#%d\","
                             "\"ts\":%d,\"dur\":%d},{\"ph\":\"X\",\"name\":"
                             "\"op\",\"ts\":%d,\"dur\":1}",
                             i ? "," : "[", i, at, durations[i], at),
                  ASSAY_OK);
        at += durations[i];
    }
    CHECK_INT(str_append(text, "]"), ASSAY_OK);
}

TEST(all_spans_are_kept_in_full_unless_few_are_asked_for)
{
    static const int durations[] = {10, 50, 20, 30, 40, 60, 70};
    struct kept_share share;
    struct str text = {0};
    struct run *run;

    append_steps(&text, 7, durations);
    run = imported(text.text);
    share = run_kept_share(run);
    CHECK_INT(share.iterations, 7);
    CHECK_INT(share.of_iterations, 7);
    CHECK_INT(share.samples, 7);
    CHECK_INT(share.of_samples, 7);
    run_free(run);
    str_release(&text);
}

TEST(the_first_median_slowest_and_last_iterations_are_the_few_in_full)
{
    static const int durations[] = {10, 50, 20, 30, 40, 60, 70};
    bool is_kept[7] = {0};
    struct kept_share share;
    struct str text = {0};
    struct error err = {0};
    struct run *run;

    append_steps(&text, 7, durations);
    CHECK_STATUS(import_few(text.text, &run, &err), ASSAY_OK, &err);
    share = run_kept_share(run);
    CHECK_INT(share.iterations, 3);
    CHECK_INT(share.of_iterations, 7);
    CHECK_INT(share.samples, 3);
    CHECK_INT(share.of_samples, 7);
    for (size_t i = 0; i < run_kept_count(run); i++)
        is_kept[run_kept(run, i)->iteration] = true;
    CHECK_INT(run_kept_count(run), 6);
    CHECK(is_kept[0] && is_kept[4] && is_kept[6]);
    run_free(run);
    str_release(&text);
}

TEST(without_iterations_the_first_spans_are_the_few)
{
    struct str text = {0};
    struct error err = {0};
    struct run *run;
    int64_t latest = 0;

    for (int i = 30000; i-- > 0;)
        CHECK_INT(str_printf(&text,
                             "%s{\"ph\":\"X\",\"tid\":%d,\"name\":\"a\","
                             "\"ts\":%d,\"dur\":1}",
                             i == 29999 ? "[" : ",", i % 3, 2 * i),
                  ASSAY_OK);
    CHECK_INT(str_append(&text, "]"), ASSAY_OK);
    CHECK_STATUS(import_few(text.text, &run, &err), ASSAY_OK, &err);
    CHECK_INT(run_kept_count(run), 20000);
    for (size_t i = 0; i < run_kept_count(run); i++) {
        if (run_kept(run, i)->start_ns > latest)
            latest = run_kept(run, i)->start_ns;
    }
    CHECK_INT(latest, 19999 * 2000);
    run_free(run);
    str_release(&text);
}

/* ---- names, threads, counters ----------------------------------------- */

TEST(thread_ids_may_be_numbers_or_strings_and_have_names)
{
    struct run *run = imported(
        "[{\"ph\":\"X\",\"pid\":5,\"tid\":\"9\",\"name\":\"a\",\"ts\":1},"
        "{\"ph\":\"X\",\"pid\":\"5\",\"tid\":9,\"name\":\"b\",\"ts\":2},"
        "{\"ph\":\"X\",\"pid\":5,\"tid\":3,\"name\":\"c\",\"ts\":2},"
        "{\"args\":{\"name\":\"worker \"},\"ph\":\"M\",\"pid\":5,\"tid\":9,"
        "\"name\":\"thread_name\"},"
        "{\"ph\":\"M\",\"pid\":5,\"tid\":9,\"name\":\"thread_sort_index\","
        "\"args\":{\"sort_index\":4}}]");

    CHECK_INT(run_thread_count(run), 2);
    CHECK_STR(run_thread(run, 0)->name, "thread 3");
    CHECK_STR(run_thread(run, 1)->name, "worker");
    run_free(run);
}

TEST(counters_are_counted_in_order_of_time)
{
    struct run *run = imported(
        "[{\"ph\":\"C\",\"name\":\"memory\",\"ts\":30,\"args\":{\"live\":7}},"
        "{\"args\":{\"live\":5.5,\"what\":\"x\"},\"ph\":\"C\",\"name\":"
        "\"memory\",\"ts\":20}," X("a", 10, 1) "]");
    const struct counter *counter = run_counter(run, 0);

    CHECK_INT(run_counters(run), 1);
    CHECK_STR(counter->name, "memory.live");
    CHECK_INT(counter->n, 2);
    CHECK_NEAR(counter->last, 7, 0);
    CHECK_NEAR(counter->points[0].value, 5.5, 0);
    CHECK_INT(counter->points[0].time_ns, 10000);
    run_free(run);
}

TEST(every_kind_of_event_is_counted)
{
    struct run *run = imported(
        "{\"other\":{\"traceEvents\":1},\"traceEvents\":["
        "{\"ph\":\"i\",\"ts\":1},{\"ph\":\"s\",\"ts\":1},{\"ph\":\"i\"},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":2,\"name\":\"op\"},"
        "{\"ph\":\"X\",\"cat\":\"Kernel\",\"ts\":1,\"dur\":2.5,\"name\":\"k\"}"
        ",{}],\"z\":null}");

    CHECK_STR(run_fact(run, "import.events"), "5");
    CHECK_STR(run_fact(run, "import.events.i"), "2");
    CHECK_STR(run_fact(run, "import.events.s"), "1");
    CHECK_STR(run_fact(run, "import.events.X"), "2");
    CHECK_STR(run_fact(run, "import.operators"), "1");
    CHECK_STR(run_fact(run, "import.kernels"), "1");
    CHECK_STR(run_fact(run, "import.kernels_us"), "2.500");
    run_free(run);
}

TEST(the_span_of_the_whole_recording_is_not_work)
{
    struct run *run = imported(
        "[{\"ph\":\"X\",\"cat\":\"Trace\",\"pid\":\"Spans\",\"name\":\"all\","
        "\"ts\":0,\"dur\":1000}," X("a", 10, 1) "]");

    CHECK(scope_at(run, "all") == RUN_NONE);
    CHECK_STR(run_fact(run, "import.events.X"), "2");
    CHECK_STR(run_fact(run, "import.spans"), "1");
    CHECK_INT(run_duration_ns(run), 1000);
    run_free(run);
}

TEST(a_bare_array_may_lack_its_bracket)
{
    struct run *run = imported("[" X("a", 10, 1) ",\n");

    CHECK_STR(run_fact(run, "import.events"), "1");
    CHECK(run_fact(run, "import.note") != NULL);
    CHECK(!run_health_of(run)->is_incomplete);
    run_free(run);
    run = imported("[" X("a", 10, 1));
    CHECK_STR(run_fact(run, "import.events"), "1");
    run_free(run);
    run = imported("[" X("a", 10, 1) "]");
    CHECK(run_fact(run, "import.note") == NULL);
    run_free(run);
}

TEST(a_name_of_ten_thousand_characters_is_kept)
{
    char name[10001], text[10200];
    struct run *run;

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(text, sizeof text, "[{\"ph\":\"X\",\"ts\":1,\"name\":\"%s\"}]",
             name);
    run = imported(text);
    CHECK_STR(run_scope(run, 1)->name, name);
    run_free(run);
}

/* ---- the same with any amount of memory -------------------------------- */

static void append_many(struct str *text, int n)
{
    for (int i = 0; i < n; i++) {
        int at = (int)((long)i * 7919 % n);

        CHECK_INT(str_printf(text,
                             "%s{\"ph\":\"%c\",\"tid\":%d,\"name\":\"f%d\","
                             "\"ts\":%d,\"dur\":%d}",
                             i ? "," : "[", "XBE"[at % 3], at % 4, at % 17,
                             at * 3, at % 50),
                  ASSAY_OK);
    }
    CHECK_INT(str_append(text, "]"), ASSAY_OK);
}

TEST(a_small_buffer_gives_the_same_run)
{
    struct import_options options = {.buffer_bytes = 4096,
                                     .temporary_dir = "/tmp"};
    struct trace_text source;
    struct str text = {0};
    struct run *large, *small;
    struct error err = {0};

    append_many(&text, 6000);
    large = imported(text.text);
    source = (struct trace_text){text.text, text.n};
    CHECK_STATUS(
        import_trace_from((struct json_source){trace_text_read, &source},
                          &options, &small, &err),
        ASSAY_OK, &err);
    CHECK_INT(run_scope_count(small), run_scope_count(large));
    CHECK_INT(run_cell_count(small), run_cell_count(large));
    for (size_t i = 0; i < run_cell_count(large); i++) {
        const struct cell *a = run_cell(large, i), *b = run_cell(small, i);

        CHECK_STR(run_scope(small, b->scope)->name,
                  run_scope(large, a->scope)->name);
        CHECK_INT(b->total_ns, a->total_ns);
        CHECK_INT(b->self_ns, a->self_ns);
        CHECK_INT(b->calls.n, a->calls.n);
    }
    run_free(large);
    run_free(small);
    str_release(&text);
}

static void write_gzip(const char *path, const char *text)
{
    gzFile file = gzopen(path, "ab");

    CHECK(file != NULL);
    CHECK_INT(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    CHECK_INT(gzclose(file), Z_OK);
}

TEST(gzip_is_recognised_and_may_have_several_members)
{
    const char *path = test_path("packed.trace");
    struct error err = {0};
    struct run *run;

    write_gzip(path, "[" X("a", 10, 4) ",");
    write_gzip(path, X("b", 11, 2) "]");
    CHECK_STATUS(import_trace(path, NULL, &run, &err), ASSAY_OK, &err);
    check_scope(run, "a.b", 1, 2000, 2000);
    run_free(run);
}

TEST(an_import_leaks_nothing_whichever_allocation_fails)
{
    struct import_options options = {.buffer_bytes = 1024,
                                     .temporary_dir = "/tmp"};
    const char *path = test_path("small.json.gz");
    struct str text = {0};
    long nth = 0, before;
    enum assay_status st;
    struct run *run;

    append_many(&text, 60);
    write_gzip(path, text.text);
    str_release(&text);
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = import_trace(path, &options, &run, NULL);
        mem_fail_at(-1);
        if (st == ASSAY_OK)
            run_free(run);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 50);
}
