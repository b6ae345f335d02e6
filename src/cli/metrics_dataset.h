/* cli/metrics_dataset.h - the options of `assay metrics` that name a dataset.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_METRICS_DATASET_H
#define CLI_METRICS_DATASET_H

#include "metrics/feed.h"

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

/* The variant of a built-in classifier that fits the dataset. */
const char *metrics_variant(const struct dataset_settings *settings);

/* model: its full name, or the path of an ONNX file. made: the images where
 * they are made up. Without a path *out is NULL; options that say something
 * about a dataset are refused then. */
enum assay_status metrics_open_feed(const struct dataset_settings *settings,
                                    const char *model, bool is_onnx,
                                    const struct synthetic_options *made,
                                    struct assay_model *loaded,
                                    struct feed **out, struct error *err);

#endif
