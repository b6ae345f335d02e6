/* engine/scope_walk.h - where the modules of a graph are in the tree of what is
 * recorded, and spans that open and close as the nodes pass through them.
 *
 * Containers are groups: they are in the tree and are not measured. With
 * ENGINE_LEAVES so are all modules that hold others; a node of theirs has a
 * span of its own.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ENGINE_SCOPE_WALK_H
#define ENGINE_SCOPE_WALK_H

#include "engine/engine.h"

#include <assay/lane.h>

enum { SCOPE_WALK_MAX = 64 };

/* Start from {0}. */
struct module_scopes {
    const struct graph *graph;
    enum engine_detail detail;
    bool *is_group;       /* one per scope of the graph */
    assay_scope_t *there; /* one per scope of the graph */
    bool *is_there;       /* one per scope of the graph */
    uint32_t *order;      /* the scopes that run or were fused into such, as
                             the model runs them */
    size_t n_order;
    assay_scope_t model; /* the scope that all of them are below */
    bool is_found;
};

enum assay_status module_scopes_init(struct module_scopes *modules,
                                     const struct graph *graph,
                                     enum engine_detail detail,
                                     struct error *err);
void module_scopes_release(struct module_scopes *modules);
/* GRAPH_NONE: the model. Good once a walk was recorded. */
assay_scope_t module_scope(const struct module_scopes *modules, uint32_t scope);

struct scope_walk {
    const struct module_scopes *modules;
    uint32_t open[SCOPE_WALK_MAX]; /* scopes, outermost first */
    size_t n_open;
};

/* The model is what is open on the calling thread. */
struct scope_walk scope_walk_start(struct module_scopes *modules);

/* Closes what is not around a module (GRAPH_NONE: the model) and opens what
 * is. */
void scope_walk_move(struct scope_walk *walk, uint32_t scope);
/* The same around a node, with its own span where it has one. */
void scope_walk_enter(struct scope_walk *walk, const struct node *node);
/* Closes the node's own span, where it has one. */
void scope_walk_leave(struct scope_walk *walk, const struct node *node);
/* Closes everything. */
void scope_walk_finish(struct scope_walk *walk);

#endif
