/* backend/cuda/cuda_flight.c - see flight.h: CUDA graphs in flight.
 *
 * Graphs are launched on the stream of all kernels. Copies to the GPU and from
 * it have a stream each, and events tie them to the graph they belong to, so
 * that the bus and the kernels work at the same time. */
#include "backend/cuda/cuda_internal.h"
#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

/* Of a device: for the life of the process. */
struct cuda_lanes {
    cu_stream in, out;
    cu_event anchor;   /* whose time both clocks know */
    int64_t anchor_ns; /* on the host's */
};

/* Memory of the host's that the bus can read and write. */
struct lane_memory {
    char *data;
    size_t bytes, used;
    bool is_pinned;
};

enum flight_event { FLIGHT_SENT, FLIGHT_BEGIN, FLIGHT_END, FLIGHT_FETCHED };
enum { n_flight_events = FLIGHT_FETCHED + 1 };

struct flight {
    struct cuda *cuda;
    cu_event events[n_flight_events];
    struct lane_memory in, out;
    struct lane_memory fault; /* what kernels of the pass found wrong */
    bool is_launched;         /* and nobody has waited for it */
    bool has_fetched;         /* since it was waited for */
};

/* ---- memory ---------------------------------------------------------------
 */

static enum assay_status lane_memory_take(struct cuda_device *device,
                                          struct lane_memory *memory,
                                          size_t bytes, struct error *err)
{
    void *data = NULL;
    cu_result result;

    if (!bytes)
        return ASSAY_OK;
    result = cuda_driver()->cuMemHostAlloc(&data, bytes, 0);
    memory->is_pinned = !result;
    if (result && !device->why_not_pinned.status)
        (void)cuda_check(device, result, "taking pinned memory",
                         &device->why_not_pinned);
    if (result)
        data = mem_alloc_aligned(SPACE_ALIGNMENT, bytes);
    memory->data = data;
    memory->bytes = data ? bytes : 0;
    return data ? ASSAY_OK
                : error_nomem(err, bytes, "copies between the host and a GPU");
}

static void lane_memory_give(struct lane_memory *memory)
{
    if (memory->data && memory->is_pinned)
        (void)cuda_driver()->cuMemFreeHost(memory->data);
    else
        mem_free(memory->data);
    *memory = (struct lane_memory){0};
}

/* A piece of it; NULL: there is no room left. */
static char *lane_memory_piece(struct lane_memory *memory, size_t bytes)
{
    size_t at = memory->used;

    if (at > memory->bytes || bytes > memory->bytes - at)
        return NULL;
    memory->used =
        (at + bytes + SPACE_ALIGNMENT - 1) / SPACE_ALIGNMENT * SPACE_ALIGNMENT;
    return memory->data + at;
}

/* ---- life -----------------------------------------------------------------
 */

/* The first flight makes them. What a failure leaves behind is little, and the
 * GPU is not used further then. */
static enum assay_status lanes_make(struct cuda_device *device,
                                    struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct cuda_lanes *lanes;
    cu_result result;

    if (device->lanes)
        return ASSAY_OK;
    lanes = mem_zalloc(sizeof *lanes);
    if (!lanes)
        return error_nomem(err, sizeof *lanes, "copies to a GPU");
    result = cu->cuStreamCreate(&lanes->in, CU_STREAM_NON_BLOCKING);
    if (!result)
        result = cu->cuStreamCreate(&lanes->out, CU_STREAM_NON_BLOCKING);
    if (!result)
        result = cu->cuEventCreate(&lanes->anchor, CU_EVENT_DEFAULT);
    if (result)
        mem_free(lanes);
    else
        device->lanes = lanes;
    return cuda_check(device, result, "making a stream", err);
}

/* Times are given as float32 milliseconds since the anchor: each flight that is
 * made renews it. */
static enum assay_status lanes_anchor(struct cuda_device *device,
                                      struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct cuda_lanes *lanes = device->lanes;
    cu_result result = cu->cuEventRecord(lanes->anchor, lanes->in);

    if (!result)
        result = cu->cuEventSynchronize(lanes->anchor);
    lanes->anchor_ns = clock_monotonic_ns();
    return cuda_check(device, result, "timing passes", err);
}

