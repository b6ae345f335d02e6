/* views/ranking_internal.h - the rows of a run as a table wants them: joined,
 * sorted, and no more of them than asked for.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_RANKING_INTERNAL_H
#define VIEWS_RANKING_INTERNAL_H

#include "views/scope_rows.h"
#include "views/views.h"

struct ranked {
    struct row row;   /* its scope is RUN_NONE where several were joined */
    size_t order;     /* of first appearance */
    size_t n_scopes;  /* joined in it */
    struct str label; /* the path, or what the joined ones share */
    struct str title; /* as people read it; see ranked_title() */
    /* Of an iteration, over calls where none are marked; NaN where several
     * scopes were joined. Filled for the rows that are listed. */
    struct scope_stats stats;
};

struct ranking {
    struct ranked *items;
    size_t n;        /* listed */
    size_t n_hidden; /* more than that are there */
};

/* Takes options.sort, group, limit and all; default_limit holds where the
 * options name none, SIZE_MAX: all. Scopes that were fused into another have
 * no times; they are listed where they are asked for and scopes are not joined.
 * Start from {0}; released by the caller, also on failure. */
enum assay_status ranking_build(const struct run *run, const struct rows *rows,
                                const struct view_options *options,
                                size_t default_limit, bool with_fused,
                                struct ranking *ranking, struct error *err);
void ranking_release(struct ranking *ranking);

/* The label, with the one that does its work where it was fused:
 * "body.bn1   in conv1". "-" for an empty one. */
const char *ranked_title(const struct ranked *item);

/* Mean of one call; NaN where there was none. */
double row_call_ns(const struct row *row);

#endif
