/* See far_space.h. */
#include "tensor/far_space.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { most_waiting = 40 }; /* jobs that the worker leaves alone */

struct job {
    struct far_timing timing;
    far_run *run;
    void *context;
    void (*release)(void *context);
    struct far_failure *failure; /* of an end: see far_queue_end() */
    struct job *next;
};

/* Bytes at the beginning of a piece that is given back: more than any tensor
 * here has, but a test may take all there is. */
enum { most_poisoned = 64 << 20 };

/* A piece of the mapping that nobody has, in a list by address. */
struct hole {
    size_t at, bytes;
    struct hole *next;
};

/* What was sent, and has not been received: it is read only then. */
struct sending {
    void *to;
    const void *from;
    size_t bytes;
    struct sending *next;
};

struct far {
    struct space space;
    char *addresses; /* PROT_NONE */
    char *bytes;     /* the same memory, for the worker */
    size_t n_bytes, live_bytes;
    struct hole *holes;
    struct sending *sent;
    uint64_t n_sent;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t worker;
    struct job *first, **last; /* waiting */
    struct job *done, **last_done;
    uint64_t n_queued, n_run, n_wanted;
    uint64_t random;
    bool is_ending;
    enum assay_status status; /* of the first job that failed */
    struct error error;
};

/* ---- the queue ----------------------------------------------------------- */

static unsigned far_patience(struct far *far)
{
    far->random = far->random * UINT64_C(6364136223846793005) +
                  UINT64_C(1442695040888963407);
    return (unsigned)(far->random >> 33) % most_waiting;
}

static void far_run_job(struct far *far, struct job *job)
{
    struct error err = {0};
    enum assay_status st = far->status;

    job->timing.begin_ns = clock_monotonic_ns();
    if (!st)
        st = job->run(job->context, &err);
    job->timing.end_ns = clock_monotonic_ns();
    if (job->release)
        job->release(job->context);
    pthread_mutex_lock(&far->lock);
    if (st && !far->status) {
        far->status = st;
        far->error = err;
    }
    if (job->failure) {
        *job->failure = (struct far_failure){far->status, far->error};
        far->status = ASSAY_OK;
        far->error = (struct error){0};
    }
    job->next = NULL;
    *far->last_done = job;
    far->last_done = &job->next;
    far->n_run++;
    pthread_cond_broadcast(&far->changed);
}

static void *far_work(void *context)
{
    struct far *far = context;
    unsigned patience = 0;

    pthread_mutex_lock(&far->lock);
    for (;;) {
        struct job *job = far->first;
        bool is_due = far->n_wanted > far->n_run || far->is_ending ||
                      far->n_queued - far->n_run > patience;

        if (job && is_due) {
            far->first = job->next;
            if (!far->first)
                far->last = &far->first;
            pthread_mutex_unlock(&far->lock);
            far_run_job(far, job); /* takes the lock again */
            patience = far_patience(far);
        } else if (far->is_ending) {
            break;
        } else {
            pthread_cond_wait(&far->changed, &far->lock);
        }
    }
    pthread_mutex_unlock(&far->lock);
    return NULL;
}

static enum assay_status job_queue(struct far *far, struct job filled,
                                   struct error *err)
{
    struct job *job = mem_zalloc(sizeof *job);

    if (!job) {
        if (filled.release)
            filled.release(filled.context);
        return error_nomem(err, sizeof *job, "a job of a queue");
    }
    *job = filled;
    job->timing.launched_ns = clock_monotonic_ns();
    pthread_mutex_lock(&far->lock);
    *far->last = job;
    far->last = &job->next;
    far->n_queued++;
    pthread_cond_broadcast(&far->changed);
    pthread_mutex_unlock(&far->lock);
    return ASSAY_OK;
}

enum assay_status far_queue(struct far *far, uint32_t tag, far_run *run,
                            void *context, void (*release)(void *context),
                            struct error *err)
{
    return job_queue(far,
                     (struct job){.timing = {.tag = tag},
                                  .run = run,
                                  .context = context,
                                  .release = release},
                     err);
}

static enum assay_status run_nothing(void *context, struct error *err)
{
    (void)context, (void)err;
    return ASSAY_OK;
}

enum assay_status far_queue_end(struct far *far, struct far_failure *to,
                                struct error *err)
{
    return job_queue(far, (struct job){.run = run_nothing, .failure = to}, err);
}

uint64_t far_queued(struct far *far)
{
    uint64_t n;

    pthread_mutex_lock(&far->lock);
    n = far->n_queued;
    pthread_mutex_unlock(&far->lock);
    return n;
}

void far_reach(struct far *far, uint64_t n)
{
    pthread_mutex_lock(&far->lock);
    if (far->n_wanted < n)
        far->n_wanted = n;
    pthread_cond_broadcast(&far->changed);
    while (far->n_run < n)
        pthread_cond_wait(&far->changed, &far->lock);
    pthread_mutex_unlock(&far->lock);
}

