/* team/team_internal.h - a team's state, and waiting for a word to change.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TEAM_TEAM_INTERNAL_H
#define TEAM_TEAM_INTERNAL_H

#include "team/team.h"

#include <pthread.h>
#include <stdatomic.h>

/* Words that different threads write lie this far apart. */
enum { TEAM_LINE_BYTES = 128 };

/* A word that threads wait for. Whoever waits spins first and says that it
 * sleeps then; whoever changes the word looks there afterwards. Both in
 * sequentially consistent order, so that no wake-up is lost. */
struct team_word {
    _Alignas(TEAM_LINE_BYTES) atomic_uint value;
    atomic_int n_asleep;
};

/* Waits until the value is not `old`, and gives it. */
unsigned team_wait_change(struct team_word *word, unsigned old, long turns);
void team_wait_zero(struct team_word *word, long turns);
/* After a change: wakes all that sleep. */
void team_wake(struct team_word *word);
/* One turn of a spinning loop. */
void team_pause(void);

/* A loop that members take turns of. */
struct team_loop {
    _Alignas(TEAM_LINE_BYTES) atomic_ullong next;
    unsigned long long n, piece;
    atomic_uint which;  /* of the team's loops it is, from 1 */
    atomic_uint n_left; /* members that have not closed it */
};

/* Members that do not wait at the end of a loop may be so many loops apart. */
enum { TEAM_LOOPS = 8 };

struct team_worker {
    struct team_word go; /* counts the regions that it took part in */
    struct team *team;
    pthread_t thread;
    int number;
};

struct team {
    struct team_word left;  /* workers that are not done */
    struct team_word phase; /* counts the barriers */
    _Alignas(TEAM_LINE_BYTES) atomic_uint n_arrived;
    struct team_loop loops[TEAM_LOOPS];

    /* Of the region: written by the owner while all workers wait. */
    _Alignas(TEAM_LINE_BYTES) team_work *work;
    void *data;
    int n;
    long turns;       /* to spin before sleeping */
    unsigned n_loops; /* opened in earlier regions */
    bool is_ending;

    struct team_worker **workers; /* from 1 on */
    int n_workers;
};

/* Where the calling thread is. */
struct team_place {
    struct team *team; /* that it works in; NULL: alone */
    int number, size;
    bool is_parallel; /* in a region of more than one thread, at any depth */
    unsigned n_loops; /* opened in this region */
    struct team_loop *loop;            /* that it is in, with others */
    unsigned long long next, n, piece; /* of the loop that it is in alone */
};

struct team_self {
    struct team *own; /* that it gives work to; NULL: none yet */
    struct team_place place;
};

extern _Thread_local struct team_self team_self;

#endif
