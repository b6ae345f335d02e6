/* team/gomp.c - the calls of OpenMP that gcc's code makes, brought to a team.
 *
 * A program that holds this file answers them for itself and for oneDNN, whose
 * calls find the program's functions before libgomp's. libgomp spins for
 * milliseconds at the end of every region and cannot be told otherwise from
 * inside; four programs on two processors took eight times as long as one.
 *
 * The names and their meanings are those of libgomp's interface (GOMP_4.0 and
 * later). A call that is missing here would go to libgomp, which knows nothing
 * of our threads: scripts/check_openmp.sh, one of the tests, looks for such. */
#include "team/team.h"

#include <stdio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

/* What libgomp's header declares, and gcc declares to itself. */
void GOMP_parallel(void (*work)(void *), void *data, unsigned n_threads,
                   unsigned flags);
void GOMP_barrier(void);
bool GOMP_loop_nonmonotonic_dynamic_start(long from, long to, long step,
                                          long piece, long *first, long *end);
bool GOMP_loop_nonmonotonic_dynamic_next(long *first, long *end);
bool GOMP_loop_ull_nonmonotonic_dynamic_start(
    bool is_up, unsigned long long from, unsigned long long to,
    unsigned long long step, unsigned long long piece,
    unsigned long long *first, unsigned long long *end);
bool GOMP_loop_ull_nonmonotonic_dynamic_next(unsigned long long *first,
                                             unsigned long long *end);
void GOMP_loop_end(void);
void GOMP_loop_end_nowait(void);
int omp_get_max_threads(void);
int omp_get_num_threads(void);
int omp_get_thread_num(void);
int omp_in_parallel(void);
void omp_set_dynamic(int is_dynamic);
void omp_set_num_threads(int n);

EXPORTED void GOMP_parallel(void (*work)(void *), void *data,
                            unsigned n_threads, unsigned flags)
{
    int n = n_threads ? (int)n_threads : team_threads();

    (void)flags; /* how to place the threads: anywhere */
    if (team_run(work, data, n))
        return;
    /* There is nobody to return this to, and fewer would give wrong results.
     * Backends start their threads where they can still fail; this is for the
     * thread that runs out of them later. */
    fprintf(stderr,
            "assay: cannot start %d threads; use --threads with fewer, or "
            "raise the limit (ulimit -u, ulimit -v)\n",
            n);
    _exit(4);
}

EXPORTED void GOMP_barrier(void)
{
    team_barrier();
}

/* ---- loops with schedule(dynamic) ---------------------------------------- */

/* The loop that the thread is in: turns become indices by it. */
static _Thread_local struct {
    unsigned long long from, step;
} loop;

static bool next_piece(unsigned long long *first, unsigned long long *end)
{
    if (!team_loop_next(first, end))
        return false;
    /* Unsigned arithmetic wraps, so that a step down is a large one up. */
    *first = loop.from + *first * loop.step;
    *end = loop.from + *end * loop.step;
    return true;
}

EXPORTED bool GOMP_loop_ull_nonmonotonic_dynamic_start(
    bool is_up, unsigned long long from, unsigned long long to,
    unsigned long long step, unsigned long long piece,
    unsigned long long *first, unsigned long long *end)
{
    unsigned long long distance = is_up ? to - from : from - to;
    unsigned long long stride = is_up ? step : 0 - step;
    bool is_empty = is_up ? to <= from : to >= from;

    loop.from = from;
    loop.step = step;
    team_loop_open(is_empty ? 0 : (distance - 1) / stride + 1, piece);
    return next_piece(first, end);
}

EXPORTED bool GOMP_loop_ull_nonmonotonic_dynamic_next(unsigned long long *first,
                                                      unsigned long long *end)
{
    return next_piece(first, end);
}

EXPORTED bool GOMP_loop_nonmonotonic_dynamic_next(long *first, long *end)
{
    unsigned long long a, b;

    if (!next_piece(&a, &b))
        return false;
    *first = (long)a;
    *end = (long)b;
    return true;
}

EXPORTED bool GOMP_loop_nonmonotonic_dynamic_start(long from, long to,
                                                   long step, long piece,
                                                   long *first, long *end)
{
    bool is_empty = step > 0 ? to <= from : to >= from;
    unsigned long long distance =
        step > 0 ? (unsigned long long)to - (unsigned long long)from
                 : (unsigned long long)from - (unsigned long long)to;
    unsigned long long stride =
        step > 0 ? (unsigned long long)step : 0 - (unsigned long long)step;

    loop.from = (unsigned long long)from;
    loop.step = (unsigned long long)step;
    team_loop_open(is_empty ? 0 : (distance - 1) / stride + 1,
                   (unsigned long long)piece);
    return GOMP_loop_nonmonotonic_dynamic_next(first, end);
}

EXPORTED void GOMP_loop_end_nowait(void)
{
    team_loop_close();
}

EXPORTED void GOMP_loop_end(void)
{
    team_loop_close();
    team_barrier();
}

/* ---- questions ------------------------------------------------------------
 */

EXPORTED int omp_get_max_threads(void)
{
    return team_threads();
}

EXPORTED int omp_get_num_threads(void)
{
    return team_size();
}

EXPORTED int omp_get_thread_num(void)
{
    return team_number();
}

EXPORTED int omp_in_parallel(void)
{
    return team_is_parallel();
}

EXPORTED void omp_set_num_threads(int n)
{
    team_set_threads(n);
}

/* Regions always get the threads they ask for. */
EXPORTED void omp_set_dynamic(int is_dynamic)
{
    (void)is_dynamic;
}
