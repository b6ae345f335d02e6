/* team/gomp.c - runs the OpenMP calls that gcc generates on a team.
 *
 * A program with this file in it serves these calls for itself and for oneDNN,
 * because the program's functions are found before libgomp's. libgomp spins for
 * milliseconds at the end of every region, and a program cannot turn that off
 * for itself; four programs on two processors took eight times as long as one.
 *
 * The names and their meanings are those of libgomp's interface (GOMP_4.0 and
 * later). A call that is missing here would go to libgomp, which does not know
 * our threads; scripts/check_openmp.sh, one of the tests, checks for that. */
#include "team/team.h"

#include <stdio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

/* No header that we can include declares these. */
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

    (void)flags; /* thread placement; we do none */
    if (team_run(work, data, n))
        return;
    /* There is nobody to return this to, and fewer threads would give wrong
     * results. Backends start their threads early, when they can still fail;
     * this is for a failure after that. */
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

/* The loop that the thread is in; converts turns to indices. */
static _Thread_local struct {
    unsigned long long from, step;
} loop;

static bool gomp_next_piece(unsigned long long *first, unsigned long long *end)
{
    if (!team_loop_next(first, end))
        return false;
    /* Unsigned arithmetic wraps, so a step down is a large step up. */
    *first = loop.from + *first * loop.step;
    *end = loop.from + *end * loop.step;
    return true;
}

static void gomp_open_loop(unsigned long long from, unsigned long long to,
                           unsigned long long step, bool is_up, bool is_empty,
                           unsigned long long piece)
{
    unsigned long long distance = is_up ? to - from : from - to;
    unsigned long long stride = is_up ? step : 0 - step;

    loop.from = from;
    loop.step = step;
    team_loop_open(is_empty ? 0 : (distance - 1) / stride + 1, piece);
}

EXPORTED bool GOMP_loop_ull_nonmonotonic_dynamic_start(
    bool is_up, unsigned long long from, unsigned long long to,
    unsigned long long step, unsigned long long piece,
    unsigned long long *first, unsigned long long *end)
{
    gomp_open_loop(from, to, step, is_up, is_up ? to <= from : to >= from,
                   piece);
    return gomp_next_piece(first, end);
}

EXPORTED bool GOMP_loop_ull_nonmonotonic_dynamic_next(unsigned long long *first,
                                                      unsigned long long *end)
{
    return gomp_next_piece(first, end);
}

EXPORTED bool GOMP_loop_nonmonotonic_dynamic_next(long *first, long *end)
{
    unsigned long long a, b;

    if (!gomp_next_piece(&a, &b))
        return false;
    *first = (long)a;
    *end = (long)b;
    return true;
}

EXPORTED bool GOMP_loop_nonmonotonic_dynamic_start(long from, long to,
                                                   long step, long piece,
                                                   long *first, long *end)
{
    gomp_open_loop((unsigned long long)from, (unsigned long long)to,
                   (unsigned long long)step, step > 0,
                   step > 0 ? to <= from : to >= from,
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

/* ---- queries ------------------------------------------------------------ */

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

/* Regions always get the number of threads they ask for. */
EXPORTED void omp_set_dynamic(int is_dynamic)
{
    (void)is_dynamic;
}
