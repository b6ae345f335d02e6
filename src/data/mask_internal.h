/* data/mask_internal.h - what the files of masks share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_MASK_INTERNAL_H
#define DATA_MASK_INTERNAL_H

#include "data/mask.h"

/* Empties the mask and sets its size, which is checked. */
enum assay_status mask_begin(struct mask *mask, int width, int height,
                             struct error *err);
/* Puts pixels behind those that are there; an own run only where they differ
 * from the last. The caller sees to it that they fit. */
enum assay_status mask_append(struct mask *mask, bool is_on, uint64_t n,
                              struct error *err);
uint64_t mask_pixels(const struct mask *mask); /* width * height */

#endif
