/* record/record_internal.h - what the files of this room share.
 *
 * span.c is what a measured program calls: it writes to the thread's own
 * buffer. threads.c keeps track of the buffers. writer_thread.c empties them;
 * drain.c turns the records into a run, given.c handles spans reported with
 * their times, works.c work, timed_values.c counters and memory; detail.c
 * chooses what is kept in full. recorder.c starts and stops it all.
 *
 * Locks, in the order they are taken: starting and stopping, then the recording
 * (both in recorder.c). Functions that mark spans, iterations, phases, values
 * or bytes, or name a thread, take none: they may be called in a signal handler
 * that interrupted anything, even one of these functions or malloc(3).
 * thread_buffer_internal.h explains how.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_RECORD_INTERNAL_H
#define RECORD_RECORD_INTERNAL_H

#include "record/detail_internal.h"
#include "record/record.h"
#include "record/thread_buffer_internal.h"
#include "record/ticks_internal.h"
#include "run/run.h"
#include "store/store.h"

#include <assay/lane.h>
#include <assay/memory.h>
#include <assay/work.h>
#include <pthread.h>
#include <signal.h>

/* ---- recorder.c ------------------------------------------------------- */

/* The current recording; 0: none. Buffers of another one must not be written
 * to. */
extern atomic_uint recorder_generation;

static inline bool recorder_has(const struct thread_buffer *buffer)
{
    return atomic_load(&buffer->generation) ==
           atomic_load(&recorder_generation);
}

/* A thread with a buffer ends. */
void recorder_thread_ended(void *ended);

/* Whether the calling thread holds the recording's lock: a handler must not
 * wait for the writer then, because the writer waits for that lock. */
bool recorder_is_inside(void);

/* ---- threads.c -------------------------------------------------------- */

/* This thread's buffer, of any recording; NULL: none. */
extern __thread struct thread_buffer *threads_own
    __attribute__((tls_model("initial-exec")));

/* Makes the calling thread part of the recording, under a name or NULL. NULL if
 * nothing is recorded, memory runs out, or this is a handler that interrupted
 * the thread while it was joining. */
struct thread_buffer *threads_join(const char *name);
/* The same for a thread that helps others, if it has not joined yet. */
struct thread_buffer *threads_join_helper(const char *name);
void threads_rename(struct thread_buffer *buffer, const char *name);

/* The calling thread ends: a handler that comes now takes another buffer, so
 * that the last one can be drained completely. */
void threads_forget(void);
/* Releases the buffer of a thread that ended; its lane goes to the next thread
 * with the same name. Under the recording's lock. */
void threads_leave(struct thread_buffer *buffer);

/* Once per process. */
enum assay_status threads_prepare(struct error *err);

/* Drops the lanes of the last recording. Under the recording's lock. */
void threads_reset(void);

/* The next buffer of that recording, from NULL to NULL. */
struct thread_buffer *threads_next(const struct thread_buffer *buffer,
                                   unsigned generation);

/* Assigns a lane to the thread if it has none, and updates its name. Under the
 * recording's lock. */
enum assay_status threads_seat(struct run *run, struct thread_buffer *buffer,
                               struct error *err);
/* All threads of a recording, in the order in which they joined. Called before
 * a lane is released, so that threads that live at the same time have lanes of
 * their own. */
enum assay_status threads_seat_all(struct run *run, unsigned generation,
                                   struct error *err);

/* Spans and values lost because there was no buffer. */
extern atomic_ullong threads_lost;

/* ---- live.c: every change of the live bytes in the last iteration ------ */

/* The counter of memory over a whole run is thinned; this keeps one iteration
 * in full, whose spans are kept in full too. Initialise to {0}. */
struct live {
    struct counter_point *points; /* in order of time */
    size_t n, capacity;
    struct held_point *held; /* the same by space and category */
    size_t n_held, held_capacity;
    bool has_iteration;
    int64_t start_ns, end_ns; /* of the last one that ended */
};

/* A row of the run's memory spaces has so many bytes from then on. */
struct held_point {
    int64_t time_ns;
    uint32_t row;
    double bytes;
};

void live_release(struct live *live);

/* The count changed. Times must increase. */
enum assay_status live_add(struct live *live, int64_t time_ns, double bytes);
enum assay_status live_add_held(struct live *live, struct held_point point);
/* A measured iteration ended; changes in it may still come. */
void live_iteration(struct live *live, int64_t start_ns, int64_t end_ns);

