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

/* Finds out what goes together. The graph and its survey are borrowed. */
enum assay_status channels_find(struct channels *channels,
                                const struct graph *graph,
                                const struct survey *survey, struct error *err);
void channels_release(struct channels *channels);

/* The atom that stands for all that are joined with this one. */
uint32_t channels_root(const struct channels *channels, uint32_t atom);

/* ---- for the rules of ops ----------------------------------------------
 *
 * Without memory they do nothing; channels_find() tells. */

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

typedef void channel_rule(struct channels *channels, const struct node *node);
/* What an op does with channels: those that compute, those that move them.
 * NULL: nothing is known; all that it reads stays. */
channel_rule *channel_rule_of(const struct op_class *op);
channel_rule *channel_shape_rule_of(const struct op_class *op);

#endif
