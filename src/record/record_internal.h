/* record/record_internal.h - what the files of this room share.
 *
 * span.c is what a measured program calls: it writes into the thread's own
 * buffer. threads.c knows whose buffers there are. writer_thread.c empties
 * them; drain.c turns what comes out into a run, given.c what was given with
 * its times, works.c work, told_values.c counters and memory; detail.c chooses
 * what of it is kept in full. recorder.c starts and stops it all.
 *
 * Locks, in the order they are taken: starting and stopping, then the
 * recording (both in recorder.c). Nothing that marks spans, iterations, phases,
 * values or bytes, or names a thread, takes one: it may be called in a signal
 * handler that has interrupted anything, also one of these functions or
 * malloc(3). thread_buffer.h says how.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_RECORD_INTERNAL_H
#define RECORD_RECORD_INTERNAL_H

#include "record/detail.h"
#include "record/given.h"
#include "record/live.h"
#include "record/record.h"
#include "record/thread_buffer.h"
#include "record/ticks.h"
#include "record/works.h"
#include "run/run.h"
#include "store/store.h"

#include <assay/lane.h>
#include <assay/memory.h>
#include <assay/work.h>
#include <pthread.h>
#include <signal.h>

/* ---- recorder.c ------------------------------------------------------- */

/* Which recording is under way; 0: none. A buffer of another one is not to be
 * written to. */
extern atomic_uint recorder_generation;

/* A thread with a buffer ends. */
void recorder_thread_ended(struct thread_buffer *buffer);

/* Whether the calling thread has the recording's lock: a handler then waits in
 * vain for a writer that waits for it. */
bool recorder_is_inside(void);

/* ---- threads.c -------------------------------------------------------- */

/* This thread's buffer, of whatever recording; NULL: it has none. */
extern __thread struct thread_buffer *threads_own
    __attribute__((tls_model("initial-exec")));

/* Makes the calling thread part of the recording, under a name or NULL. NULL
 * where nothing is recorded, there is no memory, or the thread was about to do
 * so when a signal came whose handler asks. */
struct thread_buffer *threads_join(const char *name);
void threads_rename(struct thread_buffer *buffer, const char *name);

/* The calling thread ends: a handler that comes now takes another buffer, so
 * that all of the last one can be drained. */
void threads_forget(void);
/* Gives the buffer of an ended thread back; its lane goes to the next thread of
 * the same name. Behind the recording's lock. */
void threads_leave(struct thread_buffer *buffer);

/* Once in a process. */
enum assay_status threads_prepare(struct error *err);

/* Forgets the lanes of the last recording. Behind the recording's lock. */
void threads_reset(void);

/* The buffer of that recording after this one, or the first for NULL; NULL at
 * the end. */
struct thread_buffer *threads_next(const struct thread_buffer *buffer,
                                   unsigned generation);

/* Gives the thread a lane where it has none, and its name where that is new.
 * Behind the recording's lock. */
enum assay_status threads_seat(struct run *run, struct thread_buffer *buffer,
                               struct error *err);
/* All of a recording, in the order in which they joined. Before a lane becomes
 * free: threads that live together have lanes of their own. */
enum assay_status threads_seat_all(struct run *run, unsigned generation,
                                   struct error *err);

/* Spans and values that found no buffer to be lost from. */
extern atomic_ullong threads_lost;

/* ---- drain.c ---------------------------------------------------------- */

/* A value of a counter, or a change of what a memory space holds. */
struct value {
    uint64_t ticks;
    union {
        double value;
        int64_t delta;
    };
    uint32_t counter; /* in the run; of a change: the name of the space */
    bool is_change;
};

/* Those that older ones of other threads may still come before. */
struct values {
    struct value *items;
    size_t n, capacity;
};

/* What the writer makes out of the records. */
struct recording {
    unsigned generation; /* 0: none */
    bool keep_all;
    uint32_t keep_first; /* iterations; 0: detail chooses some */
    struct run *run;
    struct store_writer *store;
    struct ticks_map clock;
    struct detail *detail; /* NULL with keep_all */

