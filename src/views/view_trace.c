/* views/view_trace.c - Chrome trace event JSON, for Perfetto and
 * chrome://tracing.
 *
 * The format is described in "Trace Event Format" (Chromium project): times in
 * microseconds, here with three decimals so that no nanosecond is lost. One
 * event a line, so that a trace can be searched with grep. Process 1 holds the
 * program's threads, process 2 the queues of its devices. */
#include "base/json.h"
#include "base/units.h"
#include "views/views.h"

#include <inttypes.h>
#include <string.h>

/* Thread 0 has a meaning of its own in Perfetto (the idle one). */
enum { PROGRAM_PID = 1, DEVICE_PID = 2, ITERATIONS_TID = 1, FIRST_TID = 2 };

/* Slices before a launch among which the one around it is looked for. */
enum { most_looked_at = 1 << 14 };

struct trace {
    struct json_writer json;
    const struct run *run;
    int64_t origin_ns; /* what is written as 0 */
};

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* 0, or the earliest moment where that is before: readers refuse negative
 * times. */
static int64_t find_origin(const struct run *run)
{
    int64_t origin = 0;

    for (size_t i = 0; i < run_kept_count(run); i++)
        origin = earlier(origin, run_kept(run, i)->start_ns);
    for (size_t i = 0; i < run_iterations_kept(run); i++)
        origin = earlier(origin, run_iteration(run, i)->start_ns);
    for (uint32_t i = 0; i < run_counters(run); i++) {
        const struct counter *counter = run_counter(run, i);

        if (counter->n_points > 0)
            origin = earlier(origin, counter->points[0].time_ns);
    }
    return origin;
}

static int64_t pid_of(const struct trace *trace, uint32_t thread)
{
    return run_thread(trace->run, thread)->kind == THREAD_DEVICE ? DEVICE_PID
                                                                 : PROGRAM_PID;
}

/* The members that every event has. */
static void begin_event(struct trace *trace, const char *phase,
                        const char *name, int64_t pid, int64_t tid)
{
    json_inline_object_begin(&trace->json);
    json_member_string(&trace->json, "ph", phase);
    json_member_string(&trace->json, "name", name);
    json_member_int(&trace->json, "pid", pid);
    json_member_int(&trace->json, "tid", tid);
}

static void member_time(struct trace *trace, const char *key, int64_t ns)
{
    json_member_double(&trace->json, key, (double)ns / 1e3);
}

/* "M" events: what the viewer calls a process or a thread, and where it puts
 * it. */
static void view_trace_write_name(struct trace *trace, const char *what,
                                  int64_t pid, int64_t tid, const char *name)
{
    begin_event(trace, "M", what, pid, tid);
    json_key(&trace->json, "args");
    json_inline_object_begin(&trace->json);
    json_member_string(&trace->json, "name", name);
    json_object_end(&trace->json);
    json_object_end(&trace->json);
}

static void write_place(struct trace *trace, const char *what, int64_t pid,
                        int64_t tid, int64_t place)
{
    begin_event(trace, "M", what, pid, tid);
    json_key(&trace->json, "args");
    json_inline_object_begin(&trace->json);
    json_member_int(&trace->json, "sort_index", place);
    json_object_end(&trace->json);
    json_object_end(&trace->json);
}

static void view_trace_write_names(struct trace *trace)
{
    const struct run *run = trace->run;
    int64_t device_tid = 0; /* of the first one */

    view_trace_write_name(trace, "process_name", PROGRAM_PID, ITERATIONS_TID,
                          run_scope(run, RUN_ROOT)->name);
    write_place(trace, "process_sort_index", PROGRAM_PID, ITERATIONS_TID, 0);
    if (run_has_iterations(run)) {
        view_trace_write_name(trace, "thread_name", PROGRAM_PID, ITERATIONS_TID,
                              "iterations");
        write_place(trace, "thread_sort_index", PROGRAM_PID, ITERATIONS_TID,
                    -1);
    }
    for (uint32_t i = 0; i < run_thread_count(run); i++) {
        view_trace_write_name(trace, "thread_name", pid_of(trace, i),
                              FIRST_TID + i, run_thread(run, i)->name);
        write_place(trace, "thread_sort_index", pid_of(trace, i), FIRST_TID + i,
                    i);
        if (device_tid == 0 && pid_of(trace, i) == DEVICE_PID)
            device_tid = FIRST_TID + i;
    }
    if (device_tid != 0) {
        view_trace_write_name(trace, "process_name", DEVICE_PID, device_tid,
                              "devices");
        write_place(trace, "process_sort_index", DEVICE_PID, device_tid, 1);
    }
}

