/* record/thread_buffer_internal.h - the buffer that one thread records into.
 *
 * The thread that owns a buffer writes records into its ring and publishes them
 * by moving the head; the drainer reads up to the head and moves the tail.
 * Neither takes a lock. A buffer is never freed, only passed to the next
 * thread, so that a late call still finds memory.
 *
 * A signal may interrupt the owner anywhere, and the handler may open and close
 * spans of its own. It ends before its thread goes on, so half-done work stays
 * half done while it runs, and it leaves everything as it found it: the same
 * number of open spans, the same scope. So whatever is read before and written
 * after a signal is still true, except where the handler writes: in places that
 * look free, and in the ring. Therefore
 *
 * - a frame is taken (n_open) before it is filled, and read before it is given
 *   back;
 * - the place that new spans go below is one word (state), which changes once
 *   everything else is in place;
 * - the same word says that a record is being written; a handler that finds it
 *   so leaves its records in `late`, and the thread that it interrupted puts
 *   them into the ring after its own;
 * - cached names are pointers to data that never changes;
 * - counts change in a single operation.
 *
 * A handler sees the stores before the signal in the order set by
 * atomic_signal_fence(): the compiler must not move them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_THREAD_BUFFER_INTERNAL_H
#define RECORD_THREAD_BUFFER_INTERNAL_H

#include "record/names_internal.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    RING_RECORDS = 8192, /* a power of two */
    MAX_OPEN_SPANS = NAME_MAX_DEPTH,
    MAX_OPEN_PHASES = 8,
    CACHED_NAMES = 1024, /* a power of two */
    LATE_RECORDS = 64,
    /* Records that may wait in the ring when another is begun: that one, and
     * the late ones after it, always find room. */
    RING_SPACE = RING_RECORDS - LATE_RECORDS - 1
};

/* The meaning of a record follows from its name (see names_internal.h): a span
 * from start to end; the begin (bytes: how many measured spans were open) or
 * end of an iteration; the begin or end of a phase; a counter's value (start:
 * the bits of the double, end: its time; for memory also bytes: the open scope,
 * peak_bytes: the most that was live); with the name of a lane, a reported span
 * (start, end: CLOCK_MONOTONIC in ns; iteration: its scope; bytes: when it was
 * launched; peak_bytes: its phase); with the name of a text, the work of a call
 * (works.c); with the name of a memory space, a change of it (bytes; end: its
 * time). */
struct record {
    uint64_t start, end;
    int64_t bytes, peak_bytes;
    uint32_t name;      /* its number; a span has its depth in the top bits */
    uint32_t iteration; /* RUN_NONE, ITERATION_WARM_UP or its number */
};

static inline uint32_t record_name(const struct record *record)
{
    return record->name & ((UINT32_C(1) << NAME_BITS) - 1);
}

/* The depth of a span in its thread, at least 1. Differs from the depth of its
 * scope in the tree if it was opened by its handle. */
static inline uint32_t record_depth(const struct record *record)
{
    return (record->name >> NAME_BITS) + 1;
}

