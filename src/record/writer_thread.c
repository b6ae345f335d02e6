/* record/writer_thread.c - the thread that empties the buffers.
 *
 * It comes around when a ring is half full or after a pause, and brings the
 * file up to date about once a second, or less often where that is slow, so
 * that the measured program keeps its processors. */
#include "record/record_internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int64_t pause_ns = 50 * 1000 * 1000;
static const int64_t checkpoint_ns = 1000 * 1000 * 1000;

enum { checkpoint_share = 20 }; /* of the time at most: one in twenty */

enum { BELL_WANTED = 1, BELL_ENDING = 2 };

/* A full ring is waited for so long; see thread_buffer.c. The slowest disk
 * takes less. */
static const int64_t patience_ns = INT64_C(10) * 1000 * 1000 * 1000;

static struct {
    pthread_t thread;
    struct recording *recording;
    pthread_mutex_t *lock; /* of the recording */
    int64_t next_checkpoint_ns;

    /* Words that threads sleep on: futex(2) takes no lock, so that a handler
     * may ring whatever it has interrupted. */
    atomic_uint bell;  /* BELL_WANTED, BELL_ENDING */
    atomic_uint space; /* grows when tails have moved */
    atomic_uint n_waiting;
    atomic_llong waited_ns;
} writer;

/* Until the word is no longer what it was, or for a while. */
static void sleep_on(atomic_uint *word, unsigned value, int64_t ns)
{
    struct timespec most = {.tv_sec = ns / 1000000000,
                            .tv_nsec = ns % 1000000000};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &most, NULL, 0);
}

static void wake_all(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void ring(unsigned reason)
{
    if (!(atomic_fetch_or(&writer.bell, reason) & reason))
        wake_all(&writer.bell);
}

void writer_wake(void)
{
    ring(BELL_WANTED);
}

static void tell_space(void)
{
    atomic_fetch_add(&writer.space, 1);
    if (atomic_load(&writer.n_waiting))
        wake_all(&writer.space);
}

static bool is_under_way(const struct thread_buffer *buffer)
{
    return atomic_load(&buffer->generation) ==
           atomic_load(&recorder_generation);
}

static bool is_full(const struct thread_buffer *buffer)
{
    return buffer->next -
               atomic_load_explicit(&buffer->tail, memory_order_acquire) >=
           RING_SPACE;
}

bool writer_wait_for_space(struct thread_buffer *buffer)
{
    int64_t since = clock_monotonic_ns(), gone = 0;

    atomic_fetch_add(&writer.n_waiting, 1);
    while (gone < patience_ns && is_under_way(buffer)) {
        unsigned space = atomic_load(&writer.space);

        if (!is_full(buffer))
            break;
        writer_wake();
        sleep_on(&writer.space, space, patience_ns - gone);
        gone = clock_monotonic_ns() - since;
    }
    atomic_fetch_sub(&writer.n_waiting, 1);
    atomic_fetch_add(&writer.waited_ns, clock_monotonic_ns() - since);
    return !is_full(buffer);
}

int64_t writer_waited_ns(void)
{
    return atomic_load(&writer.waited_ns);
}

bool writer_pass(struct recording *recording)
{
    uint64_t horizon = ticks_now(), stamping;
    struct ticks_pair now = ticks_pair_now();
    struct thread_buffer *buffer = NULL;
    struct error err = {0};
    bool is_busy = false;

    recording_fail(recording, ticks_map_steer(&recording->clock, now, &err),
                   &err);
    given_synchronise(recording, now);
    recording_fail(
        recording,
        threads_seat_all(recording->run, recording->generation, &err), &err);
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
    works_bring_up(recording);
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
    int64_t left = pause_ns, until = clock_monotonic_ns() + pause_ns;

    while (!atomic_load(&writer.bell) && left > 0) {
        sleep_on(&writer.bell, 0, left);
        left = until - clock_monotonic_ns();
    }
    return !(atomic_fetch_and(&writer.bell, BELL_ENDING) & BELL_ENDING);
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

enum assay_status writer_start(struct recording *recording,
                               pthread_mutex_t *lock, struct error *err)
{
    sigset_t all, before;
    int failed;

    writer.recording = recording;
    writer.lock = lock;
    atomic_store(&writer.bell, 0);
    atomic_store(&writer.waited_ns, 0);
    writer.next_checkpoint_ns = clock_monotonic_ns() + checkpoint_ns;

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

/* Who waits for space sees that nothing is recorded any more. */
void writer_stop(void)
{
    ring(BELL_ENDING);
    atomic_fetch_add(&writer.space, 1);
    wake_all(&writer.space);
    pthread_join(writer.thread, NULL);
}
