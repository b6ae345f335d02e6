/* bench/peer.h - PyTorch in a process of its own, asked to run something.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct peer {
    pid_t process;
    FILE *to, *from;
};

/* Starts a script of this folder, which may write into `folder` what both
 * sides read; ASSAY_NOT_FOUND where there is no torchvision. */
enum assay_status peer_start(struct peer *peer, const char *script,
                             const char *folder, struct error *err);
void peer_stop(struct peer *peer);

/* How long the job of that name took, and how many results it had. */
enum assay_status peer_ask(struct peer *peer, const char *job, double *seconds,
                           long *n_results, struct error *err);

/* What another program took from its start to its end. */
struct child_cost {
    double seconds, peak_bytes;
};

/* Runs a program to its end, its output thrown away. ASSAY_NOT_FOUND where it
 * says that there is no torchvision. */
enum assay_status child_run(const char *const *words, struct child_cost *cost,
                            struct error *err);

/* Interleaved measurements of one measure on both sides. */
enum { PAIRS_MAX = 64 };

struct pairs {
    double ours[PAIRS_MAX], theirs[PAIRS_MAX];
    size_t n;
};

void pairs_add(struct pairs *pairs, double ours, double theirs);
/* The ratio of the medians, and both of them. Orders what is there. */
double pairs_ratio(struct pairs *pairs, double *ours, double *theirs);
/* A row for that ratio, with both medians in front of it. */
void bench_ratio(const char *what, struct pairs *pairs, double bar,
                 double scale, const char *unit);

#endif
