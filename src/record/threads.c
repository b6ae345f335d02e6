/* record/threads.c - the threads that take part in the recording.
 *
 * A lane is a thread as the run knows it. When a thread ends, the next one of
 * the same name continues its lane, so that a program that starts a worker a
 * frame does not end with a thousand of them. */
#include "record/record_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { max_comm = 16 }; /* of a thread in Linux, with its NUL */

struct lane {
    char *name;
    bool is_default; /* nobody has given it a name */
    bool is_idle;    /* its thread is gone */
    bool is_renamed; /* since it was written */
};

static struct {
    pthread_mutex_t mutex;
    pthread_key_t key; /* its destructor tells that a thread ends */
    bool has_key;
    struct thread_buffer *made; /* all buffers */
    struct lane *lanes;
    size_t n_lanes, lanes_capacity;
} threads = {.mutex = PTHREAD_MUTEX_INITIALIZER};

__thread struct thread_buffer *threads_own
    __attribute__((tls_model("initial-exec")));

atomic_ullong threads_lost;

static void thread_ended(void *buffer)
{
    recorder_thread_ended(buffer);
}

enum assay_status threads_prepare(struct error *err)
{
    int failed;

    if (threads.has_key)
        return ASSAY_OK;
    failed = pthread_key_create(&threads.key, thread_ended);
    if (failed)
        return error_errno(err, failed, "preparing to record threads");
    threads.has_key = true;
    return ASSAY_OK;
}

void threads_reset(void)
{
    pthread_mutex_lock(&threads.mutex);
    for (size_t i = 0; i < threads.n_lanes; i++)
        mem_free(threads.lanes[i].name);
    threads.n_lanes = 0;
    pthread_mutex_unlock(&threads.mutex);
    atomic_store(&threads_lost, 0);
}

/* What the system calls this thread, where that says more than the program's
 * own name, which all threads begin with. */
static bool system_name(char name[max_comm])
{
    if (gettid() == getpid()) {
        snprintf(name, max_comm, "main");
        return true;
    }
    return pthread_getname_np(pthread_self(), name, max_comm) == 0 && name[0] &&
           strncmp(name, program_invocation_short_name, max_comm - 1) != 0;
}

static bool find_idle_lane(const char *name, uint32_t *index)
{
    for (size_t i = 0; i < threads.n_lanes; i++) {
        const struct lane *lane = &threads.lanes[i];

        if (lane->is_idle &&
            (name ? strcmp(lane->name, name) == 0 : lane->is_default)) {
            *index = (uint32_t)i;
            return true;
        }
    }
    return false;
}

static bool add_lane(const char *name, uint32_t *index)
{
    struct lane lane = {.is_default = !name, .is_idle = true};
    struct lane *moved = vec_reserve(threads.lanes, &threads.lanes_capacity,
                                     threads.n_lanes + 1, sizeof *moved);
    char numbered[32];

    if (!moved)
        return false;
    threads.lanes = moved;
    snprintf(numbered, sizeof numbered, "thread %zu", threads.n_lanes + 1);
    lane.name = mem_strdup(name ? name : numbered);
    if (!lane.name)
        return false;
    *index = (uint32_t)threads.n_lanes;
    threads.lanes[threads.n_lanes++] = lane;
    return true;
}

static struct thread_buffer *take_buffer(void)
{
    struct thread_buffer **at = &threads.made;

    while (*at && (*at)->is_owned)
        at = &(*at)->next_made;
    if (!*at)
        *at = thread_buffer_new();
    if (*at)
        (*at)->is_owned = true;
    return *at;
}

/* A buffer with a lane in the recording that is under way now. */
static struct thread_buffer *join(const char *name)
{
    unsigned generation = atomic_load(&recorder_generation);
    struct thread_buffer *own = threads_own;
    uint32_t lane;

    if (generation == 0)
        return NULL;
    if (!find_idle_lane(name, &lane) && !add_lane(name, &lane))
        return NULL;
    if (!own)
        own = take_buffer();
    if (!own)
        return NULL;
    threads.lanes[lane].is_idle = false;
    thread_buffer_reset(own);
    own->lane = lane;
    own->generation = generation;
    threads_own = own;
    return own;
}

struct thread_buffer *threads_join(const char *name)
{
    struct thread_buffer *buffer;
    char comm[max_comm];

    if (atomic_load(&recorder_generation) == 0)
        return NULL;
    if (!name && system_name(comm))
        name = comm;
    pthread_mutex_lock(&threads.mutex);
    buffer = join(name);
    pthread_mutex_unlock(&threads.mutex);
    if (!buffer)
        atomic_fetch_add(&threads_lost, 1);
    else
        pthread_setspecific(threads.key, buffer);
    return buffer;
}

static bool is_taking_part(const struct thread_buffer *buffer)
{
    return buffer->generation &&
           buffer->generation == atomic_load(&recorder_generation);
}

void threads_rename(struct thread_buffer *buffer, const char *name)
{
    char *copy = mem_strdup(name);

    if (!copy)
        return;
    pthread_mutex_lock(&threads.mutex);
    if (is_taking_part(buffer)) {
        struct lane *lane = &threads.lanes[buffer->lane];
        char *old = lane->name;

        *lane = (struct lane){.name = copy, .is_renamed = true};
        copy = old;
    }
    pthread_mutex_unlock(&threads.mutex);
    mem_free(copy);
}

void threads_leave(struct thread_buffer *buffer)
{
    pthread_mutex_lock(&threads.mutex);
    if (is_taking_part(buffer))
        threads.lanes[buffer->lane].is_idle = true;
    buffer->generation = 0;
    buffer->is_owned = false;
    pthread_mutex_unlock(&threads.mutex);
    threads_own = NULL;
}

struct thread_buffer *threads_next(const struct thread_buffer *buffer,
                                   unsigned generation)
{
    struct thread_buffer *next;

    pthread_mutex_lock(&threads.mutex);
    next = buffer ? buffer->next_made : threads.made;
    while (next && next->generation != generation)
        next = next->next_made;
    pthread_mutex_unlock(&threads.mutex);
    return next;
}

enum assay_status threads_write(struct run *run, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    pthread_mutex_lock(&threads.mutex);
    for (size_t i = 0; i < threads.n_lanes && !st; i++) {
        struct lane *lane = &threads.lanes[i];
        uint32_t id;

        if (i >= run_thread_count(run))
            st = run_thread_add(run, lane->name, THREAD_CPU, &id, err);
        else if (lane->is_renamed)
            st = run_thread_rename(run, (uint32_t)i, lane->name, err);
        lane->is_renamed = lane->is_renamed && st;
    }
    pthread_mutex_unlock(&threads.mutex);
    return st;
}
