/* data/detections_internal.h - what the readers of result files share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_DETECTIONS_INTERNAL_H
#define DATA_DETECTIONS_INTERNAL_H

#include "data/detections.h"

/* Appends a copy, with the next number. */
enum assay_status detections_add(struct detections *detections,
                                 const struct detection *detection,
                                 struct error *err);
/* Counts results of a class that is not known. */
enum assay_status detections_leave_out(struct detections *detections, size_t n,
                                       struct error *err, const char *format,
                                       ...) ASSAY_PRINTF(4, 5);
/* ASSAY_BAD_INPUT if nothing was read that can be evaluated. */
enum assay_status detections_check(const struct detections *detections,
                                   const char *name, struct error *err);

#endif
