/* views/view_trace.c - Chrome trace event JSON, for Perfetto and
 * chrome://tracing.
 *
 * The format is described in "Trace Event Format" (Chromium project): times in
 * microseconds, here with three decimals so that no nanosecond is lost. One
 * event per line, so that a trace can be searched with grep. Process 1 holds
 * the program's threads, process 2 the queues of its devices. */
#include "base/json.h"
#include "base/mem.h"
#include "base/units.h"
#include "run/bound.h"
#include "views/views.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Thread 0 has a special meaning in Perfetto (the idle thread). */
enum { PROGRAM_PID = 1, DEVICE_PID = 2, ITERATIONS_TID = 1, FIRST_TID = 2 };

/* How many slices before a launch are searched for the one around it. */
enum { most_looked_at = 1 << 14 };

struct trace {
    struct json_writer json;
    const struct run *run;
    int64_t origin_ns; /* written as 0 */
    struct kept_share share;
    const double *macs; /* of a call of each scope, with all below it; NaN:
                           unknown */
    struct bounds bounds;
    struct str path; /* of the current slice */
    enum assay_status status;
};

/* Adds what each scope does in an iteration to all scopes above it. */
static void trace_sum_macs(const struct run *run, double *macs)
{
    uint32_t n = (uint32_t)run_scope_count(run);

    for (uint32_t i = 0; i < n; i++)
        macs[i] = (double)NAN;
    for (uint32_t i = 0; i < n; i++) {
        const struct scope_work *work = run_work(run, i);

        for (uint32_t at = i; work && work->macs > 0 && at != RUN_NONE;
             at = run_scope(run, at)->parent)
            macs[at] = isnan(macs[at]) ? work->macs : macs[at] + work->macs;
    }
}

/* The caller frees *out. */
static enum assay_status trace_find_macs(const struct run *run, double **out,
                                         struct error *err)
{
    uint32_t n = (uint32_t)run_scope_count(run);
    enum assay_status st = ASSAY_OK;
    struct scope_stats stats;

    *out = mem_array(n, sizeof **out);
    if (!*out)
        return error_nomem(err, n * sizeof **out, "a trace");
    trace_sum_macs(run, *out);
    for (uint32_t i = 0; !st && i < n; i++) {
        if (isnan((*out)[i]))
            continue;
        st = run_scope_stats(run, i, RUN_NONE, &stats, err);
        (*out)[i] = !st && stats.calls_each >= 1 ? (*out)[i] / stats.calls_each
                                                 : (double)NAN;
    }
    return st;
}

