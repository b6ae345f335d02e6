/* bench/learner.h - a model that is trained on the same batch again and again:
 * our side of the training benchmarks.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BENCH_LEARNER_H
#define BENCH_LEARNER_H

#include "engine/optimizer.h"

enum { LEARNER_INPUTS = 16 };

struct learner_options {
    const char *model;
    int64_t n_images;
    const struct device *device;
    enum precision precision;
    int n_threads;
    double tuning_seconds; /* for choosing kernels */
    const char *choices; /* where those of kernels are remembered; NULL: not */
};

struct learner {
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    struct optimizer *optimizer;
    struct tensor inputs[LEARNER_INPUTS];
    struct tensor *outputs;
    int64_t n_images;
    double loss;
};

/* Close it whether it was opened or not. */
enum assay_status learner_open(struct learner *learner,
                               const struct learner_options *options,
                               struct error *err);
void learner_close(struct learner *learner);
/* Forward, backward, SGD with momentum; on another device, what is queued may
 * not be done yet. */
enum assay_status learner_step(struct learner *learner, struct error *err);

#endif
