/* tests/session/ours.h - our detector, run on what torchvision saw.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_DETECT_OURS_H
#define TESTS_DETECT_OURS_H

#include "engine/engine.h"
#include "models/models.h"
#include "ops/detection/rpn_nms.h"

#include "models/torchvision.h"

enum { OURS_LEVELS = 5, OURS_MAX_IMAGES = 4 };

struct ours_setup {
    const char *model;
    const char *weights; /* the path of a checkpoint */
    struct model_options build;
    bool is_plain;
    int n_threads;
    enum precision precision;
};

/* Outputs in the order of models.h, and the values that are kept. */
struct ours {
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    struct tensor outputs[4 + OURS_MAX_IMAGES];
    uint32_t features[OURS_LEVELS];
    uint32_t objectness[OURS_LEVELS], deltas[OURS_LEVELS];
    uint32_t candidates[RPN_NMS_COUNTS + 1]; /* that proposals are chosen
                                                from */
    uint32_t proposals[RPN_NMS_OUTPUTS];
};

/* Skips the test where the processor does not have the precision. */
struct ours ours_open(const struct ours_setup *setup);
/* Runs it on the images in the answer. */
void ours_run(struct ours *ours, const struct checkpoint *answer,
              int64_t n_images);
void ours_close(struct ours *ours);

#endif
