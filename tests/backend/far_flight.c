/* See far.h: passes in flight. Inputs are written at once, past the queue, as
 * early as a device could: whoever sends into memory that a queued pass still
 * reads gets wrong results. */
#include "backend/far.h"

#include "base/clock.h"
#include "base/mem.h"
#include "tensor/far_space.h"

#include <string.h>

struct flight {
    struct backend *backend;
    struct far *far;
    char *results;
    size_t n_bytes, n_used;
    uint64_t last; /* of its jobs in the queue */
    struct flight_times ran;
    struct far_failure failure;
};

static void far_flight_free(struct flight *flight)
{
    if (!flight)
        return;
    far_reach(flight->far, flight->last);
    mem_free(flight->results);
    mem_free(flight);
}

static enum assay_status far_flight_make(struct backend *backend,
                                         size_t in_bytes, size_t out_bytes,
                                         struct flight **out, struct error *err)
{
    struct flight *flight = mem_zalloc(sizeof *flight);

    (void)in_bytes;
    *out = NULL;
    if (!flight)
        return error_nomem(err, sizeof *flight, "a flight");
    flight->backend = backend;
    flight->far = far_of_space(backend->device->space);
    flight->n_bytes = out_bytes;
    flight->results = mem_alloc(out_bytes + 1);
    if (!flight->results) {
        mem_free(flight);
        return error_nomem(err, out_bytes, "results");
    }
    far_reach(flight->far, far_queued(flight->far));
    *out = flight;
    return ASSAY_OK;
}

static enum assay_status far_flight_send(struct flight *flight, void *to,
                                         const void *from, size_t bytes,
                                         struct error *err)
{
    (void)err;
    memcpy(far_near(flight->far, to), from, bytes);
    return ASSAY_OK;
}

static enum assay_status flight_note_time(void *ns, struct error *err)
{
    (void)err;
    *(int64_t *)ns = clock_monotonic_ns();
    return ASSAY_OK;
}

static enum assay_status
far_flight_launch(struct flight *flight,
                  const struct backend_recording *recording, struct error *err)
{
    struct far *far = flight->far;
    enum assay_status st =
        far_queue(far, 0, flight_note_time, &flight->ran.begin_ns, NULL, err);

    flight->n_used = 0;
    if (!st)
        st = flight->backend->class->recording_run(flight->backend, recording,
                                                   err);
    if (!st)
        st = far_queue_end(far, &flight->failure, err);
    if (!st)
        st =
            far_queue(far, 0, flight_note_time, &flight->ran.end_ns, NULL, err);
    flight->last = far_queued(far);
    return st;
}

struct far_fetch {
    void *to;
    const void *from;
    size_t bytes;
};

static enum assay_status far_fetch_run(void *context, struct error *err)
{
    const struct far_fetch *fetch = context;

    (void)err;
    memcpy(fetch->to, fetch->from, fetch->bytes);
    return ASSAY_OK;
}

static enum assay_status far_flight_fetch(struct flight *flight,
                                          const void *from, size_t bytes,
                                          const void **at, struct error *err)
{
    struct far_fetch *fetch = mem_alloc(sizeof *fetch);
    enum assay_status st;

    *at = flight->results + flight->n_used;
    if (!fetch || bytes > flight->n_bytes - flight->n_used) {
        mem_free(fetch);
        return error_nomem(err, bytes, "a result");
    }
    *fetch = (struct far_fetch){flight->results + flight->n_used,
                                far_near(flight->far, from), bytes};
    flight->n_used += bytes;
    st = far_queue(flight->far, 0, far_fetch_run, fetch, mem_free, err);
    flight->last = far_queued(flight->far);
    return st;
}

static enum assay_status far_flight_wait(struct flight *flight,
                                         struct error *err)
{
    enum assay_status st;

    far_reach(flight->far, flight->last);
    st = flight->failure.status;
    if (st)
        st = error_set(err, st, "%s", flight->failure.error.text);
    flight->failure = (struct far_failure){0};
    return st;
}

static struct flight_times far_flight_times(struct flight *flight)
{
    return flight->ran;
}

const struct flight_class far_flights = {
    .make = far_flight_make,
    .free = far_flight_free,
    .send = far_flight_send,
    .launch = far_flight_launch,
    .fetch = far_flight_fetch,
    .wait = far_flight_wait,
    .times = far_flight_times,
};
