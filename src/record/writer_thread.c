/* record/writer_thread.c - the thread that empties the buffers.
 *
 * It comes around when a ring is half full or after a pause, and brings the
 * file up to date about once a second, or less often where that is slow, so
 * that the measured program keeps its processors. */
#include "record/record_internal.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

static const int64_t pause_ns = 50 * 1000 * 1000;
static const int64_t checkpoint_ns = 1000 * 1000 * 1000;

enum { checkpoint_share = 20 }; /* of the time at most: one in twenty */

static struct {
    pthread_t thread;
    struct recording *recording;
    pthread_mutex_t *lock; /* of the recording */
    int64_t next_checkpoint_ns;

    pthread_mutex_t bell_mutex;
    pthread_cond_t bell;  /* is_wanted or is_ending */
    pthread_cond_t space; /* tails have moved */
    bool is_wanted, is_ending;
    int64_t waited_ns;
} writer = {.bell_mutex = PTHREAD_MUTEX_INITIALIZER,
            .space = PTHREAD_COND_INITIALIZER};

void writer_wake(void)
{
    pthread_mutex_lock(&writer.bell_mutex);
    writer.is_wanted = true;
    pthread_cond_signal(&writer.bell);
    pthread_mutex_unlock(&writer.bell_mutex);
}

static void tell_space(void)
{
    pthread_mutex_lock(&writer.bell_mutex);
    pthread_cond_broadcast(&writer.space);
    pthread_mutex_unlock(&writer.bell_mutex);
}

static bool is_under_way(const struct thread_buffer *buffer)
{
    return buffer->generation == atomic_load(&recorder_generation);
}

static bool is_full(const struct thread_buffer *buffer)
{
    return buffer->next -
               atomic_load_explicit(&buffer->tail, memory_order_acquire) >=
           RING_RECORDS;
}

bool writer_wait_for_space(struct thread_buffer *buffer)
{
    int64_t since = clock_monotonic_ns();

    pthread_mutex_lock(&writer.bell_mutex);
    while (is_full(buffer) && is_under_way(buffer)) {
        writer.is_wanted = true;
        pthread_cond_signal(&writer.bell);
        pthread_cond_wait(&writer.space, &writer.bell_mutex);
    }
    writer.waited_ns += clock_monotonic_ns() - since;
    pthread_mutex_unlock(&writer.bell_mutex);
    return !is_full(buffer);
}

int64_t writer_waited_ns(void)
{
    int64_t waited_ns;

    pthread_mutex_lock(&writer.bell_mutex);
    waited_ns = writer.waited_ns;
    pthread_mutex_unlock(&writer.bell_mutex);
    return waited_ns;
}

bool writer_pass(struct recording *recording)
{
    uint64_t horizon = ticks_now(), stamping;
    struct thread_buffer *buffer = NULL;
    struct error err = {0};
    bool is_busy = false;

    recording_fail(recording,
                   ticks_map_steer(&recording->clock, ticks_pair_now(), &err),
                   &err);
    recording_fail(recording, threads_write(recording->run, &err), &err);
    while ((buffer = threads_next(buffer, recording->generation))) {
        uint64_t before = atomic_load(&buffer->tail);

        stamping = atomic_load(&buffer->stamping);
        if (stamping < horizon)
            horizon = stamping;
        recording_drain(recording, buffer);
        tell_space();
        is_busy |= atomic_load(&buffer->tail) - before >= RING_RECORDS / 2;
    }
    recording_settle(recording, horizon);
    return is_busy;
}

void writer_bring_up(struct recording *recording)
{
    struct run_health *health = run_health(recording->run);
    struct thread_buffer *buffer = NULL;
    struct error err = {0};

    *health = recording->ended;
    health->lost_spans += atomic_load(&threads_lost);
    while ((buffer = threads_next(buffer, recording->generation)))
        health_add(health, buffer);
    if (recording->detail)
        recording_fail(recording,
                       detail_keep(recording->detail, recording->run, &err),
                       &err);
}

static void checkpoint(struct recording *recording)
{
    int64_t now = clock_monotonic_ns(), took;
    struct error err = {0};

    if (!recording->store || now < writer.next_checkpoint_ns)
        return;
    writer_bring_up(recording);
    recording_fail(recording,
                   store_checkpoint(recording->store, recording->run, &err),
                   &err);
    took = clock_monotonic_ns() - now;
    writer.next_checkpoint_ns =
        now + (took * checkpoint_share > checkpoint_ns ? took * checkpoint_share
                                                       : checkpoint_ns);
}

/* Waits until it is wanted, at most for a pause. False when it is to end. */
static bool wait_for_bell(void)
{
    int64_t until = clock_monotonic_ns() + pause_ns;
    struct timespec deadline = {.tv_sec = until / 1000000000,
                                .tv_nsec = until % 1000000000};
    bool goes_on;
    int failed = 0;

    pthread_mutex_lock(&writer.bell_mutex);
    while (!writer.is_wanted && !writer.is_ending && !failed)
        failed =
            pthread_cond_timedwait(&writer.bell, &writer.bell_mutex, &deadline);
    writer.is_wanted = false;
    goes_on = !writer.is_ending;
    pthread_mutex_unlock(&writer.bell_mutex);
    return goes_on;
}

static void *writer_main(void *unused)
{
    pthread_setname_np(pthread_self(), "assay-writer");
    while (wait_for_bell()) {
        pthread_mutex_lock(writer.lock);
        if (writer_pass(writer.recording))
            writer_wake();
        checkpoint(writer.recording);
        pthread_mutex_unlock(writer.lock);
    }
    return unused;
}

/* The bell's pauses must not follow changes of the wall clock. */
enum assay_status writer_prepare(struct error *err)
{
    pthread_condattr_t attributes;
    int failed = pthread_condattr_init(&attributes);

    if (!failed) {
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        failed = pthread_cond_init(&writer.bell, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    return failed ? error_errno(err, failed, "preparing the writer thread")
                  : ASSAY_OK;
}

enum assay_status writer_start(struct recording *recording,
                               pthread_mutex_t *lock, struct error *err)
{
    sigset_t all, before;
    int failed;

    pthread_mutex_lock(&writer.bell_mutex);
    writer.recording = recording;
    writer.lock = lock;
    writer.is_wanted = writer.is_ending = false;
    writer.waited_ns = 0;
    writer.next_checkpoint_ns = clock_monotonic_ns() + checkpoint_ns;
    pthread_mutex_unlock(&writer.bell_mutex);

    /* The program's signals are for the program's own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&writer.thread, NULL, writer_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == EAGAIN)
        return error_set(err, ASSAY_NOMEM,
                         "no memory for the recorder's thread; raise the limit "
                         "(ulimit -v, ulimit -u)");
    return failed ? error_errno(err, failed, "starting the writer thread")
                  : ASSAY_OK;
}

void writer_stop(void)
{
    pthread_mutex_lock(&writer.bell_mutex);
    writer.is_ending = true;
    pthread_cond_signal(&writer.bell);
    pthread_cond_broadcast(&writer.space);
    pthread_mutex_unlock(&writer.bell_mutex);
    pthread_join(writer.thread, NULL);
}
