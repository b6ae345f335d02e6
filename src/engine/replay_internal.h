/* engine/replay_internal.h - recorded passes; for the files that make them,
 * run them and keep them in flight.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ENGINE_REPLAY_INTERNAL_H
#define ENGINE_REPLAY_INTERNAL_H

#include "engine/engine_internal.h"

enum replay_state {
    REPLAY_SEEN, /* ran once: it may be recorded */
    REPLAY_READY,
    REPLAY_IMPOSSIBLE
};

struct replay {
    struct replay *next; /* less recently used */
    enum replay_state state;
    struct tensor *inputs;  /* on the device; before that, types and shapes */
    struct tensor *made;    /* the values to hand out; on the device */
    struct tensor together; /* small ones of them once more, in one piece */
    size_t *places;         /* of each value in that, plus 1; 0: not there */
    struct tensor
        *counts; /* of lists, on the host, while they are handed out */
    struct pool *pool;
    size_t pass_bytes; /* what a pass has at most; 0: unknown */
    struct backend_recording *recording;
    struct flight *flight; /* NULL: it never was in flight */
    bool is_flying;        /* launched, and nobody has the results */
    const void **fetched;  /* of each value, in flight: where its copy will be;
                              NULL: it is not under way */
    const void *fetched_together;
};

/* ---- replay.c ------------------------------------------------------------ */

/* One for inputs of these sizes that is ready and not in flight, recorded now
 * where it was not; NULL: the pass has to be launched one by one. */
struct replay *replay_ready(struct engine *engine, const struct tensor *inputs);

/* ---- replay_results.c: what a recorded pass made ---------------------------
 */

/* Brings it to the host: the outputs, released by the caller, and the values
 * that are kept. From a pass in flight, after its flight was waited for. */
enum assay_status replay_outputs(struct engine *engine,
                                 const struct replay *replay,
                                 struct tensor *outputs, struct error *err);
/* The bytes of all that, and starts to fetch what is known of it, for a pass in
 * flight. */
size_t replay_result_bytes(const struct engine *engine,
                           const struct replay *replay);
enum assay_status replay_fetch(struct engine *engine, struct replay *replay,
                               struct error *err);

#endif
