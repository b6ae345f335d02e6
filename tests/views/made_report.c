/* tests/views/made_report.c - see made_report.h. */
#include "made_report.h"

#include "base/mem.h"
#include "made_runs.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct error err;

#define MUST(call) CHECK_STATUS(call, ASSAY_OK, &err)

static struct run *begin(const char *name, const char *thread)
{
    struct run *run;
    uint32_t id;

    err = (struct error){0};
    MUST(run_new(&run, &err));
    MUST(run_name_root(run, name, "Pipeline", &err));
    MUST(run_thread_add(run, thread, THREAD_CPU, &id, &err));
    return run;
}

/* ---- photographs ------------------------------------------------------ */

enum { DECODE = 1, MODEL, BACKBONE, CONV1, CONV2, RELU, HEADS, ROI, BOX_HEAD };
enum { N_PHOTOS = 3 };

static const char *const photos[N_PHOTOS] = {"dog.jpg", "street.jpg",
                                             "empty.jpg"};
static const uint32_t proposals[N_PHOTOS] = {400, 1000, 50};
static const uint32_t detections[N_PHOTOS] = {2, 11, 0};

/* What a scope takes without those below it. */
static const struct {
    uint32_t parent;
    const char *name, *class_name;
    double self_ms;
} parts[] = {
    [DECODE] = {RUN_ROOT, "decode", "", 1.5},
    [MODEL] = {RUN_ROOT, "model", "FasterRCNN", 0.1},
    [BACKBONE] = {MODEL, "backbone", "ResNet", 0.1},
    [CONV1] = {BACKBONE, "conv1", "Conv2d", 3},
    [CONV2] = {BACKBONE, "conv2", "Conv2d", 4},
    [RELU] = {BACKBONE, "relu", "ReLU", 0.3},
    [HEADS] = {MODEL, "roi_heads", "RoIHeads", 0.1},
    [ROI] = {HEADS, "box_roi_pool", "MultiScaleRoIAlign", 0.9},
    [BOX_HEAD] = {HEADS, "box_head", "Linear", 0},
};

enum { N_PARTS = sizeof parts / sizeof *parts };

static int64_t self_ns(uint32_t part, uint32_t photo, double slowness)
{
    double ms = parts[part].self_ms;

    if (part == BOX_HEAD)
        ms = 0.002 * proposals[photo];
    return (int64_t)(ms * slowness * 1e6);
}

/* One iteration: children fill their parents from the front. */
static void add_iteration(struct run *run, uint32_t iteration, double slowness,
                          bool is_kept, int64_t *now)
{
    int64_t self[N_PARTS] = {0}, total[N_PARTS] = {0}, start[N_PARTS] = {0};
    int64_t used[N_PARTS] = {0};

    for (uint32_t i = N_PARTS; i-- > 0;) {
        if (i > 0)
            self[i] = self_ns(i, iteration % N_PHOTOS, slowness);
        total[i] += self[i];
        if (i > 0)
            total[parts[i].parent] += total[i];
    }
    start[RUN_ROOT] = *now;
    for (uint32_t i = 0; i < N_PARTS; i++) {
        uint32_t parent = parts[i].parent;

        if (i > 0) {
            start[i] = start[parent] + used[parent];
            used[parent] += total[i];
        }
    }
    for (uint32_t i = N_PARTS; i-- > 0;) {
        struct sample sample = {.scope = i,
                                .iteration = iteration,
                                .start_ns = start[i],
                                .duration_ns = total[i],
                                .self_ns = self[i],
                                .bytes = 1 << 20,
                                .peak_bytes = 100 << 20};

        MUST(run_count(run, &sample, &err));
        if (is_kept)
            MUST(run_keep(run, &sample, &err));
    }
    *now += total[RUN_ROOT];
}

static void add_content(struct run *run, uint32_t n_iterations)
{
    uint32_t photo, n_proposals, n_detections;

    MUST(run_series_add(run, "input.photo", "", &photo, &err));
    for (size_t i = 0; i < N_PHOTOS; i++)
        MUST(run_series_label(run, photo, photos[i], &err));
    MUST(run_series_add(run, "content.proposals", "", &n_proposals, &err));
    MUST(run_series_add(run, "content.detections", "", &n_detections, &err));
    for (uint32_t i = 0; i < n_iterations; i++) {
        MUST(run_series_put(run, photo, i, i % N_PHOTOS, &err));
        MUST(
            run_series_put(run, n_proposals, i, proposals[i % N_PHOTOS], &err));
        MUST(run_series_put(run, n_detections, i, detections[i % N_PHOTOS],
                            &err));
    }
}

