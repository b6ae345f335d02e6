/* record/recorder.c - starts and stops recordings; see record.h. */
#include "record/record_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

atomic_uint recorder_generation;

static struct {
    pthread_mutex_t control; /* for starting and stopping */
    bool is_prepared;
    unsigned n_generations;

    pthread_mutex_t lock; /* for the recording */
    struct recording recording;
} recorder = {.control = PTHREAD_MUTEX_INITIALIZER,
              .lock = PTHREAD_MUTEX_INITIALIZER};

static __thread volatile sig_atomic_t is_inside
    __attribute__((tls_model("initial-exec")));

bool recorder_is_inside(void)
{
    return is_inside;
}

static void recorder_lock(void)
{
    is_inside = 1;
    pthread_mutex_lock(&recorder.lock);
}

static void recorder_unlock(void)
{
    pthread_mutex_unlock(&recorder.lock);
    is_inside = 0;
}

/* In a child forked during a recording: the buffers, the file and the locks are
 * copies of the parent's. */
static atomic_bool is_orphan;

static void recorder_set_marking(bool is_marking)
{
    __atomic_store_n(&assay_is_recording_, is_marking, __ATOMIC_RELAXED);
}

static void recorder_set(unsigned generation)
{
    atomic_store(&recorder_generation, generation);
    recorder_set_marking(generation != 0);
}

static bool recorder_is_free(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex))
        return false;
    pthread_mutex_unlock(mutex);
    return true;
}

static void recorder_leave_to_parent(void)
{
    spans_forget_others();
    if (atomic_load(&recorder_generation) == 0 &&
        recorder_is_free(&recorder.control) && recorder_is_free(&recorder.lock))
        return;
    recorder_set(0);
    atomic_store(&is_orphan, true);
}

static void recorder_stop_at_exit(void)
{
    (void)assay_stop(NULL);
}

/* Once per process. */
static enum assay_status recorder_prepare(struct error *err)
{
    enum assay_status st;
    int failed;

    if (recorder.is_prepared)
        return ASSAY_OK;
    st = threads_prepare(err);
    if (st)
        return st;
    failed = pthread_atfork(NULL, NULL, recorder_leave_to_parent);
    if (failed)
        return error_errno(err, failed, "preparing for a fork");
    if (atexit(recorder_stop_at_exit))
        return error_set(err, ASSAY_NOMEM,
                         "preparing for the end of the program: atexit()");
    ticks_choose();
    recorder.is_prepared = true;
    return ASSAY_OK;
}

static enum assay_status recorder_start_clock(struct ticks_map *clock,
                                              struct ticks_pair first,
                                              struct error *err)
{
    static const struct timespec baseline = {.tv_nsec = 2 * 1000 * 1000};

    nanosleep(&baseline, NULL);
    return ticks_map_start(clock, first, ticks_pair_now(), err);
}

static enum assay_status recorder_open(struct recording *recording,
                                       const char *path,
                                       const struct assay_options *options,
                                       struct error *err)
{
    struct ticks_pair first = ticks_pair_now();
    enum assay_status st =
        path ? store_open(path, &recording->store, err) : ASSAY_OK;

    recording->keep_all = options->keep_all != 0;
    recording->keep_first = options->keep_first;
    recording->shows_writer = writer_is_shown();
    for (int i = 0; i < N_WRITER_LANES; i++)
        recording->writer_lanes[i] = RUN_NONE;
    if (!st)
        st = run_new(&recording->run, err);
    if (!st)
        st = run_name_root(recording->run,
                           options->program ? options->program : "run",
                           options->class_name, err);
    if (!st)
        st = facts_set(recording->run, err);
    if (!st)
        st = recording_init(recording, err);
    if (!st && recording->store)
        st = store_checkpoint(recording->store, recording->run, err);
    if (!st)
        st = recorder_start_clock(&recording->clock, first, err);
    return st;
}

static enum assay_status recorder_start(const char *path,
                                        const struct assay_options *options,
                                        struct error *err)
{
    struct recording *recording = &recorder.recording;
    enum assay_status st;

