/* passes/prune.h - fewer filters: a graph without some of its channels.
 *
 * Channels that depend on each other go together (see channels.h), so that
 * whatever is left is a network: both sides of an addition, the parts of a
 * concatenation, depthwise and grouped convolutions, the layers behind a
 * flatten, norms. Nothing is known about models; what an op does with channels
 * is, and what no rule is known for stays whole. Inputs and outputs of the
 * graph keep their shapes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_PRUNE_H
#define PASSES_PRUNE_H

#include "base/arena.h"
#include "graph/graph.h"

enum { PRUNE_MOST_PERCENT = 95 };

enum prune_mode {
    PRUNE_RANDOM,         /* every layer loses the same share, by lot */
    PRUNE_L1,             /* ... those whose weights are smallest in the mean */
    PRUNE_RANDOM_WEIGHTED /* by lot from the whole network, more from the first
                             layers, or the last ones, or all alike: also by
                             lot */
};

struct prune_options {
    double percent; /* of the filters, 0 to PRUNE_MOST_PERCENT */
    enum prune_mode mode;
    uint64_t seed;
    bool has_linear; /* outputs of fully connected layers are filters, too */
};

/* Layers whose filters go together, place by place. */
struct prune_group {
    const char *name;      /* its first layer: "layer1.0.conv3" */
    size_t n_layers;       /* whose filters they are */
    size_t channels, kept; /* sets of filters that go together */
    size_t filters, kept_filters;
};

/* Start from {0}. */
struct prune_report {
    size_t filters, kept_filters; /* of all layers */
    size_t bound_filters;         /* of them: that nothing may remove */
    struct prune_group *groups;   /* of those that may go, by first layer */
    size_t n_groups;
    struct arena arena;
};

void prune_report_release(struct prune_report *report);

/* Makes the smaller graph; parameters that have data keep what is left of it
 * (from the pool where that is new). inputs: a shape for each input of the
 * graph, as it may be run. ASSAY_BAD_USAGE: a level outside of 0 to 95, or one
 * that would remove a layer entirely; ASSAY_UNSUPPORTED: nothing in it can be
 * removed. The caller frees *out. */
enum assay_status graph_prune(const struct graph *graph,
                              const struct shape *inputs,
                              const struct prune_options *options,
                              struct pool *pool, struct graph **out,
                              struct prune_report *report, struct error *err);

#endif
