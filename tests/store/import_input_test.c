/* tests/store/import_input_test.c - real traces, and files that are not
 * traces: what is read, and what the user is told. */
#include "base/mem.h"
#include "base/str.h"
#include "test.h"
#include "trace_text.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <zlib.h>

/* ---- real traces ------------------------------------------------------ */

static struct run *imported_shared(const char *name)
{
    const char *path = test_shared(name);
    struct error err = {0};
    struct run *run = NULL;

    if (!path)
        SKIP("%s: ../shared/data is not here", name);
    CHECK_STATUS(import_trace(path, NULL, &run, &err), ASSAY_OK, &err);
    return run;
}

static void check_facts(struct run *run, const char *events,
                        const char *complete, const char *operators,
                        const char *kernels, const char *kernels_us)
{
    CHECK_STR(run_fact(run, "import.events"), events);
    CHECK_STR(run_fact(run, "import.events.X"), complete);
    CHECK_STR(run_fact(run, "import.operators"), operators);
    CHECK_STR(run_fact(run, "import.kernels"), kernels);
    CHECK_STR(run_fact(run, "import.kernels_us"), kernels_us);
}

/* All device time must be found under the devices' scopes. */
static double class_total_ns(const struct run *run, const char *class_name)
{
    double total = 0;

    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (!strcmp(run_scope(run, cell->scope)->class_name, class_name))
            total += (double)cell->total_ns;
    }
    return total;
}

TEST(kineto_resnet50_in_the_old_schema_counts_as_published)
{
    struct run *run = imported_shared(
        "traces/kineto/"
        "resnet50_num_workers_0.worker0.1623143566756.pt.trace.json.gz");

    check_facts(run, "75718", "44666", "23646", "8772", "591209");
    CHECK_NEAR(class_total_ns(run, "Kernel"), 591209e3, 0);
    CHECK_INT(run_iteration_count(run), 6);
    CHECK_INT(run_thread_count(run), 4);
    CHECK_STR(run_thread(run, 2)->name, "GPU 0 stream 7");
    CHECK_STR(run_thread(run, 3)->name, "GPU 0 busy");
    CHECK_STR(run_fact(run, "import.kernels_linked"), "8772");
    /* Every span, and a sample of the root per iteration is one of them. */
    CHECK_INT(run_kept_count(run), 44665);
    run_free(run);
}

/* Two streams at once: their kernels and copies last 607844 us together, but
 * one of them works only 547656 us of the time (summed up by a script). */
TEST(the_busy_time_of_parallel_streams_is_their_union)
{
    struct run *run =
        imported_shared("traces/hta/timeline_analysis__sampled_rank-0.json.gz");
    struct scope_stats stats;
    uint32_t gpu = scope_at(run, "GPU 0");

    CHECK_INT(run_scope_stats(run, gpu, RUN_ANY, &stats, NULL), ASSAY_OK);
    CHECK_NEAR(stats.total_ns, 547656e3, 0);
    CHECK_INT(run_scope_device_stats(run, RUN_ROOT, RUN_ANY, &stats, NULL),
              ASSAY_OK);
    CHECK_NEAR(stats.total_ns, 607844e3, 0);
    CHECK_STR(run_fact(run, "import.kernels_linked"), "1154");
    run_free(run);
}

TEST(hta_cpu_only_counts_as_published)
{
    struct run *run = imported_shared(
        "traces/hta/cpu_only__rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz");

    check_facts(run, "30", "16", "4", "0", "0");
    CHECK_INT(run_iteration_count(run), 1);
    run_free(run);
}

TEST(hta_alexnet_counts_as_published)
{
    struct run *run = imported_shared(
        "traces/hta/critical_path__alexnet__benchmark_result_2869224_"
        "1695835535_trace.json.gz");

    check_facts(run, "1408", "868", "359", "79", "10692");
    CHECK_NEAR(class_total_ns(run, "kernel"), 10692e3, 0);
    run_free(run);
}

