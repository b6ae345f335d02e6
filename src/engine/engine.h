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

#include <assay/lane.h>

struct engine;

enum engine_detail {
    ENGINE_LEAVES,  /* modules that hold no other, and ops that are in none of
                     * these; the rest are their sums */
    ENGINE_MODULES, /* every module that is called, and the losses */
    ENGINE_OPS      /* and the ops inside that have a name of their own */
};

struct engine_options {
    const struct device *device; /* NULL: device_portable */
    struct backend_options backend_options;
    enum engine_detail detail;
    /* While nothing is recorded, a pass over inputs of sizes that were seen
     * before is one launch, where the device can do that. */
    bool may_replay;

    /* Of training. backend_options.is_training asks for it. */
    const char *const *recompute; /* paths of modules whose activations are
                                     dropped and made again; NULL ends it */
};

/* The graph must outlive the engine and keep its data. `pool` is of the host's
 * memory; on a device with memory of its own the engine makes another one. */
enum assay_status engine_new(const struct graph *graph, struct pool *pool,
                             const struct engine_options *options,
                             struct engine **out, struct error *err);
void engine_free(struct engine *engine); /* accepts NULL */

/* One forward pass. inputs: one for each of the graph's, borrowed, on the host
 * or on the device. outputs: room for as many as the graph has; dense and on
 * the host; released by the caller. Errors name the node:
 * "roi_heads.box_head.fc6 (Linear): ...". */
enum assay_status engine_run(struct engine *engine, const struct tensor *inputs,
                             struct tensor *outputs, struct error *err);

/* Whether inputs that are photographs, float32 [3,h,w], may also be given as
 * their pixels: uint8 [h,w,3], which the device spreads and divides by 255. Any
 * thread may ask. */
bool engine_takes_pictures(const struct engine *engine);

/* ---- passes in flight -----------------------------------------------------
 *
 * For photographs that follow each other: while the device runs a pass, the
 * inputs of the next are copied in, and the results of the last one out. Passes
 * are the same as those of engine_run(), bit for bit; those that cannot be one
 * launch (engine_options.may_replay) and those of the host run when they are
 * submitted. */

enum { ENGINE_MOST_IN_FLIGHT = 16 };

/* How many passes may be in flight, each with memory of its own on the device;
 * 1 at first. */
void engine_allow_in_flight(struct engine *engine, size_t n);
/* How many are. */
size_t engine_in_flight(const struct engine *engine);

/* Starts a pass. inputs as of engine_run(); they may be changed as soon as it
 * returns. ASSAY_BAD_USAGE where as many as may be are in flight. Where it
 * fails there is no such pass, and the others are not touched. */
enum assay_status engine_submit(struct engine *engine,
                                const struct tensor *inputs, struct error *err);

struct engine_pass {
    bool is_flown; /* false: it ran when it was submitted */
    /* By the device, of CLOCK_MONOTONIC; 0: unknown. */
    int64_t begin_ns, end_ns;
};

/* Waits for the pass that was submitted first of those in flight. outputs as of
 * engine_run(); engine_kept() has the values of this pass. Where the pass
 * failed it is gone too, and the next call is about the next one. `pass` may be
 * NULL. */
enum assay_status engine_collect(struct engine *engine, struct tensor *outputs,
                                 struct engine_pass *pass, struct error *err);

/* Whether the last pass was one launch: see engine_options.may_replay. */
bool engine_was_replayed(const struct engine *engine);
/* Whether that may be at all, and whether it may from now on. */
bool engine_can_replay(const struct engine *engine);
void engine_allow_replay(struct engine *engine, bool is_allowed);

/* Where a module of the graph (GRAPH_NONE: the model) is in the recorded tree;
 * good once a forward pass was recorded. */
assay_scope_t engine_scope(const struct engine *engine, uint32_t scope);
/* The same for a node: where its work is shown. ASSAY_SCOPE_ROOT if it did not
 * run while it was recorded. */
assay_scope_t engine_node_scope(const struct engine *engine, size_t node);

/* Reports to the recorder what the pool hands out and takes back, by space and
 * category, and what is live in it now. is_in_spans: the open spans are charged
 * with it too (assay_bytes()). */
void pool_report(struct pool *pool, bool is_in_spans);

