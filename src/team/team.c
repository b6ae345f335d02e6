/* team/team.c - see team.h.
 *
 * Each worker has a word of its own, which the team's owner changes to start
 * it; the workers count down one word of the team when they are done. */
#include "team/team.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/processor.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- waiting for a word to change ---------------------------------------- */

/* Words that different threads write lie this far apart. */
enum { line_bytes = 128 };

/* A word that threads wait on. A waiter spins first, then announces that it
 * sleeps; whoever changes the word checks for sleepers afterwards. Both in
 * sequentially consistent order, so that no wake-up is lost. */
struct team_word {
    _Alignas(line_bytes) atomic_uint value;
    atomic_int n_asleep;
};

/* One turn of a spinning loop. */
static void team_pause(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static void team_sleep_while(struct team_word *word, unsigned value)
{
    syscall(SYS_futex, &word->value, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

/* After a change: wakes all sleepers. */
static void team_wake(struct team_word *word)
{
    if (atomic_load(&word->n_asleep))
        syscall(SYS_futex, &word->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL,
                NULL, 0);
}

/* Until the value is other than `old`, or 0. */
enum team_until { TEAM_CHANGED, TEAM_ZERO };

static bool team_is_over(struct team_word *word, enum team_until until,
                         unsigned old)
{
    unsigned value = atomic_load_explicit(&word->value, memory_order_acquire);

    return until == TEAM_ZERO ? value == 0 : value != old;
}

/* Waits on, but lets others have the processor, and gives up as soon as one
 * takes it: waking a sleeper takes longer than many a layer, so it is worth
 * waiting for the layers that one thread computes. */
static bool team_yield_until(struct team_word *word, enum team_until until,
                             unsigned old)
{
    static const int64_t longest_ns = 400000, taken_ns = 10000;
    int64_t began_ns = clock_monotonic_ns(), last_ns = began_ns, now_ns;

    for (;;) {
        if (team_is_over(word, until, old))
            return true;
        sched_yield();
        now_ns = clock_monotonic_ns();
        if (now_ns - last_ns > taken_ns || now_ns - began_ns > longest_ns)
            return false;
        last_ns = now_ns;
    }
}

/* Waits without sleeping, if `turns` is not 0. Whether it is over. */
static bool team_spin_until(struct team_word *word, enum team_until until,
                            unsigned old, long turns)
{
    for (long i = 0; i < turns; i++) {
        if (team_is_over(word, until, old))
            return true;
        team_pause();
    }
    return turns > 0 && team_yield_until(word, until, old);
}

/* Waits until the value is not `old`, and returns it. */
static unsigned team_wait_change(struct team_word *word, unsigned old,
                                 long turns)
{
    if (!team_spin_until(word, TEAM_CHANGED, old, turns)) {
        atomic_fetch_add(&word->n_asleep, 1);
        while (atomic_load(&word->value) == old)
            team_sleep_while(word, old);
        atomic_fetch_sub(&word->n_asleep, 1);
    }
    return atomic_load(&word->value);
}

static void team_wait_zero(struct team_word *word, long turns)
{
    unsigned value;

    if (team_spin_until(word, TEAM_ZERO, 0, turns))
        return;
    atomic_fetch_add(&word->n_asleep, 1);
    while ((value = atomic_load(&word->value)) != 0)
        team_sleep_while(word, value);
    atomic_fetch_sub(&word->n_asleep, 1);
}

/* ---- a team's state --------------------------------------------------- */

/* A loop whose turns the members take. */
struct team_loop {
    _Alignas(line_bytes) atomic_ullong next;
    unsigned long long n, piece;
    atomic_uint which;  /* number of the loop in this team, from 1 */
    atomic_uint n_left; /* members that have not closed it */
};

/* Members that do not wait after a loop may be this many loops apart. */
enum { max_loops = 8 };

struct team_worker {
    struct team_word go; /* counts the regions that it took part in */
    struct team *team;
    pthread_t thread;
    int number;
    atomic_int processor; /* that it began its last region on */
    int64_t moved_ns;     /* when it last moved to another processor */
};

struct team {
    struct team_word left;  /* workers that are not done */
    struct team_word phase; /* counts the barriers */
    _Alignas(line_bytes) atomic_uint n_arrived;
    struct team_loop loops[max_loops];

    /* The current region; the owner writes it while all workers wait. */
    _Alignas(line_bytes) team_work *work;
    void *data;
    int n;
    long turns;                     /* to spin before sleeping */
    int processor;                  /* that the owner began it on */
    bool is_spread;                 /* each member can have a processor */
    unsigned n_loops;               /* opened in earlier regions */
    const struct team_watch *watch; /* or NULL */
    unsigned where;                 /* what it said */
    bool is_ending;

    struct team_worker **workers; /* from 1 on */
    int n_workers;
};

/* Where a thread is working. */
struct team_place {
    struct team *team; /* NULL: alone */
    int number, size;
    bool is_parallel; /* in a region of more than one thread, at any depth */
    unsigned n_loops; /* opened in this region */
    struct team_loop *loop;            /* the loop it is in with others */
    unsigned long long next, n, piece; /* the loop it is in alone */
};

static _Thread_local struct team_place here = {.size = 1};
static _Thread_local struct team *own; /* the thread's own team; NULL: none */
static _Thread_local int n_set;        /* by team_set_threads(); 0: never */
static int n_default;                  /* if it was not called */
static int n_processors;
static atomic_long spin_turns;
static const struct team_watch *_Atomic watch;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* ends the team when its thread ends */

/* ---- the process -------------------------------------------------------- */

/* How many turns of a spinning loop take this long: a turn takes ten times as
 * long on one processor as on another. */
static long team_count_turns(long ns)
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

/* After a fork: the other threads do not exist in the child. */
static void team_forget(void)
{
    pthread_setspecific(key, NULL);
    here = (struct team_place){.size = 1};
    own = NULL;
}

static int team_read_default(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;

    /* "4,2" also sets nested regions, which are not parallel here. */
    if (n >= 1 && n <= 4096 && (*end == '\0' || *end == ','))
        return (int)n;
    return n_processors;
}

static void team_free(void *arg);

static void team_prepare(void)
{
    n_processors = processor_count();
    n_default = team_read_default();
    pthread_key_create(&key, team_free);
    pthread_atfork(NULL, NULL, team_forget);
    atomic_store(&spin_turns, team_count_turns(TEAM_SPIN_NS));
}

void team_set_watch(const struct team_watch *new_watch)
{
    atomic_store(&watch, new_watch);
}

void team_set_spin(long ns)
{
    pthread_once(&once, team_prepare);
    atomic_store(&spin_turns, ns > 0 ? team_count_turns(ns) : 0);
}

int team_threads(void)
{
    pthread_once(&once, team_prepare);
    return n_set ? n_set : n_default;
}

void team_set_threads(int n)
{
    n_set = n > 1 ? n : 1;
}

/* ---- a thread's own team ------------------------------------------------ */

/* Works as a member; returns how many loops it was in. */
static unsigned team_work_as(struct team *team, int number, int size,
                             team_work *work, void *data)
{
    struct team_place before = here;
    unsigned n_loops;

    here = (struct team_place){.team = team,
                               .number = number,
                               .size = size,
                               .is_parallel = before.is_parallel || size > 1};
    work(data);
    n_loops = here.n_loops;
    here = before;
    return n_loops;
}

/* ---- a processor for each member ------------------------------------------
 */

/* A move costs some 10 us: a worker that collides again waits this long, so
 * that a busy machine is not kept moving threads. */
enum { ns_between_moves = 1000000 };

/* Whether the owner is on this processor, or one of the workers up to `last`
 * other than this one. */
static bool team_is_taken(const struct team_worker *worker, int last,
                          int processor)
{
    const struct team *team = worker->team;

    if (team->processor == processor)
        return true;
    for (int i = 1; i <= last; i++) {
        const struct team_worker *other = team->workers[i];

        if (other != worker &&
            atomic_load_explicit(&other->processor, memory_order_relaxed) ==
                processor)
            return true;
    }
    return false;
}

/* Moves the calling worker to a processor that no other member is on, of those
 * that it may use; then it may use them all again, which moves nothing. */
static void team_move_worker(const struct team_worker *worker)
{
    cpu_set_t allowed, free_ones;

    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    free_ones = allowed;
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &free_ones) &&
            team_is_taken(worker, worker->team->n - 1, (int)i))
            CPU_CLR(i, &free_ones);
    }
    if (CPU_COUNT(&free_ones) &&
        !sched_setaffinity(0, sizeof free_ones, &free_ones))
        sched_setaffinity(0, sizeof allowed, &allowed);
}