    if (recording->generation)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a recording is under way; stop it before starting "
                         "another");
    st = recorder_prepare(err);
    if (st)
        return st;
    threads_reset();
    spans_reset(options->warm_up);
    st = recorder_open(recording, path, options, err);
    if (!st) {
        recording->generation = ++recorder.n_generations;
        st = writer_start(recording, &recorder.lock, err);
    }
    if (st) {
        recording_release(recording);
        return st;
    }
    recorder_set(recording->generation);
    return ASSAY_OK;
}

/* path NULL: in memory. */
static enum assay_status
recorder_start_locked(const char *path, const struct assay_options *options,
                      struct error *err)
{
    static const struct assay_options defaults;
    enum assay_status st;

    if (atomic_load(&is_orphan))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "the parent of this process is recording; a forked "
                         "child cannot record, but a program it starts can");
    pthread_mutex_lock(&recorder.control);
    recorder_lock();
    st = recorder_start(path, options ? options : &defaults, err);
    recorder_unlock();
    pthread_mutex_unlock(&recorder.control);
    return st;
}

enum assay_status record_start(const char *path,
                               const struct assay_options *options,
                               struct error *err)
{
    if (!path || !path[0])
        return error_set(err, ASSAY_BAD_USAGE,
                         "a recording needs the path of a run file");
    return recorder_start_locked(path, options, err);
}

enum assay_status record_start_in_memory(const struct assay_options *options,
                                         struct error *err)
{
    if (options && (options->keep_all || options->keep_first))
        return error_set(err, ASSAY_BAD_USAGE,
                         "keeping samples in full needs a file");
    return recorder_start_locked(NULL, options, err);
}

static enum assay_status recorder_set_facts(struct run *run, struct error *err)
{
    int64_t waited_ns = writer_waited_ns();
    uint64_t n_left_out = works_texts_left_out();
    enum assay_status st = ASSAY_OK;

    if (waited_ns)
        st = run_fact_printf(run, err, "recorder.waited_ms", "%.3f",
                             (double)waited_ns / 1e6);
    if (!st && n_left_out)
        st = run_fact_printf(run, err, "recorder.texts_left_out", "%llu",
                             (unsigned long long)n_left_out);
    return st;
}

typedef enum assay_status store_ending(struct store_writer *writer,
                                       const struct run *run,
                                       struct error *err);

/* How a recording ends: what becomes of its file, or who gets the run. */
struct ending {
    store_ending *store;
    struct recorded *out;
};

static enum assay_status recorder_end_store(struct recording *recording,
                                            const struct ending *ending,
                                            struct error *err)
{
    struct store_writer *store = recording->store;
    enum assay_status st = ASSAY_OK;

    recording->store = NULL; /* finishing takes ownership */
    if (ending->out) {
        *ending->out = (struct recorded){.run = recording->run,
                                         .file = store,
                                         .ids = recording->ids,
                                         .n_ids = recording->n_ids};
        recording->run = NULL;
        recording->ids = NULL;
    } else if (store) {
        st = ending->store(store, recording->run, err);
    }
    return st;
}

/* Drains the rest and writes the file, as much as there is even if something
 * failed; returns the first failure. */
static enum assay_status recorder_finish(struct recording *recording,
                                         const struct ending *ending,
                                         struct error *err)
{
    struct error last = {0};

    writer_pass(recording);
    recording_settle(recording, UINT64_MAX);
    writer_bring_up(recording);
    recording_fail(recording,
                   live_finish(&recording->live, recording->run, &last), &last);
    recording_fail(recording, recorder_set_facts(recording->run, &last), &last);
    if (ending->out && recording->store)
        recording_fail(recording,
                       store_complete(recording->store, recording->run, &last),
                       &last);
    recording_fail(recording, run_seal(recording->run, &last), &last);
    recording_fail(recording, recorder_end_store(recording, ending, &last),
                   &last);
    if (!recording->status)
        return ASSAY_OK;
    if (ending->out)
        recorded_release(ending->out);
    return error_set(err, recording->status, "%s", recording->error.text);
}

static enum assay_status recorder_stop(const struct ending *ending,
                                       struct error *err)
{
    struct recording *recording = &recorder.recording;
    struct thread_buffer *own = threads_own;
    unsigned n_open = 0;
    enum assay_status st;

