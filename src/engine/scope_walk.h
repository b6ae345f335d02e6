/* engine/scope_walk.h - spans open and close as the nodes pass through the
 * modules.
 *
 * Containers are groups: they are in the tree and are not measured. With
 * ENGINE_LEAVES so are all modules that hold others; a node of theirs has a
 * span of its own.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ENGINE_SCOPE_WALK_H
#define ENGINE_SCOPE_WALK_H

#include "engine/engine.h"

enum { SCOPE_WALK_MAX = 64 };

struct scope_walk {
    const struct graph *graph;
    enum engine_detail detail;
    const bool *is_group;          /* one a scope of the graph */
    uint32_t open[SCOPE_WALK_MAX]; /* scopes, outermost first */
    size_t n_open;
};

/* Which scopes of the graph are groups; one answer a scope, for mem_free(). */
enum assay_status scope_walk_groups(const struct graph *graph,
                                    enum engine_detail detail, bool **is_group,
                                    struct error *err);

struct scope_walk scope_walk_start(const struct graph *graph,
                                   enum engine_detail detail,
                                   const bool *is_group);
/* What the span of a node is called: its name, or that of its op. */
const char *scope_walk_op_name(const struct node *node);

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
