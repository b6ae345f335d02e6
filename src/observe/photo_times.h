/* observe/photo_times.h - how long each photograph took.
 *
 * The run file only has the iterations of all photographs together; this shows
 * how much photographs differ.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_PHOTO_TIMES_H
#define OBSERVE_PHOTO_TIMES_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct photo_times {
    struct photo_time *photos;
    int64_t *durations_ns; /* `room` per photograph */
    size_t n, room;
};

/* A photograph, and the median of its runs. */
struct photo_median {
    size_t photo; /* its number */
    double median_ns;
    int64_t detections; /* in the last run */
};

/* For n photographs that are run `runs` times in total, in turn. */
enum assay_status photo_times_init(struct photo_times *times, size_t n,
                                   uint64_t runs, struct error *err);
void photo_times_release(struct photo_times *times); /* accepts {0} */

/* Keeps the first 99 durations of each photograph. */
void photo_times_add(struct photo_times *times, size_t photo,
                     int64_t duration_ns, int64_t detections);

/* The photographs with the lowest and highest median, and the least number of
 * runs that one had; false if that is 0, or there is only one photograph. */
bool photo_times_spread(struct photo_times *times, struct photo_median *fastest,
                        struct photo_median *slowest, uint64_t *runs);

#endif
