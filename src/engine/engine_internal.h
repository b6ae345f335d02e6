/* engine/engine_internal.h - what an engine holds; for the files of this room.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ENGINE_ENGINE_INTERNAL_H
#define ENGINE_ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "engine/scope_walk.h"

/* In training a node has fewer than OP_MAX_VALUES: sets of its inputs are bits
 * of a word. */
enum { ENGINE_MAX_TRAINED = 64 };

/* The memory that a kernel works in. Where the device is the host, both are
 * the same. */
enum place { PLACE_HOST, PLACE_DEVICE, N_PLACES };

/* Where a value is, in the run under way. Data of the graph, which is in the
 * host's memory, has no `made`. */
struct engine_value {
    struct tensor made; /* where its node ran */
    struct tensor copy; /* in the other memory; one of the graph's data stays
                           for the runs that follow */
    bool is_ahead;      /* the copy of the graph's data was changed since */
    uint32_t uses;      /* how often a run reads it */
    uint32_t left;      /* of those, in the run under way */
    bool is_kept;
    /* What moved to each place in the last run, and the node it moved for. */
    size_t moved_bytes[N_PLACES];
    uint32_t moved_for[N_PLACES];
    /* Of those, what a node needed, not who reads the outputs. */
    bool moved_within[N_PLACES];
    bool is_made_far; /* in the last run, by a node on the device */
};

/* The engines of the graphs inside of a node, and what they cost in the run
 * of that node. */
struct node_bodies {
    struct engine **engines;
    size_t n;
    struct cost cost;
};

/* What the recorder knows of a node. */
struct node_report {
    assay_scope_t scope; /* where its work is shown */
    uint64_t shapes;     /* a number for those reported; 0: none yet */
};

struct engine {
    const struct graph *graph;
    struct pool *pools[N_PLACES]; /* the device's is the host's, or its own */
    struct backend *backend;
    struct op_context context;
    struct module_scopes forward, backward; /* in the recorded tree */
    struct node_report *reports;            /* one per node */
    unsigned reported_to;                   /* the recording it is of */
    unsigned timed_in;           /* the recording that was told of it: */
    char timed_by[192];          /* what tells the device's times */
    struct engine_value *values; /* one per value of the graph */
    uint32_t *renews;            /* one per output: see engine_renew() */
    int64_t timer_began_ns;      /* see engine_timer_begin() */
    bool has_run;                /* once, whether it succeeded or not */
    bool is_body;                /* the pools are those of the engine around */
    struct cost *costs;          /* one per node */
    struct node_bodies *bodies;  /* one per node */
    struct tape *tape;           /* NULL: no training */
    double loss_scale;           /* see engine_scale_losses(); 0: 1 */
    bool takes_pictures;         /* any thread may ask: it stays as it is */
    bool may_replay, was_replayed;
    bool is_replay_off;      /* by engine_allow_replay() */
    struct replay *replays;  /* replay.c */
    struct passes *passes;   /* in_flight.c; NULL: none was submitted */
    size_t most_in_flight;   /* 0: 1 */
    struct value_rows *rows; /* one per value, while lists keep their room;
                                NULL: they do not */
    bool knows_rows;         /* whether they can was looked at */
    bool has_lost_rooms;     /* the host has to read a list */
    size_t *places;          /* one per value: few_values.c */
    struct sent_input *sent; /* one per input: send.c; NULL: none */
    struct watch *watch;     /* NULL: nobody looks for what is not finite */
};

/* ---- engine.c ----------------------------------------------------------- */

/* Who owns the memory that is taken from now on, in every place; returns who
 * did until now. */
uint32_t engine_set_owner(struct engine *engine, uint32_t owner);
/* "roi_heads.box_head.fc6 (Linear)", for messages. */
enum { ENGINE_NODE_TEXT = 200 };
const char *engine_node_text(const struct engine *engine,
                             const struct node *node, char *text, size_t size);

/* Whether the inputs are of the types and sizes that the model fixes. */
enum assay_status engine_check_inputs(const struct engine *engine,
                                      const struct tensor *inputs,
                                      struct error *err);
/* Everything of the last run is given back, and the inputs are taken in. */
void engine_begin_run(struct engine *engine, const struct tensor *inputs);
enum assay_status engine_run_nodes(struct engine *engine, struct error *err);
void engine_forget_values(struct engine *engine);

