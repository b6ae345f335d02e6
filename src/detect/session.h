/* detect/session.h - a model made ready: graph, weights, engine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_SESSION_H
#define DETECT_SESSION_H

#include "detect/detect.h"
#include "detect/model_inputs.h"

/* Values beside the outputs that tell what an image was like. */
enum session_kept {
    SESSION_PROPOSALS,           /* int64 [images] */
    SESSION_PROPOSALS_OF_LEVEL,  /* int64 [images, levels] */
    SESSION_CANDIDATES_OF_LEVEL, /* the same before any was suppressed */
    N_SESSION_KEPT
};

struct session {
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    struct model_inputs inputs;
    struct tensor *outputs; /* of the last run */
    size_t n_outputs;
    struct cost *work; /* summed over the measured runs, one a node */
    uint64_t n_measured;
    uint64_t parameters, parameter_bytes;
    bool is_random;                /* a file of a model without weights */
    uint32_t kept[N_SESSION_KEPT]; /* values; GRAPH_NONE: it has none */
};

/* What a detection model gives, in the order of models.h. */
enum session_output {
    SESSION_BOXES,
    SESSION_SCORES,
    SESSION_LABELS,
    SESSION_COUNTS,
    SESSION_MASKS /* the first of them */
};

enum assay_status session_open(const struct detect_options *options,
                               struct session *session, struct error *err);
void session_close(struct session *session); /* accepts {0} */

/* Of the last run; NULL where the model has none. */
const struct tensor *session_kept(const struct session *session,
                                  enum session_kept kept);

/* What is held beside the values of a run. */
struct session_memory {
    size_t weights_bytes; /* in the pool: as loaded and as kernels want them */
    size_t mapped_bytes;  /* weights that stay in the file, mapped */
    size_t scratch_bytes; /* in the pool: of kernels */
};

struct session_memory session_memory(const struct session *session);

/* One forward pass on a tensor for each input; the outputs stay until the
 * next. */
enum assay_status session_run(struct session *session,
                              const struct tensor *images, bool is_measured,
                              struct error *err);

#endif
