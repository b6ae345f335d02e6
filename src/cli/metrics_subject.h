/* cli/metrics_subject.h - a model that `assay metrics` examines, and its
 * dataset.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_METRICS_SUBJECT_H
#define CLI_METRICS_SUBJECT_H

#include "cli/input_words.h"
#include "metrics/feed.h"

#include <assay/profiler.h>

struct dataset_settings {
    int name;         /* of metrics_datasets */
    const char *path; /* NULL: nothing is evaluated */
    int split;        /* of metrics_splits */
    int64_t limit;    /* 0: none */
    const char *input;
    int decode; /* of run_decodes */
};

extern const char *const metrics_datasets[]; /* for --dataset */
extern const char *const metrics_splits[];   /* for --split */

struct metrics_settings {
    const char *compare;
    const char *name, *compare_name; /* for the table; NULL: the model's */
    const char *weights, *compare_weights; /* of the first and second model */
    const char *device;
    int64_t seed, classes, batch, min_size, threads, iterations;
    struct dataset_settings dataset;
    struct words shapes;
    struct words plugins, arguments;
    bool is_override, has_no_weights;
    const char *only;
    bool is_short, has_notes;
    int format;
    const char *output;
};

/* Start from {0}. */
struct metrics_subject {
    struct assay_model *model;
    struct feed *feed; /* NULL: no dataset */
    struct assay_profiler *profiler;
    size_t n_standard; /* the first keys are built in */
    size_t *keys;      /* the shown metrics */
    size_t n_keys, keys_capacity;
    struct input_words inputs; /* what --input and --set say of the model's */
};

void metrics_subject_release(struct metrics_subject *subject);

/* Opens the model that the word names, with its weights (NULL: none given) and
 * its profiler. */
enum assay_status metrics_subject_open(const struct metrics_settings *settings,
                                       const char *word, const char *weights,
                                       struct metrics_subject *subject,
                                       struct error *err);

/* Computes the keys of --only, or all of them; the result of a metric without a
 * value says why. */
enum assay_status
metrics_subject_compute(const struct metrics_settings *settings,
                        struct metrics_subject *subject, struct error *err);

#endif
