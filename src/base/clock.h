/* base/clock.h - time, and clocks that a test can set.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t clock_monotonic_ns(void);

/* Passed to code that measures, so that its statistics can be tested without
 * waiting. */
struct clock {
    int64_t (*now_ns)(void *context);
    void *context;
};

/* Reads CLOCK_MONOTONIC. */
struct clock clock_real(void);

static inline int64_t clock_now(const struct clock *clock)
{
    return clock->now_ns(clock->context);
}

#endif
