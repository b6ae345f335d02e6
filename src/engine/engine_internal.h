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
    struct tape *tape;          /* NULL: no training */
    struct watch *watch;        /* NULL: nobody looks for what is not finite */
};

/* ---- engine.c ----------------------------------------------------------- */

/* The tensor of a value: computed in this run, or the graph's own. */
const struct tensor *engine_value(const struct engine *engine, uint32_t value);
/* Runs a node on values that are there. is_again: for a backward pass that
 * needs outputs that were dropped; nothing is released then. */
enum assay_status engine_run_node(struct engine *engine, size_t at,
                                  bool is_again, struct error *err);
/* "roi_heads.box_head.fc6 (Linear)", for messages. */
enum { ENGINE_NODE_TEXT = 200 };
const char *engine_node_text(const struct engine *engine,
                             const struct node *node, char *text, size_t size);
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

/* ---- not_finite.c ------------------------------------------------------- */

/* Looks at what a node made; only the first finding is kept. */
void engine_watch(struct engine *engine, const struct node *node,
                  const struct tensor *made, size_t n, const char *when);

#endif
