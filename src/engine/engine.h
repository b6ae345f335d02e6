/* engine/engine.h - runs a graph and tells the recorder about every scope.
 *
 * Nodes run one after the other in the graph's order; shapes are inferred as
 * they come, memory is taken from the pool and given back as soon as nobody
 * needs it. One thread at a time may use an engine; several engines may exist.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "backend/backend.h"
#include "graph/graph.h"

struct engine;

enum engine_detail {
    ENGINE_LEAVES,  /* modules that hold no other, and ops that are in none of
                     * these; the rest are their sums */
    ENGINE_MODULES, /* every module that is called */
    ENGINE_OPS      /* and the ops inside that have a name of their own */
};

struct engine_options {
    const struct backend_class *backend; /* NULL: the portable one */
    struct backend_options backend_options;
    enum engine_detail detail;
};

/* The graph must outlive the engine and keep its data. */
enum assay_status engine_new(const struct graph *graph, struct pool *pool,
                             const struct engine_options *options,
                             struct engine **out, struct error *err);
void engine_free(struct engine *engine); /* accepts NULL */

/* One forward pass. inputs: one for each of the graph's, borrowed. outputs:
 * room for as many as the graph has; dense; released by the caller. Errors
 * name the node: "roi_heads.box_head.fc6 (Linear): ...". */
enum assay_status engine_run(struct engine *engine, const struct tensor *inputs,
                             struct tensor *outputs, struct error *err);

/* What a node cost in the last run, and where the most memory was live. */
const struct cost *engine_cost(const struct engine *engine, size_t node);
struct backend *engine_backend(struct engine *engine);

/* A value of the last run, kept because engine_keep() asked for it before;
 * dense; borrowed until the next run. NULL where it was not made or is none. */
enum assay_status engine_keep(struct engine *engine, uint32_t value,
                              struct error *err);
const struct tensor *engine_kept(const struct engine *engine, uint32_t value);

#endif
