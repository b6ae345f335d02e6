/* engine/tape.h - what training keeps of a forward pass.
 *
 * From the graph alone follows which nodes a gradient passes through, what
 * their backward kernels read, and so which values stay until then. Some of
 * these are dropped and made again when they are needed: what is cheap to make
 * from something that is kept anyway, and what the user asked for.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ENGINE_TAPE_H
#define ENGINE_TAPE_H

#include "engine/engine_internal.h"

struct tape_node {
    uint64_t wanted;       /* inputs that get a gradient; 0: none passes */
    struct op_reads reads; /* what its backward kernel needs the data of */
    uint64_t holds;        /* inputs that dropped values are made from */
    struct tensor saved;   /* what its forward kernel left */
    struct cost cost;      /* of its last backward pass */
    size_t kept_bytes;     /* of its outputs and saved, after a forward pass */
    bool is_chosen;        /* of a module that is to be recomputed */
};

struct tape_value {
    bool has_gradient;  /* one passes through it, or ends here */
    bool is_dropped;    /* not kept, but made again */
    bool is_spared;     /* it would be kept, but for the user's word */
    unsigned row;       /* of cheap values in a row that are dropped */
    uint32_t uses;      /* by nodes in the backward pass */
    uint32_t left;      /* of those, in the pass under way */
    bool is_loss;       /* in the last forward pass */
    struct tensor form; /* type and shape in that pass; no data */
    struct tensor gradient;
};

struct tape {
    struct tape_node *nodes;
    struct tape_value *values;
    size_t n_nodes, n_values;
    unsigned longest_row; /* that may be dropped */
    bool *is_marked;      /* one a node: restore_value() runs it again */
    bool has_run; /* a forward pass whose backward pass is yet to come */
    struct engine_recomputed recomputed; /* in the last step */
};

enum assay_status tape_new(const struct engine *engine,
                           const char *const *recompute, struct tape **out,
                           struct error *err);
void tape_free(struct tape *tape); /* accepts NULL */

/* Whether a backward pass will need the value as it is now. */
static inline bool tape_keeps(const struct tape *tape, uint32_t value)
{
    return tape && tape->values[value].left && !tape->values[value].is_dropped;
}

/* A forward pass begins: everything of the last is given back. */
void tape_rewind(struct tape *tape);
/* Remembers type and shape of a value, for when its data is gone. */
void tape_note(struct tape *tape, uint32_t value, const struct tensor *tensor);
/* It is over: finds the losses and counts what is kept. */
void tape_count(struct engine *engine);

/* ---- restore.c ---------------------------------------------------------- */

/* Makes a dropped value again for the backward kernel of a node, with all it is
 * made from. */
enum assay_status restore_value(struct engine *engine, uint32_t value,
                                size_t at, struct error *err);

#endif