static void add_memory(struct run *run)
{
    static const int live_mib[] = {60, 70, 85, 100, 80, 62};
    static const struct ledger_row ledger[] = {
        {LEDGER_WEIGHTS, RUN_NONE, 60 << 20, "as loaded"},
        {LEDGER_ACTIVATIONS, CONV1, 25 << 20, ""},
        {LEDGER_ACTIVATIONS, CONV2, 5 << 20, ""},
        {LEDGER_SCRATCH, RUN_NONE, 8 << 20, "of kernels"},
        {LEDGER_FRAGMENTATION, RUN_NONE, 2 << 20, ""},
        {LEDGER_OUTSIDE, RUN_NONE, 30 << 20, "libraries"},
    };
    uint32_t live;

    MUST(run_counter_add(run, RUN_LIVE_BYTES, "bytes", &live, &err));
    for (int i = 0; i < 6; i++)
        MUST(run_counter_count(run, live, i * 2000000,
                               (double)live_mib[i] * 1048576, &err));
    for (size_t i = 0; i < sizeof ledger / sizeof *ledger; i++)
        MUST(run_ledger_add(run, &ledger[i], &err));
    *run_memory(run) = (struct run_memory){
        .peak_bytes = 100 << 20, .peak_scope = CONV1, .peak_ns = 6000000};
}

static void add_work(struct run *run, uint32_t scope, double gflop, double mb)
{
    struct scope_work work = scope_work_unknown();

    work.macs = gflop * 0.5e9;
    work.flops = 0;
    work.read_bytes = work.write_bytes = mb * 0.5e6;
    work.done_flops = gflop * 1e9;
    work.done_bytes = mb * 1e6;
    MUST(run_work_set(run, scope, &work, &err));
}

static void add_facts(struct run *run)
{
    static const char *const facts[][2] = {
        {"model.name", "small_detector"},
        {"machine.cpu", "Test CPU"},
        {"machine.cores", "2"},
        {"machine.peak_gflops", "200"},
        {"machine.read_gbs", "20"},
        {"machine.copy_gbs", "15"},
        {"machine.launch_us", "5"},
        {"settings.mode", "optimised"},
        {"settings.threads", "2"},
        {"memory.process_peak_bytes", "136314880"},
    };

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        MUST(run_fact_set(run, facts[i][0], facts[i][1], &err));
}

struct run *made_photographs(uint32_t n_iterations, double slowness)
{
    struct run *run = begin("pipeline", "main");
    int64_t now = 0;

    for (uint32_t i = 1; i < N_PARTS; i++)
        CHECK_INT(made_scope(run, parts[i].parent, parts[i].name,
                             parts[i].class_name),
                  i);
    for (uint32_t i = 0; i < n_iterations; i++)
        add_iteration(run, i, slowness, i == 0 || i == n_iterations - 1, &now);
    add_content(run, n_iterations);
    add_memory(run);
    add_work(run, CONV1, 0.45, 6);
    add_work(run, CONV2, 0.6, 20);
    add_work(run, RELU, 0.0002, 5);
    add_work(run, BOX_HEAD, 0.1, 2);
    add_facts(run);
    run_duration_set(run, now);
    MUST(run_seal(run, &err));
    return run;
}

/* ---- many of them ----------------------------------------------------- */

struct run *made_busy(uint32_t n_scopes, uint32_t n_slices)
{
    enum { children = 40, slice_ns = 1000 };
    struct run *run = begin("busy", "one");
    uint32_t other, parent = RUN_ROOT;
    int64_t end = (int64_t)n_slices * slice_ns;
    struct sample whole = {.scope = RUN_ROOT,
                           .duration_ns = end,
                           .self_ns = 0,
                           .bytes = RUN_UNKNOWN,
                           .peak_bytes = RUN_UNKNOWN};

    MUST(run_thread_add(run, "two", THREAD_CPU, &other, &err));
    for (uint32_t i = 1; i < n_scopes; i++) {
        bool is_parent = (i - 1) % (children + 1) == 0;
        char name[32];

        snprintf(name, sizeof name, is_parent ? "layer%u" : "conv%u", i);
        if (is_parent)
            parent = made_scope(run, RUN_ROOT, name, "Sequential");
        else
            made_scope(run, parent, name, "Conv2d");
    }
    for (uint32_t i = 0; i < n_slices; i++) {
        struct sample sample = {.scope = 1 + i % (n_scopes - 1),
                                .thread = i % 2 ? other : 0,
                                .start_ns = (int64_t)i * slice_ns,
                                .duration_ns = slice_ns,
                                .self_ns = slice_ns,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        MUST(run_count(run, &sample, &err));
        MUST(run_keep(run, &sample, &err));
    }
    MUST(run_count(run, &whole, &err));
    run_duration_set(run, end);
    MUST(run_seal(run, &err));
    return run;
}

/* ---- work on a device -------------------------------------------------- */

static void keep_for(struct run *run, uint32_t scope, uint32_t thread,
                     int64_t start_ms, int64_t ms, int64_t queued_ms)
{
    struct sample sample = {.scope = scope,
                            .thread = thread,
                            .start_ns = start_ms * 1000000,
                            .duration_ns = ms * 1000000,
                            .self_ns = ms * 1000000,
                            .queued_ns = queued_ms * 1000000,
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};

    MUST(run_count(run, &sample, &err));
    MUST(run_keep(run, &sample, &err));
}

struct run *made_streams(void)
{
    struct run *run = begin("step", "python");
    uint32_t stream, counter;

