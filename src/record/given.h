/* record/given.h - spans that were given with their times, on their way into
 * the run.
 *
 * They come in any order, and their iteration is known only when it has ended.
 * So they wait, for one pass of the writer longer than that, and are then
 * sorted: what lies inside what, and no iteration before an earlier one. Not
 * thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_GIVEN_H
#define RECORD_GIVEN_H

#include "record/ticks.h"
#include "run/run.h"

enum {
    GIVEN_MAX_WAITING = 1 << 18, /* more are sorted in as they are */
    GIVEN_WINDOWS = 1 << 16,     /* iterations back that spans may belong to */
    GIVEN_MOMENTS = 256          /* passes back that times are known exactly */
};

struct given_span {
    struct sample sample; /* start, iteration and self time are still to come */
    int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, since the run began */
    int64_t anchor_ns;        /* the same; its iteration lasted then */
    uint32_t scope;           /* number of its name */
};

/* A moment by CLOCK_MONOTONIC and by the recording's map of ticks, which the
 * times of iterations and host spans come from: they differ by microseconds
 * until the map has been steered. */
struct given_moment {
    int64_t clock_ns, run_ns;
};

/* An iteration, by its times. */
struct given_window {
    int64_t start_ns, end_ns;
    uint32_t iteration; /* of a record: ITERATION_WARM_UP is one */
};

/* Start from {0}. */
struct given {
    struct given_span *waiting;
    size_t n, capacity;
    size_t n_before;   /* the first ones: they were there at the last pass */
    int64_t passed_ns; /* every mark from before this has been seen */
    bool has_open;     /* an iteration lasts */
    struct given_window open;
    struct given_window *windows; /* that ended, the oldest overwritten */
    size_t n_windows;             /* ever */
    bool is_partial;              /* older ones are not known any more */
    struct given_moment moments[GIVEN_MOMENTS]; /* the oldest overwritten */
    size_t n_moments;                           /* ever */
};

struct recording;
struct record;

void given_release(struct given *given);

/* Both clocks at a moment of this pass. */
void given_synchronise(struct recording *recording, struct ticks_pair now);

/* The writer has come to these in the records of a thread. */
void given_add(struct recording *recording, const struct record *record,
               uint32_t lane);
void given_mark(struct recording *recording, const struct record *record);
void given_iteration(struct recording *recording, int64_t start_ns,
                     int64_t end_ns, uint32_t iteration);

/* Brings into the run what has waited long enough. now_ns: every record from
 * before this was drained; INT64_MAX: all of it, since no more come. */
void given_settle(struct recording *recording, int64_t now_ns);

#endif
