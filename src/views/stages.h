/* views/stages.h - the stages of a model's run, and the balance of its model.
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

/* Per iteration: stages + residual = whole. */
struct stages {
    size_t row[N_STAGES]; /* 0: it is missing */
    double ns[N_STAGES];  /* NaN if it is missing */
    double residual_ns, whole_ns;
};

/* Per iteration: ops + gaps + residual = model. */
struct balance {
    double ops_ns;      /* of the leaves below the model */
    double gaps_ns;     /* of the modules between them, themselves */
    double results_ns;  /* waiting for a device, for what it made and when */
    double residual_ns; /* of the model itself */
    double model_ns;
};

const char *stage_name(enum stage stage);

/* The row of a scope directly below the root and inside the iterations; 0 if
 * there is none. */
size_t stage_row(const struct rows *rows, const char *name);

/* False if there is no model, or nothing besides it. */
bool stages_find(const struct rows *rows, struct stages *stages);
/* False if there is no model with anything below it. */
bool balance_find(const struct rows *rows, struct balance *balance);

#endif
