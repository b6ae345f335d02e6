/* session/stream_books.h - the books of a device while photographs are
 * streamed: busy + idle = the time from the first to the last, and idle has a
 * reason, which is what the host did meanwhile.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_STREAM_BOOKS_H
#define SESSION_STREAM_BOOKS_H

#include "run/device_balance.h"

enum { STREAM_BOOKS_SPANS = 256 };

struct stream_span {
    int64_t begin_ns, end_ns;
    enum idle_reason reason;
};

struct stream_books {
    int64_t began_ns, ended_ns;
    int64_t busy_ns;
    int64_t reasons_ns[N_IDLE_REASONS]; /* their sum is what was idle */
    int64_t known_to_ns;                /* the books are closed up to here */
    /* What the host did last: more than it does while the passes in flight
     * run. */
    struct stream_span spans[STREAM_BOOKS_SPANS];
    size_t n_spans;
};

void stream_books_begin(struct stream_books *books, int64_t now_ns);
/* The host was busy with what a device that is idle then waits for. Spans
 * follow each other. */
void stream_books_host(struct stream_books *books, enum idle_reason reason,
                       int64_t begin_ns, int64_t end_ns);
/* The device ran a pass; passes follow each other. */
void stream_books_pass(struct stream_books *books, int64_t begin_ns,
                       int64_t end_ns);
void stream_books_end(struct stream_books *books, int64_t now_ns);
int64_t stream_books_idle_ns(const struct stream_books *books);

#endif
