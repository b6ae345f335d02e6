/* cli/interrupt.c - see interrupt.h. */
#include "cli/interrupt.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static const int watched[] = {SIGINT, SIGTERM, SIGHUP};

enum {
    n_watched = sizeof watched / sizeof watched[0],
    /* Nobody presses Ctrl-C twice in this time, but timeout(1) signals its
     * child and then its whole group. */
    same_signal_ns = 100000000
};

/* A signal handler can reach nothing else. */
static volatile sig_atomic_t arrived;
static volatile sig_atomic_t is_quiet;
static volatile sig_atomic_t is_handled[n_watched];

/* Of handlers, of which two may run at once on two threads. */
static atomic_bool has_first;
static atomic_llong answered_ns; /* when the first one was; 0: not yet */

static void interrupt_unwatch(void)
{
    for (int i = 0; i < n_watched; i++) {
        if (is_handled[i]) /* what nohup ignores stays ignored */
            signal(watched[i], SIG_DFL);
    }
}

static void interrupt_note(int number)
{
    static const char text[] = "assay: stopping after this iteration; once "
                               "more stops at once\n";
    int64_t first_ns;

    if (atomic_exchange(&has_first, true)) {
        first_ns = atomic_load(&answered_ns);
        if (!first_ns || clock_monotonic_ns() - first_ns < same_signal_ns)
            return;
        interrupt_unwatch();
        raise(number); /* arrives when this returns */
        return;
    }
    arrived = number;
    if (!is_quiet && write(STDERR_FILENO, text, sizeof text - 1) < 0)
        is_quiet = 1; /* nobody can read it */
    /* Only now: a terminal may make it wait, and the second signal with it. */
    atomic_store(&answered_ns, clock_monotonic_ns());
}

const volatile sig_atomic_t *interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = interrupt_note,
                               .sa_flags = SA_RESTART};
    struct sigaction before;

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < n_watched; i++)
        sigaddset(&action.sa_mask, watched[i]);
    for (int i = 0; i < n_watched; i++) {
        if (sigaction(watched[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) {
            is_handled[i] = 1;
            sigaction(watched[i], &action, NULL);
        }
    }
    return &arrived;
}

const volatile sig_atomic_t *interrupt_watch_quietly(void)
{
    is_quiet = 1;
    return interrupt_watch();
}

void interrupt_pass_on(void)
{
    if (!arrived)
        return;
    interrupt_unwatch();
    raise(arrived);
}
