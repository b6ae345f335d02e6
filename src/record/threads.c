/* record/threads.c - the threads that take part in the recording.
 *
 * Joining takes no lock and no memory from malloc(3): a thread's first call may
 * come from a signal handler, whatever that interrupted.
 *
 * A lane is a thread in the run. The drainer assigns them. When a thread ends,
 * the next one with the same name continues its lane, so that a program that
 * starts a worker per frame does not end up with a thousand lanes. */
#include "record/record_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { max_comm = 16 }; /* a thread's name in Linux, with its NUL */

static struct {
    pthread_key_t key; /* its destructor runs when a thread ends */
    bool has_key;
    _Atomic(struct thread_buffer *) made; /* all buffers, newest first */
    atomic_uint n_joined;
} threads;

__thread struct thread_buffer *threads_own
    __attribute__((tls_model("initial-exec")));

/* Set while the thread joins; a handler cannot join then. */
static __thread volatile sig_atomic_t is_joining
    __attribute__((tls_model("initial-exec")));

atomic_ullong threads_lost;

enum assay_status threads_prepare(struct error *err)
{
    int failed;

    if (threads.has_key)
        return ASSAY_OK;
    failed = pthread_key_create(&threads.key, recorder_thread_ended);
    if (failed)
        return error_errno(err, failed, "preparing to record threads");
    threads.has_key = true;
    return ASSAY_OK;
}

/* ---- joining and leaving ------------------------------------------------- */

/* The system's name for this thread, if it differs from the program's name,
 * which all threads start with. */
static bool threads_system_name(char name[max_comm])
{
    if (gettid() == getpid()) {
        memcpy(name, "main", sizeof "main");
        return true;
    }
    return pthread_getname_np(pthread_self(), name, max_comm) == 0 && name[0] &&
           strncmp(name, program_invocation_short_name, max_comm - 1) != 0;
}

/* A buffer without an owner, or a new one. */
static struct thread_buffer *threads_take_buffer(void)
{
    struct thread_buffer *buffer = atomic_load(&threads.made);

    for (; buffer; buffer = buffer->next_made) {
        bool is_owned = false;

        if (atomic_compare_exchange_strong(&buffer->is_owned, &is_owned, true))
            return buffer;
    }
    buffer = thread_buffer_new();
    if (!buffer)
        return NULL;
    buffer->next_made = atomic_load(&threads.made);
    while (!atomic_compare_exchange_weak(&threads.made, &buffer->next_made,
                                         buffer))
        ;
    return buffer;
}

static const char *threads_lasting_text(const char *name)
{
    const struct name *known =
        name ? names_intern(NAME_THREADS, name, NULL) : NULL;

    return known ? known->text : NULL;
}

void threads_rename(struct thread_buffer *buffer, const char *name)
{
    const char *text = threads_lasting_text(name);

    if (text)
        atomic_store(&buffer->thread_name, text);
}

/* A buffer for the current recording. A handler may have joined since its
 * thread started to. */
static struct thread_buffer *threads_join_as(const char *name, bool is_default,
                                             bool is_helper)
{
    unsigned generation = atomic_load(&recorder_generation);
    struct thread_buffer *own = threads_own;

    if (generation == 0)
        return NULL;
    if (own && atomic_load(&own->generation) == generation) {
        if (!is_default)
            threads_rename(own, name);
        return own;
    }
    if (!own)
        own = threads_take_buffer();
    if (!own)
        return NULL;
    thread_buffer_reset(own);
    atomic_store(&own->thread_name, threads_lasting_text(name));
    own->joined_as = atomic_fetch_add(&threads.n_joined, 1);
    own->is_helper = is_helper;
    atomic_store(&own->generation, generation);
    threads_own = own;
    /* glibc keeps the first 32 keys in the thread itself. */
    pthread_setspecific(threads.key, own);
    return own;
}

static struct thread_buffer *threads_join_named(const char *name,
                                                bool is_helper)
{
    struct thread_buffer *buffer = NULL;
    int before = errno; /* of the code that a signal interrupted */
    char comm[max_comm];

    if (atomic_load(&recorder_generation) == 0)
        return NULL;
    if (!is_joining) {
        is_joining = 1;
        atomic_signal_fence(memory_order_seq_cst);
        if (name)
            buffer = threads_join_as(name, is_helper, is_helper);
        else
            buffer = threads_join_as(threads_system_name(comm) ? comm : NULL,
                                     true, false);
        atomic_signal_fence(memory_order_seq_cst);
        is_joining = 0;
    }
    errno = before;
    return buffer;
}

