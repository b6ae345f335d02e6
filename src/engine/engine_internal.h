/* engine/engine_internal.h - what an engine holds; for the files of this room.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ENGINE_ENGINE_INTERNAL_H
#define ENGINE_ENGINE_INTERNAL_H

#include "engine/engine.h"

enum { ENGINE_MAX_INPUTS = 64 }; /* of a node, for the lists on the stack */

/* The engines of the graphs inside of a node, and what they cost in the run
 * of that node. */
struct node_bodies {
    struct engine **engines;
    size_t n;
    struct cost cost;
};

struct engine {
    const struct graph *graph;
    struct pool *pool;
    struct backend *backend;
    struct op_context context;
    enum engine_detail detail;
    struct tensor *values; /* of the run under way */
    uint32_t *uses;        /* how often each value is read in a run */
    uint32_t *left;        /* of those, in the run under way */
    bool *is_kept;
    bool has_run;               /* once, whether it succeeded or not */
    bool *is_group;             /* one a scope */
    struct cost *costs;         /* one a node */
    struct node_bodies *bodies; /* one a node */
};

/* ---- engine.c ----------------------------------------------------------- */

enum assay_status engine_run_kernel(struct engine *engine,
                                    const struct node *node, size_t at,
                                    const struct tensor **inputs,
                                    struct tensor *outputs, struct error *err);

/* ---- f32_ops.c ---------------------------------------------------------- */

/* The same for an op that knows float32 alone, on inputs of any type. */
enum assay_status engine_run_f32(struct engine *engine, const struct node *node,
                                 size_t at, const struct tensor **inputs,
                                 struct tensor *outputs, struct error *err);

/* ---- bodies.c ----------------------------------------------------------- */

enum assay_status engine_bodies_make(struct engine *engine,
                                     const struct engine_options *options,
                                     struct error *err);
void engine_bodies_free(struct engine *engine);
/* Before a node runs: its op may run its bodies from now on. */
void engine_bodies_enter(struct engine *engine, size_t node);
/* Adds what the bodies of a node cost in its last run. */
void engine_bodies_cost(const struct engine *engine, size_t node,
                        struct cost *cost);

#endif
