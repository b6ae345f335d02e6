/* backend/cuda/cuda_memory.c - see cuda_internal.h: memory of a GPU.
 *
 * The driver's memory is taken in large segments and handed out in pieces, best
 * fit, joined again when they come back. All work goes through one stream, so a
 * piece may have a new owner at once: what the new one queues runs after what
 * the old one queued. Segments go back to the driver only when it has no other
 * memory left, or when they are asked for.
 *
 * A recorded pass reads and writes at the same addresses for as long as it
 * lives: what it was given is a zone of its own, and so are weights, which
 * would otherwise stand in the way of what passes leave. */
#include "backend/cuda/cuda_internal.h"

#include "backend/cuda/cuda_relay.h"
#include "base/mem.h"

enum { piece_bytes = 512 }; /* what sizes are rounded to */
/* Least from the driver, and least for what lasts. */
static const size_t segment_bytes = (size_t)64 << 20;
static const size_t lasting_bytes = (size_t)16 << 20;

enum { ZONE_PASSING, ZONE_LASTING, ZONE_RECORDED }; /* and those after it */

/* A part of a segment, free or not; neighbours are in order of address. */
struct piece {
    cu_pointer at;
    size_t bytes;
    bool is_free, is_first; /* is_first: a segment begins here */
    uint32_t zone;
    struct piece *next, *before;
};

/* Pinned memory that copies pass through, so that they need not wait. */
struct staging {
    char *data;
    cu_event is_over; /* the copy that used it last */
    bool is_used;
};

struct cuda_memory {
    struct piece *first;
    struct cuda_memory_usage usage;
    uint32_t zone, n_zones; /* of what `taker` takes */
    pthread_t taker;
    struct staging staging[RELAY_BUFFERS];
    char *buffers[RELAY_BUFFERS]; /* their data */
    pthread_mutex_t lock;
};

/* ---- pieces -------------------------------------------------------------- */

static size_t piece_size(size_t bytes)
{
    return (bytes + !bytes + piece_bytes - 1) / piece_bytes * piece_bytes;
}

/* Whether it is small beside the maps of a recorded pass, of whose memory it
 * takes the end: among them it would leave holes. */
static bool is_small(size_t bytes, uint32_t zone)
{
    static const size_t small_bytes = (size_t)16 << 20;

    return zone >= ZONE_RECORDED && bytes < small_bytes;
}

/* The one that fits best; of what is small, the last. */
static struct piece *find_piece(const struct cuda_memory *memory, size_t bytes,
                                uint32_t zone)
{
    struct piece *best = NULL;

    for (struct piece *at = memory->first; at; at = at->next) {
        if (at->is_free && at->zone == zone && at->bytes >= bytes &&
            (!best || is_small(bytes, zone) || at->bytes < best->bytes))
            best = at;
    }
    return best;
}

static void piece_insert(struct cuda_memory *memory, struct piece *piece,
                         struct piece *before)
{
    struct piece **link = before ? &before->next : &memory->first;

    piece->before = before;
    piece->next = *link;
    if (piece->next)
        piece->next->before = piece;
    *link = piece;
}

static void piece_remove(struct cuda_memory *memory, struct piece *piece)
{
    *(piece->before ? &piece->before->next : &memory->first) = piece->next;
    if (piece->next)
        piece->next->before = piece->before;
    mem_free(piece);
}

