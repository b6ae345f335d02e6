/* views/ranking_internal.h - the rows of a run for a table: joined, sorted and
 * limited.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_RANKING_INTERNAL_H
#define VIEWS_RANKING_INTERNAL_H

#include "views/scope_rows.h"
#include "views/views.h"

struct ranked {
    struct row row;   /* scope is RUN_NONE if several were joined */
    size_t order;     /* of first appearance */
    size_t n_scopes;  /* joined in it */
    struct str label; /* the path, or what the joined ones share */
    struct str title; /* for people; see ranked_title() */
    /* Per iteration, or per call if none are marked; NaN if several scopes were
     * joined. Only for listed rows. */
    struct scope_stats stats;
};

struct ranking {
    struct rows rows; /* all of them */
    struct ranked *items;
    size_t n;        /* listed */
    size_t n_hidden; /* not listed */
};

/* Builds the rows and ranks them by options.sort, group, limit and all;
 * default_limit applies if the options have none (SIZE_MAX: all). with_fused
 * lists scopes that were fused into another, which have no times, unless rows
 * are joined. Start from {0}; release also after a failure. */
enum assay_status ranking_build(const struct run *run,
                                const struct view_options *options,
                                size_t default_limit, bool with_fused,
                                struct ranking *ranking, struct error *err);
void ranking_release(struct ranking *ranking);

/* The label, with the scope that does its work if it was fused: "body.bn1   in
 * conv1". "(no class)" for an empty one. */
const char *ranked_title(const struct ranked *item);

/* Mean time per call; NaN if there was none. */
double row_call_ns(const struct row *row);

#endif