static void cuda_flight_free(struct flight *flight)
{
    const struct driver_api *cu = cuda_driver();
    struct cuda_device *device;

    if (!flight)
        return;
    device = flight->cuda->device;
    if (!cuda_enter(device, NULL)) {
        (void)cu->cuStreamSynchronize(device->lanes->in);
        (void)cu->cuStreamSynchronize(device->stream);
        (void)cu->cuStreamSynchronize(device->lanes->out);
        for (size_t i = 0; i < n_flight_events; i++) {
            if (flight->events[i])
                (void)cu->cuEventDestroy_v2(flight->events[i]);
        }
        lane_memory_give(&flight->in);
        lane_memory_give(&flight->out);
        lane_memory_give(&flight->fault);
    }
    mem_free(flight);
}

static enum assay_status cuda_flight_equip(struct flight *flight,
                                           size_t in_bytes, size_t out_bytes,
                                           struct error *err)
{
    struct cuda_device *device = flight->cuda->device;
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < n_flight_events; i++) {
        bool is_timed = i == FLIGHT_BEGIN || i == FLIGHT_END;

        st = cuda_check(device,
                        cuda_driver()->cuEventCreate(
                            &flight->events[i],
                            is_timed ? CU_EVENT_DEFAULT : CU_EVENT_NO_TIMING),
                        "making an event", err);
    }
    if (!st)
        st = lane_memory_take(device, &flight->in, in_bytes, err);
    if (!st)
        st = lane_memory_take(device, &flight->out, out_bytes, err);
    if (!st)
        st = lane_memory_take(device, &flight->fault,
                              CUDA_FAULT_WORDS * sizeof(int64_t), err);
    if (!st)
        memset(flight->fault.data, 0, flight->fault.bytes);
    return st;
}

/* Kernels that are queued may still use what will be sent to. */
static enum assay_status cuda_flight_follow(struct flight *flight,
                                            struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct cuda_device *device = flight->cuda->device;
    cu_event queued = flight->events[FLIGHT_SENT];
    cu_result result = cu->cuEventRecord(queued, device->stream);

    if (!result)
        result = cu->cuStreamWaitEvent(device->lanes->in, queued, 0);
    return cuda_check(device, result, "copying to it", err);
}

static enum assay_status cuda_flight_make(struct backend *backend,
                                          size_t in_bytes, size_t out_bytes,
                                          struct flight **out,
                                          struct error *err)
{
    struct cuda *cuda = (struct cuda *)backend;
    struct flight *flight = NULL;
    enum assay_status st = cuda_enter(cuda->device, err);

    *out = NULL;
    if (!st)
        st = lanes_make(cuda->device, err);
    if (!st)
        st = lanes_anchor(cuda->device, err);
    if (!st)
        flight = mem_zalloc(sizeof *flight);
    if (!st && !flight)
        st = error_nomem(err, sizeof *flight, "a pass in flight");
    if (st)
        return st;
    flight->cuda = cuda;
    st = cuda_flight_equip(flight, in_bytes, out_bytes, err);
    if (!st)
        st = cuda_flight_follow(flight, err);
    if (st)
        cuda_flight_free(flight);
    else
        *out = flight;
    return st;
}

/* ---- a pass ----------------------------------------------------------------
 */

static enum assay_status cuda_flight_send(struct flight *flight, void *to,
                                          const void *from, size_t bytes,
                                          struct error *err)
{
    struct cuda_device *device = flight->cuda->device;
    char *piece = lane_memory_piece(&flight->in, bytes);
    enum assay_status st = cuda_enter(device, err);

    if (st || !bytes)
        return st;
    if (!piece)
        return error_nomem(err, bytes, "an input of a pass in flight");
    memcpy(piece, from, bytes);
    return cuda_check(
        device,
        cuda_driver()->cuMemcpyHtoDAsync_v2((cu_pointer)(uintptr_t)to, piece,
                                            bytes, device->lanes->in),
        "copying to it", err);
}