/* Adds the changes in the last iteration to the run as RUN_LIVE_BYTES, and by
 * space and category, if there are any. */
enum assay_status live_finish(const struct live *live, struct run *run,
                              struct error *err);

/* ---- given.c: spans reported with their times --------------------------- */

/* They come in any order, and their iteration is known only when it has ended.
 * So they wait for one more pass of the writer after that. Then they are
 * sorted, to find which lies inside which, and so that iterations never go
 * back. */

enum {
    GIVEN_MAX_WAITING = 1 << 18, /* beyond that they are counted at once */
    GIVEN_WINDOWS = 1 << 16,     /* iterations back that spans may belong to */
    GIVEN_MOMENTS = 256          /* passes back for which times are exact */
};

struct given_span {
    struct sample sample;     /* start, iteration and self time come later */
    int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, since the run began */
    int64_t anchor_ns;        /* the same; decides its iteration */
    uint32_t scope;           /* number of its name */
};

/* A moment by CLOCK_MONOTONIC and by the recording's map of ticks, which gives
 * the times of iterations and host spans: they differ by microseconds until the
 * map has been steered. */
struct given_moment {
    int64_t clock_ns, run_ns;
};

/* An iteration, by its times. */
struct given_window {
    int64_t start_ns, end_ns;
    uint32_t iteration; /* as in a record: may be ITERATION_WARM_UP */
};

/* Initialise to {0}. */
struct given {
    struct given_span *waiting;
    size_t n, capacity;
    size_t n_before;   /* the first ones, already there at the last pass */
    int64_t passed_ns; /* every mark from before this has been seen */
    bool has_open;     /* an iteration is under way */
    struct given_window open;
    struct given_window *windows; /* past iterations; overwrites the oldest */
    size_t n_windows;             /* ever */
    bool is_partial;              /* older ones are no longer known */
    struct given_moment moments[GIVEN_MOMENTS]; /* overwrites the oldest */
    size_t n_moments;                           /* ever */
};

struct recording;

void given_release(struct given *given);

/* Both clocks at a moment of this pass. */
void given_synchronise(struct recording *recording, struct ticks_pair now);

/* For records of a thread, as the writer reads them. */
void given_add(struct recording *recording, const struct record *record,
               uint32_t lane);
void given_mark(struct recording *recording, const struct record *record);
void given_iteration(struct recording *recording, int64_t start_ns,
                     int64_t end_ns, uint32_t iteration);

/* Counts the spans that have waited long enough. now_ns: every record from
 * before this was drained; INT64_MAX: all, because no more come. */
void given_settle(struct recording *recording, int64_t now_ns);

/* ---- works.c: reported work, added up by scope -------------------------- */

struct work_sum {
    double n; /* calls */
    double macs, flops, read_bytes, write_bytes;
    double n_done; /* calls that reported the following */
    double done_flops, done_bytes, kept_bytes;
};

struct scope_works {
    struct work_sum inside, outside; /* iterations */
    double parameters;
    uint32_t done_by; /* the scope that it is fused into; RUN_NONE: none */
    const struct name *text; /* the last one; NULL: none */
};

/* Initialise to {0}. */
struct works {
    struct scope_works *items; /* by scope */
    size_t n, capacity;
};

void works_release(struct works *works);

/* For a record of work, as the writer reads it. */
void works_add(struct recording *recording, const struct record *record,
               const struct name *name);

/* Puts the work reported so far into the run. */
void works_bring_up(struct recording *recording);

/* Texts left out because there were too many. */
uint64_t works_texts_left_out(void);

/* ---- drain.c ---------------------------------------------------------- */

/* A value of a counter, or a change of a memory space. */
struct timed_value {
    uint64_t ticks;
    union {
        double value;
        int64_t delta;
    };
    uint32_t counter; /* in the run; of a change: the name of the space */
    bool is_change;
};

/* Values that wait, because older ones of other threads may still come. */
struct values {
    struct timed_value *items;
    size_t n, capacity;
};

/* What the writer does, each on a lane of its own. */
enum writer_lane { WRITER_DRAINS, WRITER_SAVES, N_WRITER_LANES };

