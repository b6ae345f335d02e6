/* base/clock.c - see clock.h. */
#include "base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
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
