/* ops/channels.h - which channels of a graph must go together.
 *
 * Every place along a dimension of a value has an atom. Atoms that cannot be
 * removed one without the other are joined: the channels of both sides of an
 * addition, a norm's statistics and the channels that it normalises, the
 * places that a flattened channel takes. What must stay is joined with atom 0.
 * A dimension without atoms stays as it is.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CHANNELS_H
#define OPS_CHANNELS_H

#include "base/arena.h"
#include "graph/survey.h"

enum { CHANNEL_FIXED = 0 }; /* the atom of all that stays */

/* The atoms along one dimension. */
struct labels {
    size_t n;
    const uint32_t *atoms;
};

/* A weight whose rows (or columns) are filters. */
struct channel_layer {
    uint32_t weight; /* the value */
    int axis;        /* of its filters */
    size_t node;     /* the first that reads it */
};

/* Start from {0}. */
struct channels {
    const struct graph *graph;
    const struct survey *survey;
    bool has_linear;      /* outputs of fully connected layers may go, too */
    const bool *is_fixed; /* one a node: all that it reads stays */

    struct arena arena;
    uint32_t *parents; /* of the atoms, up to the one that stands for them */
    size_t n_atoms, atoms_capacity;
    struct labels (*values)[SHAPE_MAX_RANK];
    struct channel_layer *layers; /* in the order they run */
    size_t n_layers, layers_capacity;
    size_t node; /* the one that is looked at */
    bool is_out_of_memory;
};

void channels_release(struct channels *channels);

/* The atom that stands for all that are joined with this one. */
uint32_t channels_root(const struct channels *channels, uint32_t atom);

/* ---- for the rules of ops ----------------------------------------------
 *
 * Without memory they do nothing but note it. */

/* n = 0 where there are none, also for values that are left out. */
struct labels channels_of(const struct channels *channels, uint32_t value,
                          int axis);
/* Of a value whose shape is known; NULL otherwise. */
const struct shape *channels_shape(const struct channels *channels,
                                   uint32_t value);
/* Constants of whole numbers that are known; NULL otherwise. */
const struct tensor *channels_numbers(const struct channels *channels,
                                      uint32_t value);
/* Parameters, buffers and constants: what can be made smaller itself. */
bool channels_is_leaf(const struct channels *channels, uint32_t value);
/* Those, and what is dequantized from them. */
bool channels_is_weight(const struct channels *channels, uint32_t value);

struct labels channels_new(struct channels *channels, size_t n);
/* Room for n atoms, all fixed until they are written. */
uint32_t *channels_room(struct channels *channels, size_t n);
void channels_join(struct channels *channels, uint32_t a, uint32_t b);
/* All of a with all of b by place; what has no partner stays. */
void channels_join_all(struct channels *channels, struct labels a,
                       struct labels b);
void channels_fix(struct channels *channels, struct labels labels);
/* Everything that is known of a value stays. */
void channels_fix_value(struct channels *channels, uint32_t value);
void channels_fix_inputs(struct channels *channels, const struct node *node);

/* An output has these. */
void channels_set(struct channels *channels, uint32_t value, int axis,
                  struct labels labels);
/* An input goes along with these; what cannot stays, and they with it. */
void channels_match(struct channels *channels, uint32_t value, int axis,
                    struct labels labels);
/* Those of a weight's filters: new ones unless it was read before. */
struct labels channels_filters(struct channels *channels, uint32_t weight,
                               int axis);
/* The output has what the input has, along all dimensions. */
void channels_pass(struct channels *channels, uint32_t from, uint32_t to);

/* ---- what rules are made of --------------------------------------------- */

enum { CHANNEL_AXIS = 1 }; /* of images and maps */

/* An axis that may count from the end. */
static inline int channels_axis(int64_t axis, int rank)
{
    return (int)(axis < 0 ? axis + rank : axis);
}

/* The shapes of the first input and the first output. False: not both are
 * known; all that the node reads stays. */
bool channels_shapes(struct channels *channels, const struct node *node,
                     const struct shape **x, const struct shape **y);

/* ---- rules that several ops share (channel_rules.c) ---------------------- */

/* Element by element. */
void channel_pass(struct channels *channels, const struct node *node);
/* Inputs that are repeated to one shape: additions, squeeze-excite products. */
void channel_broadcast(struct channels *channels, const struct node *node);
/* Whatever moves over a map, one channel at a time. */
void channel_window(struct channels *channels, const struct node *node);
/* All inputs but the first are a number per channel; so are outputs but the
 * first. */
void channel_norm(struct channels *channels, const struct node *node);
/* The same elements under another shape: Flatten, Reshape, Squeeze. */
void channel_reshape(struct channels *channels, const struct node *node);
/* What keeps its size passes; where the size changes, it stays. */
void channel_same_size(struct channels *channels, const struct node *node);
/* Sizes are asked for, not data: whoever uses them is looked at itself. */
void channel_none(struct channels *channels, const struct node *node);

/* A matrix of parameters, the second input: which of its dimensions is summed
 * over. */
void channel_product(struct channels *channels, const struct node *node,
                     int summed, int y_axis);

#endif
