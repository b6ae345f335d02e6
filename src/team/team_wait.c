/* team/team_wait.c - see team_internal.h: waiting for a word to change. */
#include "team/team_internal.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void team_pause(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static void sleep_while(struct team_word *word, unsigned value)
{
    syscall(SYS_futex, &word->value, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void team_wake(struct team_word *word)
{
    if (atomic_load(&word->n_asleep))
        syscall(SYS_futex, &word->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL,
                NULL, 0);
}

/* False where it still is `old` after so many turns. */
static bool spin_while(const struct team_word *word, unsigned old, long turns)
{
    for (long i = 0; i < turns; i++) {
        if (atomic_load_explicit(&word->value, memory_order_acquire) != old)
            return true;
        team_pause();
    }
    return false;
}

unsigned team_wait_change(struct team_word *word, unsigned old, long turns)
{
    if (!spin_while(word, old, turns)) {
        atomic_fetch_add(&word->n_asleep, 1);
        while (atomic_load(&word->value) == old)
            sleep_while(word, old);
        atomic_fetch_sub(&word->n_asleep, 1);
    }
    return atomic_load(&word->value);
}

void team_wait_zero(struct team_word *word, long turns)
{
    unsigned value;

    for (long i = 0; i < turns; i++) {
        if (!atomic_load_explicit(&word->value, memory_order_acquire))
            return;
        team_pause();
    }
    atomic_fetch_add(&word->n_asleep, 1);
    while ((value = atomic_load(&word->value)) != 0)
        sleep_while(word, value);
    atomic_fetch_sub(&word->n_asleep, 1);
}