/* What a node cost in the last run, and where the most memory was live. */
const struct cost *engine_cost(const struct engine *engine, size_t node);
struct backend *engine_backend(struct engine *engine);
/* What its values are taken from: memory of the device. */
struct pool *engine_pool(const struct engine *engine);

/* In training: starts to copy the inputs of a coming engine_run() to the
 * device, beside what that computes; those without data are left out. They must
 * stay as they are until that run, which knows them by their memory. Best
 * called between two passes, when little is queued: it begins after that. Does
 * nothing where copies cannot run beside a queue. */
enum assay_status engine_send(struct engine *engine,
                              const struct tensor *inputs, struct error *err);
/* Whether it does anything. */
bool engine_can_send(const struct engine *engine);

/* Waits until everything is done that was queued on the device, and reports
 * its times: at the end of an iteration. */
enum assay_status engine_finish(struct engine *engine, struct error *err);

/* Times everything that is queued between the two calls by the device's own
 * clock, or by the host's where it has none. The second one waits as
 * engine_finish() does. */
enum assay_status engine_timer_begin(struct engine *engine, struct error *err);
enum assay_status engine_timer_end(struct engine *engine, double *ms,
                                   struct error *err);

/* A dense tensor on the host with the data of one that this engine made; to be
 * released. It may share the memory. */
enum assay_status engine_to_host(struct engine *engine,
                                 const struct tensor *tensor,
                                 struct tensor *out, struct error *err);

/* Names the values that had to move between the host and the device in the
 * last run, with their bytes and the node that needed them; nothing if none
 * did. */
void engine_explain_moves(const struct engine *engine, struct sink *sink);

/* A value of the last run, kept because engine_keep() asked for it before;
 * dense and on the host; borrowed until the next run. NULL where it was not
 * made or is none. */
enum assay_status engine_keep(struct engine *engine, uint32_t value,
                              struct error *err);
const struct tensor *engine_kept(const struct engine *engine, uint32_t value);

/* ---- training: an engine made with backend_options.is_training ---------- */

/* The backward pass over the last run: gradients of the sum of all outputs
 * that are float32 scalars (the losses). Once a run; spans have the names of
 * the modules, as in engine_run(). */
enum assay_status engine_backward(struct engine *engine, struct error *err);
/* From now on losses are multiplied with this before the backward pass, and so
 * are all gradients; optimizers divide by it. It is 1 at first. */
void engine_scale_losses(struct engine *engine, double factor);

/* Of a parameter that is not frozen, after engine_backward(): dense, in the
 * device's memory, borrowed until the next engine_run(). NULL: none reached
 * it. */
const struct tensor *engine_gradient(const struct engine *engine,
                                     uint32_t value);

/* Training changes parameters and buffers in the device's memory. This brings
 * the graph's data up to date, for who reads it; nothing to do on the host. */
enum assay_status engine_store_parameters(struct engine *engine,
                                          struct error *err);
/* The graph's data was changed by the caller. Passes in flight are lost. */
void engine_parameters_changed(struct engine *engine);

/* Outputs of a training graph that have the name of one of its buffers (running
 * statistics) are what the buffer is to be after the step: engine_run() leaves
 * them on the device, and this puts them in the buffers' places. */
enum assay_status engine_renew(struct engine *engine,
                               const struct tensor *outputs, struct error *err);

/* Of the last backward pass over a node; and the bytes a node's module kept
 * for it from the forward pass, outputs and saved state. */
const struct cost *engine_backward_cost(const struct engine *engine,
                                        size_t node);
size_t engine_kept_bytes(const struct engine *engine, size_t node);

/* What engine_options.recompute did in the last step: bytes that were not kept
 * from the forward pass, and the time it took to make them again. */
struct engine_recomputed {
    size_t bytes;
    int64_t ns;
};

struct engine_recomputed engine_recomputed(const struct engine *engine);

/* Runs a step once more on the same inputs, forward and backward, and names
 * the first node whose output or gradient is not finite, for a message:
 * "backbone.body.conv1 (Conv2d), in the backward pass". "": all are. The
 * parameters must be as they were. */
enum assay_status engine_find_not_finite(struct engine *engine,
                                         const struct tensor *inputs,
                                         char *text, size_t size,
                                         struct error *err);

#endif
