/* detect/warm_up.h - which photographs run before the measuring begins.
 *
 * Kernels are made and chosen when a size of batch comes first: every size
 * that will be measured comes once before it is.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_WARM_UP_H
#define DETECT_WARM_UP_H

#include "detect/intake.h"

struct warm_up {
    uint64_t n;     /* iterations */
    size_t *firsts; /* the first photograph of a batch of each size */
    size_t n_sizes;
    size_t n_photos, batch;
};

/* For n_frames iterations of `batch` photographs, going round: each size of
 * batch once, and at_least iterations in all; none where that is 0. */
enum assay_status warm_up_plan(struct warm_up *plan,
                               const struct intake *intake, size_t batch,
                               uint64_t n_frames, uint64_t at_least,
                               struct error *err);
void warm_up_release(struct warm_up *plan); /* accepts {0} */

/* The first photograph of a warm-up iteration. */
size_t warm_up_photo(const struct warm_up *plan, uint64_t i);

#endif
