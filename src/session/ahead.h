/* session/ahead.h - photographs that are decoded ahead: threads read them and
 * make a model's inputs of them while the model runs on those before.
 *
 * Frames come in order, whichever thread made them. One thread takes them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_AHEAD_H
#define SESSION_AHEAD_H

#include "session/frame.h"
#include "session/intake.h"

struct ahead;

struct ahead_options {
    const struct intake *intake; /* the photographs, gone round for ever */
    struct session *session;     /* whose inputs are made */
    size_t batch;                /* photographs of a frame */
    size_t n_held;               /* frames that the taker holds at most */
    int n_threads;               /* at least 1 */
};

/* Starts the threads. */
enum assay_status ahead_new(const struct ahead_options *options,
                            struct ahead **out, struct error *err);
/* Ends them; frames that were taken are gone too. Accepts NULL. */
void ahead_free(struct ahead *ahead);

/* Waits for the next frame, which stays the taker's until ahead_give(). If it
 * could not be made, that is the failure. */
enum assay_status ahead_take(struct ahead *ahead, struct frame **out,
                             struct error *err);
/* Frames are given back in the order they were taken in. */
void ahead_give(struct ahead *ahead, struct frame *frame);

#endif
