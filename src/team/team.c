/* team/team.c - see team.h.
 *
 * Each worker has a word of its own, which the team's owner changes to start
 * it; the workers count down one word of the team when they are done. */
#include "team/team.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/processor.h"
#include "team/team_internal.h"

#include <stdlib.h>

_Thread_local struct team_self team_self = {.place.size = 1};

static _Thread_local int n_set; /* by team_set_threads(); 0: never */
static int n_default;           /* where it was not */
static int n_processors;
static atomic_long spin_turns;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* ends the team of a thread that ends */

/* ---- the process -------------------------------------------------------- */

/* As many turns of a spinning loop as take so long: one takes ten times as
 * long on one processor as on another. */
static long count_turns(long ns)
{
    enum { n_tried = 2048 };
    int64_t best_ns = INT64_MAX;

    for (int again = 0; again < 3; again++) {
        int64_t began_ns = clock_monotonic_ns(), took_ns;

        for (int i = 0; i < n_tried; i++)
            team_pause();
        took_ns = clock_monotonic_ns() - began_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    return (long)((double)ns * n_tried / (double)(best_ns > 0 ? best_ns : 1));
}

/* The other threads did not come along. */
static void forget_team(void)
{
    pthread_setspecific(key, NULL);
    team_self = (struct team_self){.place.size = 1};
}

static int read_default(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;

    /* "4,2": of nested regions too, which are not parallel here. */
    if (n >= 1 && n <= 4096 && (*end == '\0' || *end == ','))
        return (int)n;
    return n_processors;
}

static void team_free(void *arg);

static void prepare(void)
{
    n_processors = processor_count();
    n_default = read_default();
    pthread_key_create(&key, team_free);
    pthread_atfork(NULL, NULL, forget_team);
    atomic_store(&spin_turns, count_turns(TEAM_SPIN_NS));
}

void team_set_spin(long ns)
{
    pthread_once(&once, prepare);
    atomic_store(&spin_turns, ns > 0 ? count_turns(ns) : 0);
}

int team_threads(void)
{
    pthread_once(&once, prepare);
    return n_set ? n_set : n_default;
}

void team_set_threads(int n)
{
    n_set = n > 1 ? n : 1;
}

/* ---- a thread's own team ------------------------------------------------ */

/* Works as a member, and tells how many loops it was in. */
static unsigned work_as(struct team *team, int number, int size,
                        team_work *work, void *data)
{
    struct team_place before = team_self.place;
    unsigned n_loops;

    team_self.place =
        (struct team_place){.team = team,
                            .number = number,
                            .size = size,
                            .is_parallel = before.is_parallel || size > 1};
    work(data);
    n_loops = team_self.place.n_loops;
    team_self.place = before;
    return n_loops;
}

static void *worker_main(void *arg)
{
    struct team_worker *worker = arg;
    struct team *team = worker->team;
    unsigned n_regions = 0;
    long turns = 0;

    /* By this name observers find them. */
    pthread_setname_np(pthread_self(), "assay-team");
    for (;;) {
        n_regions = team_wait_change(&worker->go, n_regions, turns);
        if (team->is_ending)
            return NULL;
        turns = team->turns;
        work_as(team, worker->number, team->n, team->work, team->data);
        if (atomic_fetch_sub(&team->left.value, 1) == 1)
            team_wake(&team->left);
    }
}

static void start_worker(struct team_worker *worker)
{
    atomic_fetch_add(&worker->go.value, 1);
    team_wake(&worker->go);
}

static void team_free(void *arg)
{
    struct team *team = arg;

    team->is_ending = true;
    for (int i = 1; i <= team->n_workers; i++) {
        start_worker(team->workers[i]);
        pthread_join(team->workers[i]->thread, NULL);
        mem_free(team->workers[i]);
    }
    mem_free(team->workers);
    mem_free(team);
    team_self.own = NULL;
}

static struct team *own_team(void)
{
    struct team *team = team_self.own;

    if (team)
        return team;
    pthread_once(&once, prepare);
    team = mem_alloc_aligned(TEAM_LINE_BYTES, sizeof *team);
    if (!team)
        return NULL;
    *team = (struct team){.n = 1};
    pthread_setspecific(key, team);
    team_self.own = team;
    return team;
}

static bool add_worker(struct team *team)
{
    int number = team->n_workers + 1;
    struct team_worker **workers =
        mem_realloc(team->workers, (size_t)(number + 1) * sizeof *workers);
    struct team_worker *worker;

    if (!workers)
        return false;
    team->workers = workers;
    worker = mem_alloc_aligned(TEAM_LINE_BYTES, sizeof *worker);
    if (!worker)
        return false;
    *worker = (struct team_worker){.team = team, .number = number};
    if (pthread_create(&worker->thread, NULL, worker_main, worker)) {
        mem_free(worker);
        return false;
    }
    workers[number] = worker;
    team->n_workers = number;
    return true;
}

static bool has_threads(struct team *team, int n)
{
    while (team && team->n_workers < n - 1) {
        if (!add_worker(team))
            return false;
    }
    return team;
}

/* ---- regions ------------------------------------------------------------ */

bool team_run(team_work *work, void *data, int n)
{
    struct team *team;
    unsigned n_loops;

    if (n <= 1 || team_self.place.is_parallel) {
        work_as(NULL, 0, 1, work, data);
        return true;
    }
    team = own_team();
    if (!has_threads(team, n))
        return false;
    team->work = work;
    team->data = data;
    team->n = n;
    team->turns = n <= n_processors ? atomic_load(&spin_turns) : 0;
    atomic_store(&team->left.value, (unsigned)n - 1);
    for (int i = 1; i < n; i++)
        start_worker(team->workers[i]);
    n_loops = work_as(team, 0, n, work, data);
    team_wait_zero(&team->left, team->turns);
    team->n_loops += n_loops; /* of all: each opens every loop */
    return true;
}

int team_number(void)
{
    return team_self.place.number;
}

int team_size(void)
{
    return team_self.place.size;
}

bool team_is_parallel(void)
{
    return team_self.place.is_parallel;
}

void team_barrier(void)
{
    struct team *team = team_self.place.team;
    unsigned phase;

    if (!team)
        return;
    phase = atomic_load(&team->phase.value);
    if (atomic_fetch_add(&team->n_arrived, 1) + 1 == (unsigned)team->n) {
        atomic_store(&team->n_arrived, 0);
        atomic_fetch_add(&team->phase.value, 1);
        team_wake(&team->phase);
    } else {
        team_wait_change(&team->phase, phase, team->turns);
    }
}
