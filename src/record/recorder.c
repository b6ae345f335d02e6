/* record/recorder.c - starting and stopping; see record.h. */
#include "record/record_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

atomic_uint recorder_generation;

static struct {
    pthread_mutex_t control; /* of starting and stopping */
    bool is_prepared;
    unsigned n_generations;

    pthread_mutex_t lock; /* of the recording */
    struct recording recording;
} recorder = {.control = PTHREAD_MUTEX_INITIALIZER,
              .lock = PTHREAD_MUTEX_INITIALIZER};

static __thread volatile sig_atomic_t is_inside
    __attribute__((tls_model("initial-exec")));

bool recorder_is_inside(void)
{
    return is_inside;
}

static void lock_recording(void)
{
    is_inside = 1;
    pthread_mutex_lock(&recorder.lock);
}

static void unlock_recording(void)
{
    pthread_mutex_unlock(&recorder.lock);
    is_inside = 0;
}

/* In a child that was forked while something was going on: the buffers, the
 * file and the locks are copies of what belongs to the parent. */
static atomic_bool is_orphan;

static void set_marking(bool is_marking)
{
    __atomic_store_n(&assay_is_recording_, is_marking, __ATOMIC_RELAXED);
}

static void set_recording(unsigned generation)
{
    atomic_store(&recorder_generation, generation);
    set_marking(generation != 0);
}

static bool is_free(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex))
        return false;
    pthread_mutex_unlock(mutex);
    return true;
}

static void leave_to_parent(void)
{
    if (atomic_load(&recorder_generation) == 0 && is_free(&recorder.control) &&
        is_free(&recorder.lock))
        return;
    set_recording(0);
    atomic_store(&is_orphan, true);
}

static void stop_at_exit(void)
{
    (void)assay_stop(NULL);
}

/* Once in a process. */
static enum assay_status prepare(struct error *err)
{
    enum assay_status st;
    int failed;

    if (recorder.is_prepared)
        return ASSAY_OK;
    st = threads_prepare(err);
    if (st)
        return st;
    failed = pthread_atfork(NULL, NULL, leave_to_parent);
    if (failed)
        return error_errno(err, failed, "preparing for a fork");
    if (atexit(stop_at_exit))
        return error_set(err, ASSAY_NOMEM, "preparing for the end: atexit()");
    ticks_choose();
    recorder.is_prepared = true;
    return ASSAY_OK;
}

static enum assay_status start_clock(struct ticks_map *clock,
                                     struct ticks_pair first, struct error *err)
{
    static const struct timespec baseline = {.tv_nsec = 2 * 1000 * 1000};

    nanosleep(&baseline, NULL);
    return ticks_map_start(clock, first, ticks_pair_now(), err);
}

static enum assay_status open_recording(struct recording *recording,
                                        const char *path,
                                        const struct assay_options *options,
                                        struct error *err)
{
    struct ticks_pair first = ticks_pair_now();
    enum assay_status st =
        path ? store_open(path, &recording->store, err) : ASSAY_OK;

    recording->keep_all = options->keep_all != 0;
    recording->keep_first = options->keep_first;
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
        st = start_clock(&recording->clock, first, err);
    return st;
}

static enum assay_status
start(const char *path, const struct assay_options *options, struct error *err)
{
    struct recording *recording = &recorder.recording;
    enum assay_status st;

    if (recording->generation)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a recording is under way; stop it before starting "
                         "another");
    st = prepare(err);
    if (st)
        return st;
    threads_reset();
    spans_reset(options->warm_up);
    st = open_recording(recording, path, options, err);
    if (!st) {
        recording->generation = ++recorder.n_generations;
        st = writer_start(recording, &recorder.lock, err);
    }
    if (st) {
        recording_release(recording);
        return st;
    }
    set_recording(recording->generation);
    return ASSAY_OK;
}

/* path NULL: in memory. */
static enum assay_status start_locked(const char *path,
                                      const struct assay_options *options,
                                      struct error *err)
{
    static const struct assay_options defaults;
    enum assay_status st;

    if (atomic_load(&is_orphan))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "the parent of this process records; a forked child "
                         "cannot record, a program it starts can");
    pthread_mutex_lock(&recorder.control);
    lock_recording();
    st = start(path, options ? options : &defaults, err);
    unlock_recording();
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
    return start_locked(path, options, err);
}

