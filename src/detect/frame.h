/* detect/frame.h - one iteration: some photographs through the four stages.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_FRAME_H
#define DETECT_FRAME_H

#include "detect/session.h"
#include "picture/picture.h"

enum { FRAME_MAX_IMAGES = DETECT_MAX_BATCH, FRAME_MAX_TENSORS = 64 };

struct frame {
    const char *paths[FRAME_MAX_IMAGES]; /* NULL: random values */
    const char *drawn[FRAME_MAX_IMAGES]; /* the names of drawn ones; alike */
    struct picture pictures[FRAME_MAX_IMAGES];
    struct tensor tensors[FRAME_MAX_TENSORS]; /* the model's inputs */
    size_t n;
};

/* What a pass over all photographs found; for the report. */
struct findings {
    uint64_t n_images;
    uint64_t n_detections;                 /* at or above the score */
    int64_t detections, least, most, last; /* before any threshold */
    int64_t proposals, least_proposals, most_proposals;
    bool has_boxes; /* detections are of any meaning */
    size_t n_drawn;
    size_t n_photos, n_listed; /* that there are; that were listed */
    struct str first_drawn;
};

/* The stages, each a span. Those behind decoding work on what it left. */
enum assay_status frame_decode(struct frame *frame, struct error *err);
enum assay_status frame_preprocess(struct frame *frame, struct session *session,
                                   struct error *err);
enum assay_status frame_model(struct frame *frame, struct session *session,
                              bool is_measured, struct error *err);
enum assay_status frame_postprocess(const struct frame *frame,
                                    const struct session *session,
                                    const struct detect_options *options,
                                    struct findings *findings,
                                    struct error *err);
void frame_release(struct frame *frame);
/* Of the decoded photographs. */
size_t frame_bytes(const struct frame *frame);

#endif
