/* backend/cuda/cuda_timings.c - see cuda_internal.h: when what was queued ran,
 * by CUPTI's records, or by events between the kernels.
 *
 * The device's clock is tied to the host's at an event that the host waited
 * for. Nothing is timed where nothing is recorded: the tag is 0 then. */
#include "backend/cuda/cuda_cupti.h"
#include "backend/cuda/cuda_internal.h"
#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>

enum { most_waiting = 1 << 14 }; /* launches that were not visited yet */

struct timed {
    uint32_t tag;
    enum queue_work work;
    int64_t launched_ns;
    cu_event begin, end;
};

struct cuda_timing {
    struct timed *ring;
    size_t first, n; /* waiting */
    bool is_open;    /* the one after them has begun */
    uint32_t resume; /* the tag of the op that a copy interrupted; 0: none */
    uint64_t n_launched; /* ops, since the last visit */
    uint64_t n_taken_in; /* of those, before a wait */
    cu_event anchor;
    int64_t anchor_ns;
    cu_event marks[2]; /* see cuda_timing_mark() */
    char text[192];    /* what tells the times */
};

/* Who launches: copies may come from any thread, and those of others are
 * nobody's. */
static _Thread_local uint32_t timing_tag_here;

enum assay_status cuda_timing_new(struct cuda_device *device, struct error *err)
{
    struct cuda_timing *timing = mem_zalloc(sizeof *timing);

    device->timing = timing;
    return timing ? ASSAY_OK
                  : error_nomem(err, sizeof *timing, "the times of a GPU");
}

/* An event whose time is known by both clocks. A new one every second, while
 * nothing is queued that is timed by the old one: times are given as float32
 * milliseconds since then. */
static bool timing_anchor(struct cuda_device *device)
{
    static const int64_t good_ns = 1000000000;
    const struct driver_api *cu = cuda_driver();
    struct cuda_timing *timing = device->timing;

    if (timing->anchor &&
        (timing->n || clock_monotonic_ns() - timing->anchor_ns < good_ns))
        return true;
    if (!timing->anchor &&
        cu->cuEventCreate(&timing->anchor, CU_EVENT_DEFAULT)) {
        timing->anchor = NULL;
        return false;
    }
    (void)cu->cuStreamSynchronize(device->stream);
    (void)cu->cuEventRecord(timing->anchor, device->stream);
    (void)cu->cuEventSynchronize(timing->anchor);
    timing->anchor_ns = clock_monotonic_ns();
    return true;
}

static bool timing_ready(struct cuda_device *device)
{
    struct cuda_timing *timing = device->timing;

    if (!timing->ring)
        timing->ring = mem_array(most_waiting, sizeof *timing->ring);
    return timing->ring && timing->n < most_waiting && timing_anchor(device);
}

static bool event_ready(cu_event *event)
{
    if (!*event && cuda_driver()->cuEventCreate(event, CU_EVENT_DEFAULT))
        *event = NULL;
    return *event;
}

static void timing_begin(struct cuda_device *device, uint32_t tag,
                         enum queue_work work)
{
    struct cuda_timing *timing = device->timing;
    struct timed *timed;

    if (!timing_ready(device))
        return;
    timed = &timing->ring[(timing->first + timing->n) % most_waiting];
    timed->tag = 0;
    if (!event_ready(&timed->begin) || !event_ready(&timed->end))
        return;
    timed->tag = tag;
    timed->work = work;
    timed->launched_ns = clock_monotonic_ns();
    timing->is_open =
        !cuda_driver()->cuEventRecord(timed->begin, device->stream);
}

static void timing_end(struct cuda_device *device)
{
    struct cuda_timing *timing = device->timing;

    if (!timing->is_open)
        return;
    timing->is_open = false;
    if (!cuda_driver()->cuEventRecord(
            timing->ring[(timing->first + timing->n) % most_waiting].end,
            device->stream))
        timing->n++;
}

enum assay_status cuda_timing_mark(struct cuda_device *device, bool is_end,
                                   struct error *err)
{
    cu_event *mark = &device->timing->marks[is_end];
    enum assay_status st = cuda_enter(device, err);

