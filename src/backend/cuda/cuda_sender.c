/* backend/cuda/cuda_sender.c - see cuda_internal.h: copies to a GPU beside what
 * it computes.
 *
 * A thread of its own fills pinned buffers, which a stream of their own copies
 * from: neither the kernels nor who launches them wait for it. */
#include "backend/cuda/cuda_internal.h"
#include "base/mem.h"

#include <pthread.h>
#include <string.h>

enum { sender_buffers = 4, sender_bytes = 2 << 20 };

struct sending {
    cu_pointer to;
    const char *from;
    size_t bytes;
    uint32_t tag; /* who launches it */
    struct sending *next;
};

struct sender_buffer {
    char *data;
    cu_event is_over; /* the copy that used it last */
    bool is_used;
};

struct cuda_sender {
    struct cuda_device *device;
    cu_stream stream;
    cu_event queued, sent;
    struct sender_buffer buffers[sender_buffers];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct sending *first, **last; /* waiting */
    size_t n_left;                 /* waiting, or in the making */
    enum assay_status st;          /* the first failure since receive() */
    struct error err;
};

/* ---- pinned memory --------------------------------------------------------
 */

enum assay_status cuda_pinned_take(struct cuda_device *device, size_t bytes,
                                   char **out, struct error *err)
{
    cu_result result = cuda_driver()->cuMemHostAlloc((void **)out, bytes, 0);

    if (!result)
        return ASSAY_OK;
    if (!device->why_not_pinned.status)
        (void)cuda_check(device, result, "taking pinned memory",
                         &device->why_not_pinned);
    *out = mem_alloc_aligned(SPACE_ALIGNMENT, bytes);
    return *out ? ASSAY_OK : error_nomem(err, bytes, "copies to a GPU");
}

/* ---- the thread -----------------------------------------------------------
 */

static enum assay_status buffer_send(struct cuda_sender *sender, size_t i,
                                     const struct sending *sending,
                                     size_t offset, struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct sender_buffer *buffer = &sender->buffers[i];
    size_t bytes = sending->bytes - offset;
    cu_result result = 0;

    if (bytes > sender_bytes)
        bytes = sender_bytes;
    if (buffer->is_used)
        result = cu->cuEventSynchronize(buffer->is_over);
    if (!result)
        memcpy(buffer->data, sending->from + offset, bytes);
    if (!result)
        result = cu->cuMemcpyHtoDAsync_v2(sending->to + offset, buffer->data,
                                          bytes, sender->stream);
    if (!result)
        result = cu->cuEventRecord(buffer->is_over, sender->stream);
    buffer->is_used = true;
    return cuda_check(sender->device, result, "copying to it", err);
}

static enum assay_status sender_do(struct cuda_sender *sender,
                                   const struct sending *sending,
                                   struct error *err)
{
    enum assay_status st = cuda_enter(sender->device, err);

    if (!st)
        cuda_timing_launching(sender->device, sending->tag);
    for (size_t at = 0; !st && at < sending->bytes; at += sender_bytes)
        st = buffer_send(sender, at / sender_bytes % sender_buffers, sending,
                         at, err);
    if (!st)
        cuda_timing_launching(sender->device, 0);
    return st;
}

static void *sender_work(void *context)
{
    struct cuda_sender *sender = context;

    pthread_mutex_lock(&sender->lock);
    for (;;) {
        struct sending *sending = sender->first;
        struct error err = {0};
        enum assay_status st;

        if (!sending) {
            pthread_cond_wait(&sender->changed, &sender->lock);
            continue;
        }
        sender->first = sending->next;
        if (!sender->first)
            sender->last = &sender->first;
        pthread_mutex_unlock(&sender->lock);
        st = sender_do(sender, sending, &err);
        mem_free(sending);
        pthread_mutex_lock(&sender->lock);
        if (st && !sender->st) {
            sender->st = st;
            sender->err = err;
        }
        sender->n_left--;
        pthread_cond_broadcast(&sender->changed);
    }
    return NULL;
}

/* ---- life ---------------------------------------------------------------- */

