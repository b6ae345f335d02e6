/* record/ticks_internal.h - the recorder's time stamps, and their meaning.
 *
 * A tick is a step of the processor's time stamp counter if that has a constant
 * rate, otherwise a nanosecond of CLOCK_MONOTONIC. Hot code stores ticks; the
 * writer converts them to nanoseconds with a map.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_TICKS_INTERNAL_H
#define RECORD_TICKS_INTERNAL_H

#include "base/clock.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not 0 once ticks_choose() has found a counter it can trust. */
extern atomic_int ticks_from_counter;

static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__)
    if (atomic_load_explicit(&ticks_from_counter, memory_order_relaxed))
        return __builtin_ia32_rdtsc();
#endif
    return (uint64_t)clock_monotonic_ns();
}

/* Chooses the source for this process; ticks from before and after cannot be
 * compared. */
void ticks_choose(void);
const char *ticks_source(void); /* "tsc" or "monotonic" */

/* One moment by both clocks. */
struct ticks_pair {
    uint64_t ticks;
    int64_t ns; /* CLOCK_MONOTONIC */
};

struct ticks_pair ticks_pair_now(void);

/* Maps ticks to nanoseconds since the map's first pair: continuous, piecewise
 * linear, never decreasing. Each new piece begins after every tick converted so
 * far and steers towards CLOCK_MONOTONIC, so that results never change and what
 * was inside something stays inside. Not thread-safe. */
struct ticks_map {
    struct ticks_piece *pieces;
    size_t n_pieces, pieces_capacity;
    struct ticks_pair first;
    uint64_t newest; /* tick converted so far */
    int64_t next_ns; /* CLOCK_MONOTONIC when the next piece is due */
};

/* The two pairs, at least a millisecond apart, determine the first rate.
 * Initialise to {0}. */
enum assay_status ticks_map_start(struct ticks_map *map,
                                  struct ticks_pair first,
                                  struct ticks_pair second, struct error *err);
void ticks_map_release(struct ticks_map *map);

/* Adds a piece if one is due: often in the first second, then every second, and
 * after hours every minute. */
enum assay_status ticks_map_steer(struct ticks_map *map, struct ticks_pair now,
                                  struct error *err);

int64_t ticks_map_ns(struct ticks_map *map, uint64_t ticks);

#endif