struct far *far_of_space(struct space *space)
{
    return (struct far *)space;
}

enum assay_status far_wait(struct far *far, struct error *err)
{
    enum assay_status st;

    pthread_mutex_lock(&far->lock);
    far->n_wanted = far->n_queued;
    pthread_cond_broadcast(&far->changed);
    while (far->n_run < far->n_wanted)
        pthread_cond_wait(&far->changed, &far->lock);
    st = far->status;
    if (st)
        st = error_set(err, st, "%s", far->error.text);
    far->status = ASSAY_OK;
    far->error = (struct error){0};
    pthread_mutex_unlock(&far->lock);
    return st;
}

void far_timings(struct far *far,
                 void (*visit)(void *context, const struct far_timing *timing),
                 void *context)
{
    struct job *job, *next;

    pthread_mutex_lock(&far->lock);
    job = far->done;
    far->done = NULL;
    far->last_done = &far->done;
    pthread_mutex_unlock(&far->lock);
    for (; job; job = next) {
        next = job->next;
        if (visit)
            visit(context, &job->timing);
        mem_free(job);
    }
}

/* ---- copies -------------------------------------------------------------- */

/* A copy or a filling that waits in the queue. */
struct transfer {
    struct far *far;
    void *to;
    const void *from; /* NULL: every byte becomes `byte` */
    size_t bytes;
    unsigned char byte;
    char staged[]; /* what came from the host */
};

static enum assay_status transfer_run(void *context, struct error *err)
{
    const struct transfer *transfer = context;
    void *to = far_near(transfer->far, transfer->to);

    (void)err;
    if (transfer->from)
        memcpy(to, far_near(transfer->far, transfer->from), transfer->bytes);
    else
        memset(to, transfer->byte, transfer->bytes);
    return ASSAY_OK;
}

static enum assay_status transfer_queue(struct far *far, struct transfer filled,
                                        const void *staged, struct error *err)
{
    size_t bytes = sizeof filled + (staged ? filled.bytes : 0);
    struct transfer *transfer = mem_alloc(bytes);

    if (!transfer)
        return error_nomem(err, bytes, "a copy");
    *transfer = filled;
    transfer->far = far;
    if (staged)
        transfer->from = memcpy(transfer->staged, staged, filled.bytes);
    return far_queue(far, 0, transfer_run, transfer, mem_free, err);
}

static enum assay_status far_copy_in(struct space *space, void *to,
                                     const void *from, size_t bytes,
                                     struct error *err)
{
    return transfer_queue(far_of_space(space),
                          (struct transfer){.to = to, .bytes = bytes}, from,
                          err);
}

static enum assay_status far_send(struct space *space, void *to,
                                  const void *from, size_t bytes,
                                  struct error *err)
{
    struct far *far = far_of_space(space);
    struct sending *sending = mem_alloc(sizeof *sending);

    if (!sending)
        return error_nomem(err, sizeof *sending, "a copy");
    *sending = (struct sending){to, from, bytes, far->sent};
    far->sent = sending;
    far->n_sent++;
    return ASSAY_OK;
}

uint64_t far_sent(struct space *space)
{
    return far_of_space(space)->n_sent;
}

static enum assay_status far_receive(struct space *space, struct error *err)
{
    struct far *far = far_of_space(space);
    enum assay_status st = ASSAY_OK;

    while (far->sent) {
        struct sending *sending = far->sent;

        far->sent = sending->next;
        if (!st)
            st = far_copy_in(space, sending->to, sending->from, sending->bytes,
                             err);
        mem_free(sending);
    }
    return st;
}

static enum assay_status far_copy_within(struct space *space, void *to,
                                         const void *from, size_t bytes,
                                         struct error *err)
{
    return transfer_queue(
        far_of_space(space),
        (struct transfer){.to = to, .from = from, .bytes = bytes}, NULL, err);
}

static enum assay_status far_copy_out(struct space *space, void *to,
                                      const void *from, size_t bytes,
                                      struct error *err)
{
    enum assay_status st = far_copy_within(space, to, from, bytes, err);

    return st ? st : far_wait(far_of_space(space), err);
}

static enum assay_status far_clear(struct space *space, void *to, size_t bytes,
                                   struct error *err)
{
    return transfer_queue(far_of_space(space),
                          (struct transfer){.to = to, .bytes = bytes}, NULL,
                          err);
}

/* ---- memory -------------------------------------------------------------- */

void *far_near(struct far *far, const void *address)
{
    uintptr_t at = (uintptr_t)address - (uintptr_t)far->addresses;

    return at < far->n_bytes ? far->bytes + at : (void *)(uintptr_t)address;
}

static size_t rounded(size_t bytes)
{
    return (bytes + SPACE_ALIGNMENT) / SPACE_ALIGNMENT * SPACE_ALIGNMENT;
}

