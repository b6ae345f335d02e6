/* record/detail_internal.h - chooses the samples of a long run to keep in full.
 *
 * If iterations are marked: all samples of the first, the slowest, the last and
 * one of about the median duration, and the first samples outside iterations.
 * Otherwise: the first and the last samples. Memory does not grow with the run.
 * Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_DETAIL_INTERNAL_H
#define RECORD_DETAIL_INTERNAL_H

#include "run/run.h"

enum {
    DETAIL_MAX_OF_ITERATION = 20000,
    DETAIL_MAX_OUTSIDE = 10000 /* first ones, and as many last ones */
};

struct detail;

enum assay_status detail_new(struct detail **out, struct error *err);
void detail_free(struct detail *detail); /* accepts NULL */

/* Adds the next sample. Those of one thread come in order of their end; threads
 * may take turns. A sample of RUN_ROOT ends its iteration. */
enum assay_status detail_add(struct detail *detail, const struct sample *sample,
                             struct error *err);

/* Every thread was drained since the last call: iterations that had ended by
 * then are complete and can be chosen. */
enum assay_status detail_settle(struct detail *detail, struct error *err);

/* Replaces the kept samples of the run by those chosen so far. */
enum assay_status detail_keep(const struct detail *detail, struct run *run,
                              struct error *err);

#endif