TEST(hta_timeline_without_device_properties_counts_as_published)
{
    struct run *run =
        imported_shared("traces/hta/timeline_analysis__sampled_rank-0.json.gz");

    check_facts(run, "4855", "4811", "2329", "1154", "606519");
    CHECK_NEAR(class_total_ns(run, "kernel"), 606519e3, 0);
    CHECK_INT(run_iteration_count(run), 2);
    run_free(run);
}

TEST(catapult_simple_trace_counts_as_published)
{
    struct run *run = imported_shared("traces/catapult/simple_trace.json");

    CHECK_STR(run_fact(run, "import.events"), "37");
    CHECK_STR(run_fact(run, "import.events.B"), "8");
    CHECK_STR(run_fact(run, "import.events.E"), "8");
    CHECK_STR(run_fact(run, "import.events.I"), "6");
    CHECK_STR(run_fact(run, "import.events.C"), "5");
    CHECK_STR(run_fact(run, "import.events.X"), "4");
    CHECK_STR(run_fact(run, "import.events.P"), "3");
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    CHECK(scope_at(run, "B/E over X.X.B/E under X") != RUN_NONE);
    CHECK_INT(run_counter(run, 0)->n, 5);
    run_free(run);
}

TEST(catapult_nestable_async_counts_as_published)
{
    struct run *run = imported_shared("traces/catapult/nestable_async.json");

    CHECK_STR(run_fact(run, "import.events"), "20");
    CHECK_STR(run_fact(run, "import.events.b"), "9");
    CHECK_STR(run_fact(run, "import.events.e"), "9");
    CHECK_STR(run_fact(run, "import.events.n"), "2");
    CHECK(scope_at(run, "REQUEST_FOO.URL_REQUEST_START_JOB."
                        "URL_REQUEST_INNER") != RUN_NONE);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 1);
    CHECK_INT(run_health_of(run)->open_at_end, 1);
    run_free(run);
}

/* ---- text that is not a trace ------------------------------------------ */

static void check_refused(const char *text, enum assay_status status,
                          const char *part)
{
    long before = mem_live();
    struct error err = {0};
    struct run *run;

    CHECK_STATUS(import_text(text, &run, &err), status, &err);
    CHECK(run == NULL);
    CHECK_HAS(err.text, part);
    CHECK_INT(mem_live(), before);
}

TEST(a_truncated_trace_says_where_it_ends)
{
    check_refused("{\"traceEvents\": [\n{\"ph\": \"i\"},", ASSAY_BAD_INPUT,
                  "line 2");
    check_refused("[{\"ph\": \"X\", \"na", ASSAY_BAD_INPUT, "ends in the");
    check_refused("[{\"ph\": \"i\"}, {\"ph\": \"i\"", ASSAY_BAD_INPUT,
                  "ends in the");
    check_refused("[", ASSAY_BAD_INPUT, "ends in the");
}

TEST(json_that_is_not_a_trace_is_refused)
{
    check_refused("{\"a\": 1}", ASSAY_BAD_INPUT, "traceEvents");
    check_refused("{\"traceEvents\": 5}", ASSAY_BAD_INPUT, "not an array");
    check_refused("17", ASSAY_BAD_INPUT, "not a trace");
    check_refused("[1]", ASSAY_BAD_INPUT, "expected an event");
    check_refused("[{\"a\": 1}]", ASSAY_BAD_INPUT, "\"ph\"");
    check_refused("[{\"ph\": \"XX\"}]", ASSAY_BAD_INPUT, "\"ph\"");
    check_refused("[{\"ph\": \"i\"}] 5", ASSAY_BAD_INPUT, "extra text");
    check_refused("hello", ASSAY_BAD_INPUT, "line 1, column 1");
}

