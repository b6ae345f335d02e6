/* ops/detection/balanced_sample.h - drawing boxes to learn from, objects and
 * background in a fixed proportion; for anchor_sample.c and roi_sample.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_BALANCED_SAMPLE_H
#define OPS_DETECTION_BALANCED_SAMPLE_H

#include "base/error.h"
#include "base/random.h"
#include "tensor/tensor.h"

struct sample_rule {
    int64_t n;   /* boxes of an image, at most */
    float share; /* of objects, at most */
};

/* Who draws: each has a stream of its own in every image. */
enum sample_stream { SAMPLE_ANCHORS = 1, SAMPLE_PROPOSALS };

/* seed: int64, one of them. */
enum assay_status sample_check_seed(const struct tensor *seed,
                                    struct error *err);
struct random sample_start(const struct tensor *seed, enum sample_stream stream,
                           int64_t image);

/* labels: above 0 an object, 0 background, below 0 never drawn. chosen has
 * room for rule->n and gets indexes in rising order; returns how many. Where
 * there are few enough all are taken. */
size_t balanced_sample(const struct sample_rule *rule, struct random random,
                       const int64_t *labels, size_t n, int64_t *chosen);

#endif
