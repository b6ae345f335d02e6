/* ops/detection/balanced_sample.h - draws boxes to train on, objects and
 * background in a fixed proportion; for anchor_sample.c and roi_sample.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_BALANCED_SAMPLE_H
#define OPS_DETECTION_BALANCED_SAMPLE_H

#include "base/error.h"
#include "base/random.h"
#include "tensor/tensor.h"

struct sample_rule {
    int64_t n;   /* boxes per image, at most */
    float share; /* of objects among them, at most */
};

/* What is drawn: each has its own random stream per image. */
enum sample_stream { SAMPLE_ANCHORS = 1, SAMPLE_PROPOSALS };

/* A seed is one int64. */
enum assay_status sample_check_seed(const struct tensor *seed,
                                    struct error *err);
struct random sample_start(const struct tensor *seed, enum sample_stream stream,
                           int64_t image);

/* labels: above 0 objects, 0 background, below 0 never drawn. Writes indices in
 * ascending order to chosen, which has room for rule->n, and returns how many.
 * Takes all if there are few enough. */
size_t balanced_sample(const struct sample_rule *rule, struct random random,
                       const int64_t *labels, size_t n, int64_t *chosen);

#endif
