/* tests/views/made_runs.c - see made_runs.h. */
#include "made_runs.h"

#include "base/file.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

static struct run *new_run(const char *name, const char *class_name)
{
    struct run *run;

    err = (struct error){0};
    CHECK_STATUS(run_new(&run, &err), ASSAY_OK, &err);
    CHECK_STATUS(run_name_root(run, name, class_name, &err), ASSAY_OK, &err);
    return run;
}

static uint32_t new_thread(struct run *run, const char *name)
{
    uint32_t id;

    CHECK_STATUS(run_thread_add(run, name, THREAD_CPU, &id, &err), ASSAY_OK,
                 &err);
    return id;
}

uint32_t made_scope(struct run *run, uint32_t parent, const char *name,
                    const char *class_name)
{
    uint32_t id;

    CHECK_STATUS(run_scope_add(run, parent, name, class_name, &id, &err),
                 ASSAY_OK, &err);
    return id;
}

static struct sample sample_of(uint32_t scope, uint32_t thread,
                               uint32_t iteration, double total_ms,
                               double self_ms)
{
    return (struct sample){.scope = scope,
                           .thread = thread,
                           .iteration = iteration,
                           .duration_ns = (int64_t)(total_ms * 1e6),
                           .self_ns = (int64_t)(self_ms * 1e6),
                           .bytes = RUN_UNKNOWN,
                           .peak_bytes = RUN_UNKNOWN};
}

void made_call(struct run *run, uint32_t scope, uint32_t thread,
               uint32_t iteration, double total_ms, double self_ms)
{
    struct sample sample =
        sample_of(scope, thread, iteration, total_ms, self_ms);

    CHECK_STATUS(run_count(run, &sample, &err), ASSAY_OK, &err);
}

static void keep(struct run *run, uint32_t scope, double start_ms,
                 double total_ms, double self_ms)
{
    struct sample sample = sample_of(scope, 0, 0, total_ms, self_ms);

    sample.start_ns = (int64_t)(start_ms * 1e6);
    CHECK_STATUS(run_keep(run, &sample, &err), ASSAY_OK, &err);
}

static void set_facts(struct run *run)
{
    static const char *const facts[][2] = {
        {"machine.cpu", "Model 5 at 2 GHz"},
        {"machine.cores", "2"},
        {"machine.memory_bytes", "8589934592"},
        {"program.name", "detect"},
        {"program.command", "./detect photos"},
        {"time.started", "2026-01-02T03:04:05Z"},
        {"assay.version", "0.1.0"},
        {"settings.threads", "2"}};

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        CHECK_STATUS(run_fact_set(run, facts[i][0], facts[i][1], &err),
                     ASSAY_OK, &err);
}

