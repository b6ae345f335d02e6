/* tests/train/small_training.h - a model of one layer, data made of numbers,
 * and a trainer for both.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_TRAIN_SMALL_TRAINING_H
#define TESTS_TRAIN_SMALL_TRAINING_H

#include "train/trainer.h"

enum {
    SMALL_IMAGES = 4, /* per batch */
    SMALL_PIXELS = 12,
    SMALL_CLASSES = 3,
    SMALL_EPOCH = 8 /* batches */
};

/* Batches whose numbers follow from their place alone. */
struct small_source {
    struct pool *pool;
    struct batch_place place;
    uint64_t bad_at;   /* batch whose loss is infinite, from 1; 0: none */
    uint64_t small_at; /* batch with fewer images, from 1; 0: none */
    bool is_small;     /* all of them are */
    uint64_t n;        /* batches handed out */
};

struct small_training {
    struct pool *pool;
    struct graph *graph;
    struct small_source source;
    struct trainer_options options;
    struct trainer *trainer;
};

/* flatten, fc (Linear) and a sum of squared distances to the labels, with a
 * running mean "fc.running_mean" of the outputs of fc. The options train it
 * with SGD and momentum, for 6 steps, on one thread. */
void small_training_make(struct small_training *training);
void small_training_free(struct small_training *training);

/* Calls trainer_new() and trainer_run(). */
enum assay_status small_training_run(struct small_training *training,
                                     struct train_report *report,
                                     struct error *err);

const float *small_training_weight(const struct small_training *training);
size_t small_training_weight_bytes(const struct small_training *training);

#endif
