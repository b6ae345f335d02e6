/* tests/record/signal_test.c - spans in signal handlers: whatever a signal
 * interrupts, nothing waits for it, and everything is counted. */
#include "recorded.h"

#include "record/record_internal.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { max_new_names = 20000 };

/* ---- names that nobody has used --------------------------------------- */

/* Increments the number in its digits: "000041" to "000042". */
static void next_name(char *name)
{
    size_t i = strlen(name);

    while (i && name[i - 1] == '9')
        name[--i] = '0';
    if (i)
        name[i - 1]++;
}

/* ---- signals sent one after another ----------------------------------- */

static atomic_uint n_handled;

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct sender {
    pthread_t to;
    int signal;
    atomic_uint *n_handled; /* of this signal */
    unsigned most;
    double seconds;
    unsigned n_sent;
    atomic_bool is_done;
};

/* Sends signals to a thread, each at a random time after the one before was
 * handled. Ends after some seconds even if it has not sent them all: where the
 * threads share a processor, each signal takes a slice of its time. */
static void send_all(struct sender *sender)
{
    double end = seconds_now() + sender->seconds;
    unsigned random = 1;

    do {
        if (pthread_kill(sender->to, sender->signal))
            abort();
        sender->n_sent++;
        while (atomic_load(sender->n_handled) < sender->n_sent)
            sched_yield();
        random = random * 1103515245 + 12345;
        for (volatile unsigned k = random >> 16 & 1023; k; k--)
            ;
    } while (sender->n_sent < sender->most && seconds_now() < end);
    atomic_store(&sender->is_done, true);
}

static void handle_with(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
    atomic_store(&n_handled, 0);
}

static struct sender sender_to(pthread_t to, unsigned most, double seconds)
{
    return (struct sender){.to = to,
                           .signal = SIGUSR1,
                           .n_handled = &n_handled,
                           .most = most,
                           .seconds = seconds};
}

static void *send_signals(void *sender)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    send_all(sender);
    return NULL;
}

/* ---- what is in the run ----------------------------------------------- */

/* Calls of all scopes with a name, wherever they are. */
static uint64_t calls_of_name(const struct run *run, const char *name)
{
    uint64_t n = 0;

    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (strcmp(run_scope(run, cell->scope)->name, name) == 0)
            n += cell->calls.n;
    }
    return n;
}

static uint64_t all_calls(const struct run *run)
{
    uint64_t n = 0;

    for (size_t i = 0; i < run_cell_count(run); i++)
        n += run_cell(run, i)->calls.n;
    return n;
}

static const struct counter *counter_of(const struct run *run, const char *name)
{
    for (uint32_t i = 0; i < run_counters(run); i++) {
        if (strcmp(run_counter(run, i)->name, name) == 0)
            return run_counter(run, i);
    }
    fail_msg("no counter %s", name);
    return NULL;
}

static void check_health(const struct run *run)
{
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    CHECK_INT(run_health_of(run)->open_at_end, 0);
    CHECK_INT(run_health_of(run)->too_deep, 0);
}

/* All spans are in the run, or counted as lost: two handlers that take turns
 * may keep a thread in one interruption for longer than there is space for
 * late records, if its senders get more processor time than it does. */
static void check_all_counted(const struct run *run, uint64_t n)
{
    CHECK_INT(all_calls(run) + run_health_of(run)->lost_spans, n);
}

/* ---- a thread that begins spans all the time -------------------------- */

static char handler_name[] = "h00000";

/* Two spans, one of them with a new name as long as there are some. */
static void record_in_handler(int number)
{
    (void)number;
    assay_begin("tick");
    assay_begin(handler_name);
    assay_end();
    assay_end();
    if (atomic_load(&n_handled) < max_new_names)
        next_name(handler_name);
    atomic_fetch_add(&n_handled, 1);
}

