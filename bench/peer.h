/* bench/peer.h - PyTorch in a process of its own, running what we ask for.
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

/* Starts a script of this folder, which may write files for both sides into
 * `folder`; ASSAY_NOT_FOUND if torchvision is missing. */
enum assay_status peer_start(struct peer *peer, const char *script,
                             const char *folder, struct error *err);
void peer_stop(struct peer *peer);

/* How long the job of that name took, and how many results it had. */
enum assay_status peer_ask(struct peer *peer, const char *job, double *seconds,
                           long *n_results, struct error *err);

/* Returns once the peer uses no processor: threads of ONNX Runtime spin for 50
 * ms after a job, those of OpenMP for some, on processors that the other side
 * needs. */
void peer_rest(const struct peer *peer);

/* What another program used from start to end. */
struct child_cost {
    double seconds, peak_bytes;
};

/* Runs a program to its end, discarding its output. ASSAY_NOT_FOUND if it
 * reports that torchvision is missing. */
enum assay_status child_run(const char *const *words, struct child_cost *cost,
                            struct error *err);

/* Interleaved measurements of one measure on both sides. */
enum { PAIRS_MAX = 128 };

struct pairs {
    double ours[PAIRS_MAX], theirs[PAIRS_MAX];
    size_t n;
};

void pairs_add(struct pairs *pairs, double ours, double theirs);
/* The ratio of the times that a tenth of the turns stays below, and both of
 * them: for what takes a few milliseconds on all processors, where in most
 * turns something else needs one of them. Sorts the measurements. */
double pairs_quiet_ratio(struct pairs *pairs, double *ours, double *theirs);
/* The ratio of the medians, and both of them. Sorts the measurements. */
double pairs_ratio(struct pairs *pairs, double *ours, double *theirs);
/* A row for that ratio, after both medians; without a bar where that is 0. */
void bench_ratio(const char *what, struct pairs *pairs, double bar,
                 double scale, const char *unit);

#endif