/* Two members on one processor take turns, and each sleeps while the other
 * works. Linux leaves them there: it does not look for an idle processor to
 * wake a thread on once a small machine is half busy, and threads that sleep
 * between short regions never look like a load worth moving. So a worker that
 * finds itself on another member's processor moves. */
static void team_spread_worker(struct team_worker *worker)
{
    int processor = sched_getcpu();
    int64_t now_ns;

    if (team_is_taken(worker, worker->number, processor)) {
        now_ns = clock_monotonic_ns();
        if (now_ns - worker->moved_ns >= ns_between_moves) {
            team_move_worker(worker);
            worker->moved_ns = now_ns;
            processor = sched_getcpu();
        }
    }
    atomic_store_explicit(&worker->processor, processor, memory_order_relaxed);
}

static void *team_worker_main(void *arg)
{
    struct team_worker *worker = arg;
    struct team *team = worker->team;
    unsigned n_regions = 0;
    long turns = 0;

    /* Observers find them by this name. */
    pthread_setname_np(pthread_self(), "assay-team");
    for (;;) {
        n_regions = team_wait_change(&worker->go, n_regions, turns);
        if (team->is_ending)
            return NULL;
        turns = team->turns;
        if (team->is_spread)
            team_spread_worker(worker);
        if (team->watch)
            team->watch->begin(team->where, worker->number);
        team_work_as(team, worker->number, team->n, team->work, team->data);
        if (team->watch)
            team->watch->end();
        if (atomic_fetch_sub(&team->left.value, 1) == 1)
            team_wake(&team->left);
    }
}

