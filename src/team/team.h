/* team/team.h - threads that share the work of a kernel.
 *
 * A team belongs to the thread that first needs one, and stays with it. While
 * its members wait for the next region of work they spin for a moment, then
 * yield as long as nobody else wants the processor, but not for long, then
 * sleep: on a busy machine a team takes no more than its fair share. After a
 * fork() the child starts with a team of its own.
 *
 * Kernels do not call this: they are written with OpenMP's pragmas, and gomp.c
 * redirects OpenMP's calls here, ours and oneDNN's. Only programs contain that;
 * libassay_models.so leaves the choice of an OpenMP library to its host.
 *
 * Stands on base.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TEAM_TEAM_H
#define TEAM_TEAM_H

#include <stdbool.h>

typedef void team_work(void *data);

/* Runs work(data) on n threads at once and returns when all are done; the
 * caller is number 0. Inside a region of more than one thread the caller works
 * alone. False: that many threads cannot be started, and nothing was done. */
bool team_run(team_work *work, void *data, int n);

/* The calling thread's number in its region, and the region's size; 0 and 1
 * outside one. */
int team_number(void);
int team_size(void);
/* Whether it is in a region of more than one thread. */
bool team_is_parallel(void);

/* Waits for all members of the region. */
void team_barrier(void);

/* The default size of the calling thread's regions: the number set, else
 * OMP_NUM_THREADS, else the processors that may be used. */
int team_threads(void);
void team_set_threads(int n);

/* How long a member spins before it yields, in all teams. It sleeps at once at
 * 0, and if a region has more members than there are processors. For
 * benchmarks, which the default comes from. */
#define TEAM_SPIN_NS 20000
void team_set_spin(long ns);

/* ---- whoever wants to see what the members do ---------------------------- */

/* Called around each region of more than one thread: where() by its owner, the
 * others by every other member. They must not start regions. */
struct team_watch {
    unsigned (*where)(void); /* passed on to begin() */
    void (*begin)(unsigned where, int number);
    void (*end)(void);
};

/* For all regions that begin after this; NULL: nobody. *watch must stay. */
void team_set_watch(const struct team_watch *watch);

/* ---- loops whose turns go to whoever is free ----------------------------- */

/* Each member of a region opens every loop in it, in the same order: turns 0 to
 * n - 1, handed out in pieces. */
void team_loop_open(unsigned long long n, unsigned long long piece);
/* The next piece, turns first to end - 1; false if there is none. */
bool team_loop_next(unsigned long long *first, unsigned long long *end);
void team_loop_close(void);

#endif
