/* session/warm_up_internal.h - which photographs run before measuring starts.
 *
 * Kernels are made and chosen when a size of batch first occurs, so every size
 * that will be measured occurs once before.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_WARM_UP_INTERNAL_H
#define SESSION_WARM_UP_INTERNAL_H

#include "session/intake.h"

struct warm_up {
    uint64_t n;     /* iterations */
    size_t *firsts; /* the first photograph of a batch of each size */
    size_t n_sizes;
    size_t n_photos, batch;
};

/* For n_frames iterations of `batch` photographs, in rounds: each size of batch
 * once, and at_least iterations in total; none if that is 0. */
enum assay_status warm_up_plan(struct warm_up *plan,
                               const struct intake *intake, size_t batch,
                               uint64_t n_frames, uint64_t at_least,
                               struct error *err);
void warm_up_release(struct warm_up *plan); /* accepts {0} */

/* The first photograph of a warm-up iteration. */
size_t warm_up_photo(const struct warm_up *plan, uint64_t i);

#endif