TEST(impossible_times_are_refused)
{
    check_refused("[{\"ph\":\"X\",\"ts\":1,\"dur\":-1}]", ASSAY_BAD_INPUT,
                  "negative");
    check_refused("[{\"ph\":\"X\",\"ts\":1,\"dur\":1e300}]", ASSAY_BAD_INPUT,
                  "too large");
    check_refused("[{\"ph\":\"X\",\"ts\":-9300000000000000}]", ASSAY_BAD_INPUT,
                  "too large");
    check_refused("[{\"ph\":\"X\",\"ts\":4000000000000000,"
                  "\"dur\":4000000000000000}]",
                  ASSAY_BAD_INPUT, "too far");
    check_refused("[{\"ph\":\"X\",\"ts\":\"1\"}]", ASSAY_BAD_INPUT,
                  "not a number");
    check_refused("[{\"ph\":\"B\"}]", ASSAY_BAD_INPUT, "\"ts\"");
}

TEST(a_nul_in_a_name_is_refused)
{
    check_refused("[\n{\"ph\":\"X\",\"ts\":1,\"name\":\"a\\u0000b\"}]",
                  ASSAY_BAD_INPUT, "line 2, column 25: a NUL");
}

static void append_levels(struct str *text, int n, const char *format)
{
    CHECK_INT(str_append(text, "[{\"ph\":\"i\"}"), ASSAY_OK);
    for (int i = 0; i < n; i++) {
        CHECK_INT(str_append(text, ","), ASSAY_OK);
        CHECK_INT(
            str_printf(text, "{\"name\":\"down\",\"tid\":4,\"ts\":%d,", i),
            ASSAY_OK);
        CHECK_INT(str_append(text, format), ASSAY_OK);
    }
    CHECK_INT(str_append(text, "]"), ASSAY_OK);
}

TEST(a_million_levels_are_refused_with_their_place)
{
    struct str text = {0};

    append_levels(&text, 1000000, "\"ph\":\"B\"}");
    check_refused(text.text, ASSAY_UNSUPPORTED, "4096");
    check_refused(text.text, ASSAY_UNSUPPORTED, "'down'");
    str_release(&text);
}

TEST(spans_nested_too_deep_are_refused_with_their_thread)
{
    struct str text = {0};

    CHECK_INT(str_append(&text, "[{\"ph\":\"i\"}"), ASSAY_OK);
    for (int i = 0; i < 5000; i++)
        CHECK_INT(str_printf(&text,
                             ",{\"name\":\"down\",\"tid\":4,\"ts\":%d,\"dur\":"
                             "%d,\"ph\":\"X\"}",
                             i, 20000 - 2 * i),
                  ASSAY_OK);
    check_refused(text.text, ASSAY_UNSUPPORTED, "'thread 4'");
    str_release(&text);
}

/* A trace generated while it is read: every name on every thread. */
struct flood {
    uint64_t n, n_names, n_threads;
    char event[96];
    const char *rest; /* of what was generated last */
};

static void flood_make(struct flood *flood)
{
    uint64_t n = flood->n++;

    snprintf(flood->event, sizeof flood->event,
             "%s{\"ph\":\"X\",\"ts\":1,\"tid\":%" PRIu64 ",\"name\":\"n%" PRIu64
             "\"}",
             n ? "," : "[", n / flood->n_names, n % flood->n_names);
    flood->rest = n < flood->n_names * flood->n_threads ? flood->event : "]";
}

static enum assay_status read_flood(void *context, char *buffer, size_t size,
                                    size_t *n, struct error *err)
{
    struct flood *flood = context;

    (void)err;
    if (!*flood->rest && flood->n <= flood->n_names * flood->n_threads)
        flood_make(flood);
    *n = strnlen(flood->rest, size);
    memcpy(buffer, flood->rest, *n);
    flood->rest += *n;
    return ASSAY_OK;
}

static void check_flood(struct flood flood, const char *part)
{
    struct error err = {0};
    struct run *run;

    flood.rest = "";
    mem_reset_peak();
    CHECK_STATUS(import_trace_from((struct json_source){read_flood, &flood},
                                   NULL, &run, &err),
                 ASSAY_UNSUPPORTED, &err);
    CHECK_HAS(err.text, part);
    CHECK(mem_peak_bytes() < 450u << 20);
}

TEST(too_many_different_names_are_refused_clearly)
{
    check_flood((struct flood){.n_names = 10000000, .n_threads = 1}, "names");
}