static void view_trace_write_iterations(struct trace *trace)
{
    const struct run *run = trace->run;
    char name[48];

    for (size_t i = 0; i < run_iterations_kept(run); i++) {
        const struct iteration *iteration = run_iteration(run, i);
        int64_t start = iteration->start_ns - trace->origin_ns;

        snprintf(name, sizeof name, "iteration %" PRIu32, iteration->index);
        begin_event(trace, "X", name, PROGRAM_PID, ITERATIONS_TID);
        json_member_string(&trace->json, "cat", "iteration");
        member_time(trace, "ts", start);
        member_time(trace, "dur", iteration->duration_ns);
        json_object_end(&trace->json);
        begin_event(trace, "i", name, PROGRAM_PID,
                    FIRST_TID + (int64_t)iteration->thread);
        json_member_string(&trace->json, "cat", "iteration");
        member_time(trace, "ts", start);
        json_member_string(&trace->json, "s", "p");
        json_object_end(&trace->json);
    }
}

static void write_args(struct trace *trace, const struct sample *sample)
{
    const struct scope *scope = run_scope(trace->run, sample->scope);
    const struct scope_text *text = run_text(trace->run, sample->scope);
    struct json_writer *json = &trace->json;

    json_key(json, "args");
    json_inline_object_begin(json);
    if (scope->class_name[0])
        json_member_string(json, "class", scope->class_name);
    if (sample->iteration != RUN_NONE)
        json_member_int(json, "iteration", sample->iteration);
    if (sample->phase != 0)
        json_member_string(json, "phase",
                           run_phase_name(trace->run, sample->phase));
    member_time(trace, "self_us", sample->self_ns);
    if (sample->bytes != RUN_UNKNOWN)
        json_member_int(json, "bytes", sample->bytes);
    if (sample->peak_bytes != RUN_UNKNOWN)
        json_member_int(json, "peak_bytes", sample->peak_bytes);
    if (text && text->shapes[0])
        json_member_string(json, "shapes", text->shapes);
    if (text && text->kernel[0])
        json_member_string(json, "kernel", text->kernel);
    if (sample->queued_ns)
        member_time(trace, "queued_us", sample->queued_ns);
    json_object_end(json);
}

/* What overlaps freely cannot be slices of one track: a begin and an end that
 * share an id. */
static void write_async(struct trace *trace, const struct sample *sample,
                        size_t id)
{
    const char *name = run_scope(trace->run, sample->scope)->name;
    int64_t start = sample->start_ns - trace->origin_ns;

    for (int is_end = 0; is_end <= 1; is_end++) {
        begin_event(trace, is_end ? "e" : "b", name, PROGRAM_PID,
                    FIRST_TID + (int64_t)sample->thread);
        json_member_string(&trace->json, "cat",
                           run_thread(trace->run, sample->thread)->name);
        json_member_int(&trace->json, "id", (int64_t)id);
        member_time(trace, "ts", is_end ? start + sample->duration_ns : start);
        if (!is_end)
            write_args(trace, sample);
        json_object_end(&trace->json);
    }
}

static bool is_above(const struct run *run, uint32_t above, uint32_t scope)
{
    while (scope != RUN_NONE && scope != above)
        scope = run_scope(run, scope)->parent;
    return scope == above;
}

/* Whether the host launched at that moment in that slice what ran for the
 * scope: in a slice of the scope, of a module around it or of a part of it. */
static bool can_launch(const struct run *run, const struct sample *slice,
                       uint32_t scope, int64_t time_ns)
{
    return slice->start_ns <= time_ns &&
           time_ns <= slice->start_ns + slice->duration_ns &&
           slice->scope != RUN_ROOT &&
           run_thread(run, slice->thread)->kind == THREAD_CPU &&
           (is_above(run, slice->scope, scope) ||
            is_above(run, scope, slice->scope));
}

/* How many kept samples come before those of the thread that begin after that
 * moment; they are in order of thread and start. */