static void *far_take(struct space *space, size_t bytes)
{
    struct far *far = far_of_space(space);
    struct hole **at = &far->holes, *used = NULL;
    void *taken = NULL;

    bytes = rounded(bytes);
    pthread_mutex_lock(&far->lock);
    while (*at && (*at)->bytes < bytes)
        at = &(*at)->next;
    if (*at) {
        taken = far->addresses + (*at)->at;
        (*at)->at += bytes;
        (*at)->bytes -= bytes;
        far->live_bytes += bytes;
        if (!(*at)->bytes) {
            used = *at;
            *at = used->next;
        }
    }
    pthread_mutex_unlock(&far->lock);
    mem_free(used);
    return taken;
}

/* Joins the hole with its neighbour where they touch. */
static void join_next(struct hole *hole)
{
    struct hole *next = hole->next;

    if (!next || hole->at + hole->bytes != next->at)
        return;
    hole->bytes += next->bytes;
    hole->next = next->next;
    mem_free(next);
}

static void far_give(struct space *space, void *data, size_t bytes)
{
    struct far *far = far_of_space(space);
    struct hole **at = &far->holes, *before = NULL;
    struct hole *hole = mem_zalloc(sizeof *hole);
    struct error ignored = {0};
    size_t poisoned;

    bytes = rounded(bytes);
    poisoned = bytes < most_poisoned ? bytes : most_poisoned;
    (void)transfer_queue(
        far, (struct transfer){.to = data, .bytes = poisoned, .byte = 0xff},
        NULL, &ignored);
    pthread_mutex_lock(&far->lock);
    far->live_bytes -= bytes;
    if (hole) { /* or it is lost: a test that lets memory fail */
        *hole = (struct hole){.at = (size_t)((char *)data - far->addresses),
                              .bytes = bytes};
        while (*at && (*at)->at < hole->at) {
            before = *at;
            at = &(*at)->next;
        }
        hole->next = *at;
        *at = hole;
        join_next(hole);
        if (before)
            join_next(before);
    }
    pthread_mutex_unlock(&far->lock);
}

static bool far_room(struct space *space, size_t *free_bytes,
                     size_t *total_bytes)
{
    struct far *far = (struct far *)space;

    *total_bytes = far->n_bytes;
    *free_bytes = far->n_bytes - far_live_bytes(far);
    return true;
}

size_t far_live_bytes(struct far *far)
{
    size_t bytes;

    pthread_mutex_lock(&far->lock);
    bytes = far->live_bytes;
    pthread_mutex_unlock(&far->lock);
    return bytes;
}

/* ---- life ---------------------------------------------------------------- */

struct space *far_space(struct far *far)
{
    return &far->space;
}

static bool far_map(struct far *far)
{
    int fd = memfd_create("far", MFD_CLOEXEC);
    bool is_sized = fd >= 0 && !ftruncate(fd, (off_t)far->n_bytes);

    far->addresses = far->bytes = MAP_FAILED;
    if (is_sized) {
        far->addresses = mmap(NULL, far->n_bytes, PROT_NONE, MAP_SHARED, fd, 0);
        far->bytes =
            mmap(NULL, far->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    return far->addresses != MAP_FAILED && far->bytes != MAP_FAILED;
}

struct far *far_new(const char *name, size_t bytes)
{
    struct far *far = mem_zalloc(sizeof *far);

    if (!far)
        return NULL;
    far->space = (struct space){.name = name,
                                .keeps = true,
                                .take = far_take,
                                .give = far_give,
                                .room = far_room,
                                .copy_in = far_copy_in,
                                .copy_out = far_copy_out,
                                .send = far_send,
                                .receive = far_receive,
                                .copy_within = far_copy_within,
                                .clear = far_clear};
    far->n_bytes = bytes;
    far->last = &far->first;
    far->last_done = &far->done;
    far->holes = mem_zalloc(sizeof *far->holes);
    if (!far->holes || !far_map(far))
        abort();
    far->holes->bytes = bytes;
    pthread_mutex_init(&far->lock, NULL);
    pthread_cond_init(&far->changed, NULL);
    if (pthread_create(&far->worker, NULL, far_work, far))
        abort();
    return far;
}

void far_free(struct far *far)
{
    pthread_mutex_lock(&far->lock);
    far->is_ending = true;
    pthread_cond_broadcast(&far->changed);
    pthread_mutex_unlock(&far->lock);
    pthread_join(far->worker, NULL);
    far_timings(far, NULL, NULL);
    while (far->holes) {
        struct hole *next = far->holes->next;

        mem_free(far->holes);
        far->holes = next;
    }
    munmap(far->addresses, far->n_bytes);
    munmap(far->bytes, far->n_bytes);
    pthread_mutex_destroy(&far->lock);
    pthread_cond_destroy(&far->changed);
    mem_free(far);
}
