/* detect/observer.h - a value an iteration of everything that is worth one:
 * what was in the photographs, how the machine behaved.
 *
 * Becomes series of the run: "input.photo", "content.*", "steady.*". Of a batch
 * the photograph is the first one, the size the largest, and counts are those
 * of all.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_OBSERVER_H
#define DETECT_OBSERVER_H

#include "detect/frame.h"
#include "detect/intake.h"
#include "detect/steady.h"
#include "run/run.h"

struct observer {
    struct run *run; /* holds the series until the recording has ended */
    struct steady steady;
    struct steady_sample before;
    uint32_t photo; /* the series, RUN_NONE until the first value */
    const struct intake *intake;
};

/* Before the threads start that are to be counted. */
enum assay_status observer_open(struct observer *observer,
                                const struct intake *intake, struct error *err);
void observer_close(struct observer *observer); /* accepts {0} */

/* Around an iteration. photo: the number of its first photograph; detections:
 * NaN where the model finds no boxes. */
void observer_begin(struct observer *observer);
enum assay_status observer_end(struct observer *observer, uint32_t iteration,
                               size_t photo, size_t n_photos, double detections,
                               const struct session *session,
                               struct error *err);

/* Gives the series to the run of the recording. */
enum assay_status observer_hand_over(const struct observer *observer,
                                     struct run *to, struct error *err);

#endif