/* A segment from the driver as one free piece; NULL: it has none. */
static struct piece *segment_add(struct cuda_memory *memory, size_t bytes,
                                 uint32_t zone)
{
    struct piece *piece = mem_zalloc(sizeof *piece), *before = NULL;
    size_t least = zone == ZONE_LASTING ? lasting_bytes : segment_bytes;
    size_t wanted = bytes < least ? least : bytes;
    cu_result result;

    if (!piece)
        return NULL;
    wanted = (wanted + (2 << 20) - 1) >> 21 << 21; /* the driver's own pages */
    result = cuda_driver()->cuMemAlloc_v2(&piece->at, wanted);
    if (result && wanted > bytes) {
        wanted = bytes;
        result = cuda_driver()->cuMemAlloc_v2(&piece->at, wanted);
    }
    if (result) {
        mem_free(piece);
        return NULL;
    }
    piece->bytes = wanted;
    piece->zone = zone;
    piece->is_free = piece->is_first = true;
    for (struct piece *at = memory->first; at && at->at < piece->at;
         at = at->next)
        before = at;
    piece_insert(memory, piece, before);
    memory->usage.held_bytes += wanted;
    if (memory->usage.held_bytes > memory->usage.held_peak_bytes)
        memory->usage.held_peak_bytes = memory->usage.held_bytes;
    return piece;
}

static bool is_whole_segment(const struct piece *piece)
{
    return piece->is_free && piece->is_first && piece->zone < ZONE_RECORDED &&
           (!piece->next || piece->next->is_first);
}

/* Gives segments back that nobody uses. */
static void segments_trim(struct cuda_device *device)
{
    struct cuda_memory *memory = device->memory;

    if (device->is_recording)
        return;
    (void)cuda_driver()->cuStreamSynchronize(device->stream);
    for (struct piece *at = memory->first, *next; at; at = next) {
        next = at->next;
        if (is_whole_segment(at) && !cuda_driver()->cuMemFree_v2(at->at)) {
            memory->usage.held_bytes -= at->bytes;
            piece_remove(memory, at);
        }
    }
}

/* Cuts a free piece in two; NULL: there is no memory for its description. */
static struct piece *piece_split(struct cuda_memory *memory,
                                 struct piece *piece, size_t bytes)
{
    struct piece *rest = mem_zalloc(sizeof *rest);

    if (!rest)
        return NULL;
    *rest = (struct piece){.at = piece->at + bytes,
                           .bytes = piece->bytes - bytes,
                           .zone = piece->zone,
                           .is_free = true};
    piece->bytes = bytes;
    piece_insert(memory, rest, piece);
    return rest;
}

/* The part of a free piece that is taken; what is left stays free. */
static struct piece *piece_cut(struct cuda_memory *memory, struct piece *piece,
                               size_t bytes)
{
    struct piece *end;

    if (piece->bytes == bytes)
        return piece;
    if (!is_small(bytes, piece->zone)) {
        (void)piece_split(memory, piece, bytes);
        return piece;
    }
    end = piece_split(memory, piece, piece->bytes - bytes);
    return end ? end : piece;
}

/* What a thread takes that records is of that zone. */
static uint32_t memory_zone(const struct cuda_memory *memory)
{
    return memory->zone && pthread_equal(memory->taker, pthread_self())
               ? memory->zone
               : ZONE_PASSING;
}

/* With the lock. */
static void *memory_take(struct cuda_device *device, size_t bytes,
                         uint32_t zone)
{
    struct cuda_memory *memory = device->memory;
    struct piece *piece;
    cu_pointer at = 0;

    bytes = piece_size(bytes);
    piece = find_piece(memory, bytes, zone);
    if (!piece)
        piece = segment_add(memory, bytes, zone);
    if (!piece) {
        segments_trim(device);
        piece = segment_add(memory, bytes, zone);
    }
    if (piece) {
        piece = piece_cut(memory, piece, bytes);
        piece->is_free = false;
        memory->usage.live_bytes += piece->bytes;
        at = piece->at;
    }
    return (void *)(uintptr_t)at;
}

static void *cuda_take(struct space *space, size_t bytes)
{
    struct cuda_device *device = cuda_device_of(space);
    void *data;

    if (cuda_enter(device, NULL))
        return NULL;
    pthread_mutex_lock(&device->memory->lock);
    data = memory_take(device, bytes, memory_zone(device->memory));
    pthread_mutex_unlock(&device->memory->lock);
    return data;
}