static enum assay_status
cuda_flight_launch(struct flight *flight,
                   const struct backend_recording *recording, struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct cuda_device *device = flight->cuda->device;
    cu_event *events = flight->events;
    enum assay_status st = cuda_enter(device, err);
    cu_result result;

    if (st)
        return st;
    flight->in.used = flight->out.used = 0;
    flight->has_fetched = false;
    result = cu->cuEventRecord(events[FLIGHT_SENT], device->lanes->in);
    if (!result)
        result = cu->cuStreamWaitEvent(device->stream, events[FLIGHT_SENT], 0);
    if (!result)
        result = cu->cuEventRecord(events[FLIGHT_BEGIN], device->stream);
    st = cuda_check(device, result, "launching a pass", err);
    if (!st)
        st = cuda_recording_run(&flight->cuda->base, recording, err);
    if (st)
        return st;
    cuda_fault_keep(device, (int64_t *)(void *)flight->fault.data);
    result = cu->cuEventRecord(events[FLIGHT_END], device->stream);
    if (!result)
        result =
            cu->cuStreamWaitEvent(device->lanes->out, events[FLIGHT_END], 0);
    flight->is_launched = !result;
    return cuda_check(device, result, "launching a pass", err);
}

static enum assay_status cuda_flight_fetch(struct flight *flight,
                                           const void *from, size_t bytes,
                                           const void **at, struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct cuda_device *device = flight->cuda->device;
    char *piece = lane_memory_piece(&flight->out, bytes);
    enum assay_status st = cuda_enter(device, err);
    cu_result result;

    *at = piece;
    if (st || !bytes)
        return st;
    if (!piece)
        return error_nomem(err, bytes, "a result of a pass in flight");
    result = cu->cuMemcpyDtoHAsync_v2(piece, (cu_pointer)(uintptr_t)from, bytes,
                                      device->lanes->out);
    if (!result)
        result = cu->cuEventRecord(flight->events[FLIGHT_FETCHED],
                                   device->lanes->out);
    flight->has_fetched |= !result;
    return cuda_check(device, result, "copying from it", err);
}

static enum assay_status cuda_flight_wait(struct flight *flight,
                                          struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct cuda_device *device = flight->cuda->device;
    enum assay_status st = cuda_enter(device, err);
    cu_result result = 0;

    if (st)
        return st;
    if (flight->is_launched)
        result = cu->cuEventSynchronize(flight->events[FLIGHT_END]);
    if (!result && flight->has_fetched)
        result = cu->cuEventSynchronize(flight->events[FLIGHT_FETCHED]);
    flight->is_launched = flight->has_fetched = false;
    st = cuda_check(device, result, "running kernels", err);
    if (!st)
        st =
            cuda_fault_told(device, (int64_t *)(void *)flight->fault.data, err);
    return st;
}

/* On the host's clock. */
static bool cuda_flight_moment(const struct flight *flight,
                               enum flight_event event, int64_t *ns)
{
    const struct cuda_lanes *lanes = flight->cuda->device->lanes;
    float ms = 0;
    bool is_known = !cuda_driver()->cuEventElapsedTime(&ms, lanes->anchor,
                                                       flight->events[event]);

    *ns = lanes->anchor_ns + (int64_t)((double)ms * 1e6);
    return is_known;
}

static struct flight_times cuda_flight_times(struct flight *flight)
{
    struct flight_times times;

    if (cuda_enter(flight->cuda->device, NULL) ||
        !cuda_flight_moment(flight, FLIGHT_BEGIN, &times.begin_ns) ||
        !cuda_flight_moment(flight, FLIGHT_END, &times.end_ns))
        times = (struct flight_times){0};
    return times;
}

const struct flight_class cuda_flights = {
    .make = cuda_flight_make,
    .free = cuda_flight_free,
    .send = cuda_flight_send,
    .launch = cuda_flight_launch,
    .fetch = cuda_flight_fetch,
    .wait = cuda_flight_wait,
    .times = cuda_flight_times,
};
