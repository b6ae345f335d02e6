/* engine/scope_walk.h - spans open and close as the nodes pass through the
 * modules.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ENGINE_SCOPE_WALK_H
#define ENGINE_SCOPE_WALK_H

#include "engine/engine.h"

enum { SCOPE_WALK_MAX = 64 };

struct scope_walk {
    const struct graph *graph;
    enum engine_detail detail;
    uint32_t open[SCOPE_WALK_MAX]; /* scopes, outermost first */
    size_t n_open;
};

struct scope_walk scope_walk_start(const struct graph *graph,
                                   enum engine_detail detail);
/* Closes what the node is not inside of and opens what it is. */
void scope_walk_enter(struct scope_walk *walk, const struct node *node);
/* Closes the node's own span, where it has one. */
void scope_walk_leave(struct scope_walk *walk, const struct node *node);
/* Closes everything. */
void scope_walk_finish(struct scope_walk *walk);

#endif
