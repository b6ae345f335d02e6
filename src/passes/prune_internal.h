/* passes/prune_internal.h - the steps of pruning; for prune*.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_PRUNE_INTERNAL_H
#define PASSES_PRUNE_INTERNAL_H

#include "ops/channels.h"
#include "passes/prune.h"

/* Which atoms are removed. Start from {0}. */
struct prune_choice {
    const struct channels *channels;
    bool *is_removed; /* one per atom; set for roots */
};

void prune_choice_release(struct prune_choice *choice);

/* Chooses what to remove, and reports it. */
enum assay_status prune_choose(struct prune_choice *choice,
                               const struct channels *channels,
                               const struct prune_options *options,
                               struct prune_report *report, struct error *err);

static inline bool prune_keeps(const struct prune_choice *choice, uint32_t atom)
{
    return !choice->is_removed[channels_root(choice->channels, atom)];
}

/* How many of the first n indices along a dimension are kept; all if it has no
 * atoms. */
int64_t prune_kept(const struct prune_choice *choice, struct labels labels,
                   int64_t n);

/* The graph without what is removed. */
enum assay_status prune_copy(const struct prune_choice *choice,
                             struct pool *pool, struct graph **out,
                             struct error *err);

#endif
