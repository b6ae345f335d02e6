/* base/clock.c - see clock.h. */
#include "base/clock.h"

#include <time.h>

int64_t clock_monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t now_monotonic(void *context)
{
    (void)context;
    return clock_monotonic_ns();
}

struct clock clock_real(void)
{
    return (struct clock){.now_ns = now_monotonic};
}
