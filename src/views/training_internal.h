/* views/training_internal.h - the parts of a training step, and its modules in
 * all of them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_TRAINING_INTERNAL_H
#define VIEWS_TRAINING_INTERNAL_H

#include "views/scope_rows.h"

/* The scopes directly below the root that are parts of a step, in its order. */
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

/* Of a step: parts + other = whole. */
struct training {
    size_t row[N_PARTS]; /* 0: it is not there */
    double ns[N_PARTS];  /* 0 then */
    double other_ns, whole_ns;
};

const char *part_name(enum part part);

/* False where the run is not a training: no forward pass, or no backward. */
bool training_find(const struct rows *rows, struct training *training);

/* The rows of a training with one row a module, has_passes set: the parts of
 * the step, and the model with the modules below it. Start from {0}; released
 * by the caller, also on failure. */
enum assay_status training_join(const struct rows *rows,
                                const struct training *training,
                                struct rows *joined, struct error *err);

/* rows_build(), and for a training the modules joined. */
enum assay_status training_rows_build(const struct run *run, struct rows *rows,
                                      struct error *err);

#endif