static void *cuda_take_lasting(struct space *space, size_t bytes)
{
    struct cuda_device *device = cuda_device_of(space);
    void *data;

    if (cuda_enter(device, NULL))
        return NULL;
    pthread_mutex_lock(&device->memory->lock);
    data = memory_take(device, bytes, ZONE_LASTING);
    pthread_mutex_unlock(&device->memory->lock);
    return data;
}

/* Joins a free piece with the one after it. */
static void piece_join(struct cuda_memory *memory, struct piece *piece)
{
    struct piece *next = piece->next;

    if (!next || !piece->is_free || !next->is_free || next->is_first ||
        next->zone != piece->zone)
        return;
    piece->bytes += next->bytes;
    piece_remove(memory, next);
}

static void cuda_give(struct space *space, void *data, size_t bytes)
{
    struct cuda_memory *memory = cuda_device_of(space)->memory;
    struct piece *piece;

    (void)bytes;
    pthread_mutex_lock(&memory->lock);
    piece = memory->first;
    while (piece && piece->at != (cu_pointer)(uintptr_t)data)
        piece = piece->next;
    if (piece) {
        piece->is_free = true;
        memory->usage.live_bytes -= piece->bytes;
        piece_join(memory, piece);
        if (piece->before)
            piece_join(memory, piece->before);
    }
    pthread_mutex_unlock(&memory->lock);
}

uint32_t cuda_memory_record(struct cuda_device *device)
{
    struct cuda_memory *memory = device->memory;
    uint32_t zone;

    pthread_mutex_lock(&memory->lock);
    zone = memory->zone = ZONE_RECORDED + memory->n_zones++;
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
    for (struct piece *at = memory->first; at; at = at->next) {
        if (at->zone == zone)
            at->zone = ZONE_PASSING;
    }
    for (struct piece *at = memory->first; at;) {
        struct piece *next = at->next;

        piece_join(memory, at);
        at = at->next == next ? next : at;
    }
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
        result = waits ? cu->cuEventSynchronize(staging->is_over)
                       : cu->cuEventQuery(staging->is_over);
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
            st = cuda_check(
                device,
                cu->cuMemHostAlloc((void **)&staging->data, RELAY_BYTES, 0),
                "taking pinned memory", err);
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

static bool cuda_room(struct space *space, size_t *free_bytes,
                      size_t *total_bytes)
{
    struct cuda_device *device = cuda_device_of(space);

    return !cuda_enter(device, NULL) &&
           !cuda_driver()->cuMemGetInfo_v2(free_bytes, total_bytes);
}

static void cuda_trim(struct space *space)
{
    struct cuda_device *device = cuda_device_of(space);

    if (cuda_enter(device, NULL))
        return;
    pthread_mutex_lock(&device->memory->lock);
    segments_trim(device);
    pthread_mutex_unlock(&device->memory->lock);
}

const struct space cuda_space = {
    .keeps_recorded = true,
    .room = cuda_room,
    .trim = cuda_trim,
    .take = cuda_take,
    .take_lasting = cuda_take_lasting,
    .give = cuda_give,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .copy_within = cuda_copy_within,
    .clear = cuda_clear,
};

/* ---- life ---------------------------------------------------------------- */

enum assay_status cuda_memory_new(struct cuda_device *device, struct error *err)
{
    struct cuda_memory *memory = mem_zalloc(sizeof *memory);

    device->memory = memory;
    if (!memory)
        return error_nomem(err, sizeof *memory, "the memory of a GPU");
    pthread_mutex_init(&memory->lock, NULL);
    return ASSAY_OK;
}

struct cuda_memory_usage cuda_memory_usage(struct cuda_device *device)
{
    struct cuda_memory_usage usage = {0};

    if (!device->memory)
        return usage;
    pthread_mutex_lock(&device->memory->lock);
    usage = device->memory->usage;
    pthread_mutex_unlock(&device->memory->lock);
    return usage;
}
