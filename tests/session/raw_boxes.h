/* tests/session/raw_boxes.h - what a detector computed before it chose: scores
 * and boxes of all proposals and classes, and those of all anchors.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SESSION_RAW_BOXES_H
#define TESTS_SESSION_RAW_BOXES_H

#include "session/session.h"

enum { RAW_LEVELS = 8 };

/* Of one photograph, on the host. */
struct raw_boxes {
    struct tensor logits, deltas, proposals; /* what BoxDetections reads */
    struct tensor anchors, boxes;            /* before RpnNms, in its order */
    struct tensor objectness[RAW_LEVELS], shifts[RAW_LEVELS];
    size_t n_levels;
    float weights[4]; /* of the deltas */
};

/* Two are the same if boxes overlap at least so much, and scores differ by no
 * more. */
struct raw_bar {
    float iou, score;
};

/* What the other device has of a detection. */
enum raw_answer {
    RAW_THERE,       /* the same score and box: it was not chosen */
    RAW_NO_PROPOSAL, /* its anchor has the same score and box, but is not among
                        the proposals */
    RAW_MOVED,       /* another box */
    RAW_SCORED,      /* another score */
    RAW_UNKNOWN      /* nobody knows which proposal it is from */
};

/* Before the first run. */
enum assay_status raw_boxes_keep(struct session *session, struct error *err);
/* After a run. Borrows the attributes, copies the rest into `pool`. */
enum assay_status raw_boxes_take(const struct session *session,
                                 struct pool *pool, struct raw_boxes *raw,
                                 struct error *err);
void raw_boxes_release(struct raw_boxes *raw); /* accepts {0} */

/* Looks for a detection of `from` in `in`; *score is what it has there, NaN
 * where it has none. */
enum raw_answer raw_boxes_find(const struct raw_boxes *from,
                               const struct raw_boxes *in, int64_t label,
                               float score, struct raw_bar bar,
                               float *found_score);

float box_iou(const float *a, const float *b);

#endif