TEST(a_handler_that_interrupts_a_span_with_a_new_name_records_its_own)
{
    struct sender sender = sender_to(pthread_self(), 5000, 5);
    char name[] = "n00000";
    uint64_t n_spans = 0;
    pthread_t thread;
    struct run *run;

    handle_with(record_in_handler);
    recorded_start(NULL);
    assay_begin("first");
    assay_end();
    CHECK_INT(pthread_create(&thread, NULL, send_signals, &sender), 0);
    while (!atomic_load(&sender.is_done)) {
        assay_begin(name);
        assay_begin("inside");
        assay_end();
        assay_end();
        if (n_spans++ < max_new_names)
            next_name(name);
    }
    pthread_join(thread, NULL);
    run = recorded_stop();
    check_health(run);
    CHECK_INT(calls_of_name(run, "inside"), n_spans);
    check_all_counted(run, 1 + 2 * n_spans + 2 * sender.n_sent);
    CHECK_INT(run_thread_count(run), 1);
    run_free(run);
}

/* ---- handlers that interrupt handlers --------------------------------- */

static atomic_uint n_handled_other;

static void record_in_other_handler(int number)
{
    (void)number;
    assay_begin("other");
    assay_end();
    atomic_fetch_add(&n_handled_other, 1);
}

/* GCC 12's ThreadSanitizer leaves all signals blocked, about once in 50,000,
 * when one comes while it is about to run the handler of another. */