/* ---- backward.c ---------------------------------------------------------- */

double engine_loss_scale(const struct engine *engine);

/* ---- replay.c: a pass as one launch --------------------------------------
 */

/* Runs the pass as one launch if it can: false where it has to be launched one
 * by one. */
bool engine_replay(struct engine *engine, const struct tensor *inputs,
                   struct tensor *outputs, enum assay_status *st,
                   struct error *err);
/* After a pass that was launched one by one, while its values are there. */
void engine_replay_note(struct engine *engine, const struct tensor *inputs);
void engine_replays_free(struct engine *engine);

/* ---- in_flight.c ----------------------------------------------------------
 */

/* Waits for the passes that nobody collected, and forgets them. */
void engine_passes_free(struct engine *engine);

static inline size_t engine_most_in_flight(const struct engine *engine)
{
    return engine->most_in_flight ? engine->most_in_flight : 1;
}

/* ---- pictures.c -----------------------------------------------------------
 */

/* Once the backend and the tape are there. */
void engine_pictures_init(struct engine *engine);
/* Whether an input is given as a picture where the model reads float32. */
bool engine_is_picture(const struct engine *engine, size_t input,
                       const struct tensor *given);
/* What the model reads of it. */
struct shape engine_picture_shape(const struct tensor *picture);
/* A pass begins: pictures among its inputs become what the model reads. */
enum assay_status engine_spread_pictures(struct engine *engine,
                                         struct error *err);

/* ---- rooms.c: lists whose length is data, on a device ----------------------
 */

/* What is known of the rows of a value. */
struct value_rows {
    bool is_list;    /* no longer than its room, shorter by data */
    bool is_unknown; /* made from a list, and nobody says how long it is */
    uint32_t counts; /* of a list: see struct backend_rows */
    int64_t image;
    bool counts_others; /* a list that is handed out: it stays for that */
};

/* Whether somebody wants to see the value after the pass, or needs it to know
 * how long a list is. */
bool engine_wants(const struct engine *engine, uint32_t value);

/* A pass begins: where lists can keep their room, they do from now on. */
void engine_rooms_keep(struct engine *engine);
/* It is over. */
void engine_rooms_end(struct engine *engine);
/* Lists may have become others: they are looked for again. */
void engine_rooms_forget(struct engine *engine);
/* ASSAY_UNSUPPORTED where the host would have to read a list with its room. */
enum assay_status engine_rooms_check(struct engine *engine,
                                     const struct node *node, enum place place,
                                     struct error *err);
/* Whether the pass failed for that: it has to run again, without rooms. */
bool engine_rooms_lost(struct engine *engine, struct error *err);
/* Cuts the lists that are handed out to what there is; their counts are
 * brought to the host. */
enum assay_status engine_rooms_cut(struct engine *engine, struct error *err);

/* What the backend knows of the rows of an output. */
struct backend_rows engine_rows_of(const struct engine *engine,
                                   const struct node *node, size_t output);
/* One for each value of the graph. Returns whether there is a list. */
bool engine_rows_find(const struct engine *engine, struct value_rows *rows);
/* A tensor with the rows of a list that there are, from its counts on the
 * host. Borrowed from `list`. */
enum assay_status engine_rows_cut(const struct value_rows *rows,
                                  const struct tensor *counts,
                                  const struct tensor *list, struct tensor *out,
                                  struct error *err);

/* ---- few_values.c: small values leave a device together ------------------
 */

/* Finds places for them, plus 1 each; 0: the value is not among them. Returns
 * how many bytes that are, 0 where there is nothing to put together. */
size_t engine_gather_places(const struct engine *engine, size_t *places);
/* Queues copies of them into one piece. */
enum assay_status engine_gather(struct engine *engine, const size_t *places,
                                size_t bytes, struct tensor *out,
                                struct error *err);
/* A value in that piece, or in a copy of it. Borrowed. */
struct tensor engine_gathered(const struct tensor *like, size_t place,
                              const struct tensor *together);
/* Brings them to the host with one copy. */
enum assay_status engine_bring_few(struct engine *engine, struct error *err);

/* ---- moves.c: values in one place or the other ----------------------------
 */

/* The tensor of a value where it was made in this run, or the graph's own. */
const struct tensor *engine_value(const struct engine *engine, uint32_t value);
/* Gives back the memory of a value of this run. */
void engine_drop(struct engine *engine, uint32_t value);

