/* views/levels_internal.h - the stages of a run and the first two levels of
 * modules below each: where the time goes, before any detail.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_LEVELS_INTERNAL_H
#define VIEWS_LEVELS_INTERNAL_H

#include "views/ranking_internal.h"

enum { LEVELS_MOST = 40 };

/* A stage or a module. */
struct level {
    struct ranked item; /* its title is indented */
    const char *stage;  /* "model" */
    struct str path;    /* below the stage: "backbone.body"; "" for itself */
};

struct levels {
    struct rows rows;
    struct level items[LEVELS_MOST]; /* in the order of the tree */
    size_t n, n_hidden;
};

/* Of everything that ran inside the iterations, the rows with the most time.
 * Start from {0}; release also after a failure. */
enum assay_status levels_build(const struct run *run, struct levels *levels,
                               struct error *err);
void levels_release(struct levels *levels);

#endif
