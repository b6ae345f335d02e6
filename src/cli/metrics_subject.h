/* cli/metrics_subject.h - a model that `assay metrics` looks at.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_METRICS_SUBJECT_H
#define CLI_METRICS_SUBJECT_H

#include "cli/metrics_dataset.h"
#include "cli/options.h"

#include <assay/profiler.h>

/* What the options say. */
struct metrics_settings {
    const char *compare;
    const char *weights, *compare_weights; /* of the first model, the second */
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
    struct feed *feed; /* NULL: there is no dataset */
    struct assay_profiler *profiler;
    size_t n_standard; /* keys that are built in, the first ones */
    size_t *keys;      /* what is shown */
    size_t n_keys, keys_capacity;
};

void metrics_subject_release(struct metrics_subject *subject);

/* The model by the word of the command line, with its weights (NULL: none are
 * named) and its profiler. */
enum assay_status metrics_subject_open(const struct metrics_settings *settings,
                                       const char *word, const char *weights,
                                       struct metrics_subject *subject,
                                       struct error *err);

/* Computes the keys of --only, or all of them; what has no value says why in
 * its result. */
enum assay_status
metrics_subject_compute(const struct metrics_settings *settings,
                        struct metrics_subject *subject, struct error *err);

#endif
