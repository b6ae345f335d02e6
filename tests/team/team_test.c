/* What team/team.h promises. */
#include "team/team.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
/* It cannot follow threads started after a fork, but then lets them run. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}
#endif

enum { N = 5 };

struct visit {
    atomic_int n_calls, n_sizes;
    atomic_int by_number[N];
};

static void visit(void *data)
{
    struct visit *seen = data;

    atomic_fetch_add(&seen->n_calls, 1);
    atomic_fetch_add(&seen->n_sizes, team_size());
    atomic_fetch_add(&seen->by_number[team_number()], 1);
}

TEST(each_member_of_a_region_works_once)
{
    struct visit seen = {0};

    CHECK(team_run(visit, &seen, N));
    CHECK_INT(seen.n_calls, N);
    CHECK_INT(seen.n_sizes, N * N);
    for (int i = 0; i < N; i++)
        CHECK_INT(seen.by_number[i], 1);
    CHECK_INT(team_size(), 1);
    CHECK(!team_is_parallel());
}

static atomic_int n_begun, n_ended, where_sum, number_sum;

static unsigned watch_where(void)
{
    return 7;
}

static void watch_begin(unsigned where, int number)
{
    atomic_fetch_add(&n_begun, 1);
    atomic_fetch_add(&where_sum, (int)where);
    atomic_fetch_add(&number_sum, number);
}

static void watch_end(void)
{
    atomic_fetch_add(&n_ended, 1);
}

/* The owner is not watched: it knows where it is. */
TEST(a_watch_sees_every_other_member_of_a_region)
{
    static const struct team_watch watch = {watch_where, watch_begin,
                                            watch_end};
    struct visit seen = {0};

    team_set_watch(&watch);
    CHECK(team_run(visit, &seen, N));
    CHECK(team_run(visit, &seen, 1));
    team_set_watch(NULL);
    CHECK(team_run(visit, &seen, N));
    CHECK_INT(n_begun, N - 1);
    CHECK_INT(n_ended, N - 1);
    CHECK_INT(where_sum, 7 * (N - 1));
    CHECK_INT(number_sum, 1 + 2 + 3 + 4);
}

/* What a region writes is there when it is over, whether its members sleep or
 * spin, and as their number changes. */
TEST(regions_follow_each_other_without_losing_work)
{
    static const long spins[] = {0, 2000, 200000};

    for (size_t s = 0; s < 3; s++) {
        team_set_spin(spins[s]);
        for (int i = 0; i < 2000; i++) {
            struct visit seen = {0};
            int n = i % N + 1;

            CHECK(team_run(visit, &seen, n));
            CHECK_INT(seen.n_calls, n);
        }
    }
    team_set_spin(TEAM_SPIN_NS);
}

/* ---- a processor for each member ---- */

static void pin_to(int processor)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

struct crowd {
    cpu_set_t allowed;
    int processor; /* the owner's */
    atomic_bool is_over;
    int n_apart;
    cpu_set_t allowed_after; /* the worker's */
};

/* Keeps the processors busy that the owner is not on, so that a waking worker
 * finds none that is idle. */
static void *crowd_others(void *data)
{
    struct crowd *crowd = data;
    cpu_set_t others = crowd->allowed;

    CPU_CLR((size_t)crowd->processor, &others);
    sched_setaffinity(0, sizeof others, &others);
    while (!atomic_load(&crowd->is_over)) {
    }
    return NULL;
}

static void crowd_join_owner(void *data)
{
    struct crowd *crowd = data;

    if (!team_number())
        return;
    pin_to(crowd->processor);
    sched_setaffinity(0, sizeof crowd->allowed, &crowd->allowed);
}

static void crowd_look(void *data)
{
    struct crowd *crowd = data;

    if (!team_number())
        return;
    crowd->n_apart += sched_getcpu() != crowd->processor;
    sched_getaffinity(0, sizeof crowd->allowed_after, &crowd->allowed_after);
}

TEST(a_worker_leaves_the_processor_of_its_owner)
{
    enum { n_rounds = 20 };
    struct crowd crowd = {0};
    pthread_t other;

    sched_getaffinity(0, sizeof crowd.allowed, &crowd.allowed);
    if (CPU_COUNT(&crowd.allowed) < 2)
        SKIP("one processor");
    crowd.processor = sched_getcpu();
    pin_to(crowd.processor);
    CHECK(!pthread_create(&other, NULL, crowd_others, &crowd));
    for (int i = 0; i < n_rounds; i++) {
        CHECK(team_run(crowd_join_owner, &crowd, 2));
        usleep(2000); /* a worker moves once in a millisecond */
        CHECK(team_run(crowd_look, &crowd, 2));
    }
    atomic_store(&crowd.is_over, true);
    pthread_join(other, NULL);
    sched_setaffinity(0, sizeof crowd.allowed, &crowd.allowed);
    CHECK(crowd.n_apart >= n_rounds * 3 / 4);
    CHECK(CPU_EQUAL(&crowd.allowed_after, &crowd.allowed));
}

static sigset_t blocked_in_worker;