static void let_signals_in(void)
{
    sigset_t none;

    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

TEST(handlers_may_interrupt_each_other)
{
    struct sender sender = sender_to(pthread_self(), 3000, 5), other = sender;
    struct sigaction action = {.sa_handler = record_in_other_handler};
    pthread_t threads[2];
    uint64_t n_spans = 0;
    struct run *run;

    handle_with(record_in_handler);
    sigemptyset(&action.sa_mask);
    CHECK_INT(sigaction(SIGUSR2, &action, NULL), 0);
    atomic_store(&n_handled_other, 0);
    other.signal = SIGUSR2;
    other.n_handled = &n_handled_other;
    recorded_start(NULL);
    assay_begin("first");
    assay_end();
    CHECK_INT(pthread_create(&threads[0], NULL, send_signals, &sender), 0);
    CHECK_INT(pthread_create(&threads[1], NULL, send_signals, &other), 0);
    while (!atomic_load(&sender.is_done) || !atomic_load(&other.is_done)) {
        let_signals_in();
        assay_begin("work");
        assay_end();
        n_spans++;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    run = recorded_stop();
    check_health(run);
    check_all_counted(run, 1 + n_spans + 2 * sender.n_sent + other.n_sent);
    run_free(run);
}

/* ---- one point after another ------------------------------------------ */

/* Writes a record of a span below the root, 1000 ticks long and with 600 in a
 * child, and does in the middle of that what a handler does. */
static void write_interrupted(void (*handler)(void))
{
    struct thread_buffer *buffer = threads_own;
    uint32_t span = thread_buffer_name(buffer, NAME_ROOT, "span", NULL);
    uint32_t inside = thread_buffer_name(buffer, span, "inside", NULL);
    struct record record = {
        .bytes = RUN_UNKNOWN, .peak_bytes = RUN_UNKNOWN, .iteration = RUN_NONE};
    uint64_t now = ticks_now();
    struct writing writing;

    record.start = now, record.end = now + 600000;
    record.name = record_span(inside, 2);
    writing = thread_buffer_write(buffer, place_at(span, 1));
    *writing.record = record;
    thread_buffer_write_end(buffer, writing);

    record.end = now + 1000000, record.name = record_span(span, 1);
    writing = thread_buffer_write(buffer, place_at(NAME_ROOT, 0));
    handler();
    *writing.record = record;
    thread_buffer_write_end(buffer, writing);
}

static void record_two(void)
{
    assay_begin("handler");
    assay_begin("below");
    assay_counter("value", NULL, 7);
    assay_end();
    assay_end();
}

TEST(records_made_while_one_is_written_follow_it)
{
    struct scope_stats span, inside;
    struct run *run;

    recorded_start(NULL);
    assay_begin("first");
    assay_end();
    write_interrupted(record_two);
    CHECK_INT(atomic_load(&threads_own->n_late), 0);
    CHECK_INT(atomic_load(&threads_own->stamping), NOT_STAMPING);
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    check_health(run);
    span = stats_of(run, "span");
    inside = stats_of(run, "span.inside");
    CHECK_INT(stats_of(run, "handler").calls, 1); /* next to it, not in it */
    CHECK_INT(stats_of(run, "handler.below").calls, 1);
    CHECK_INT(counter_of(run, "value")->n, 1);
    CHECK_NEAR(span.self_ns, span.total_ns - inside.total_ns, 1);
    CHECK_NEAR(stats_of(run, "handler").self_ns,
               stats_of(run, "handler").total_ns -
                   stats_of(run, "handler.below").total_ns,
               1);
    run_free(run);
}

static void record_too_many(void)
{
    for (int i = 0; i < LATE_RECORDS + 10; i++) {
        assay_begin("handler");
        assay_end();
    }
}

TEST(too_many_records_in_one_interruption_are_counted_as_lost)
{
    struct run *run;

    recorded_start(NULL);
    assay_begin("first");
    assay_end();
    write_interrupted(record_too_many);
    assay_begin("last");
    assay_end();
    run = recorded_stop();
    check_health(run);
    CHECK_INT(stats_of(run, "handler").calls, LATE_RECORDS);
    CHECK_INT(run_health_of(run)->lost_spans, 10);
    CHECK_INT(stats_of(run, "last").calls, 1);
    run_free(run);
}

/* A handler joined after its thread found that it had to join, and before it
 * did. */
TEST(a_thread_that_has_joined_keeps_what_it_has_recorded)
{
    struct thread_buffer *own;
    struct run *run;

    recorded_start(NULL);
    assay_begin("span");
    assay_end();
    own = threads_own;
    CHECK(threads_join(NULL) == own);
    CHECK(threads_join("named") == own);
    run = recorded_stop();
    CHECK_INT(stats_of(run, "span").calls, 1);
    CHECK_INT(run_thread_count(run), 1);
    CHECK_STR(run_thread(run, 0)->name, "named");
    run_free(run);
}

/* ---- counters, phases and bytes --------------------------------------- */

static void count_in_handler(int number)
{
    unsigned n = atomic_load(&n_handled);

    (void)number;
    assay_phase_begin("handling");
    assay_begin("tick");
    assay_bytes(24);
    assay_counter("handled", NULL, n);
    assay_bytes(-24);
    assay_end();
    assay_phase_end();
    atomic_fetch_add(&n_handled, 1);
}

TEST(all_values_phases_and_bytes_of_a_handler_are_recorded)
{
    struct sender sender = sender_to(pthread_self(), 5000, 5);
    uint64_t n_spans = 0;
    pthread_t thread;
    struct run *run;

    handle_with(count_in_handler);
    recorded_start(NULL);
    assay_begin("first");
    assay_end();
    CHECK_INT(pthread_create(&thread, NULL, send_signals, &sender), 0);
    while (!atomic_load(&sender.is_done)) {
        assay_phase_begin("working");
        assay_begin("work");
        assay_bytes(8);
        assay_counter("worked", NULL, (double)n_spans++);
        assay_bytes(-8);
        assay_end();
        assay_phase_end();
    }
    pthread_join(thread, NULL);
    assay_counter("last", NULL, 0);
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    check_health(run);
    CHECK_INT(calls_of_name(run, "tick"), sender.n_sent);
    CHECK_INT(calls_of_name(run, "work"), n_spans);
    CHECK_INT(counter_of(run, "handled")->n, sender.n_sent);
    CHECK_INT(counter_of(run, "worked")->n, n_spans);
    CHECK_NEAR(counter_of(run, "memory")->last, 0, 0);
    run_free(run);
}

/* ---- iterations ------------------------------------------------------- */

static atomic_uint n_marked;

static void mark_in_handler(int number)
{
    (void)number;
    assay_iteration_begin(); /* refused if one is under way */
    assay_iteration_end();
    atomic_fetch_add(&n_handled, 1);
}

TEST(iterations_that_a_handler_marks_wait_for_nobody)
{
    struct sender sender = sender_to(pthread_self(), 2000, 5);
    pthread_t thread;
    struct run *run;

    handle_with(mark_in_handler);
    atomic_store(&n_marked, 0);
    recorded_start(NULL);
    assay_begin("first");
    assay_end();
    CHECK_INT(pthread_create(&thread, NULL, send_signals, &sender), 0);
    while (!atomic_load(&sender.is_done)) {
        assay_iteration_begin();
        assay_iteration_end();
        atomic_fetch_add(&n_marked, 1);
    }
    pthread_join(thread, NULL);
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->open_at_end, 0);
    /* Each refusal is an extra end, or an extra begin and end. */
    CHECK(run_iteration_count(run) <= atomic_load(&n_marked) + sender.n_sent);
    CHECK(run_iteration_count(run) + run_health_of(run)->unbalanced_ends >=
          atomic_load(&n_marked) + sender.n_sent);
    run_free(run);
}

/* ---- the first call of a thread --------------------------------------- */

static atomic_bool goes_on;
static atomic_uint n_ready;

static atomic_int turn; /* whose it is */

static void *allocate_until_told(void *argument)
{
    const int *number = argument;

    atomic_fetch_add(&n_ready, 1);
    while (atomic_load(&goes_on)) {
        void *volatile block = NULL;

        if (atomic_load(&turn) == *number)
            block = malloc(5000); /* more than a thread keeps for itself */
        else
            usleep(1000);
        free(block);
    }
    return NULL;
}

/* A signal comes while the thread holds malloc()'s lock. All threads live at
 * once, so that each needs a buffer of its own. */
TEST(the_first_span_of_a_thread_may_be_in_a_handler)
{
    enum { n_threads = 64 };
    pthread_t threads[n_threads];
    int numbers[n_threads];
    unsigned n_sent = 0;
    struct run *run;

    recorded_start(NULL);
    atomic_store(&goes_on, true);
    atomic_store(&turn, -1);
    atomic_store(&n_ready, 0);
    for (int i = 0; i < n_threads; i++) {
        numbers[i] = i;
        CHECK_INT(
            pthread_create(&threads[i], NULL, allocate_until_told, &numbers[i]),
            0);
    }
    while (atomic_load(&n_ready) < n_threads)
        sched_yield();
    for (int i = 0; i < n_threads; i++) {
        struct sender sender = sender_to(threads[i], 20, 0.1);

        handle_with(record_in_handler);
        atomic_store(&turn, i);
        usleep(3000); /* until it is at work */
        send_all(&sender);
        n_sent += sender.n_sent;
    }
    atomic_store(&goes_on, false);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    check_health(run);
    CHECK_INT(calls_of_name(run, "tick"), n_sent);
    CHECK_INT(run_thread_count(run), n_threads);
    run_free(run);
}

static void *record_at_once(void *unused)
{
    atomic_fetch_add(&n_ready, 1);
    for (int i = 0; i < 20; i++) {
        assay_begin("work");
        assay_end();
    }
    while (atomic_load(&goes_on))
        sched_yield();
    return unused;
}

/* If a handler comes while its thread joins the recording, its spans are
 * counted as lost. */
TEST(a_handler_that_interrupts_the_first_span_of_a_thread_waits_for_nobody)
{
    enum { n_threads = 200 };
    unsigned n_sent = 0;
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < n_threads; i++) {
        struct sender sender;
        pthread_t thread;

        handle_with(record_in_handler);
        atomic_store(&goes_on, true);
        atomic_store(&n_ready, 0);
        CHECK_INT(pthread_create(&thread, NULL, record_at_once, NULL), 0);
        while (!atomic_load(&n_ready))
            ;
        sender = sender_to(thread, 10, 0.05);
        send_all(&sender);
        n_sent += sender.n_sent;
        atomic_store(&goes_on, false);
        pthread_join(thread, NULL);
    }
    run = recorded_stop();
    check_health(run);
    CHECK_INT(calls_of_name(run, "work"), 20 * n_threads);
    CHECK_INT(all_calls(run) + run_health_of(run)->lost_spans,
              20 * n_threads + 2 * n_sent);
    run_free(run);
}
