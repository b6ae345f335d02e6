/* views/training_internal.h - the parts of a training step, and its modules
 * over all passes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_TRAINING_INTERNAL_H
#define VIEWS_TRAINING_INTERNAL_H

#include "views/scope_rows.h"

/* The scopes directly below the root that are parts of a step, in order. */
#define VIEW_PARTS(X)                                                          \
    X(PART_DATA, "data")                                                       \
    X(PART_COPY, "copy")                                                       \
    X(PART_FORWARD, "forward")                                                 \
    X(PART_LOSS, "loss")                                                       \
    X(PART_BACKWARD, "backward")                                               \
    X(PART_OPTIMIZER, "optimizer")

enum part {
#define VIEW_PART_ENUM(name, text) name,
    VIEW_PARTS(VIEW_PART_ENUM)
#undef VIEW_PART_ENUM
        N_PARTS
};

/* Per step: parts + other = whole. */
struct training {
    size_t row[N_PARTS]; /* 0: it is missing */
    double ns[N_PARTS];  /* 0 if it is missing */
    double other_ns, whole_ns;
};

const char *part_name(enum part part);

/* False if the run is not a training: no forward or no backward pass. */
bool training_find(const struct rows *rows, struct training *training);

/* rows_build(); a training gets one row per module and has_passes: the parts of
 * the step, and the model with its modules. Start from {0}; release also after
 * a failure. */
enum assay_status training_rows_build(const struct run *run, struct rows *rows,
                                      struct error *err);

#endif
