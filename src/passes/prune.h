/* passes/prune.h - prunes a graph: removes some of its filters.
 *
 * Channels that depend on each other are removed together (see channels.h), so
 * that the rest is still a network: both sides of an addition, the parts of a
 * concatenation, depthwise and grouped convolutions, the layers after a
 * flatten, norms. This follows from the rules of the ops, not from knowledge
 * about models; an op without a rule keeps all its channels. Inputs and outputs
 * of the graph keep their shapes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_PRUNE_H
#define PASSES_PRUNE_H

#include "base/arena.h"
#include "graph/graph.h"

enum { PRUNE_MOST_PERCENT = 95 };

enum prune_mode {
    PRUNE_RANDOM,         /* the same share of every layer, at random */
    PRUNE_L1,             /* ... those with the smallest mean weight */
    PRUNE_RANDOM_WEIGHTED /* at random from the whole network: more from the
                             first layers, from the last ones or evenly, which
                             is also random */
};

struct prune_options {
    double percent; /* of the filters, 0 to PRUNE_MOST_PERCENT */
    enum prune_mode mode;
    uint64_t seed;
    bool has_linear; /* outputs of fully connected layers are filters too */
};

/* Layers whose filters are removed together. */
struct prune_group {
    const char *name; /* its first layer: "layer1.0.conv3" */
    size_t n_layers;
    size_t channels, kept; /* sets of filters that belong together */
    size_t filters, kept_filters;
};

/* Start from {0}. */
struct prune_report {
    size_t filters, kept_filters; /* of all layers */
    size_t bound_filters;         /* those that must stay */
    struct prune_group *groups;   /* of the others, by first layer */
    size_t n_groups;
    struct arena arena;
};

void prune_report_release(struct prune_report *report);

/* Makes the pruned graph. Parameters with data keep the rest of it, in memory
 * from the pool. inputs: a shape for each input of the graph. ASSAY_BAD_USAGE:
 * the level is outside 0 to 95, or would remove a whole layer;
 * ASSAY_UNSUPPORTED: nothing can be removed. The caller frees *out. */
enum assay_status graph_prune(const struct graph *graph,
                              const struct shape *inputs,
                              const struct prune_options *options,
                              struct pool *pool, struct graph **out,
                              struct prune_report *report, struct error *err);

#endif