    if (own && atomic_load(&own->generation) == recording->generation)
        n_open = spans_close(own);
    n_open += spans_in_iteration();
    recorder_set(0);
    writer_stop();
    recorder_lock();
    recording->ended.open_at_end += n_open;
    st = recorder_finish(recording, ending, err);
    recording_release(recording);
    recorder_unlock();
    return st;
}

static enum assay_status recorder_stop_if_recording(const struct ending *ending,
                                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (atomic_load(&is_orphan))
        return ASSAY_OK;
    pthread_mutex_lock(&recorder.control);
    if (recorder.recording.generation)
        st = recorder_stop(ending, err);
    pthread_mutex_unlock(&recorder.control);
    return st;
}

enum assay_status record_stop(struct error *err)
{
    return recorder_stop_if_recording(&(struct ending){.store = store_finish},
                                      err);
}

enum assay_status record_stop_run(struct recorded *out, struct error *err)
{
    enum assay_status st;

    *out = (struct recorded){0};
    st = recorder_stop_if_recording(&(struct ending){.out = out}, err);
    if (!st && !out->run)
        st = error_set(err, ASSAY_NOT_FOUND, "nothing was recorded");
    return st;
}

static void recorder_mark(bool is_marking)
{
    if (atomic_load(&is_orphan))
        return;
    pthread_mutex_lock(&recorder.control);
    recorder_set_marking(is_marking && recorder.recording.generation);
    pthread_mutex_unlock(&recorder.control);
}

void record_pause(void)
{
    recorder_mark(false);
}

void record_resume(void)
{
    recorder_mark(true);
}

void record_catch_up(void)
{
    const struct thread_buffer *own = threads_own;

    if (!own || !recorder_has(own) || !thread_buffer_has_much(own))
        return;
    recorder_lock();
    if (recorder_has(own))
        writer_pass(&recorder.recording);
    recorder_unlock();
}

unsigned record_number(void)
{
    return atomic_load(&recorder_generation);
}

uint32_t recorded_scope(const struct recorded *recorded, assay_scope_t scope)
{
    if (scope == ASSAY_SCOPE_ROOT)
        return RUN_ROOT;
    return scope < recorded->n_ids ? recorded->ids[scope] : RUN_NONE;
}

enum assay_status recorded_save(struct recorded *recorded, struct error *err)
{
    struct store_writer *file = recorded->file;

    recorded->file = NULL;
    return file ? store_replace(file, recorded->run, err) : ASSAY_OK;
}

struct run *recorded_take_run(struct recorded *recorded)
{
    struct run *run = recorded->run;

    recorded->run = NULL;
    return run;
}

void recorded_release(struct recorded *recorded)
{
    store_abandon(recorded->file);
    run_free(recorded->run);
    mem_free(recorded->ids);
    *recorded = (struct recorded){0};
}

void recorder_thread_ended(void *ended)
{
    struct thread_buffer *buffer = ended;
    struct recording *recording = &recorder.recording;
    struct error err = {0};
    unsigned n_open = 0;

    if (atomic_load(&is_orphan))
        return;
    if (recorder_has(buffer))
        n_open = spans_close(buffer);
    threads_forget();
    recorder_lock();
    if (recording->generation &&
        atomic_load(&buffer->generation) == recording->generation) {
        recording_fail(
            recording,
            threads_seat_all(recording->run, recording->generation, &err),
            &err);
        recording_drain(recording, buffer);
        health_add(&recording->ended, buffer);
        recording->ended.open_at_end += n_open;
    }
    threads_leave(buffer);
    recorder_unlock();
}

void assay_fact_(const char *key, const char *value)
{
    struct recording *recording = &recorder.recording;
    struct error err = {0};

    if (!key || !value || atomic_load(&recorder_generation) == 0)
        return;
    recorder_lock();
    if (recording->generation)
        recording_fail(recording,
                       run_fact_set(recording->run, key, value, &err), &err);
    recorder_unlock();
}

enum assay_status assay_start(const char *path,
                              const struct assay_options *options,
                              struct assay_error *error)
{
    struct error err = {0};

    return error_export(&err, record_start(path, options, &err), error);
}

enum assay_status assay_stop(struct assay_error *error)
{
    struct error err = {0};

    return error_export(
        &err,
        recorder_stop_if_recording(
            &(struct ending){.store = store_finish_or_keep}, &err),
        error);
}