struct thread_buffer *threads_join(const char *name)
{
    return threads_join_named(name, false);
}

struct thread_buffer *threads_join_helper(const char *name)
{
    return threads_join_named(name, true);
}

void threads_forget(void)
{
    threads_own = NULL;
    atomic_signal_fence(memory_order_seq_cst);
}

struct thread_buffer *threads_next(const struct thread_buffer *buffer,
                                   unsigned generation)
{
    struct thread_buffer *next =
        buffer ? buffer->next_made : atomic_load(&threads.made);

    while (next && atomic_load(&next->generation) != generation)
        next = next->next_made;
    return next;
}

/* ---- lanes --------------------------------------------------------------- */

/* Under the recording's lock, like everything that drains. */
struct thread_lane {
    const char *name; /* of its thread; NULL: none of its own */
    uint32_t thread;  /* in the run */
    bool is_idle;     /* its thread has ended */
    bool is_helper;
};

static struct {
    struct thread_lane *items;
    size_t n, capacity;
} lanes;

void threads_reset(void)
{
    lanes.n = 0;
    atomic_store(&threads_lost, 0);
}

static bool threads_is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static uint32_t threads_find_idle_lane(const char *name, bool is_helper)
{
    for (size_t i = 0; i < lanes.n; i++) {
        if (lanes.items[i].is_idle && lanes.items[i].is_helper == is_helper &&
            threads_is_same(lanes.items[i].name, name))
            return (uint32_t)i;
    }
    return LANE_NONE;
}

static enum assay_status threads_add_lane(struct run *run, const char *name,
                                          bool is_helper, uint32_t *lane,
                                          struct error *err)
{
    char numbered[32];
    enum assay_status st;
    uint32_t thread;

    if (!vec_grow(&lanes.items, &lanes.capacity, lanes.n + 1,
                  sizeof *lanes.items))
        return error_nomem(err, sizeof *lanes.items, "a thread");
    snprintf(numbered, sizeof numbered, "thread %zu", lanes.n + 1);
    st = run_thread_add(run, name ? name : numbered,
                        is_helper ? THREAD_HELPER : THREAD_CPU, &thread, err);
    if (st)
        return st;
    *lane = (uint32_t)lanes.n;
    lanes.items[lanes.n++] = (struct thread_lane){
        .name = name, .thread = thread, .is_helper = is_helper};
    return ASSAY_OK;
}

enum assay_status threads_seat(struct run *run, struct thread_buffer *buffer,
                               struct error *err)
{
    const char *name = atomic_load(&buffer->thread_name);
    enum assay_status st = ASSAY_OK;
    struct thread_lane *lane;

    if (buffer->lane == LANE_NONE)
        buffer->lane = threads_find_idle_lane(name, buffer->is_helper);
    if (buffer->lane == LANE_NONE)
        st = threads_add_lane(run, name, buffer->is_helper, &buffer->lane, err);
    if (st)
        return st;
    lane = &lanes.items[buffer->lane];
    lane->is_idle = false;
    buffer->thread = lane->thread;
    if (threads_is_same(lane->name, name))
        return ASSAY_OK;
    if (name)
        st = run_thread_rename(run, lane->thread, name, err);
    if (!st)
        lane->name = name;
    return st;
}

/* The first thread to join among those without a lane. */
static struct thread_buffer *threads_next_to_seat(unsigned generation)
{
    struct thread_buffer *buffer = NULL, *first = NULL;

    while ((buffer = threads_next(buffer, generation))) {
        if (buffer->lane == LANE_NONE &&
            (!first || (int)(buffer->joined_as - first->joined_as) < 0))
            first = buffer;
    }
    return first;
}

enum assay_status threads_seat_all(struct run *run, unsigned generation,
                                   struct error *err)
{
    struct thread_buffer *buffer;
    enum assay_status st = ASSAY_OK;

    while (!st && (buffer = threads_next_to_seat(generation)))
        st = threads_seat(run, buffer, err);
    buffer = NULL;
    while (!st && (buffer = threads_next(buffer, generation)))
        st = threads_seat(run, buffer, err);
    return st;
}

void threads_leave(struct thread_buffer *buffer)
{
    if (buffer->lane != LANE_NONE && buffer->lane < lanes.n &&
        recorder_has(buffer))
        lanes.items[buffer->lane].is_idle = true;
    atomic_store(&buffer->generation, 0);
    atomic_store(&buffer->is_owned, false);
}