static enum assay_status sender_equip(struct cuda_sender *sender,
                                      struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct cuda_device *device = sender->device;
    enum assay_status st = cuda_check(
        device, cu->cuStreamCreate(&sender->stream, CU_STREAM_NON_BLOCKING),
        "making a stream", err);

    if (!st)
        st = cuda_check(device,
                        cu->cuEventCreate(&sender->queued, CU_EVENT_NO_TIMING),
                        "making an event", err);
    if (!st)
        st = cuda_check(device,
                        cu->cuEventCreate(&sender->sent, CU_EVENT_NO_TIMING),
                        "making an event", err);
    for (size_t i = 0; !st && i < sender_buffers; i++) {
        struct sender_buffer *buffer = &sender->buffers[i];

        st = cuda_pinned_take(device, sender_bytes, &buffer->data, err);
        if (!st)
            st = cuda_check(
                device, cu->cuEventCreate(&buffer->is_over, CU_EVENT_NO_TIMING),
                "making an event", err);
    }
    return st;
}

/* The first one makes it, for the life of the process. What a failure leaves
 * behind is little, and the GPU is not used further then. */
static enum assay_status sender_start(struct cuda_device *device,
                                      struct error *err)
{
    struct cuda_sender *sender = mem_zalloc(sizeof *sender);
    pthread_t thread;
    enum assay_status st;

    if (!sender)
        return error_nomem(err, sizeof *sender, "copies to a GPU");
    sender->device = device;
    sender->last = &sender->first;
    pthread_mutex_init(&sender->lock, NULL);
    pthread_cond_init(&sender->changed, NULL);
    st = sender_equip(sender, err);
    if (!st && pthread_create(&thread, NULL, sender_work, sender))
        st = error_set(err, ASSAY_IO, "no thread can be started to copy to %s",
                       device->name);
    if (st)
        return st;
    (void)pthread_detach(thread);
    device->sender = sender;
    return ASSAY_OK;
}

/* ---- the space ----------------------------------------------------------- */

enum assay_status cuda_send(struct space *space, void *to, const void *from,
                            size_t bytes, struct error *err)
{
    struct cuda_device *device = cuda_device_of(space);
    const struct driver_api *cu = cuda_driver();
    struct sending *sending = NULL;
    enum assay_status st = cuda_enter(device, err);

    if (!st)
        st = cuda_refuse_while_recording(device, err);
    if (!st && !device->sender)
        st = sender_start(device, err);
    if (!st)
        sending = mem_zalloc(sizeof *sending);
    if (!st && !sending)
        st = error_nomem(err, sizeof *sending, "copies to a GPU");
    /* The memory may be of somebody whose kernels still run. */
    if (!st)
        st = cuda_check(
            device, cu->cuEventRecord(device->sender->queued, device->stream),
            "copying to it", err);
    if (!st)
        st = cuda_check(device,
                        cu->cuStreamWaitEvent(device->sender->stream,
                                              device->sender->queued, 0),
                        "copying to it", err);
    if (st) {
        mem_free(sending);
        return st;
    }
    *sending = (struct sending){(cu_pointer)(uintptr_t)to, from, bytes,
                                cuda_timing_tag(), NULL};
    pthread_mutex_lock(&device->sender->lock);
    *device->sender->last = sending;
    device->sender->last = &sending->next;
    device->sender->n_left++;
    pthread_cond_broadcast(&device->sender->changed);
    pthread_mutex_unlock(&device->sender->lock);
    return ASSAY_OK;
}

enum assay_status cuda_receive(struct space *space, struct error *err)
{
    struct cuda_device *device = cuda_device_of(space);
    struct cuda_sender *sender = device->sender;
    const struct driver_api *cu = cuda_driver();
    enum assay_status st = ASSAY_OK;

    if (!sender)
        return ASSAY_OK;
    pthread_mutex_lock(&sender->lock);
    while (sender->n_left)
        pthread_cond_wait(&sender->changed, &sender->lock);
    if (sender->st)
        st = error_set(err, sender->st, "%s", sender->err.text);
    sender->st = ASSAY_OK;
    sender->err = (struct error){0};
    pthread_mutex_unlock(&sender->lock);
    if (!st)
        st = cuda_enter(device, err);
    if (!st)
        st = cuda_check(device, cu->cuEventRecord(sender->sent, sender->stream),
                        "copying to it", err);
    if (!st)
        st = cuda_check(device,
                        cu->cuStreamWaitEvent(device->stream, sender->sent, 0),
                        "copying to it", err);
    return st;
}
