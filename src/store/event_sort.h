/* store/event_sort.h - more events than memory holds, put in order.
 *
 * Events collect in a buffer; a full one is sorted and goes to a temporary
 * file that has no name, and the sorted stretches are merged when they are
 * read back. Not thread-safe.
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
    EVENT_ASYNC,  /* a span that is not nested any more */
    EVENT_COUNTER /* a value at a time */
};

/* Sorted by group, time, duration (the longest first) and sequence. */
struct event {
    uint64_t group;
    int64_t time_ns;
    int64_t duration_ns;
    uint64_t sequence; /* in the file */
    union {
        int64_t self_ns; /* of EVENT_ASYNC */
        double value;    /* of EVENT_COUNTER */
    };
    uint32_t label; /* EVENT_ASYNC: its scope; EVENT_COUNTER: which one */
    uint16_t lane;
    uint16_t kind; /* enum event_kind */
};

struct event_sort;

/* At most buffer_bytes are held, whatever the number of events. The folder is
 * only used when they do not fit; its name must outlive the sort. */
enum assay_status event_sort_new(size_t buffer_bytes, const char *folder,
                                 struct event_sort **out, struct error *err);
void event_sort_free(struct event_sort *sort); /* accepts NULL */

enum assay_status event_sort_add(struct event_sort *sort,
                                 const struct event *event, struct error *err);

/* To be called once, between the last event_sort_add() and the first
 * event_sort_next(). */
enum assay_status event_sort_finish(struct event_sort *sort, struct error *err);

/* The next event in order, NULL behind the last. Borrowed until the next
 * call. */
enum assay_status event_sort_next(struct event_sort *sort,
                                  const struct event **event,
                                  struct error *err);

#endif
