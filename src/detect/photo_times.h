/* detect/photo_times.h - how long each photograph took, one by one.
 *
 * The run file has the iterations of all photographs together; how far
 * photographs differ from each other is told from these.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_PHOTO_TIMES_H
#define DETECT_PHOTO_TIMES_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct photo_times {
    struct photo_time *photos;
    int64_t *durations_ns; /* `room` a photograph */
    size_t n, room;
};

/* A photograph, its runs in the middle. */
struct photo_median {
    size_t photo; /* its number */
    double median_ns;
    int64_t detections; /* on the last run */
};

/* For n photographs that are run `runs` times in all, in turn. */
enum assay_status photo_times_init(struct photo_times *times, size_t n,
                                   uint64_t runs, struct error *err);
void photo_times_release(struct photo_times *times); /* accepts {0} */

/* Of each photograph the first 99 durations are kept. */
void photo_times_add(struct photo_times *times, size_t photo,
                     int64_t duration_ns, int64_t detections);

/* The photographs with the least and the most median, and the least number of
 * runs that one had; false where that is none, or there is one photograph. */
bool photo_times_spread(struct photo_times *times, struct photo_median *fastest,
                        struct photo_median *slowest, uint64_t *runs);

#endif
