/* team/team.h - threads that share the work of a kernel.
 *
 * A team belongs to the thread that first needs one and stays with it. Its
 * members wait for the next region of work for a moment spinning, then asleep:
 * on a machine that has other work to do, a team takes its fair share and no
 * more. After a fork() the child begins with a team of its own.
 *
 * Kernels do not call this: they are written with OpenMP's pragmas, and gomp.c
 * brings OpenMP's calls here, ours and oneDNN's. Only programs have that;
 * libassay_models.so leaves the choice of an OpenMP library to its host.
 *
 * Stands on base.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TEAM_TEAM_H
#define TEAM_TEAM_H

#include <stdbool.h>

typedef void team_work(void *data);

/* Runs work(data) on n threads at once and returns when all have ended; the
 * caller is number 0. In a region of more than one thread the caller works
 * alone. False: so many threads cannot be started, and nothing was done. */
bool team_run(team_work *work, void *data, int n);

/* Of the calling thread in its region; 0, 1 outside of one. */
int team_number(void);
int team_size(void);
/* In a region of more than one thread. */
bool team_is_parallel(void);

/* Waits for all members of the region. */
void team_barrier(void);

/* How many a region has that does not say, for the calling thread: what was
 * set, else OMP_NUM_THREADS, else the processors that may be used. */
int team_threads(void);
void team_set_threads(int n);

/* How long a member spins before it sleeps, in all teams. It sleeps at once
 * where a region has more members than there are processors. For benchmarks;
 * the default is what they chose. */
#define TEAM_SPIN_NS 20000
void team_set_spin(long ns);

/* ---- loops whose turns go to whoever is free ----------------------------- */

/* Each member of a region opens every loop of it, in the same order: turns 0
 * to n - 1, handed out in pieces. */
void team_loop_open(unsigned long long n, unsigned long long piece);
/* The next piece, turns first to end - 1; false: there is none. */
bool team_loop_next(unsigned long long *first, unsigned long long *end);
void team_loop_close(void);

#endif