    MUST(run_thread_add(run, "GPU 0 stream 7", THREAD_DEVICE, &stream, &err));
    MUST(run_counter_add(run, "queued kernels", "", &counter, &err));
    MUST(run_fact_set(run, "machine.cpu", "Test CPU", &err));
    MUST(run_fact_set(run, "machine.gpu", "Test GPU", &err));
    MUST(run_fact_set(run, "machine.peak_gflops", "20000", &err));
    MUST(run_fact_set(run, "machine.read_gbs", "2000", &err));
    MUST(run_fact_set(run, "settings.threads", "2", &err));
    for (int i = 0; i < 4; i++) {
        uint32_t op = made_scope(
            run, RUN_ROOT, i % 2 ? "aten::mm" : "aten::conv2d", "Operator");
        uint32_t kernel =
            made_scope(run, op, i % 2 ? "sgemm" : "convolve", "Kernel");

        add_work(run, op, 12, 100);
        keep_for(run, op, 0, 4 * i, 2, 0);
        keep_for(run, kernel, stream, 4 * i + 4, 3, 3);
        MUST(run_counter_count(run, counter, (int64_t)(4 * i + 1) * 1000000,
                               1 + i % 2, &err));
    }
    keep_for(run, RUN_ROOT, 0, 0, 20, 0);
    run_duration_set(run, 20000000);
    MUST(run_seal(run, &err));
    return run;
}

/* ---- hostile names ---------------------------------------------------- */

const char *const hostile_names[] = {
    "<img src=x onerror=\"document.title='broken in'\">",
    "</script><script>document.title='broken in'</script>",
    "<!--<script>",
    "\"quotes\" 'of' `all` kinds & &lt;entities&gt; \\u003c",
    "javascript:document.title='broken in'",
    "\xd7\xa9\xd7\x9b\xd7\x91\xd7\x94 \xe2\x80\xae"
    "evil", /* and an override */
    "line\nbreak\ttab\x01control",
    "__proto__",
    "constructor",
    "\xf0\x9f\x98\x80 and \xff bytes that are no text",
    NULL,
};

struct run *made_hostile(void)
{
    char *long_name = mem_alloc(10001);
    struct run *run = begin(hostile_names[1], hostile_names[0]);
    uint32_t series, thread, at;
    struct ledger_row row = {.kind = LEDGER_ACTIVATIONS, .bytes = 1 << 20};

    memset(long_name, 'L', 10000);
    long_name[10000] = '\0';
    made_scope(run, RUN_ROOT, long_name, long_name);
    for (size_t i = 0; hostile_names[i]; i++)
        made_scope(run, RUN_ROOT, hostile_names[i], hostile_names[i]);
    MUST(run_thread_add(run, hostile_names[5], THREAD_CPU, &thread, &err));
    MUST(run_series_add(run, "input.photo", hostile_names[0], &series, &err));
    MUST(run_series_label(run, series, hostile_names[0], &err));
    MUST(run_series_put(run, series, 0, 0, &err));
    MUST(
        run_series_add(run, hostile_names[2], hostile_names[1], &series, &err));
    MUST(run_series_put(run, series, 0, 7, &err));
    MUST(run_fact_set(run, "model.name", hostile_names[0], &err));
    MUST(run_fact_set(run, hostile_names[1], hostile_names[0], &err));
    row.scope = 2;
    row.what = hostile_names[0];
    MUST(run_ledger_add(run, &row, &err));
    MUST(run_counter_add(run, hostile_names[0], "bytes", &series, &err));
    for (int i = 0; i < 3; i++)
        MUST(run_counter_count(run, series, i * 1000000, i * 1048576.0, &err));
    for (at = (uint32_t)run_scope_count(run); at-- > 0;) {
        struct sample sample = {.scope = at,
                                .start_ns = (int64_t)at * 1000000,
                                .duration_ns = 1000000,
                                .self_ns = 1000000,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        if (at == RUN_ROOT) {
            sample.duration_ns = (int64_t)run_scope_count(run) * 1000000;
            sample.self_ns = 1000000;
        }
        MUST(run_count(run, &sample, &err));
        MUST(run_keep(run, &sample, &err));
    }
    *run_memory(run) =
        (struct run_memory){.peak_bytes = 1 << 20, .peak_scope = 2};
    mem_free(long_name);
    MUST(run_seal(run, &err));
    return run;
}