    uint32_t *ids; /* of names in the run, by number; RUN_NONE: not needed */
    size_t n_ids, ids_capacity;
    struct values values;
    struct live live;
    struct given given;
    struct works works;
    struct sample *batch; /* for the file; NULL where detail chooses all */
    size_t n_batch;

    struct run_health ended; /* of threads that are gone */
    enum assay_status status;
    struct error error; /* the first one */
};

/* Start from {0}. The run, the store and the clock are given by the caller. */
enum assay_status recording_init(struct recording *recording,
                                 struct error *err);
void recording_release(struct recording *recording);

/* The id of a name in the run; RUN_NONE where it cannot have one. */
uint32_t recording_id(struct recording *recording, const struct name *name);

/* Counts a span that was given; one that comes too late is lost. */
void recording_take_given(struct recording *recording,
                          const struct sample *sample);

/* Takes out what the thread has published. */
void recording_drain(struct recording *recording, struct thread_buffer *buffer);

/* Brings in what waited for other threads: values of counters from before the
 * horizon, which no older ones follow any more; complete iterations. */
void recording_settle(struct recording *recording, uint64_t horizon_ticks);

/* Adds what went wrong on the thread to *health. */
void health_add(struct run_health *health, const struct thread_buffer *buffer);

/* Remembers the first failure; the recording goes on as well as it can. */
void recording_fail(struct recording *recording, enum assay_status status,
                    const struct error *err);

/* ---- told_values.c ---------------------------------------------------- */

/* The writer has come to these in the records of a thread. */
void values_add_counter(struct recording *recording,
                        const struct record *record, uint32_t counter);
void values_add_change(struct recording *recording,
                       const struct record *record);

/* Counts those from before the horizon. */
enum assay_status values_settle(struct recording *recording,
                                uint64_t horizon_ticks, struct error *err);

/* ---- writer_thread.c -------------------------------------------------- */

/* The lock is the recording's; the writer takes it for each pass. */
enum assay_status writer_start(struct recording *recording,
                               pthread_mutex_t *lock, struct error *err);
void writer_stop(void); /* waits for its end */

/* One round over all threads. True where more is likely to be there. */
bool writer_pass(struct recording *recording);

/* Puts the detail and the health of this moment into the run. */
void writer_bring_up(struct recording *recording);

void writer_wake(void);

/* False when the recording of this buffer ended, or the writer has made no
 * space for so long that it never will. */
bool writer_wait_for_space(struct thread_buffer *buffer);

/* Time that threads have waited for the writer so far. */
int64_t writer_waited_ns(void);

/* ---- span.c ----------------------------------------------------------- */

/* Before a recording: iterations start at 0, no bytes are live. */
void spans_reset(unsigned warm_up);

/* Ends what is open on this thread; how many spans and iterations there
 * were. */
unsigned spans_close(struct thread_buffer *buffer);

/* True while an iteration lasts. */
bool spans_in_iteration(void);
/* What is told now belongs to it: as a record has it. */
uint32_t spans_iteration(void);

/* Where what is told from now on has to go. NULL: there is no place for it; it
 * is lost, and counted. */
struct thread_buffer *spans_buffer(void);
/* Leaves a record there; what is open stays open. */
void spans_put(struct thread_buffer *buffer, struct record filled);
/* The same for a value: its time, the record's end, is that of the call, and
 * values of all threads are taken in by their times. */
void spans_put_value(struct thread_buffer *buffer, struct record filled);

/* ---- lanes.c ---------------------------------------------------------- */

/* Whether a handle that anybody may have made up is one. The root is not a
 * scope that spans can have. */
bool scope_is_there(assay_scope_t scope);
bool lane_is_there(assay_lane_t lane);
bool lane_exists(void); /* any */

/* ---- facts.c ---------------------------------------------------------- */

/* The machine, the program, the time. */
enum assay_status facts_set(struct run *run, struct error *err);

#endif