static int64_t trace_compare_begin(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* 0, or the earliest time if that is before: readers refuse negative times. */
static int64_t trace_find_origin(const struct run *run)
{
    int64_t origin = 0;

    for (size_t i = 0; i < run_kept_count(run); i++)
        origin = trace_compare_begin(origin, run_kept(run, i)->start_ns);
    for (size_t i = 0; i < run_iterations_kept(run); i++)
        origin = trace_compare_begin(origin, run_iteration(run, i)->start_ns);
    for (uint32_t i = 0; i < run_counters(run); i++) {
        const struct counter *counter = run_counter(run, i);

        if (counter->n_points > 0)
            origin = trace_compare_begin(origin, counter->points[0].time_ns);
    }
    return origin;
}

static int64_t trace_pid_of(const struct trace *trace, uint32_t thread)
{
    return run_thread(trace->run, thread)->kind == THREAD_DEVICE ? DEVICE_PID
                                                                 : PROGRAM_PID;
}

/* The members that every event has. */
static void trace_begin_event(struct trace *trace, const char *phase,
                              const char *name, int64_t pid, int64_t tid)
{
    json_inline_object_begin(&trace->json);
    json_member_string(&trace->json, "ph", phase);
    json_member_string(&trace->json, "name", name);
    json_member_int(&trace->json, "pid", pid);
    json_member_int(&trace->json, "tid", tid);
}

static void trace_member_time(struct trace *trace, const char *key, int64_t ns)
{
    json_member_double(&trace->json, key, (double)ns / 1e3);
}

/* "M" events: the name of a process or a thread, and its place. */
static void trace_write_name(struct trace *trace, const char *of, int64_t pid,
                             int64_t tid, const char *name, int64_t place)
{
    for (int is_place = 0; is_place <= 1; is_place++) {
        char what[32];

        snprintf(what, sizeof what, "%s_%s", of,
                 is_place ? "sort_index" : "name");
        trace_begin_event(trace, "M", what, pid, tid);
        json_key(&trace->json, "args");
        json_inline_object_begin(&trace->json);
        if (is_place)
            json_member_int(&trace->json, "sort_index", place);
        else
            json_member_string(&trace->json, "name", name);
        json_object_end(&trace->json);
        json_object_end(&trace->json);
    }
}

static void trace_write_names(struct trace *trace)
{
    const struct run *run = trace->run;
    int64_t device_tid = 0; /* of the first one */
    char iterations[80];

    trace_write_name(trace, "process", PROGRAM_PID, ITERATIONS_TID,
                     run_scope(run, RUN_ROOT)->name, 0);
    if (run_has_iterations(run)) {
        snprintf(iterations, sizeof iterations,
                 "iterations (%" PRIu64 " of %" PRIu64 " in full)",
                 trace->share.iterations, trace->share.of_iterations);
        trace_write_name(trace, "thread", PROGRAM_PID, ITERATIONS_TID,
                         iterations, -1);
    }
    for (uint32_t i = 0; i < run_thread_count(run); i++) {
        trace_write_name(trace, "thread", trace_pid_of(trace, i), FIRST_TID + i,
                         run_thread(run, i)->name, i);
        if (device_tid == 0 && trace_pid_of(trace, i) == DEVICE_PID)
            device_tid = FIRST_TID + i;
    }
    if (device_tid != 0)
        trace_write_name(trace, "process", DEVICE_PID, device_tid, "devices",
                         1);
}

static void trace_write_iterations(struct trace *trace)
{
    const struct run *run = trace->run;
    char name[48];

    for (size_t i = 0; i < run_iterations_kept(run); i++) {
        const struct iteration *iteration = run_iteration(run, i);
        int64_t start = iteration->start_ns - trace->origin_ns;

        snprintf(name, sizeof name, "iteration %" PRIu32, iteration->index);
        trace_begin_event(trace, "X", name, PROGRAM_PID, ITERATIONS_TID);
        json_member_string(&trace->json, "cat", "iteration");
        trace_member_time(trace, "ts", start);
        trace_member_time(trace, "dur", iteration->duration_ns);
        json_object_end(&trace->json);
        trace_begin_event(trace, "i", name, PROGRAM_PID,
                          FIRST_TID + (int64_t)iteration->thread);
        json_member_string(&trace->json, "cat", "iteration");
        trace_member_time(trace, "ts", start);
        json_member_string(&trace->json, "s", "p");
        json_object_end(&trace->json);
    }
}

/* What a device reached for the scope, per iteration, beside the peaks that
 * bound it. */
static void trace_write_rates(struct trace *trace, const struct sample *sample)
{
    const struct bound *bound = &trace->bounds.items[sample->scope];

    if (!trace->bounds.is_known ||
        run_thread(trace->run, sample->thread)->kind != THREAD_DEVICE ||
        isnan(bound->done_gflops) || isnan(bound->gbs))
        return;
    json_member_double(&trace->json, "gflops", round(bound->done_gflops));
    json_member_double(&trace->json, "peak_gflops",
                       round(trace->bounds.peaks.gflops));
    json_member_double(&trace->json, "gbs", round(bound->gbs));
    json_member_double(&trace->json, "peak_gbs",
                       round(peaks_gbs(&trace->bounds.peaks, INFINITY)));
}

static void trace_write_args(struct trace *trace, const struct sample *sample)
{
    const struct scope *scope = run_scope(trace->run, sample->scope);
    const struct scope_text *text = run_text(trace->run, sample->scope);
    bool is_module = sample->scope != RUN_ROOT;
    struct json_writer *json = &trace->json;

    json_key(json, "args");
    json_inline_object_begin(json);
    str_clear(&trace->path);
    if (run_scope_path(trace->run, sample->scope, &trace->path))
        trace->status = ASSAY_NOMEM;
    else if (is_module)
        json_member_string(json, "path", str_text(&trace->path));
    if (is_module && scope->class_name[0])
        json_member_string(json, "class", scope->class_name);
    if (sample->iteration != RUN_NONE)
        json_member_int(json, "iteration", sample->iteration);
    if (sample->phase != 0)
        json_member_string(json, "phase",
                           run_phase_name(trace->run, sample->phase));
    trace_member_time(trace, "self_us", sample->self_ns);
    if (sample->bytes != RUN_UNKNOWN)
        json_member_int(json, "bytes", sample->bytes);
    if (sample->peak_bytes != RUN_UNKNOWN)
        json_member_int(json, "peak_bytes", sample->peak_bytes);
    if (text && text->shapes[0])
        json_member_string(json, "shapes", text->shapes);
    if (text && text->kernel[0])
        json_member_string(json, "kernel", text->kernel);
    if (is_module && !isnan(trace->macs[sample->scope]))
        json_member_double(json, "macs", round(trace->macs[sample->scope]));
    trace_write_rates(trace, sample);
    if (sample->queued_ns)
        trace_member_time(trace, "queued_us", sample->queued_ns);
    json_object_end(json);
}

/* Samples that overlap freely cannot be slices of one track: they become a
 * begin and an end with the same id. */
static void trace_write_async(struct trace *trace, const struct sample *sample,
                              size_t id)
{
    const char *name = run_scope(trace->run, sample->scope)->name;
    int64_t start = sample->start_ns - trace->origin_ns;

    for (int is_end = 0; is_end <= 1; is_end++) {
        trace_begin_event(trace, is_end ? "e" : "b", name, PROGRAM_PID,
                          FIRST_TID + (int64_t)sample->thread);
        json_member_string(&trace->json, "cat",
                           run_thread(trace->run, sample->thread)->name);
        json_member_int(&trace->json, "id", (int64_t)id);
        trace_member_time(trace, "ts",
                          is_end ? start + sample->duration_ns : start);
        if (!is_end)
            trace_write_args(trace, sample);
        json_object_end(&trace->json);
    }
}

static bool trace_is_above(const struct run *run, uint32_t above,
                           uint32_t scope)
{
    while (scope != RUN_NONE && scope != above)
        scope = run_scope(run, scope)->parent;
    return scope == above;
}

/* Whether the host may have launched in this slice, at that time, what ran for
 * the scope: in a slice of the scope, of a module around it, or of a part of
 * it. */
static bool trace_can_launch(const struct run *run, const struct sample *slice,
                             uint32_t scope, int64_t time_ns)
{
    return slice->start_ns <= time_ns &&
           time_ns <= slice->start_ns + slice->duration_ns &&
           slice->scope != RUN_ROOT &&
           run_thread(run, slice->thread)->kind == THREAD_CPU &&
           (trace_is_above(run, slice->scope, scope) ||
            trace_is_above(run, scope, slice->scope));
}

/* How many kept samples come before those of the thread that begin after that
 * time; they are sorted by thread and start. */
static size_t trace_count_before(const struct run *run, uint32_t thread,
                                 int64_t time_ns)
{
    size_t low = 0, high = run_kept_count(run);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sample *sample = run_kept(run, middle);

        if (sample->thread < thread ||
            (sample->thread == thread && sample->start_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The innermost slice that launched the sample; NULL if none was kept. */
static const struct sample *trace_find_launch(const struct run *run,
                                              const struct sample *sample)
{
    int64_t time_ns = sample->start_ns - sample->queued_ns;

    for (uint32_t thread = 0; thread < run_thread_count(run); thread++) {
        size_t i = trace_count_before(run, thread, time_ns);

        for (size_t n = 0; n < most_looked_at && i > 0; n++) {
            const struct sample *slice = run_kept(run, --i);

            if (slice->thread != thread)
                break;
            if (trace_can_launch(run, slice, sample->scope, time_ns))
                return slice;
        }
    }
    return NULL;
}

static void trace_write_flow(struct trace *trace, const char *phase,
                             const struct sample *slice, int64_t time_ns,
                             size_t id)
{
    trace_begin_event(trace, phase, "launch",
                      trace_pid_of(trace, slice->thread),
                      FIRST_TID + (int64_t)slice->thread);
    json_member_string(&trace->json, "cat", "launch");
    json_member_int(&trace->json, "id", (int64_t)id);
    trace_member_time(trace, "ts", time_ns - trace->origin_ns);
    if (phase[0] == 'f')
        json_member_string(&trace->json, "bp", "e");
    json_object_end(&trace->json);
}

/* An arrow from where the host launched the sample: "s" is in that slice, "f"
 * is bound to the slice that begins then. */
static void trace_write_launch(struct trace *trace, const struct sample *sample,
                               size_t id)
{
    const struct sample *launch =
        sample->queued_ns ? trace_find_launch(trace->run, sample) : NULL;

    if (!launch)
        return;
    trace_write_flow(trace, "s", launch, sample->start_ns - sample->queued_ns,
                     id);
    trace_write_flow(trace, "f", sample, sample->start_ns, id);
}

/* A helper's sample of the root is of no module: its lane says what it did. */
static void trace_write_slice(struct trace *trace, const struct sample *sample)
{
    trace_begin_event(trace, "X",
                      sample->scope == RUN_ROOT
                          ? run_thread(trace->run, sample->thread)->name
                          : run_scope(trace->run, sample->scope)->name,
                      trace_pid_of(trace, sample->thread),
                      FIRST_TID + (int64_t)sample->thread);
    json_member_string(&trace->json, "cat", "scope");
    trace_member_time(trace, "ts", sample->start_ns - trace->origin_ns);
    trace_member_time(trace, "dur", sample->duration_ns);
    trace_write_args(trace, sample);
    json_object_end(&trace->json);
}

/* The iterations have their own track, so their samples are not drawn again. */
static void trace_write_samples(struct trace *trace)
{
    for (size_t i = 0; i < run_kept_count(trace->run); i++) {
        const struct sample *sample = run_kept(trace->run, i);

        enum thread_kind kind = run_thread(trace->run, sample->thread)->kind;

        if (sample->scope == RUN_ROOT && kind != THREAD_HELPER)
            continue;
        if (kind == THREAD_ASYNC)
            trace_write_async(trace, sample, i);
        else
            trace_write_slice(trace, sample);
        trace_write_launch(trace, sample, i);
    }
}

static void trace_write_counter(struct trace *trace,
                                const struct counter *counter)
{
    for (size_t i = 0; i < counter->n_points; i++) {
        trace_begin_event(trace, "C", counter->name, PROGRAM_PID,
                          ITERATIONS_TID);
        trace_member_time(trace, "ts",
                          counter->points[i].time_ns - trace->origin_ns);
        json_key(&trace->json, "args");
        json_inline_object_begin(&trace->json);
        json_member_double(&trace->json,
                           counter->unit[0] ? counter->unit : "value",
                           counter->points[i].value);
        json_object_end(&trace->json);
        json_object_end(&trace->json);
    }
}

static void trace_write_peak(struct trace *trace)
{
    const struct run_memory *memory = run_memory_of(trace->run);
    char name[64], bytes[UNITS_MAX];

    if (memory->peak_bytes == RUN_UNKNOWN || memory->peak_ns < trace->origin_ns)
        return;
    snprintf(name, sizeof name, "memory peak %s",
             units_bytes(bytes, (double)memory->peak_bytes));
    trace_begin_event(trace, "i", name, PROGRAM_PID, ITERATIONS_TID);
    json_member_string(&trace->json, "cat", "memory");
    trace_member_time(trace, "ts", memory->peak_ns - trace->origin_ns);
    json_member_string(&trace->json, "s", "g");
    json_object_end(&trace->json);
}

/* How much of the run the trace holds, and the facts. */
static void trace_write_facts(struct trace *trace)
{
    json_key(&trace->json, "otherData");
    json_object_begin(&trace->json);
    if (trace->share.of_iterations) {
        json_member_int(&trace->json, "trace.iterations",
                        (int64_t)trace->share.iterations);
        json_member_int(&trace->json, "trace.of_iterations",
                        (int64_t)trace->share.of_iterations);
    }
    json_member_int(&trace->json, "trace.slices",
                    (int64_t)trace->share.samples);
    json_member_int(&trace->json, "trace.of_slices",
                    (int64_t)trace->share.of_samples);
    for (size_t i = 0; i < run_fact_count(trace->run); i++) {
        const char *key, *value;

        run_fact_at(trace->run, i, &key, &value);
        json_member_string(&trace->json, key, value);
    }
    json_object_end(&trace->json);
}

static void trace_write_all(struct trace *trace)
{
    json_object_begin(&trace->json);
    json_member_string(&trace->json, "displayTimeUnit", "ms");
    trace_write_facts(trace);
    json_key(&trace->json, "traceEvents");
    json_array_begin(&trace->json);
    trace_write_names(trace);
    trace_write_iterations(trace);
    trace_write_samples(trace);
    for (uint32_t i = 0; i < run_counters(trace->run); i++)
        trace_write_counter(trace, run_counter(trace->run, i));
    trace_write_peak(trace);
    json_array_end(&trace->json);
    json_object_end(&trace->json);
}

enum assay_status view_trace(const struct run *run, struct sink *sink,
                             struct error *err)
{
    double *macs = NULL;
    struct trace trace = {.json = json_writer(sink, 1),
                          .run = run,
                          .origin_ns = trace_find_origin(run),
                          .share = run_kept_share(run)};
    enum assay_status st = trace_find_macs(run, &macs, err);

    trace.macs = macs;
    if (!st)
        st = bounds_build(run, &trace.bounds, err);
    if (!st) {
        trace_write_all(&trace);
        sink_puts(sink, "\n");
        st = trace.status ? error_nomem(err, trace.path.n, "a trace")
                          : sink_status(sink, err);
    }
    bounds_release(&trace.bounds);
    str_release(&trace.path);
    mem_free(macs);
    return st;
}