static void look_at_mask(void *unused)
{
    (void)unused;
    if (team_number())
        pthread_sigmask(SIG_SETMASK, NULL, &blocked_in_worker);
}

static void *run_look_at_mask(void *unused)
{
    return team_run(look_at_mask, NULL, 2) ? NULL : unused;
}

/* A handler of the program runs on a thread of the program; a fault in mapped
 * memory is answered on whatever thread it happens. */
TEST(workers_leave_signals_to_the_program_except_their_own_faults)
{
    sigset_t before, after;
    pthread_t owner;
    int failed = 0;
    void *answer;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    CHECK(!pthread_create(&owner, NULL, run_look_at_mask, &failed));
    CHECK(!pthread_join(owner, &answer) && !answer);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < 32; number++)
        CHECK_INT(sigismember(&after, number), sigismember(&before, number));
    CHECK(sigismember(&blocked_in_worker, SIGINT));
    CHECK(sigismember(&blocked_in_worker, SIGTERM));
    CHECK(sigismember(&blocked_in_worker, SIGHUP));
    CHECK(!sigismember(&blocked_in_worker, SIGBUS));
    CHECK(!sigismember(&blocked_in_worker, SIGSEGV));
}

static void visit_nested(void *data)
{
    struct visit inner = {0};

    team_run(visit, &inner, N);
    if (inner.n_calls == 1 && inner.n_sizes == 1 && team_size() == N &&
        team_is_parallel())
        visit(data);
}

TEST(a_region_inside_a_region_has_only_its_caller)
{
    struct visit seen = {0};

    CHECK(team_run(visit_nested, &seen, N));
    CHECK_INT(seen.n_calls, N);
    for (int i = 0; i < N; i++)
        CHECK_INT(seen.by_number[i], 1);
}

static void start_inner(void *data)
{
    team_run(visit, data, N);
}

TEST(a_region_inside_a_region_of_one_is_parallel)
{
    struct visit seen = {0};

    CHECK(team_run(start_inner, &seen, 1));
    CHECK_INT(seen.n_calls, N);
}

struct steps {
    int values[N]; /* plain: the barrier alone orders them */
    atomic_int n_wrong;
};

static void step(void *data)
{
    struct steps *steps = data;
    int number = team_number();

    for (int i = 1; i <= 200; i++) {
        steps->values[number] = i;
        team_barrier();
        for (int k = 0; k < N; k++) {
            if (steps->values[k] != i)
                atomic_fetch_add(&steps->n_wrong, 1);
        }
        team_barrier();
    }
}

TEST(nobody_passes_a_barrier_before_all_have_arrived)
{
    struct steps steps = {.n_wrong = 0};

    for (int i = 0; i < 5; i++) {
        CHECK(team_run(step, &steps, N));
        CHECK_INT(steps.n_wrong, 0);
    }
}

enum { N_TURNS = 1003, N_LOOPS = 40 };

struct turns {
    atomic_int done[N_LOOPS][N_TURNS];
};

/* Without a barrier in between: members are in different loops. */
static void take_turns(void *data)
{
    struct turns *turns = data;

    for (int k = 0; k < N_LOOPS; k++) {
        unsigned long long first, end;

        team_loop_open((unsigned)(k % 3 ? N_TURNS : 0), (unsigned)k % 7);
        while (team_loop_next(&first, &end)) {
            for (unsigned long long i = first; i < end; i++)
                atomic_fetch_add(&turns->done[k][i], 1);
        }
        team_loop_close();
    }
}

static void check_turns(int n)
{
    static struct turns turns;

    memset(&turns, 0, sizeof turns);
    CHECK(team_run(take_turns, &turns, n));
    for (int k = 0; k < N_LOOPS; k++) {
        for (int i = 0; i < N_TURNS; i++)
            CHECK_INT(turns.done[k][i], k % 3 != 0);
    }
}

TEST(each_turn_of_a_loop_is_taken_once)
{
    check_turns(1);
    check_turns(N);
    check_turns(2);
    check_turns(N);
}

static void *run_in_thread(void *arg)
{
    for (int i = 0; i < 300; i++)
        team_run(visit, arg, 3);
    return NULL;
}

TEST(threads_with_teams_of_their_own_do_not_disturb_each_other)
{
    struct visit seen[4] = {{0}};
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, run_in_thread, &seen[i]),
                  0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(seen[i].n_calls, 900);
    }
}

TEST(a_forked_child_has_a_team_of_its_own)
{
    struct visit seen = {0};
    int status = -1;
    pid_t child;

    CHECK(team_run(visit, &seen, N));
    child = fork();
    if (child == 0) {
        struct visit own = {0};

        alarm(60); /* rather than hang */
        team_run(visit, &own, N);
        _exit(own.n_calls == N ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK(team_run(visit, &seen, N));
    CHECK_INT(seen.n_calls, 2 * N);
}

TEST(each_thread_has_its_own_settings)
{
    int before = team_threads();

    CHECK(before >= 1);
    team_set_threads(7);
    CHECK_INT(team_threads(), 7);
    team_set_threads(0);
    CHECK_INT(team_threads(), 1);
    team_set_threads(before);
}
