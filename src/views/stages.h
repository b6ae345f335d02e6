/* views/stages.h - the stages of a model's run, and the books of its model.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_STAGES_H
#define VIEWS_STAGES_H

#include "views/scope_rows.h"

/* The scopes directly below the root that are stages, by name. */
#define VIEW_STAGES(X)                                                         \
    X(STAGE_DECODE, "decode")                                                  \
    X(STAGE_PREPROCESS, "preprocess")                                          \
    X(STAGE_MODEL, "model")                                                    \
    X(STAGE_POSTPROCESS, "postprocess")

enum stage {
#define VIEW_STAGE_ENUM(name, text) name,
    VIEW_STAGES(VIEW_STAGE_ENUM)
#undef VIEW_STAGE_ENUM
        N_STAGES
};

/* Of an iteration: stages + residual = whole. */
struct stages {
    size_t row[N_STAGES]; /* 0: it is not there */
    double ns[N_STAGES];  /* NaN then */
    double residual_ns, whole_ns;
};

/* Of an iteration: ops + gaps + residual = model. */
struct balance {
    double ops_ns;      /* what the leaves below the model took */
    double gaps_ns;     /* what the modules between took themselves */
    double residual_ns; /* what the model itself took */
    double model_ns;
};

const char *stage_name(enum stage stage);

/* The row of a scope directly below the root; 0 where there is none inside the
 * iterations. */
size_t stage_row(const struct rows *rows, const char *name);

/* False where there is no model, or nothing beside it. */
bool stages_find(const struct rows *rows, struct stages *stages);
/* False where there is no model that has anything below it. */
bool balance_find(const struct rows *rows, struct balance *balance);

#endif
