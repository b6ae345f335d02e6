/* record/detail.h - which samples of a long run are kept in full.
 *
 * Where iterations are marked: all of the first, the slowest, the last and one
 * of about the median duration, and the first samples outside of iterations.
 * Where none are: the first and the last samples. Memory does not grow with
 * the run. Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_DETAIL_H
#define RECORD_DETAIL_H

#include "run/run.h"

enum {
    DETAIL_MAX_OF_ITERATION = 20000,
    DETAIL_MAX_OUTSIDE = 10000 /* first ones, and as many last ones */
};

struct detail;

enum assay_status detail_new(struct detail **out, struct error *err);
void detail_free(struct detail *detail); /* accepts NULL */

/* Shows it the next sample; the samples of a thread come in order of their
 * end, threads may take turns. A sample of RUN_ROOT ends its iteration. */
enum assay_status detail_add(struct detail *detail, const struct sample *sample,
                             struct error *err);

/* Every thread was asked for its samples since the last call: iterations that
 * had ended by then are complete and can be chosen from. */
enum assay_status detail_settle(struct detail *detail, struct error *err);

/* Replaces what the run keeps by what is chosen up to now. */
enum assay_status detail_keep(const struct detail *detail, struct run *run,
                              struct error *err);

#endif