static void count_queue(struct run *run)
{
    uint32_t queue, memory;

    CHECK_STATUS(run_counter_add(run, "queue", "images", &queue, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(run_counter_add(run, "memory", "bytes", &memory, &err),
                 ASSAY_OK, &err);
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(run_counter_count(run, queue, i * 1000000, i, &err),
                     ASSAY_OK, &err);
        CHECK_STATUS(
            run_counter_count(run, memory, i * 1000000, 1048576.0 * i, &err),
            ASSAY_OK, &err);
    }
}

struct run *made_detector(void)
{
    static const double whole_ms[] = {100, 98, 101, 96,  100,
                                      104, 99, 102, 100, 100};
    struct run *run = new_run("detector", "Detector");
    uint32_t main_thread = new_thread(run, "main");
    uint32_t transform = made_scope(run, RUN_ROOT, "transform", "");
    uint32_t backbone = made_scope(run, RUN_ROOT, "backbone", "Backbone");
    uint32_t body = made_scope(run, backbone, "body", "Body");
    uint32_t conv1 = made_scope(run, body, "conv1", "Conv2d");
    uint32_t relu = made_scope(run, body, "relu", "ReLU");
    uint32_t fpn = made_scope(run, backbone, "fpn", "");
    uint32_t head = made_scope(run, RUN_ROOT, "head", "Head");
    uint32_t tiny = made_scope(run, RUN_ROOT, "tiny", "");
    uint32_t setup = made_scope(run, RUN_ROOT, "setup", "");
    uint32_t weights = made_scope(run, setup, "load_weights", "");
    double start = 250;

    new_thread(run, "loader");
    new_thread(run, "loader");
    made_call(run, weights, main_thread, RUN_NONE, 200, 200);
    made_call(run, setup, main_thread, RUN_NONE, 250, 50);
    for (uint32_t i = 0; i < 10; i++) {
        struct sample whole =
            sample_of(RUN_ROOT, main_thread, i, whole_ms[i], whole_ms[i] - 95);

        made_call(run, transform, main_thread, i, 10, 10);
        made_call(run, conv1, main_thread, i, 15, 15);
        made_call(run, conv1, main_thread, i, 15, 15);
        made_call(run, relu, main_thread, i, 10, 10);
        made_call(run, body, main_thread, i, 45, 5);
        made_call(run, fpn, main_thread, i, 15, 15);
        made_call(run, backbone, main_thread, i, 60, 0);
        made_call(run, head, main_thread, i, 24, 24);
        made_call(run, tiny, main_thread, i, 1, 1);
        whole.start_ns = (int64_t)(start * 1e6);
        CHECK_STATUS(run_count(run, &whole, &err), ASSAY_OK, &err);
        start += whole_ms[i];
    }
    keep(run, RUN_ROOT, 250, 100, 5);
    keep(run, transform, 250, 10, 10);
    keep(run, backbone, 260, 60, 0);
    keep(run, body, 260, 45, 5);
    keep(run, conv1, 260, 15, 15);
    keep(run, conv1, 275, 15, 15);
    keep(run, relu, 290, 10, 10);
    keep(run, fpn, 305, 15, 15);
    keep(run, head, 320, 24, 24);
    keep(run, tiny, 344, 1, 1);
    set_facts(run);
    count_queue(run);
    run_health(run)->warm_up = 3;
    run_memory(run)->peak_bytes = 612 * 1024 * 1024;
    run_memory(run)->peak_scope = conv1;
    run_memory(run)->peak_ns = 275000000;
    run_duration_set(run, 1250000000);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    return run;
}

struct run *made_pipeline(void)
{
    struct run *run = new_run("pipeline", "");
    uint32_t producer = made_scope(run, RUN_ROOT, "producer", "");
    uint32_t work = made_scope(run, RUN_ROOT, "work", "");
    uint32_t filter = made_scope(run, work, "filter", "");
    uint32_t thread = new_thread(run, "producer");

    for (int i = 0; i < 4; i++)
        made_call(run, producer, thread, RUN_NONE, 100, 100);
    for (int worker = 0; worker < 3; worker++) {
        thread = new_thread(run, "worker");
        for (int i = 0; i < 3; i++) {
            made_call(run, filter, thread, RUN_NONE, 100, 100);
            made_call(run, work, thread, RUN_NONE, 300, 200);
        }
    }
    run_duration_set(run, 1000000000);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    return run;
}

struct run *made_with_name(const char *name, const char *class_name)
{
    struct run *run = new_run("run", "");
    uint32_t scope = made_scope(run, RUN_ROOT, name, class_name);
    uint32_t thread = new_thread(run, name);

    made_call(run, scope, thread, 0, 1, 1);
    keep(run, scope, 0, 1, 1);
    made_call(run, RUN_ROOT, thread, 0, 1, 0);
    CHECK_STATUS(run_fact_set(run, "program.command", name, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    return run;
}

struct run *made_chain(uint32_t levels)
{
    struct run *run = new_run("chain", "");
    uint32_t thread = new_thread(run, "main"), scope = RUN_ROOT;

    for (uint32_t i = 0; i < levels; i++) {
        scope = made_scope(run, scope, "s", "");
        made_call(run, scope, thread, 0, 10, i + 1 == levels ? 10 : 0);
    }
    made_call(run, RUN_ROOT, thread, 0, 10, 0);
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    return run;
}

static void refresh(const char *path, const struct str *got)
{
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    fwrite(str_text(got), 1, got->n, file);
    CHECK_INT(fclose(file), 0);
}

void check_golden(const char *name, const struct str *got)
{
    char path[512];
    struct str want = {0};

    snprintf(path, sizeof path, "%s/tests/views/golden/%s", VIEWS_SOURCE_DIR,
             name);
    if (getenv("ASSAY_REFRESH_GOLDEN"))
        refresh(path, got);
    CHECK_STATUS(file_read(path, 1 << 20, &want, &err), ASSAY_OK, &err);
    CHECK_STR(str_text(got), str_text(&want));
    str_release(&want);
}

size_t widest_line(const char *text)
{
    size_t widest = 0;

    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = strndup(text, n);
        size_t columns = text_columns(line);

        widest = columns > widest ? columns : widest;
        free(line);
        text += n + (text[n] == '\n');
    }
    return widest;
}

struct str view_text(run_view *view, const struct run *run,
                     const struct view_options *options)
{
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    err = (struct error){0};
    CHECK_STATUS(view(run, options, &sink, &err), ASSAY_OK, &err);
    return text;
}
