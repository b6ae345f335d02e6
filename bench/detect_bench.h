/* bench/detect_bench.h - the parts of detect_bench.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BENCH_DETECT_BENCH_H
#define BENCH_DETECT_BENCH_H

#include "peer.h"

enum { BENCH_THREADS = 2 };

/* Whole processes: from the prompt to the finished screen. Runs first, while
 * this process is small: a child's peak includes what its parent had. */
enum assay_status bench_start(const char *folder, int n_rounds,
                              struct error *err);
/* Forward passes, and whether the times of a run add up. */
enum assay_status bench_models(struct peer *peer, const char *folder,
                               int n_rounds, struct error *err);
enum assay_status bench_ops(struct peer *peer, const char *folder, int n_rounds,
                            struct error *err);

#endif
