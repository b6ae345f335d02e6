/* store/event_sort.h - sorts more events than fit in memory.
 *
 * Events collect in a buffer; a full buffer is sorted and written to a
 * temporary file without a name, and the sorted stretches are merged when they
 * are read back. Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_EVENT_SORT_H
#define STORE_EVENT_SORT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum event_kind {
    EVENT_BEGIN,
    EVENT_END,
    EVENT_SPAN,
    EVENT_ASYNC,    /* a span that is already nested */
    EVENT_COUNTER,  /* a value at a time */
    EVENT_LAUNCH,   /* a span of the host that starts work on a device */
    EVENT_LAUNCHED, /* a span of a device whose scope is known */
    EVENT_FLOW,     /* the begin of an arrow, where the host is */
    EVENT_FLOW_END, /* its end, where a span of a device begins */
    EVENT_BUSY      /* a stretch in which a device works */
};

/* Sorted by group, time, duration (longest first) and sequence. */
struct event {
    uint64_t group;
    int64_t time_ns;
    int64_t duration_ns;
    uint64_t sequence; /* in the file */
    union {
        int64_t self_ns;   /* of EVENT_ASYNC */
        double value;      /* of EVENT_COUNTER */
        uint64_t link;     /* of EVENT_LAUNCH and EVENT_FLOW: what both ends
                              have */
        int64_t launch_ns; /* of EVENT_LAUNCHED and EVENT_FLOW_END: when */
    };
    uint32_t label; /* EVENT_ASYNC, EVENT_LAUNCHED, EVENT_FLOW_END: its scope;
                       EVENT_COUNTER: which one */
    uint16_t lane;
    uint16_t kind; /* enum event_kind */
};

struct event_sort;

/* Holds at most buffer_bytes, whatever the number of events. The folder is used
 * only if they do not fit; its name must outlive the sort. */
enum assay_status event_sort_new(size_t buffer_bytes, const char *folder,
                                 struct event_sort **out, struct error *err);
void event_sort_free(struct event_sort *sort); /* accepts NULL */

enum assay_status event_sort_add(struct event_sort *sort,
                                 const struct event *event, struct error *err);

/* Call it once, between the last event_sort_add() and the first
 * event_sort_next(). */
enum assay_status event_sort_finish(struct event_sort *sort, struct error *err);

/* The next event in order, NULL after the last. Borrowed until the next
 * call. */
enum assay_status event_sort_next(struct event_sort *sort,
                                  const struct event **event,
                                  struct error *err);

#endif
