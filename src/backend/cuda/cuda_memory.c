/* backend/cuda/cuda_memory.c - see cuda_internal.h: memory of a GPU.
 *
 * The driver's memory is taken in large segments and handed out in pieces, best
 * fit, joined again when they come back. All work goes through one stream, so a
 * piece may have a new owner at once: what the new one queues runs after what
 * the old one queued. Segments go back to the driver only when it has no other
 * memory left. */
#include "backend/cuda/cuda_internal.h"

#include "base/mem.h"
#include "base/processor.h"

#include <string.h>

enum { piece_bytes = 512 }; /* what sizes are rounded to */
static const size_t segment_bytes = (size_t)64
                                    << 20; /* least from the driver */
static const size_t staging_bytes = (size_t)2 << 20;
enum { n_staging = 4 };

/* A part of a segment, free or not; neighbours are in order of address. */
struct piece {
    cu_pointer at;
    size_t bytes;
    bool is_free, is_first; /* is_first: a segment begins here */
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
    struct staging staging[n_staging];
    unsigned turn;
    pthread_mutex_t lock;
};

/* ---- pieces -------------------------------------------------------------- */

static size_t piece_size(size_t bytes)
{
    return (bytes + !bytes + piece_bytes - 1) / piece_bytes * piece_bytes;
}

static struct piece *find_piece(const struct cuda_memory *memory, size_t bytes)
{
    struct piece *best = NULL;

