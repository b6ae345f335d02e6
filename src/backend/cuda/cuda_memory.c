/* backend/cuda/cuda_memory.c - see cuda_internal.h: memory of a GPU.
 *
 * The driver's memory is handed out in pieces (cuda_zones.h). All work goes
 * through one stream, so a piece may have a new owner at once: what the new one
 * queues runs after what the old one queued. */
#include "backend/cuda/cuda_zones.h"

#include "backend/cuda/cuda_relay.h"
#include "base/mem.h"

#include <stdlib.h>

/* Pinned memory that copies pass through, so that they need not wait. */
struct staging {
    char *data;
    cu_event is_over; /* the copy that used it last */
    bool is_used;
};

struct cuda_memory {
    struct cuda_zones zones;
    uint32_t zone; /* of what `taker` takes */
    pthread_t taker;
    struct staging staging[RELAY_BUFFERS];
    char *buffers[RELAY_BUFFERS]; /* their data */
    pthread_mutex_t lock;
};

/* ---- taking and giving ----------------------------------------------------
 */

/* What a thread takes that records is of that zone. */
static uint32_t memory_zone(const struct cuda_memory *memory)
{
    return memory->zone && pthread_equal(memory->taker, pthread_self())
               ? memory->zone
               : ZONE_PASSING;
}

static void *memory_take(struct cuda_device *device, size_t bytes,
                         bool is_lasting)
{
    struct cuda_memory *memory;
    cu_pointer at;

    if (cuda_enter(device, NULL))
        return NULL;
    memory = device->memory;
    pthread_mutex_lock(&memory->lock);
    at = zones_take(device, &memory->zones,
                    is_lasting ? ZONE_LASTING : memory_zone(memory), bytes);
    pthread_mutex_unlock(&memory->lock);
    return (void *)(uintptr_t)at;
}

static void *cuda_take(struct space *space, size_t bytes)
{
    return memory_take(cuda_device_of(space), bytes, false);
}

static void *cuda_take_lasting(struct space *space, size_t bytes)
{
    return memory_take(cuda_device_of(space), bytes, true);
}

static void cuda_give(struct space *space, void *data, size_t bytes)
{
    struct cuda_device *device = cuda_device_of(space);
    struct cuda_memory *memory = device->memory;

    (void)bytes;
    pthread_mutex_lock(&memory->lock);
    zones_give(device, &memory->zones, (cu_pointer)(uintptr_t)data);
    pthread_mutex_unlock(&memory->lock);
}

uint32_t cuda_memory_record(struct cuda_device *device)
{
    struct cuda_memory *memory = device->memory;
    uint32_t zone;

    pthread_mutex_lock(&memory->lock);
    zone = memory->zone = ZONE_RECORDED + memory->zones.n_recorded++;
    memory->taker = pthread_self();
    pthread_mutex_unlock(&memory->lock);
    return zone;
}

void cuda_memory_recorded(struct cuda_device *device)
{
    pthread_mutex_lock(&device->memory->lock);
    device->memory->zone = ZONE_PASSING;
    pthread_mutex_unlock(&device->memory->lock);
}

void cuda_memory_forget(struct cuda_device *device, uint32_t zone)
{
    struct cuda_memory *memory = device->memory;

    pthread_mutex_lock(&memory->lock);
    zones_forget(device, &memory->zones, zone);
    pthread_mutex_unlock(&memory->lock);
}

/* ---- copies -------------------------------------------------------------- */

/* A copy through pinned memory. */
struct staged {
    struct cuda_device *device;
    cu_pointer at;
    enum queue_work work;
};

static enum assay_status staged_start(void *context, size_t buffer,
                                      size_t offset, size_t bytes,
                                      struct error *err)
{
    const struct staged *staged = context;
    struct cuda_device *device = staged->device;
    const struct driver_api *cu = cuda_driver();
    struct staging *staging = &device->memory->staging[buffer];
    const char *doing =
        staged->work == QUEUE_COPY_IN ? "copying to it" : "copying from it";
    cu_result result;

    cuda_timing_copy_begin(device, staged->work);
    result = staged->work == QUEUE_COPY_IN
                 ? cu->cuMemcpyHtoDAsync_v2(staged->at + offset, staging->data,
                                            bytes, device->stream)
                 : cu->cuMemcpyDtoHAsync_v2(staging->data, staged->at + offset,
                                            bytes, device->stream);
    cuda_timing_copy_end(device);
    if (!result)
        result = cu->cuEventRecord(staging->is_over, device->stream);
    staging->is_used = true;
    return cuda_check(device, result, doing, err);
}

static enum assay_status staged_is_over(void *context, size_t buffer,
                                        bool waits, bool *is_over,
                                        struct error *err)
{
    enum { not_ready = 600 }; /* CUDA_ERROR_NOT_READY */
    const struct staged *staged = context;
    const struct driver_api *cu = cuda_driver();
    struct staging *staging = &staged->device->memory->staging[buffer];
    cu_result result = 0;

    if (staging->is_used)
        result = cu->cuEventQuery(staging->is_over);
    if (waits && result == not_ready) {
        cuda_timing_waiting(staged->device);
        result = cu->cuEventSynchronize(staging->is_over);
    }
    *is_over = !result;
    staging->is_used = staging->is_used && result;
    return result == not_ready
               ? ASSAY_OK
               : cuda_check(staged->device, result, "running kernels", err);
}

/* The first copy makes the buffers and their events. */
static enum assay_status staging_make(struct cuda_device *device,
                                      struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct cuda_memory *memory = device->memory;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < RELAY_BUFFERS; i++) {
        struct staging *staging = &memory->staging[i];

        if (!staging->data)
            st = cuda_pinned_take(device, RELAY_BYTES, &staging->data, err);
        if (!st && !staging->is_over)
            st = cuda_check(
                device,
                cu->cuEventCreate(&staging->is_over, CU_EVENT_NO_TIMING),
                "making an event", err);
        memory->buffers[i] = staging->data;
    }
    return st;
}

