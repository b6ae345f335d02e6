/* session/observer.h - one value per iteration of what was in the photographs
 * and how the machine behaved.
 *
 * They become series of the run: "input.photo", "content.*", "steady.*". For a
 * batch, the photograph is the first one, the size the largest, and counts are
 * sums.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_OBSERVER_H
#define SESSION_OBSERVER_H

#include "observe/steady.h"
#include "run/run.h"
#include "session/frame.h"
#include "session/intake.h"

struct observer {
    struct run *run; /* holds the series until the recording ends */
    struct steady steady;
    struct steady_sample before;
    uint32_t photo; /* the series, RUN_NONE until the first value */
    const struct intake *intake;
};

/* Call it before starting the threads to count. */
enum assay_status observer_open(struct observer *observer,
                                const struct intake *intake, struct error *err);
void observer_close(struct observer *observer); /* accepts {0} */

/* Called around an iteration. photo: the number of its first photograph;
 * detections: NaN if the model finds no boxes. */
void observer_begin(struct observer *observer);
enum assay_status observer_end(struct observer *observer, uint32_t iteration,
                               size_t photo, size_t n_photos, double detections,
                               const struct session *session,
                               struct error *err);

/* Moves the series, and what was found, to the recorded run. */
enum assay_status observer_hand_over(const struct observer *observer,
                                     struct run *to, struct error *err);

#endif