static size_t count_before(const struct run *run, uint32_t thread,
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

/* The innermost slice that launched the sample; NULL: none was kept. */
static const struct sample *find_launch(const struct run *run,
                                        const struct sample *sample)
{
    int64_t time_ns = sample->start_ns - sample->queued_ns;

    for (uint32_t thread = 0; thread < run_thread_count(run); thread++) {
        size_t i = count_before(run, thread, time_ns);

        for (size_t n = 0; n < most_looked_at && i > 0; n++) {
            const struct sample *slice = run_kept(run, --i);

            if (slice->thread != thread)
                break;
            if (can_launch(run, slice, sample->scope, time_ns))
                return slice;
        }
    }
    return NULL;
}

static void write_flow(struct trace *trace, const char *phase,
                       const struct sample *slice, int64_t time_ns, size_t id)
{
    begin_event(trace, phase, "launch", pid_of(trace, slice->thread),
                FIRST_TID + (int64_t)slice->thread);
    json_member_string(&trace->json, "cat", "launch");
    json_member_int(&trace->json, "id", (int64_t)id);
    member_time(trace, "ts", time_ns - trace->origin_ns);
    if (phase[0] == 'f')
        json_member_string(&trace->json, "bp", "e");
    json_object_end(&trace->json);
}

/* An arrow from where the host launched it: "s" lies in that slice, "f" is
 * bound to the one that begins then. */
static void write_launch(struct trace *trace, const struct sample *sample,
                         size_t id)
{
    const struct sample *launch =
        sample->queued_ns ? find_launch(trace->run, sample) : NULL;

    if (!launch)
        return;
    write_flow(trace, "s", launch, sample->start_ns - sample->queued_ns, id);
    write_flow(trace, "f", sample, sample->start_ns, id);
}

static void write_slice(struct trace *trace, const struct sample *sample)
{
    begin_event(trace, "X", run_scope(trace->run, sample->scope)->name,
                pid_of(trace, sample->thread),
                FIRST_TID + (int64_t)sample->thread);
    json_member_string(&trace->json, "cat", "scope");
    member_time(trace, "ts", sample->start_ns - trace->origin_ns);
    member_time(trace, "dur", sample->duration_ns);
    write_args(trace, sample);
    json_object_end(&trace->json);
}

/* The iterations have a track of their own, so samples of the root are not
 * drawn again. */
static void write_samples(struct trace *trace)
{
    for (size_t i = 0; i < run_kept_count(trace->run); i++) {
        const struct sample *sample = run_kept(trace->run, i);

        if (sample->scope == RUN_ROOT)
            continue;
        if (run_thread(trace->run, sample->thread)->kind == THREAD_ASYNC)
            write_async(trace, sample, i);
        else
            write_slice(trace, sample);
        write_launch(trace, sample, i);
    }
}

static void view_trace_write_counter(struct trace *trace,
                                     const struct counter *counter)
{
    for (size_t i = 0; i < counter->n_points; i++) {
        begin_event(trace, "C", counter->name, PROGRAM_PID, ITERATIONS_TID);
        member_time(trace, "ts", counter->points[i].time_ns - trace->origin_ns);
        json_key(&trace->json, "args");
        json_inline_object_begin(&trace->json);
        json_member_double(&trace->json,
                           counter->unit[0] ? counter->unit : "value",
                           counter->points[i].value);
        json_object_end(&trace->json);
        json_object_end(&trace->json);
    }
}

static void view_trace_write_peak(struct trace *trace)
{
    const struct run_memory *memory = run_memory_of(trace->run);
    char name[64], bytes[UNITS_MAX];

    if (memory->peak_bytes == RUN_UNKNOWN || memory->peak_ns < trace->origin_ns)
        return;
    snprintf(name, sizeof name, "memory peak %s",
             units_bytes(bytes, (double)memory->peak_bytes));
    begin_event(trace, "i", name, PROGRAM_PID, ITERATIONS_TID);
    json_member_string(&trace->json, "cat", "memory");
    member_time(trace, "ts", memory->peak_ns - trace->origin_ns);
    json_member_string(&trace->json, "s", "g");
    json_object_end(&trace->json);
}

static void view_trace_write_facts(struct trace *trace)
{
    json_key(&trace->json, "otherData");
    json_object_begin(&trace->json);
    for (size_t i = 0; i < run_fact_count(trace->run); i++) {
        const char *key, *value;

        run_fact_at(trace->run, i, &key, &value);
        json_member_string(&trace->json, key, value);
    }
    json_object_end(&trace->json);
}

enum assay_status view_trace(const struct run *run, struct sink *sink,
                             struct error *err)
{
    struct trace trace = {.json = json_writer(sink, 1),
                          .run = run,
                          .origin_ns = find_origin(run)};

    json_object_begin(&trace.json);
    json_member_string(&trace.json, "displayTimeUnit", "ms");
    view_trace_write_facts(&trace);
    json_key(&trace.json, "traceEvents");
    json_array_begin(&trace.json);
    view_trace_write_names(&trace);
    view_trace_write_iterations(&trace);
    write_samples(&trace);
    for (uint32_t i = 0; i < run_counters(run); i++)
        view_trace_write_counter(&trace, run_counter(run, i));
    view_trace_write_peak(&trace);
    json_array_end(&trace.json);
    json_object_end(&trace.json);
    sink_puts(sink, "\n");
    return sink_status(sink, err);
}