TEST(the_same_names_on_too_many_threads_are_refused_clearly)
{
    check_flood((struct flood){.n_names = 100, .n_threads = 3000}, "pairs");
}

/* ---- files that are not traces ----------------------------------------- */

static const char *written(const char *name, const void *bytes, size_t n)
{
    const char *path = test_path(name);
    FILE *file = fopen(path, "wb");

    CHECK(file != NULL);
    CHECK_INT(fwrite(bytes, 1, n, file), n);
    CHECK_INT(fclose(file), 0);
    return path;
}

static void check_file(const char *path, enum assay_status status,
                       const char *part)
{
    long before = mem_live();
    struct error err = {0};
    struct run *run;

    CHECK_STATUS(import_trace(path, NULL, &run, &err), status, &err);
    CHECK(run == NULL);
    CHECK_HAS(err.text, part);
    CHECK_HAS(err.text, path);
    CHECK(strchr(err.text, '\n') == NULL);
    CHECK_INT(mem_live(), before);
}

TEST(files_of_another_kind_are_recognised)
{
    check_file(test_path("missing.json"), ASSAY_NOT_FOUND, "missing.json");
    check_file(written("empty.json", "", 0), ASSAY_BAD_INPUT, "empty");
    check_file(written("a.png", "\x89PNG\r\n\x1a\n1234567890", 18),
               ASSAY_BAD_INPUT, "picture");
    check_file(written("a.assay", "SQLite format 3\0rest", 20), ASSAY_BAD_INPUT,
               "is already a run file; use assay show");
    check_file(written("a.zip", "PK\3\4rest", 8), ASSAY_BAD_INPUT, "zip");
    check_file(written("a.json", "\xff\xfe", 2), ASSAY_BAD_INPUT, "line 1");
}

TEST(truncated_or_damaged_gzip_is_refused)
{
    static char trace[20000], packed[20000];
    const char *path = test_path("whole.gz");
    gzFile file = gzopen(path, "wb");
    FILE *read;
    size_t n;

    memset(trace, ' ', sizeof trace);
    for (size_t i = 0; i + 40 < sizeof trace; i += 40)
        snprintf(trace + i, 40, "%s{\"ph\":\"i\",\"ts\":%zu}", i ? "," : "[",
                 i * i * 7919 % 100003);
    for (size_t i = 0; i < sizeof trace; i++)
        trace[i] = trace[i] ? trace[i] : ' ';
    trace[sizeof trace - 1] = ']';
    CHECK_INT(gzwrite(file, trace, sizeof trace), sizeof trace);
    CHECK_INT(gzclose(file), Z_OK);
    read = fopen(path, "rb");
    n = fread(packed, 1, sizeof packed, read);
    fclose(read);
    check_file(written("cut.gz", packed, n / 2), ASSAY_BAD_INPUT,
               "the gzip data is cut off");
    check_file(written("tail.gz", packed, n - 3), ASSAY_BAD_INPUT,
               "the gzip data is cut off");
    packed[n / 2] = (char)(packed[n / 2] ^ 0x55);
    check_file(written("damaged.gz", packed, n), ASSAY_BAD_INPUT, "");
}

static size_t entries_of(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n = 0;

    CHECK(dir != NULL);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

TEST(no_temporary_file_is_left_behind)
{
    const char *folder = test_path("temporary");
    struct import_options options = {.buffer_bytes = 1024,
                                     .temporary_dir = folder};
    struct str text = {0};
    struct trace_text source;
    struct run *run;

    CHECK_INT(mkdir(folder, 0700), 0);
    append_levels(&text, 2000, "\"ph\":\"X\",\"dur\":1}");
    source = (struct trace_text){text.text, text.n};
    CHECK_INT(import_trace_from((struct json_source){trace_text_read, &source},
                                &options, &run, NULL),
              ASSAY_OK);
    run_free(run);
    source = (struct trace_text){text.text, text.n - 5};
    CHECK_INT(import_trace_from((struct json_source){trace_text_read, &source},
                                &options, &run, NULL),
              ASSAY_BAD_INPUT);
    CHECK_INT(entries_of(folder), 2);
    str_release(&text);
}