/* What the writer makes of the records. */
struct recording {
    unsigned generation; /* 0: none */
    bool keep_all;
    uint32_t keep_first; /* iterations; 0: detail chooses */
    struct run *run;
    struct store_writer *store;
    struct ticks_map clock;
    struct detail *detail; /* NULL with keep_all */
    bool shows_writer;
    uint32_t writer_lanes[N_WRITER_LANES]; /* in the run; RUN_NONE: not yet */

    uint32_t *ids; /* of names in the run, by number; RUN_NONE: none yet */
    size_t n_ids, ids_capacity;
    struct values values;
    struct live live;
    struct given given;
    struct works works;
    struct sample *batch; /* for the file; NULL if detail chooses all */
    size_t n_batch;

    struct run_health ended; /* of threads that ended */
    enum assay_status status;
    struct error error; /* the first one */
};

/* Initialise to {0}, and set the run, the store and the clock. */
enum assay_status recording_init(struct recording *recording,
                                 struct error *err);
void recording_release(struct recording *recording);

/* The id of a name in the run; RUN_NONE if it cannot have one. */
uint32_t recording_id(struct recording *recording, const struct name *name);

/* Shows a sample of a thread that helps, without counting it. */
void recording_show_helper(struct recording *recording,
                           const struct sample *sample);

/* Counts a reported span; one that comes too late is lost. */
void recording_take_given(struct recording *recording,
                          const struct sample *sample);

/* Reads the records that the thread has published. */
void recording_drain(struct recording *recording, struct thread_buffer *buffer);

/* Counts what waited for other threads: values of counters from before the
 * horizon, after which no older ones come; complete iterations. */
void recording_settle(struct recording *recording, uint64_t horizon_ticks);

/* Adds what went wrong on the thread to *health. */
void health_add(struct run_health *health, const struct thread_buffer *buffer);

/* Remembers the first failure; the recording goes on as well as it can. */
void recording_fail(struct recording *recording, enum assay_status status,
                    const struct error *err);

/* ---- timed_values.c --------------------------------------------------- */

/* For records of a thread, as the writer reads them. */
void values_add_counter(struct recording *recording,
                        const struct record *record, uint32_t counter);
void values_add_change(struct recording *recording,
                       const struct record *record);

/* Counts the values from before the horizon. */
enum assay_status values_settle(struct recording *recording,
                                uint64_t horizon_ticks, struct error *err);

/* ---- writer_thread.c -------------------------------------------------- */

/* The writer takes the lock, which is the recording's, for each pass. */
enum assay_status writer_start(struct recording *recording,
                               pthread_mutex_t *lock, struct error *err);
void writer_stop(void); /* waits until it has ended */

/* Drains all threads once. True if there is probably more. */
bool writer_pass(struct recording *recording);

/* Puts the current detail and health into the run. */
void writer_bring_up(struct recording *recording);

void writer_wake(void);

/* False if the recording of this buffer ended, or the writer has made no space
 * for so long that it never will. */
bool writer_wait_for_space(struct thread_buffer *buffer);

/* How long threads have waited for the writer so far. */
int64_t writer_waited_ns(void);
/* Whether recordings that start now show the writer itself. */
bool writer_is_shown(void);

/* ---- span.c ----------------------------------------------------------- */

/* Before a recording, while there is none: iterations start at 0, no bytes are
 * live. */
void spans_reset(unsigned warm_up);
/* In a forked child: the thread that may have been in an iteration is not
 * there, so nobody waits for it. */
void spans_forget_others(void);

/* Ends everything open on this thread; returns how many spans and iterations
 * there were. */
unsigned spans_close(struct thread_buffer *buffer);

/* Whether an iteration is under way. */
bool spans_in_iteration(void);
/* The current iteration, as a record has it. */
uint32_t spans_iteration(void);

/* The buffer to write to. NULL: there is none; what would be written is counted
 * as lost. */
struct thread_buffer *spans_buffer(void);
/* Writes a record; what is open stays open. */
void spans_put(struct thread_buffer *buffer, struct record filled);

/* ---- lanes.c ---------------------------------------------------------- */

/* Whether a handle, which may be any number, is valid. Spans cannot have the
 * root. */
bool scope_is_there(assay_scope_t scope);
bool lane_exists(void); /* whether there is any */

/* ---- facts.c ---------------------------------------------------------- */

/* The machine, the program, the time. */
enum assay_status facts_set(struct run *run, struct error *err);

#endif