/* `to` or `from` is the host's; the other is NULL. */
static enum assay_status cuda_copy_staged(struct staged staged, void *to,
                                          const void *from, size_t bytes,
                                          struct error *err)
{
    struct cuda_device *device = staged.device;
    enum assay_status st = cuda_enter(device, err);

    if (!st)
        st = cuda_refuse_while_recording(device, err);
    if (st || !bytes)
        return st;
    pthread_mutex_lock(&device->memory->lock);
    st = staging_make(device, err);
    if (!st) {
        struct relay_bus bus = {.start = staged_start,
                                .is_over = staged_is_over,
                                .buffers = device->memory->buffers,
                                .context = &staged};

        st = from ? relay_in(&bus, from, bytes, err)
                  : relay_out(&bus, to, bytes, err);
    }
    if (!st && to)
        st = cuda_fault_check(device, err);
    pthread_mutex_unlock(&device->memory->lock);
    return st;
}

static enum assay_status cuda_copy_in(struct space *space, void *to,
                                      const void *from, size_t bytes,
                                      struct error *err)
{
    struct staged staged = {cuda_device_of(space), (cu_pointer)(uintptr_t)to,
                            QUEUE_COPY_IN};

    return cuda_copy_staged(staged, NULL, from, bytes, err);
}

static enum assay_status cuda_copy_out(struct space *space, void *to,
                                       const void *from, size_t bytes,
                                       struct error *err)
{
    struct staged staged = {cuda_device_of(space), (cu_pointer)(uintptr_t)from,
                            QUEUE_COPY_OUT};

    return cuda_copy_staged(staged, to, NULL, bytes, err);
}

static enum assay_status cuda_copy_within(struct space *space, void *to,
                                          const void *from, size_t bytes,
                                          struct error *err)
{
    struct cuda_device *device = cuda_device_of(space);
    enum assay_status st = cuda_enter(device, err);

    if (st || !bytes)
        return st;
    return cuda_check(device,
                      cuda_driver()->cuMemcpyDtoDAsync_v2(
                          (cu_pointer)(uintptr_t)to,
                          (cu_pointer)(uintptr_t)from, bytes, device->stream),
                      "copying within it", err);
}

static enum assay_status cuda_clear(struct space *space, void *to, size_t bytes,
                                    struct error *err)
{
    struct cuda_device *device = cuda_device_of(space);
    enum assay_status st = cuda_enter(device, err);

    if (st || !bytes)
        return st;
    return cuda_check(device,
                      cuda_driver()->cuMemsetD8Async((cu_pointer)(uintptr_t)to,
                                                     0, bytes, device->stream),
                      "clearing memory", err);
}

/* Where not all may be taken, what is left of that. */
static bool cuda_room(struct space *space, size_t *free_bytes,
                      size_t *total_bytes)
{
    struct cuda_device *device = cuda_device_of(space);
    struct cuda_memory_usage usage;
    size_t left;

    if (cuda_enter(device, NULL) ||
        cuda_driver()->cuMemGetInfo_v2(free_bytes, total_bytes))
        return false;
    usage = cuda_memory_usage(device);
    if (!usage.most_bytes || usage.most_bytes >= *total_bytes)
        return true;
    left = usage.most_bytes - usage.held_bytes;
    *total_bytes = usage.most_bytes;
    *free_bytes = left < *free_bytes ? left : *free_bytes;
    return true;
}

static size_t cuda_spare(struct space *space)
{
    struct cuda_memory_usage usage = cuda_memory_usage(cuda_device_of(space));

    return usage.held_bytes - usage.live_bytes;
}

static void cuda_trim(struct space *space)
{
    struct cuda_device *device = cuda_device_of(space);

    if (cuda_enter(device, NULL))
        return;
    pthread_mutex_lock(&device->memory->lock);
    zones_trim(device, &device->memory->zones);
    pthread_mutex_unlock(&device->memory->lock);
}

const struct space cuda_space = {
    .keeps = true,
    .keeps_recorded = true,
    .room = cuda_room,
    .spare = cuda_spare,
    .trim = cuda_trim,
    .take = cuda_take,
    .take_lasting = cuda_take_lasting,
    .give = cuda_give,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .send = cuda_send,
    .receive = cuda_receive,
    .copy_within = cuda_copy_within,
    .clear = cuda_clear,
};

/* ---- life ---------------------------------------------------------------- */

/* ASSAY_CUDA_MEMORY: how many MiB to hold at most. */
static size_t memory_most(void)
{
    static const size_t most_mib = SIZE_MAX >> 20;
    const char *text = getenv("ASSAY_CUDA_MEMORY");
    unsigned long long mib = text ? strtoull(text, NULL, 10) : 0;

    return (size_t)(mib < most_mib ? mib : most_mib) << 20;
}

enum assay_status cuda_memory_new(struct cuda_device *device, struct error *err)
{
    struct cuda_memory *memory = mem_zalloc(sizeof *memory);

    device->memory = memory;
    if (!memory)
        return error_nomem(err, sizeof *memory, "the memory of a GPU");
    memory->zones.usage.most_bytes = memory_most();
    pthread_mutex_init(&memory->lock, NULL);
    return ASSAY_OK;
}

struct cuda_memory_usage cuda_memory_usage(struct cuda_device *device)
{
    struct cuda_memory_usage usage = {0};

    if (!device->memory)
        return usage;
    pthread_mutex_lock(&device->memory->lock);
    usage = device->memory->zones.usage;
    pthread_mutex_unlock(&device->memory->lock);
    return usage;
}
