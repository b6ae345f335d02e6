/* tests/session/strays.h - boxes that only one side has, and whether rounding
 * explains them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_DETECT_STRAYS_H
#define TESTS_DETECT_STRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one side found in one image, by falling score. */
struct found {
    const float *boxes; /* [n,4] */
    const float *scores;
    const int64_t *labels; /* NULL: all boxes compete */
    size_t n;
    bool *is_stray; /* filled by the caller: without a partner */
};

/* Where boxes are dropped. */
struct cuts {
    double iou;           /* NMS: above it the worse one is dropped */
    size_t keep;          /* at most so many stay */
    const double *scores; /* other scores at which something is cut off */
    size_t n_scores;
};

double strays_overlap(const float *a, const float *b);

/* The number of strays of both sides that neither are within 1e-4 of a cut nor
 * follow from one that is. */
size_t strays_unexplained(const struct found *theirs, const struct found *ours,
                          const struct cuts *cuts);

#endif
