/* run/sketch.h - a distribution of durations in a few hundred numbers.
 *
 * A logarithmic histogram with 64 buckets per octave, so that any percentile is
 * within 1/128 (0.8 %) of a value that was added. Sketches merge without loss.
 * Memory grows with the range of the values, not with their number, and is
 * bounded (3.7 thousand buckets).
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_SKETCH_H
#define RUN_SKETCH_H

#include "base/error.h"

#include <stdint.h>

struct sketch {
    uint64_t *counts; /* of buckets first .. first + n_buckets - 1 */
    uint32_t first, n_buckets;
    uint64_t n; /* values added */
};

enum { SKETCH_MAX_BUCKETS = 64 * 58 };

/* Initialise to {0}. */
void sketch_release(struct sketch *sketch);

/* Values below 0 count as 0. The only failure is ASSAY_NOMEM; the sketch is
 * then unchanged. */
enum assay_status sketch_add(struct sketch *sketch, int64_t value,
                             uint64_t times);
enum assay_status sketch_merge(struct sketch *into, const struct sketch *from);

/* The value at quantile q (0 to 1): the middle of its bucket. 0 for an empty
 * sketch. */
double sketch_quantile(const struct sketch *sketch, double q);

/* The bucket of a value, and the range of a bucket: for storing. */
uint32_t sketch_bucket(int64_t value);
int64_t sketch_bucket_low(uint32_t bucket);
int64_t sketch_bucket_high(uint32_t bucket); /* the last value inside */

#endif
