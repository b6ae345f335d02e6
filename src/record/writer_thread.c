/* record/writer_thread.c - the thread that empties the buffers.
 *
 * It runs when a ring is half full or after a pause, and brings the file up to
 * date about once per second, or less often if that is slow, so that the
 * measured program keeps its processors. */
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

enum { checkpoint_share = 20 }; /* takes at most 1/20 of the time */

enum { BELL_RECORDS = 1, BELL_ENDING = 2 };

/* How long to wait for a full ring; see thread_buffer.c. The slowest disk takes
 * less. */
static const int64_t patience_ns = INT64_C(10) * 1000 * 1000 * 1000;

static struct {
    pthread_t thread;
    struct recording *recording;
    pthread_mutex_t *lock; /* the recording's */
    int64_t next_checkpoint_ns;

    /* Words that threads sleep on: futex(2) takes no lock, so a handler may
     * ring whatever it interrupted. */
    atomic_uint bell;  /* BELL_RECORDS, BELL_ENDING */
    atomic_uint space; /* counts up when tails have moved */
    atomic_uint n_waiting;
    atomic_llong waited_ns;
    atomic_bool is_shown; /* in recordings that start now */
} writer;

void record_show_writer(bool is_shown)
{
    atomic_store(&writer.is_shown, is_shown);
}

bool writer_is_shown(void)
{
    return atomic_load(&writer.is_shown);
}

/* Shows that the writer worked from then until now. The sample is of no module:
 * its lane says what was done. */
static void writer_show(struct recording *recording, enum writer_lane which,
                        uint64_t since)
{
    static const char *const names[] = {[WRITER_DRAINS] =
                                            "assay writer, drains",
                                        [WRITER_SAVES] = "assay writer, saves"};
    uint32_t *lane = &recording->writer_lanes[which];
    struct sample sample = {.scope = RUN_ROOT,
                            .iteration = RUN_NONE,
                            .start_ns = ticks_map_ns(&recording->clock, since),
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};
    struct error err = {0};
    enum assay_status st = ASSAY_OK;

    if (!recording->shows_writer)
        return;
    if (*lane == RUN_NONE)
        st = run_thread_add(recording->run, names[which], THREAD_HELPER, lane,
                            &err);
    recording_fail(recording, st, &err);
    sample.thread = *lane;
    sample.duration_ns =
        ticks_map_ns(&recording->clock, ticks_now()) - sample.start_ns;
    sample.self_ns = sample.duration_ns;
    if (!st && sample.duration_ns >= 0)
        recording_show_helper(recording, &sample);
}

/* Sleeps until the word changes, but at most this long. */
static void writer_sleep_on(atomic_uint *word, unsigned value, int64_t ns)
{
    struct timespec most = {.tv_sec = ns / 1000000000,
                            .tv_nsec = ns % 1000000000};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &most, NULL, 0);
}

static void writer_wake_all(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void writer_ring(unsigned reason)
{
    if (!(atomic_fetch_or(&writer.bell, reason) & reason))
        writer_wake_all(&writer.bell);
}

void writer_wake(void)
{
    writer_ring(BELL_RECORDS);
}

static void writer_announce_space(void)
{
    atomic_fetch_add(&writer.space, 1);
    if (atomic_load(&writer.n_waiting))
        writer_wake_all(&writer.space);
}

static bool writer_is_full(const struct thread_buffer *buffer)
{
    return buffer->next -
               atomic_load_explicit(&buffer->tail, memory_order_acquire) >=
           RING_SPACE;
}

bool writer_wait_for_space(struct thread_buffer *buffer)
{
    int64_t since = clock_monotonic_ns(), gone = 0;

    atomic_fetch_add(&writer.n_waiting, 1);
    while (gone < patience_ns && recorder_has(buffer)) {
        unsigned space = atomic_load(&writer.space);

        if (!writer_is_full(buffer))
            break;
        writer_wake();
        writer_sleep_on(&writer.space, space, patience_ns - gone);
        gone = clock_monotonic_ns() - since;
    }
    atomic_fetch_sub(&writer.n_waiting, 1);
    atomic_fetch_add(&writer.waited_ns, clock_monotonic_ns() - since);
    return !writer_is_full(buffer);
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
        writer_announce_space();
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

static void recording_checkpoint(struct recording *recording)
{
    int64_t now = clock_monotonic_ns(), took;
    uint64_t since = ticks_now();
    struct error err = {0};

    if (!recording->store || now < writer.next_checkpoint_ns)
        return;
    writer_bring_up(recording);
    recording_fail(recording,
                   store_checkpoint(recording->store, recording->run, &err),
                   &err);
    writer_show(recording, WRITER_SAVES, since);
    took = clock_monotonic_ns() - now;
    writer.next_checkpoint_ns =
        now + (took * checkpoint_share > checkpoint_ns ? took * checkpoint_share
                                                       : checkpoint_ns);
}

/* Waits for the bell, at most for a pause. False if the thread must end. */
static bool writer_wait_for_bell(void)
{
    int64_t left = pause_ns, until = clock_monotonic_ns() + pause_ns;

    while (!atomic_load(&writer.bell) && left > 0) {
        writer_sleep_on(&writer.bell, 0, left);
        left = until - clock_monotonic_ns();
    }
    return !(atomic_fetch_and(&writer.bell, BELL_ENDING) & BELL_ENDING);
}

static void *writer_main(void *unused)
{
    pthread_setname_np(pthread_self(), "assay-writer");
    while (writer_wait_for_bell()) {
        uint64_t since;

        pthread_mutex_lock(writer.lock);
        since = ticks_now();
        if (writer_pass(writer.recording))
            writer_wake();
        writer_show(writer.recording, WRITER_DRAINS, since);
        recording_checkpoint(writer.recording);
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

    /* Signals are for the program's own threads. */
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

/* Threads that wait for space see that the recording has ended. */
void writer_stop(void)
{
    writer_ring(BELL_ENDING);
    atomic_fetch_add(&writer.space, 1);
    writer_wake_all(&writer.space);
    pthread_join(writer.thread, NULL);
}
