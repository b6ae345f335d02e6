/* tests/views/made_report.h - runs that fill every view of the HTML report, or
 * try to break it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_VIEWS_MADE_REPORT_H
#define TESTS_VIEWS_MADE_REPORT_H

#include "run/run.h"

/* Iterations of a small detector on three photographs. The work of a photograph
 * is in its proposals: box_head takes 2 us for each, everything else a fixed
 * time, so an iteration takes 10 ms plus the time of box_head, times slowness.
 * The first and the last one are kept in full. It has executed work, live bytes
 * over one iteration, a ledger that adds up to 100 MiB and facts about a
 * machine with 200 GFLOP/s and 20 GB/s. Sealed. */
struct run *made_photographs(uint32_t n_iterations, double slowness);

/* One iteration of n_scopes scopes in two levels, kept as n_slices slices on
 * two threads. */
struct run *made_busy(uint32_t n_scopes, uint32_t n_slices);

/* One iteration of 20 ms: four operators of 2 ms on the host, from 0, 4, 8 and
 * 12 ms on, launch a kernel of 3 ms each, which starts 3 ms later on a stream;
 * a counter of the stream's queue. */
struct run *made_streams(void);

/* Scopes, classes, threads, facts, labels and rows of the ledger whose names
 * are markup, quotes, right-to-left text, controls and 10 000 letters. */
struct run *made_hostile(void);
extern const char *const hostile_names[]; /* NULL ends it */

#endif
