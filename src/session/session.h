/* session/session.h - a model ready to run: graph, weights, engine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "engine/engine.h"
#include "vision/model_inputs.h"

/* Images per iteration; at most MODEL_MAX_IMAGES for detectors. */
enum { SESSION_MAX_BATCH = 1024 };

struct session_options {
    struct model_source model;
    struct vision_options vision;
    const struct device *device; /* NULL: the host's processors */
    enum precision precision;    /* of products, on a GPU */
    bool may_replay;             /* see struct engine_options */
    int n_threads;
    bool is_plain;    /* one kernel per module, nothing fused */
    bool tunes_plain; /* with kernels chosen by measuring even so */
    enum engine_detail detail;
    const char *choices_path; /* remembered kernel choices; NULL: none */
    double tuning_seconds;
    struct sink *warnings; /* lines about weights that do not fit; or NULL */
};

/* Values besides the outputs that describe an image. */
enum session_kept {
    SESSION_PROPOSALS,           /* int64 [images] */
    SESSION_PROPOSALS_OF_LEVEL,  /* int64 [images, levels] */
    SESSION_CANDIDATES_OF_LEVEL, /* the same before suppression */
    N_SESSION_KEPT
};

struct session {
    struct pool *pool;
    bool has_own_pool;
    struct graph *graph;
    struct engine *engine;
    struct model_inputs inputs;
    struct tensor *outputs; /* of the last run */
    size_t n_outputs;
    uint64_t parameters, parameter_bytes;
    uint64_t buffers;              /* elements that are not trained */
    bool is_random;                /* no file has weights for it */
    uint32_t kept[N_SESSION_KEPT]; /* values, or GRAPH_NONE */
};

enum assay_status session_open(const struct session_options *options,
                               struct session *session, struct error *err);
/* The same for a graph that has its weights. Takes the graph, also on failure;
 * the pool stays the caller's. */
enum assay_status session_open_graph(const struct session_options *options,
                                     struct pool *pool, struct graph *graph,
                                     struct session *session,
                                     struct error *err);
void session_close(struct session *session); /* accepts {0} */

/* Of the last run; NULL if the model has none. */
const struct tensor *session_kept(const struct session *session,
                                  enum session_kept kept);

/* Memory besides the values of a run. */
struct session_memory {
    size_t weights_bytes; /* in the pool: as loaded, and repacked for the
                             kernels */
    size_t mapped_bytes;  /* weights mapped from the file */
    size_t scratch_bytes; /* in the pool: of kernels */
};

struct session_memory session_memory(const struct session *session);

/* One forward pass on one tensor per input; the outputs stay until the next. A
 * device without memory is told of with the batch that could fit. */
enum assay_status session_run(struct session *session,
                              const struct tensor *images, struct error *err);

/* The same with several passes in flight: see engine_submit() and
 * engine_collect(). */
enum assay_status session_submit(struct session *session,
                                 const struct tensor *images,
                                 struct error *err);
enum assay_status session_collect(struct session *session,
                                  struct engine_pass *pass, struct error *err);

#endif
