/* record/thread_buffer.h - what one thread records into.
 *
 * The thread that owns a buffer writes records into its ring and publishes
 * them by moving the head; whoever drains reads up to the head and moves the
 * tail. Neither takes a lock for it. A buffer is never freed, only handed to
 * the next thread, so that a call that comes late finds memory.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_THREAD_BUFFER_H
#define RECORD_THREAD_BUFFER_H

#include "record/names.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    RING_RECORDS = 8192, /* a power of two */
    MAX_OPEN_SPANS = 256,
    MAX_OPEN_PHASES = 8,
    CACHED_NAMES = 1024 /* a power of two */
};

/* What a record means follows from its name (see names.h): a span from start
 * to end; an iteration's begin (bytes: how many measured spans were open) or
 * end; a phase's begin or end; a counter's value (start: the bits of the
 * double, end: its time; of memory, bytes: the scope that was open, peak_bytes:
 * the most that was live). */
struct record {
    uint64_t start, end;
    int64_t bytes, peak_bytes;
    uint32_t name;
    uint32_t iteration; /* RUN_NONE, ITERATION_WARM_UP or its number */
};

#define ITERATION_WARM_UP (UINT32_MAX - 1)

#define NOT_STAMPING UINT64_MAX

/* A span or group that is open. */
struct frame {
    uint64_t start;
    int64_t bytes; /* of the thread when it began */
    int64_t peak_bytes;
    uint32_t name;
    bool is_group; /* leaves no record */
};

/* A name this thread has used: the texts it was given by, where they lie, and
 * what they said, because a buffer may say something else next time. */
struct cached_name {
    const char *text, *detail;
    const char *known_text, *known_detail;
    uint32_t parent, number;
};

/* What the drainer remembers of the thread between two records. */
struct drain_state {
    int64_t child_ns[MAX_OPEN_SPANS + 2]; /* ended at this depth so far */
    uint32_t phases[MAX_OPEN_PHASES];
    uint32_t n_phases, n_phases_ignored;
    bool in_iteration;       /* one that this thread marked */
    uint32_t iteration_open; /* spans that were open when it began */
    int64_t iteration_child_ns;
};

struct thread_buffer {
    /* The owner's. */
    unsigned generation; /* of the recording it takes part in */
    atomic_uint n_open;
    uint32_t n_ignored; /* open ones beyond MAX_OPEN_SPANS */
    uint64_t next;      /* record to write */
    uint64_t turn;      /* where the fast path ends */
    int64_t bytes;      /* gained by the thread */
    atomic_ullong n_unbalanced, n_too_deep, n_lost;
    atomic_ullong stamping; /* no value still to come is older than this */
    struct frame frames[MAX_OPEN_SPANS];
    struct cached_name cache[CACHED_NAMES];

    alignas(64) atomic_ullong head; /* records published */

    /* The drainer's. */
    alignas(64) atomic_ullong tail; /* records taken out */
    uint32_t lane;                  /* the thread in the run */
    struct drain_state drain;

    struct thread_buffer *next_made; /* all that were ever made */
    bool is_owned;

    struct record ring[RING_RECORDS];
};

/* NULL without memory. Empty, without an owner. */
struct thread_buffer *thread_buffer_new(void);

/* Makes it empty, for another recording or owner. The names stay known. */
void thread_buffer_reset(struct thread_buffer *buffer);

/* Taken where next reaches turn: wakes the writer where much is waiting, waits
 * for it where the ring is full. False when the recording ended meanwhile. */
bool thread_buffer_turn(struct thread_buffer *buffer);

/* Where the cache has a name in the first place. */
static inline size_t cached_name_place(uint32_t parent, const char *text)
{
    size_t mixed = (uintptr_t)text * 31 + parent * (size_t)2654435761u;

    return (mixed ^ mixed >> 15) % CACHED_NAMES;
}

static inline bool cached_name_is(const struct cached_name *cached,
                                  uint32_t parent, const char *text,
                                  const char *detail)
{
    return cached->text == text && cached->parent == parent &&
           cached->detail == detail && strcmp(cached->known_text, text) == 0 &&
           (!detail || strcmp(cached->known_detail, detail) == 0);
}

/* The number of a name that is not in its first place. */
uint32_t thread_buffer_find_name(struct thread_buffer *buffer, uint32_t parent,
                                 const char *text, const char *detail);

/* The number of a name, from the cache where the thread has used it before;
 * NAME_NONE without memory. */
static inline uint32_t thread_buffer_name(struct thread_buffer *buffer,
                                          uint32_t parent, const char *text,
                                          const char *detail)
{
    const struct cached_name *cached =
        &buffer->cache[cached_name_place(parent, text)];

    if (__builtin_expect(cached_name_is(cached, parent, text, detail), 1))
        return cached->number;
    return thread_buffer_find_name(buffer, parent, text, detail);
}

static inline void counter_increment(atomic_ullong *counter)
{
    unsigned long long n = atomic_load_explicit(counter, memory_order_relaxed);

    atomic_store_explicit(counter, n + 1, memory_order_relaxed);
}

/* The place of the next record, or NULL (see thread_buffer_turn). */
static inline struct record *thread_buffer_claim(struct thread_buffer *buffer)
{
    if (__builtin_expect(buffer->next == buffer->turn, 0) &&
        !thread_buffer_turn(buffer))
        return NULL;
    return &buffer->ring[buffer->next % RING_RECORDS];
}

static inline void thread_buffer_publish(struct thread_buffer *buffer)
{
    atomic_store_explicit(&buffer->head, ++buffer->next, memory_order_release);
}

#endif
