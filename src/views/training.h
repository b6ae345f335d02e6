/* views/training.h - the parts of a training step, and its modules in all of
 * them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_TRAINING_H
#define VIEWS_TRAINING_H

#include "views/scope_rows.h"
#include "views/views.h"

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

/* The tree of a model's modules with their times in the forward and backward
 * pass and the optimizer beside each other, and what they keep in memory. */
enum assay_status training_tree(const struct run *run, const struct rows *rows,
                                const struct training *training,
                                const struct view_options *options,
                                size_t max_rows, struct sink *sink,
                                struct error *err);

#endif