    for (struct piece *at = memory->first; at; at = at->next) {
        if (at->is_free && at->bytes >= bytes &&
            (!best || at->bytes < best->bytes))
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
static struct piece *segment_add(struct cuda_memory *memory, size_t bytes)
{
    struct piece *piece = mem_zalloc(sizeof *piece), *before = NULL;
    size_t wanted = bytes < segment_bytes ? segment_bytes : bytes;
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
    return piece->is_free && piece->is_first &&
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

/* Cuts what is not needed off; without memory for its description it stays. */
static void piece_cut(struct cuda_memory *memory, struct piece *piece,
                      size_t bytes)
{
    struct piece *rest;

    if (piece->bytes == bytes)
        return;
    rest = mem_zalloc(sizeof *rest);
    if (!rest)
        return;
    *rest = (struct piece){.at = piece->at + bytes,
                           .bytes = piece->bytes - bytes,
                           .is_free = true};
    piece->bytes = bytes;
    piece_insert(memory, rest, piece);
}

static void *cuda_take(struct space *space, size_t bytes)
{
    struct cuda_device *device = cuda_device_of(space);
    struct cuda_memory *memory;
    struct piece *piece;
    cu_pointer at = 0;

    if (cuda_enter(device, NULL))
        return NULL;
    memory = device->memory;
    bytes = piece_size(bytes);
    pthread_mutex_lock(&memory->lock);
    piece = find_piece(memory, bytes);
    if (!piece)
        piece = segment_add(memory, bytes);
    if (!piece) {
        segments_trim(device);
        piece = segment_add(memory, bytes);
    }
    if (piece) {
        piece_cut(memory, piece, bytes);
        piece->is_free = false;
        memory->usage.live_bytes += piece->bytes;
        at = piece->at;
    }
    pthread_mutex_unlock(&memory->lock);
    return (void *)(uintptr_t)at;
}

/* Joins a free piece with the one after it. */
static void piece_join(struct cuda_memory *memory, struct piece *piece)
{
    struct piece *next = piece->next;

    if (!next || !piece->is_free || !next->is_free || next->is_first)
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

/* ---- copies -------------------------------------------------------------- */

/* The next staging buffer, once the copy that used it last is over. */
static enum assay_status staging_wait(struct cuda_device *device,
                                      struct staging **out, struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct staging *staging =
        &device->memory->staging[device->memory->turn++ % n_staging];
    enum assay_status st = ASSAY_OK;

    *out = staging;
    if (!staging->data)
        st = cuda_check(
            device,
            cu->cuMemHostAlloc((void **)&staging->data, staging_bytes, 0),
            "taking pinned memory", err);
    if (!st && !staging->is_over)
        st = cuda_check(
            device, cu->cuEventCreate(&staging->is_over, CU_EVENT_NO_TIMING),
            "making an event", err);
    if (!st && staging->is_used)
        st = cuda_check(device, cu->cuEventSynchronize(staging->is_over),
                        "copying to it", err);
    return st;
}

/* Between pinned memory and the rest: one thread copies slower than the bus. */
static void staging_copy(char *to, const char *from, size_t bytes)
{
    enum { most_threads = 8 };
    const size_t part = (size_t)256 << 10;
    long n = (long)((bytes + part - 1) / part);
    int threads =
        processor_count() < most_threads ? processor_count() : most_threads;

    (void)threads; /* without OpenMP */
#pragma omp parallel for num_threads(threads) if (n > 1)
    for (long i = 0; i < n; i++) {
        size_t at = (size_t)i * part;

        memcpy(to + at, from + at, bytes - at < part ? bytes - at : part);
    }
}

static enum assay_status cuda_copy_in(struct space *space, void *to,
                                      const void *from, size_t bytes,
                                      struct error *err)
{
    struct cuda_device *device = cuda_device_of(space);
    const struct driver_api *cu = cuda_driver();
    enum assay_status st = cuda_enter(device, err);

    if (!st)
        st = cuda_refuse_while_recording(device, err);
    if (st || !bytes)
        return st;
    pthread_mutex_lock(&device->memory->lock);
    for (size_t done = 0; !st && done < bytes;) {
        size_t now =
            bytes - done < staging_bytes ? bytes - done : staging_bytes;
        struct staging *staging;

        st = staging_wait(device, &staging, err);
        if (st)
            break;
        staging_copy(staging->data, (const char *)from + done, now);
        cuda_timing_copy_begin(device, QUEUE_COPY_IN);
        st = cuda_check(
            device,
            cu->cuMemcpyHtoDAsync_v2((cu_pointer)(uintptr_t)to + done,
                                     staging->data, now, device->stream),
            "copying to it", err);
        cuda_timing_copy_end(device);
        if (!st)
            st = cuda_check(device,
                            cu->cuEventRecord(staging->is_over, device->stream),
                            "copying to it", err);
        staging->is_used = true;
        done += now;
    }
    pthread_mutex_unlock(&device->memory->lock);
    return st;
}

/* A part of a copy to the host that is on its way. */
struct copied_out {
    struct staging *staging;
    char *to;
    size_t bytes;
};

static enum assay_status copy_out_begin(struct cuda_device *device,
                                        cu_pointer from,
                                        struct copied_out *part,
                                        struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    enum assay_status st = staging_wait(device, &part->staging, err);

    if (st)
        return st;
    cuda_timing_copy_begin(device, QUEUE_COPY_OUT);
    st = cuda_check(device,
                    cu->cuMemcpyDtoHAsync_v2(part->staging->data, from,
                                             part->bytes, device->stream),
                    "copying from it", err);
    cuda_timing_copy_end(device);
    if (!st)
        st = cuda_check(
            device, cu->cuEventRecord(part->staging->is_over, device->stream),
            "copying from it", err);
    part->staging->is_used = true;
    return st;
}

static enum assay_status copy_out_end(struct cuda_device *device,
                                      const struct copied_out *part,
                                      struct error *err)
{
    enum assay_status st = cuda_check(
        device, cuda_driver()->cuEventSynchronize(part->staging->is_over),
        "running kernels", err);

    if (!st)
        st = cuda_fault_check(device, err);
    if (!st)
        staging_copy(part->to, part->staging->data, part->bytes);
    return st;
}

/* While the host copies a part from pinned memory, the next is on its way. */
static enum assay_status copy_out_parts(struct cuda_device *device, char *to,
                                        cu_pointer from, size_t bytes,
                                        struct error *err)
{
    struct copied_out before = {0}, part;
    enum assay_status st = ASSAY_OK;

    for (size_t done = 0; !st && done < bytes; done += part.bytes) {
        part = (struct copied_out){.to = to + done, .bytes = bytes - done};
        if (part.bytes > staging_bytes)
            part.bytes = staging_bytes;
        st = copy_out_begin(device, from + done, &part, err);
        if (!st && before.staging)
            st = copy_out_end(device, &before, err);
        before = part;
    }
    if (!st && before.staging)
        st = copy_out_end(device, &before, err);
    return st;
}

static enum assay_status cuda_copy_out(struct space *space, void *to,
                                       const void *from, size_t bytes,
                                       struct error *err)
{
    struct cuda_device *device = cuda_device_of(space);
    enum assay_status st = cuda_enter(device, err);

    if (!st)
        st = cuda_refuse_while_recording(device, err);
    if (st)
        return st;
    pthread_mutex_lock(&device->memory->lock);
    st = copy_out_parts(device, to, (cu_pointer)(uintptr_t)from, bytes, err);
    pthread_mutex_unlock(&device->memory->lock);
    return st;
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

const struct space cuda_space = {
    .room = cuda_room,
    .take = cuda_take,
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
