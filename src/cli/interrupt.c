/* cli/interrupt.c - see interrupt.h. */
#include "cli/interrupt.h"

#include <stddef.h>
#include <unistd.h>

static const int watched[] = {SIGINT, SIGTERM, SIGHUP};

enum { n_watched = sizeof watched / sizeof watched[0] };

/* A signal handler can reach nothing else. */
static volatile sig_atomic_t arrived;
static volatile sig_atomic_t is_quiet;
static volatile sig_atomic_t is_handled[n_watched];

static void interrupt_note(int number)
{
    static const char text[] = "assay: stopping after this iteration; once "
                               "more stops at once\n";

    arrived = number;
    for (int i = 0; i < n_watched; i++) {
        if (is_handled[i]) /* what nohup ignores stays ignored */
            signal(watched[i], SIG_DFL);
    }
    if (!is_quiet && write(STDERR_FILENO, text, sizeof text - 1) < 0)
        return; /* nothing else can be done about it here */
}

const volatile sig_atomic_t *interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = interrupt_note,
                               .sa_flags = SA_RESTART};
    struct sigaction before;

    sigemptyset(&action.sa_mask);
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
    if (arrived)
        raise(arrived);
}