    if (!st && !event_ready(mark))
        st = error_set(err, ASSAY_IO, "%s has no event to time a step with",
                       device->name);
    return st ? st
              : cuda_check(device,
                           cuda_driver()->cuEventRecord(*mark, device->stream),
                           "timing a step", err);
}

double cuda_timing_between(struct cuda_device *device)
{
    const cu_event *marks = device->timing->marks;
    float ms;

    return marks[0] && marks[1] &&
                   !cuda_driver()->cuEventElapsedTime(&ms, marks[0], marks[1])
               ? (double)ms * 1e6
               : (double)NAN;
}

void cuda_timing_watch(struct cuda_device *device, bool is_watched)
{
    (void)cuda_cupti_watch(device, is_watched);
}

void cuda_timing_launching(struct cuda_device *device, uint32_t tag)
{
    timing_tag_here = tag;
    if (cuda_cupti_is_used(device))
        cuda_cupti_tag(tag);
}

uint32_t cuda_timing_tag(void)
{
    return timing_tag_here;
}

void cuda_timing_begin(struct cuda_device *device, uint32_t tag)
{
    if (!tag || device->is_recording)
        return;
    device->timing->n_launched++;
    if (cuda_cupti_is_used(device))
        cuda_cupti_tag(tag);
    else
        timing_begin(device, tag, QUEUE_KERNEL);
}

void cuda_timing_end(struct cuda_device *device, uint32_t tag)
{
    if (tag && !cuda_cupti_is_used(device))
        timing_end(device);
}

void cuda_timing_copy_begin(struct cuda_device *device, enum queue_work work)
{
    struct cuda_timing *timing = device->timing;

    if (!timing_tag_here || device->is_recording || cuda_cupti_is_used(device))
        return;
    timing->resume = timing->is_open ? timing_tag_here : 0;
    timing_end(device);
    timing_begin(device, timing_tag_here, work);
}

void cuda_timing_copy_end(struct cuda_device *device)
{
    struct cuda_timing *timing = device->timing;

    if (!timing_tag_here || device->is_recording || cuda_cupti_is_used(device))
        return;
    timing_end(device);
    if (timing->resume)
        timing_begin(device, timing->resume, QUEUE_KERNEL);
    timing->resume = 0;
}

const char *cuda_timing_text(const struct cuda_device *device)
{
    struct cuda_timing *timing = device->timing;

    if (!timing || cuda_cupti_is_used(device))
        return cuda_cupti_text();
    snprintf(timing->text, sizeof timing->text, "events between the ops (%s)",
             cuda_cupti_text());
    return timing->text;
}

/* When an event was, on the host's clock. */
static int64_t event_ns(const struct cuda_timing *timing, cu_event event)
{
    float ms = 0;

    (void)cuda_driver()->cuEventElapsedTime(&ms, timing->anchor, event);
    return timing->anchor_ns + (int64_t)((double)ms * 1e6);
}

/* Once per some ops: it has a cost of its own. */
void cuda_timing_waiting(struct cuda_device *device)
{
    enum { worth_it = 64 };
    struct cuda_timing *timing = device->timing;

    if (!timing || device->is_recording || !cuda_cupti_is_used(device) ||
        timing->n_launched - timing->n_taken_in < worth_it)
        return;
    timing->n_taken_in = timing->n_launched;
    cuda_cupti_take_in(device);
}

void cuda_timing_visit(struct cuda_device *device, queue_visit *visit,
                       void *context)
{
    struct cuda_timing *timing = device->timing;

    if (timing && cuda_cupti_is_used(device)) {
        cuda_cupti_visit(device, timing->n_launched, visit, context);
        timing->n_launched = timing->n_taken_in = 0;
    }
    while (timing && timing->n) {
        const struct timed *timed = &timing->ring[timing->first];
        struct queue_timing seen = {.tag = timed->tag,
                                    .work = timed->work,
                                    .launched_ns = timed->launched_ns};

        if (cuda_driver()->cuEventQuery(timed->end) == CU_ERROR_NOT_READY)
            return;
        seen.begin_ns = event_ns(timing, timed->begin);
        seen.end_ns = event_ns(timing, timed->end);
        if (seen.end_ns < seen.begin_ns)
            seen.end_ns = seen.begin_ns;
        visit(context, &seen);
        timing->first = (timing->first + 1) % most_waiting;
        timing->n--;
    }
}