/* Doubles in a record's 64-bit fields. */
static inline uint64_t record_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double record_double(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t record_span(uint32_t name, uint32_t depth)
{
    return name | (depth - 1) << NAME_BITS;
}

_Static_assert(MAX_OPEN_SPANS <= 1 << (32 - NAME_BITS),
               "a record has room for the depth of a span");

#define ITERATION_WARM_UP (UINT32_MAX - 1)

#define NOT_STAMPING UINT64_MAX

/* An open span or group. */
struct open_frame {
    uint64_t start;
    int64_t bytes; /* of the thread when it began */
    atomic_llong peak_bytes;
    uint64_t outer; /* the place around it */
    uint32_t name;
    bool is_group; /* leaves no record */
};

/* A thread's state: the current place, and whether a record is being written. A
 * place is the name of a scope and the number of measured spans open. */
#define STATE_WRITING     (UINT64_C(1) << 32)
#define STATE_DEPTH_SHIFT 33

static inline uint64_t place_at(uint32_t scope, uint32_t depth)
{
    return scope | (uint64_t)depth << STATE_DEPTH_SHIFT;
}

static inline uint32_t place_depth(uint64_t place)
{
    return (uint32_t)(place >> STATE_DEPTH_SHIFT);
}

/* What the drainer remembers about the thread between two records. */
struct drain_state {
    int64_t child_ns[MAX_OPEN_SPANS + 2]; /* time ended at each depth */
    uint32_t phases[MAX_OPEN_PHASES];
    uint32_t n_phases, n_phases_ignored;
    bool in_iteration;       /* marked by this thread */
    uint32_t iteration_open; /* spans that were open when it began */
    int64_t iteration_child_ns;
};

struct thread_buffer {
    /* The owner's. */
    atomic_uint generation; /* of the recording it takes part in */
    atomic_uint n_open;
    atomic_ullong state;
    uint32_t n_ignored; /* open spans beyond MAX_OPEN_SPANS */
    uint64_t next;      /* record to write */
    uint64_t turn;      /* where the fast path ends */
    uint64_t given_up;  /* the tail when it last waited in vain */
    atomic_llong bytes; /* gained by the thread */
    atomic_ullong n_unbalanced, n_too_deep, n_lost;
    atomic_ullong stamping; /* no value is still to come from before this */
    atomic_uint n_late;     /* may exceed the room: the rest is lost */
    struct record late[LATE_RECORDS];
    struct open_frame frames[MAX_OPEN_SPANS];
    _Atomic(const struct name *) cache[CACHED_NAMES]; /* names it has used */

    _Atomic(const char *) thread_name; /* NULL: it has none of its own */
    unsigned joined_as;                /* how many joined before it */
    bool is_helper;                    /* its spans are shown, not counted */

    alignas(64) atomic_ullong head; /* records published */

    /* The drainer's. */
    alignas(64) atomic_ullong tail; /* records taken out */
    uint32_t lane;                  /* in threads.c; or LANE_NONE */
    uint32_t thread;                /* in the run, if it has a lane */
    struct drain_state drain;

    struct thread_buffer *next_made; /* list of all ever made */
    atomic_bool is_owned;

    struct record ring[RING_RECORDS];
};

#define LANE_NONE UINT32_MAX

/* An empty buffer with an owner; NULL if memory runs out. */
struct thread_buffer *thread_buffer_new(void);

/* Empties it, for another recording or owner. Keeps the cached names. */
void thread_buffer_reset(struct thread_buffer *buffer);

/* The slow path, when next has reached turn: wakes the writer if much is
 * waiting, and waits for it if the ring is full. False if the recording ended
 * meanwhile, or it waited in vain; the loss is counted. */
bool thread_buffer_turn(struct thread_buffer *buffer);

/* Whether an eighth of the ring is waiting. For its owner. */
static inline bool thread_buffer_has_much(const struct thread_buffer *buffer)
{
    return buffer->next -
               atomic_load_explicit(&buffer->tail, memory_order_relaxed) >=
           RING_RECORDS / 8;
}

/* The first place in the cache to look for a name. */
static inline size_t cached_name_place(uint32_t below, const char *text)
{
    size_t mixed = (uintptr_t)text * 31 + below * (size_t)2654435761u;

    return (mixed ^ mixed >> 15) % CACHED_NAMES;
}

/* The number of a name that is not in that place. */
uint32_t thread_buffer_find_name(struct thread_buffer *buffer, uint32_t below,
                                 const char *text, const char *detail);

/* The number of a name, from the cache if the thread has used it before;
 * NAME_NONE if memory runs out. */
static inline uint32_t thread_buffer_name(struct thread_buffer *buffer,
                                          uint32_t below, const char *text,
                                          const char *detail)
{
    const struct name *cached = atomic_load_explicit(
        &buffer->cache[cached_name_place(below, text)], memory_order_relaxed);

    if (__builtin_expect(cached && name_is(cached, below, text, detail), 1))
        return cached->number;
    return thread_buffer_find_name(buffer, below, text, detail);
}

static inline void counter_increment(atomic_ullong *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static inline void thread_buffer_publish(struct thread_buffer *buffer)
{
    atomic_store_explicit(&buffer->head, ++buffer->next, memory_order_release);
}

/* ---- writing records, even if interrupted by a signal ----------------- */

/* The open scope. */
static inline uint32_t thread_buffer_scope(const struct thread_buffer *buffer)
{
    return (uint32_t)atomic_load_explicit(&buffer->state, memory_order_relaxed);
}

static inline uint64_t thread_buffer_place(const struct thread_buffer *buffer)
{
    return atomic_load_explicit(&buffer->state, memory_order_relaxed) &
           ~STATE_WRITING;
}

static inline bool thread_buffer_is_writing(const struct thread_buffer *buffer)
{
    return atomic_load_explicit(&buffer->state, memory_order_relaxed) &
           STATE_WRITING;
}

/* Changes the current place. */
static inline void thread_buffer_enter(struct thread_buffer *buffer,
                                       uint64_t place)
{
    uint64_t writing =
        atomic_load_explicit(&buffer->state, memory_order_relaxed) &
        STATE_WRITING;

    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&buffer->state, writing | place,
                          memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

/* A record being written. */
struct writing {
    struct record *record; /* to fill; NULL: lost, and counted */
    bool is_late;
};

/* A place for a record if the thread was interrupted while it wrote one. */
struct record *thread_buffer_claim_late(struct thread_buffer *buffer);
/* Moves late records into the ring. */
void thread_buffer_take_late(struct thread_buffer *buffer);

/* Begins a record; from then on `place` is the current one, and what a handler
 * writes comes after the record. thread_buffer_write_end() must follow. While
 * this waits for space, a handler writes before it: it finds space or waits
 * too, and uses none of the room that RING_SPACE leaves. */
static inline struct writing thread_buffer_write(struct thread_buffer *buffer,
                                                 uint64_t place)
{
    if (__builtin_expect(thread_buffer_is_writing(buffer), 0)) {
        thread_buffer_enter(buffer, place);
        return (struct writing){thread_buffer_claim_late(buffer), true};
    }
    while (__builtin_expect(buffer->next >= buffer->turn, 0)) {
        if (thread_buffer_turn(buffer))
            continue;
        thread_buffer_enter(buffer, place);
        return (struct writing){NULL, false};
    }
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&buffer->state, STATE_WRITING | place,
                          memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return (struct writing){&buffer->ring[buffer->next % RING_RECORDS], false};
}

/* A handler that comes after the last store writes into the ring itself; late
 * records of one that came before are moved here. */
static inline void thread_buffer_write_end(struct thread_buffer *buffer,
                                           struct writing writing)
{
    if (writing.is_late)
        return;
    if (writing.record)
        thread_buffer_publish(buffer);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&buffer->state, thread_buffer_place(buffer),
                          memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(
            atomic_load_explicit(&buffer->n_late, memory_order_relaxed) != 0,
            0))
        thread_buffer_take_late(buffer);
}

#endif