static void team_start_worker(struct team_worker *worker)
{
    atomic_fetch_add(&worker->go.value, 1);
    team_wake(&worker->go);
}

static void team_free(void *arg)
{
    struct team *team = arg;

    team->is_ending = true;
    for (int i = 1; i <= team->n_workers; i++) {
        team_start_worker(team->workers[i]);
        pthread_join(team->workers[i]->thread, NULL);
        mem_free(team->workers[i]);
    }
    mem_free(team->workers);
    mem_free(team);
    own = NULL;
}

static struct team *team_own(void)
{
    struct team *team;

    if (own)
        return own;
    pthread_once(&once, team_prepare);
    team = mem_alloc_aligned(line_bytes, sizeof *team);
    if (!team)
        return NULL;
    *team = (struct team){.n = 1};
    pthread_setspecific(key, team);
    own = team;
    return own;
}

/* Signals are for the threads that the program knows of, except those that an
 * instruction of the worker itself raises: blocked, these would end the program
 * (base/file_guard.h answers one). */
static int team_start_thread(struct team_worker *worker)
{
    static const int own_faults[] = {SIGBUS,  SIGFPE, SIGILL,
                                     SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t others, before;
    int failed;

    sigfillset(&others);
    for (size_t i = 0; i < sizeof own_faults / sizeof own_faults[0]; i++)
        sigdelset(&others, own_faults[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    failed = pthread_create(&worker->thread, NULL, team_worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static bool team_add_worker(struct team *team)
{
    int number = team->n_workers + 1;
    struct team_worker **workers =
        mem_realloc(team->workers, (size_t)(number + 1) * sizeof *workers);
    struct team_worker *worker;

    if (!workers)
        return false;
    team->workers = workers;
    worker = mem_alloc_aligned(line_bytes, sizeof *worker);
    if (!worker)
        return false;
    *worker =
        (struct team_worker){.team = team, .number = number, .processor = -1};
    if (team_start_thread(worker)) {
        mem_free(worker);
        return false;
    }
    workers[number] = worker;
    team->n_workers = number;
    return true;
}

static bool team_has_threads(struct team *team, int n)
{
    while (team && team->n_workers < n - 1) {
        if (!team_add_worker(team))
            return false;
    }
    return team;
}

/* ---- regions ------------------------------------------------------------ */

bool team_run(team_work *work, void *data, int n)
{
    struct team *team;
    unsigned n_loops;

    if (n <= 1 || here.is_parallel) {
        team_work_as(NULL, 0, 1, work, data);
        return true;
    }
    team = team_own();
    if (!team_has_threads(team, n))
        return false;
    team->work = work;
    team->data = data;
    team->n = n;
    team->is_spread = n <= n_processors;
    team->turns = team->is_spread ? atomic_load(&spin_turns) : 0;
    team->processor = sched_getcpu();
    team->watch = atomic_load(&watch);
    team->where = team->watch ? team->watch->where() : 0;
    atomic_store(&team->left.value, (unsigned)n - 1);
    for (int i = 1; i < n; i++)
        team_start_worker(team->workers[i]);
    n_loops = team_work_as(team, 0, n, work, data);
    team_wait_zero(&team->left, team->turns);
    team->n_loops += n_loops; /* the same for all: each opens every loop */
    return true;
}

int team_number(void)
{
    return here.number;
}

int team_size(void)
{
    return here.size;
}

bool team_is_parallel(void)
{
    return here.is_parallel;
}

void team_barrier(void)
{
    struct team *team = here.team;
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

/* ---- loops whose turns go to whoever is free ----------------------------- */

/* The number of a loop whose fields are being written. */
static const unsigned nobody = UINT_MAX;

/* The first member to arrive sets the loop up, in a slot that all have left. */
static struct team_loop *team_find_loop(struct team *team, unsigned which,
                                        unsigned long long n,
                                        unsigned long long piece)
{
    struct team_loop *loop = &team->loops[which % max_loops];
    unsigned seen;

    while ((seen = atomic_load(&loop->which)) != which) {
        if (seen != nobody && !atomic_load(&loop->n_left) &&
            atomic_compare_exchange_strong(&loop->which, &seen, nobody)) {
            loop->n = n;
            loop->piece = piece;
            atomic_store(&loop->next, 0);
            atomic_store(&loop->n_left, (unsigned)team->n);
            atomic_store(&loop->which, which);
        } else {
            sched_yield();
        }
    }
    return loop;
}

void team_loop_open(unsigned long long n, unsigned long long piece)
{
    piece = piece ? piece : 1;
    if (here.team) {
        unsigned which = here.team->n_loops + ++here.n_loops;

        /* 0 marks a slot without a loop. */
        here.loop = team_find_loop(here.team, which % INT_MAX + 1, n, piece);
    } else {
        here.next = 0;
        here.n = n;
        here.piece = piece;
    }
}

static unsigned long long team_take_piece(struct team_loop *loop)
{
    unsigned long long next = atomic_load(&loop->next), end;

    do {
        end = loop->n - next < loop->piece ? loop->n : next + loop->piece;
    } while (next < loop->n &&
             !atomic_compare_exchange_weak(&loop->next, &next, end));
    return next;
}

bool team_loop_next(unsigned long long *first, unsigned long long *end)
{
    unsigned long long n, piece;

    if (here.team) {
        n = here.loop->n;
        piece = here.loop->piece;
        *first = team_take_piece(here.loop);
    } else {
        n = here.n;
        piece = here.piece;
        *first = here.next;
        here.next = n - *first < piece ? n : *first + piece;
    }
    if (*first >= n)
        return false;
    *end = n - *first < piece ? n : *first + piece;
    return true;
}

void team_loop_close(void)
{
    if (here.team)
        atomic_fetch_sub(&here.loop->n_left, 1);
}