/* Whether the device's memory is not the host's. */
static inline bool engine_is_far(const struct engine *engine)
{
    return engine->pools[PLACE_DEVICE] != engine->pools[PLACE_HOST];
}

static inline bool engine_is_in(const struct engine *engine,
                                const struct tensor *tensor, enum place place)
{
    return !tensor->buffer ||
           buffer_space(tensor->buffer) == pool_space(engine->pools[place]);
}

/* Makes a tensor dense; another one of its own takes its place. */
enum assay_status engine_make_dense(struct engine *engine,
                                    struct tensor *tensor, struct error *err);
/* The same for where it is. */
enum assay_status engine_move(struct engine *engine, struct tensor *tensor,
                              enum place place, struct error *err);
/* The value as kernels in a place can read it, moved there if it is not there
 * yet; borrowed until the value is dropped. `node` is who needs it. */
enum assay_status engine_bring(struct engine *engine, uint32_t value,
                               enum place place, uint32_t node,
                               const struct tensor **out, struct error *err);
/* The same for the inputs of a node that runs in a place. Inputs that its op
 * does not look at stay where they are. */
enum assay_status engine_bring_inputs(struct engine *engine, size_t at,
                                      enum place place,
                                      const struct tensor **inputs,
                                      struct error *err);
/* A parameter in the device's memory, to be changed there. */
enum assay_status engine_parameter(struct engine *engine, uint32_t value,
                                   const struct tensor **out,
                                   struct error *err);
/* The arithmetic for tensors in a place. */
const struct backend_math *engine_math(const struct engine *engine,
                                       enum place place);

/* ---- send.c: inputs that go ahead ------------------------------------------
 */

/* A run has begun: what was sent of its inputs is its. */
enum assay_status engine_receive(struct engine *engine,
                                 const struct tensor *inputs,
                                 struct error *err);
/* Nobody will ask for what was sent. */
void engine_unsend(struct engine *engine);

/* ---- run_node.c -----------------------------------------------------------
 */

/* Runs a node on values that are there. is_again: for a backward pass that
 * needs outputs that were dropped; nothing is released then. */
enum assay_status engine_run_node(struct engine *engine, size_t at,
                                  bool is_again, struct error *err);
/* Runs a kernel for the node in that place: the backend's, or the portable
 * one. */
enum assay_status engine_run_kernel(struct engine *engine, size_t at,
                                    enum place place,
                                    const struct tensor **inputs,
                                    struct tensor *outputs, struct error *err);
/* Nobody of this pass reads the value any more: neither somebody outside nor a
 * backward pass needs it. */
bool engine_is_over(const struct engine *engine, uint32_t value);

/* ---- report.c: what the recorder is told besides spans ------------------- */

/* Parameters and fused modules, once per recording. */
void engine_report_model(struct engine *engine);
/* The work of a node whose span is open. */
void engine_report_node(struct engine *engine, size_t at,
                        const struct tensor *const *inputs,
                        const struct tensor *outputs);
/* Work of the open span in general. */
void engine_report_cost(const struct cost *cost);
/* What a forward pass of training keeps for the backward pass. */
void engine_report_kept(const struct engine *engine);
/* When what was queued ran. */
void engine_report_timings(struct engine *engine);
/* A pass on a far device begins: whether its times are wanted. */
void engine_watch_device(struct engine *engine);
/* What is queued from now on is for the scope; 0: for none. */
void engine_launching(struct engine *engine, uint32_t scope);

/* ---- f32_ops.c ---------------------------------------------------------- */

/* Whether the node has to be run by engine_run_f32(): its op knows float32
 * alone, and some of its inputs have another type. */
bool engine_needs_f32(const struct node *node,
                      const struct tensor *const *inputs);
enum assay_status engine_run_f32(struct engine *engine, size_t at,
                                 enum place place, const struct tensor **inputs,
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
/* An engine that works in the memory of another one. */
enum assay_status engine_new_inside(const struct graph *graph,
                                    const struct engine *around,
                                    const struct engine_options *options,
                                    struct engine **out, struct error *err);

/* ---- not_finite.c ------------------------------------------------------- */

/* Looks at what a node made; only the first finding is kept. */
enum assay_status engine_watch(struct engine *engine, const struct node *node,
                               const struct tensor *made, size_t n,
                               const char *when, struct error *err);

#endif
