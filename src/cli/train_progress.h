/* cli/train_progress.h - the progress of a training on standard error.
 *
 * On a terminal one line, redrawn at most ten times per second:
 *   epoch 1/2  ████▊      12/25  48 %  0:31, 1:38 left  4.1 images/s  loss ...
 * with the bar, the count and the share of the epoch, or of the training if it
 * is given in steps, and the time left for the whole training. Elsewhere
 * separate lines: for the first step, then every ten seconds, and for the last
 * step.
 *   epoch 1/2  step 12/50  24 %  0:31, 1:38 left  4.1 images/s  loss ...
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_TRAIN_PROGRESS_H
#define CLI_TRAIN_PROGRESS_H

#include "base/clock.h"
#include "base/term.h"
#include "train/train.h"

struct train_progress {
    struct sink *sink;
    struct term term;
    struct clock clock;
    int64_t began_ns, told_ns;
    /* When the first step ended: it also chooses kernels, so the pace is
     * counted from there. */
    int64_t first_ns;
    uint64_t first_step;
    uint64_t n_images; /* since then */
    bool is_drawn;
};

struct train_progress train_progress_start(struct sink *sink,
                                           const struct term *term,
                                           struct clock clock);
void train_progress_step(struct train_progress *progress,
                         const struct train_step *step);
/* Wipes the line, so that the next output starts on a clean one. */
void train_progress_finish(struct train_progress *progress);

#endif
