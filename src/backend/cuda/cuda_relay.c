/* backend/cuda/cuda_relay.c - see cuda_relay.h. */
#include "backend/cuda/cuda_relay.h"

#include "base/processor.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* What a thread copies at a time. */
enum { slice_bytes = 256 << 10, slices_per_part = RELAY_BYTES / slice_bytes };

struct relay {
    const struct relay_bus *bus;
    char *to;         /* the host's memory: one of both */
    const char *from; /* the other is NULL */
    size_t bytes, n_slices, n_parts;
    atomic_size_t next;                  /* slice that nobody has taken */
    atomic_size_t n_open;                /* parts that may be copied */
    atomic_size_t copied[RELAY_BUFFERS]; /* slices of the part in a buffer */
    size_t n_started;                    /* parts on the bus, or past it */
    bool waits;                          /* there is nobody else */
    pthread_t caller;
    enum assay_status st;
    struct error *err;
};

static size_t relay_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t part_bytes(const struct relay *relay, size_t part)
{
    return relay_min(relay->bytes - part * RELAY_BYTES, RELAY_BYTES);
}

static bool part_is_copied(struct relay *relay, size_t part)
{
    size_t slices = (part_bytes(relay, part) + slice_bytes - 1) / slice_bytes;

    return atomic_load(&relay->copied[part % RELAY_BUFFERS]) == slices;
}

/* ---- the threads ----------------------------------------------------------
 */

/* Copies one slice, if there is one. */
static bool slice_copy(struct relay *relay)
{
    size_t i = atomic_load(&relay->next), part, at, n;
    char *buffer;

    do {
        if (i >= relay->n_slices ||
            i / slices_per_part >= atomic_load(&relay->n_open))
            return false;
    } while (!atomic_compare_exchange_weak(&relay->next, &i, i + 1));
    part = i / slices_per_part;
    at = i * slice_bytes;
    n = relay_min(relay->bytes - at, slice_bytes);
    buffer = relay->bus->buffers[part % RELAY_BUFFERS] + at % RELAY_BYTES;
    if (relay->from)
        memcpy(buffer, relay->from + at, n);
    else
        memcpy(relay->to + at, buffer, n);
    atomic_fetch_add(&relay->copied[part % RELAY_BUFFERS], 1);
    return true;
}

static void relay_help(struct relay *relay)
{
    while (atomic_load(&relay->next) < relay->n_slices) {
        if (!slice_copy(relay))
            sched_yield();
    }
}

/* ---- the caller -----------------------------------------------------------
 */

static bool buffer_is_over(struct relay *relay, size_t buffer)
{
    bool is_over = false;

    relay->st = relay->bus->is_over(relay->bus->context, buffer, relay->waits,
                                    &is_over, relay->err);
    return !relay->st && is_over;
}

static void part_start(struct relay *relay)
{
    size_t part = relay->n_started++;

    relay->st = relay->bus->start(relay->bus->context, part % RELAY_BUFFERS,
                                  part * RELAY_BYTES, part_bytes(relay, part),
                                  relay->err);
}

/* A part may be copied as soon as the bus is done with its buffer, and goes on
 * the bus once it is copied. */
static void drive_in(struct relay *relay)
{
    size_t open = atomic_load(&relay->n_open);

    if (open < relay->n_parts && open < relay->n_started + RELAY_BUFFERS &&
        buffer_is_over(relay, open % RELAY_BUFFERS)) {
        atomic_store(&relay->copied[open % RELAY_BUFFERS], 0);
        atomic_store(&relay->n_open, open + 1);
    }
    if (!relay->st && relay->n_started < atomic_load(&relay->n_open) &&
        part_is_copied(relay, relay->n_started))
        part_start(relay);
}

/* A part goes on the bus as soon as the one before it in its buffer is copied,
 * and may be copied once it is there. */
static void drive_out(struct relay *relay)
{
    size_t open = atomic_load(&relay->n_open);

    if (relay->n_started < relay->n_parts &&
        (relay->n_started < RELAY_BUFFERS ||
         (relay->n_started - RELAY_BUFFERS < open &&
          part_is_copied(relay, relay->n_started - RELAY_BUFFERS)))) {
        atomic_store(&relay->copied[relay->n_started % RELAY_BUFFERS], 0);
        part_start(relay);
    }
    if (!relay->st && open < relay->n_started &&
        buffer_is_over(relay, open % RELAY_BUFFERS))
        atomic_store(&relay->n_open, open + 1);
}

static bool relay_is_done(struct relay *relay)
{
    if (relay->from)
        return relay->n_started == relay->n_parts;
    return atomic_load(&relay->n_open) == relay->n_parts &&
           atomic_load(&relay->next) >= relay->n_slices;
}

static void relay_drive(struct relay *relay)
{
    while (!relay->st && !relay_is_done(relay)) {
        if (relay->from)
            drive_in(relay);
        else
            drive_out(relay);
        if (!relay->st && !slice_copy(relay) && !relay->waits)
            sched_yield();
    }
    if (relay->st)
        atomic_store(&relay->next, relay->n_slices); /* the others stop */
}

/* ---- the whole ------------------------------------------------------------
 */

/* A bus is faster than one thread copies; half of many processors are left to
 * those who load the next pictures. */
static int relay_threads(void)
{
    enum { few = 4, many = 8 };
    int n = processor_count();

    if (n <= 2 * few)
        return n < few ? n : few;
    return n / 2 < many ? n / 2 : many;
}

static enum assay_status relay_run(struct relay *relay)
{
    int threads = relay_threads();

    relay->n_slices = (relay->bytes + slice_bytes - 1) / slice_bytes;
    relay->n_parts = (relay->bytes + RELAY_BYTES - 1) / RELAY_BYTES;
    relay->caller = pthread_self();
    if (relay->n_slices < (size_t)threads)
        threads = (int)relay->n_slices;
    relay->waits = threads < 2;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        if (pthread_equal(pthread_self(), relay->caller))
            relay_drive(relay);
        else
            relay_help(relay);
    }
    return relay->st;
}

enum assay_status relay_in(const struct relay_bus *bus, const void *from,
                           size_t bytes, struct error *err)
{
    struct relay relay = {.bus = bus, .from = from, .bytes = bytes, .err = err};

    return bytes ? relay_run(&relay) : ASSAY_OK;
}

enum assay_status relay_out(const struct relay_bus *bus, void *to, size_t bytes,
                            struct error *err)
{
    struct relay relay = {.bus = bus, .to = to, .bytes = bytes, .err = err};

    return bytes ? relay_run(&relay) : ASSAY_OK;
}
