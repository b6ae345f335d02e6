/* session/frame.h - one iteration: some photographs through the four stages.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_FRAME_H
#define SESSION_FRAME_H

#include "picture/picture.h"
#include "session/profile.h"
#include "vision/found.h"

enum { FRAME_MAX_IMAGES = SESSION_MAX_BATCH, FRAME_MAX_TENSORS = 64 };

struct frame {
    const char *paths[FRAME_MAX_IMAGES]; /* NULL: random values */
    const char *drawn[FRAME_MAX_IMAGES]; /* names for the drawn ones, in the
                                            same order */
    struct picture pictures[FRAME_MAX_IMAGES];
    struct tensor tensors[FRAME_MAX_TENSORS]; /* the model's inputs */
    struct found found[FRAME_MAX_IMAGES];
    size_t n;
};

/* What a pass over all photographs found; for the report. */
struct tally {
    uint64_t n_images;
    uint64_t n_detections;                 /* at or above the score */
    int64_t detections, least, most, last; /* before any threshold */
    int64_t proposals, least_proposals, most_proposals;
    bool has_boxes; /* detections mean something */
    size_t n_drawn;
    struct run *found;       /* receives what was found, once per photograph; or
                                NULL */
    size_t n_photos, n_told; /* photographs; those already reported */
    struct str first_drawn;
    const char *comment; /* for the drawings */
};

/* The stages, one span each. Those after decoding work on its results. */
enum assay_status frame_decode(struct frame *frame, struct error *err);
enum assay_status frame_preprocess(struct frame *frame, struct session *session,
                                   struct error *err);
enum assay_status frame_model(struct frame *frame, struct session *session,
                              struct error *err);
enum assay_status frame_postprocess(struct frame *frame,
                                    const struct session *session,
                                    const struct profile_options *options,
                                    struct tally *tally, struct error *err);
/* Draws and writes what was found, if anything is to be drawn. No stage: it is
 * for people to look at, so it comes after the iteration. */
enum assay_status frame_draw(const struct frame *frame,
                             const struct session *session,
                             const struct profile_options *options,
                             struct tally *tally, struct error *err);
void frame_release(struct frame *frame);
/* Of the decoded photographs. */
size_t frame_bytes(const struct frame *frame);

#endif