enum assay_status record_start_in_memory(const struct assay_options *options,
                                         struct error *err)
{
    if (options && (options->keep_all || options->keep_first))
        return error_set(err, ASSAY_BAD_USAGE,
                         "samples are kept in a file, not in memory");
    return start_locked(NULL, options, err);
}

static enum assay_status set_waited(struct run *run, struct error *err)
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

/* How a recording ends: what is done with its file, or who gets it and the
 * run. */
struct ending {
    store_ending *store;
    struct recorded *out;
};

static enum assay_status end_store(struct recording *recording,
                                   const struct ending *ending,
                                   struct error *err)
{
    struct store_writer *store = recording->store;
    enum assay_status st = ASSAY_OK;

    recording->store = NULL; /* finishing takes it over */
    if (ending->out) {
        *ending->out = (struct recorded){.run = recording->run, .file = store};
        recording->run = NULL;
    } else if (store) {
        st = ending->store(store, recording->run, err);
    }
    return st;
}

/* Takes out what is left, and writes the file, as much as there is even where
 * something failed; answers the first failure. */
static enum assay_status finish(struct recording *recording,
                                const struct ending *ending, struct error *err)
{
    struct error last = {0};

    writer_pass(recording);
    recording_settle(recording, UINT64_MAX);
    writer_bring_up(recording);
    recording_fail(recording,
                   live_finish(&recording->live, recording->run, &last), &last);
    recording_fail(recording, set_waited(recording->run, &last), &last);
    if (ending->out && recording->store)
        recording_fail(recording,
                       store_complete(recording->store, recording->run, &last),
                       &last);
    recording_fail(recording, run_seal(recording->run, &last), &last);
    recording_fail(recording, end_store(recording, ending, &last), &last);
    if (!recording->status)
        return ASSAY_OK;
    if (ending->out)
        recorded_release(ending->out);
    return error_set(err, recording->status, "%s", recording->error.text);
}

static enum assay_status stop(const struct ending *ending, struct error *err)
{
    struct recording *recording = &recorder.recording;
    struct thread_buffer *own = threads_own;
    unsigned n_open = 0;
    enum assay_status st;

    if (own && atomic_load(&own->generation) == recording->generation)
        n_open = spans_close(own);
    n_open += spans_in_iteration();
    set_recording(0);
    writer_stop();
    lock_recording();
    recording->ended.open_at_end += n_open;
    st = finish(recording, ending, err);
    recording_release(recording);
    unlock_recording();
    return st;
}

static enum assay_status stop_if_recording(const struct ending *ending,
                                           struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (atomic_load(&is_orphan))
        return ASSAY_OK;
    pthread_mutex_lock(&recorder.control);
    if (recorder.recording.generation)
        st = stop(ending, err);
    pthread_mutex_unlock(&recorder.control);
    return st;
}

enum assay_status record_stop(struct error *err)
{
    return stop_if_recording(&(struct ending){.store = store_finish}, err);
}

enum assay_status record_stop_run(struct recorded *out, struct error *err)
{
    enum assay_status st;

    *out = (struct recorded){0};
    st = stop_if_recording(&(struct ending){.out = out}, err);
    if (!st && !out->run)
        st = error_set(err, ASSAY_NOT_FOUND, "nothing was recorded");
    return st;
}

static void mark_if_recording(bool is_marking)
{
    if (atomic_load(&is_orphan))
        return;
    pthread_mutex_lock(&recorder.control);
    set_marking(is_marking && recorder.recording.generation);
    pthread_mutex_unlock(&recorder.control);
}

void record_pause(void)
{
    mark_if_recording(false);
}

void record_resume(void)
{
    mark_if_recording(true);
}

void recorder_thread_ended(struct thread_buffer *buffer)
{
    struct recording *recording = &recorder.recording;
    struct error err = {0};
    unsigned n_open = 0;

    if (atomic_load(&is_orphan))
        return;
    if (atomic_load(&buffer->generation) == atomic_load(&recorder_generation))
        n_open = spans_close(buffer);
    threads_forget();
    lock_recording();
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
    unlock_recording();
}

void assay_fact_(const char *key, const char *value)
{
    struct recording *recording = &recorder.recording;
    struct error err = {0};

    if (!key || !value || atomic_load(&recorder_generation) == 0)
        return;
    lock_recording();
    if (recording->generation)
        recording_fail(recording,
                       run_fact_set(recording->run, key, value, &err), &err);
    unlock_recording();
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
        stop_if_recording(&(struct ending){.store = store_finish_or_keep},
                          &err),
        error);
}
