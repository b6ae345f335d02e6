/* ops/channels.h - which channels of a graph can only be removed together.
 *
 * Every index along a dimension of a value has an atom. Atoms that cannot be
 * removed without one another are joined: the channels on both sides of an
 * addition, a norm's statistics and the channels it normalises, the elements of
 * a flattened channel. Channels that must stay are joined with atom 0. A
 * dimension without atoms stays as it is.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CHANNELS_H
#define OPS_CHANNELS_H

#include "base/arena.h"
#include "graph/survey.h"

enum { CHANNEL_FIXED = 0 }; /* the atom of everything that must stay */

/* The atoms along one dimension. */
struct labels {
    size_t n;
    const uint32_t *atoms;
};

/* A weight whose rows (or columns) are filters. */
struct channel_layer {
    uint32_t weight; /* the value */
    int axis;        /* of its filters */
    size_t node;     /* the first node that reads it */
};

/* Start from {0}. */
struct channels {
    const struct graph *graph;
    const struct survey *survey;
    bool has_linear;      /* outputs of fully connected layers may go too */
    const bool *is_fixed; /* one per node: everything it reads must stay */

    struct arena arena;
    uint32_t *parents; /* of each atom; a root is its own */
    size_t n_atoms, atoms_capacity;
    struct labels (*values)[SHAPE_MAX_RANK];
    struct channel_layer *layers; /* in the order they run */
    size_t n_layers, layers_capacity;
    size_t node; /* the one whose rule is running */
    bool is_out_of_memory;
};

void channels_release(struct channels *channels);

/* The atom that represents all atoms joined with this one. */
uint32_t channels_root(const struct channels *channels, uint32_t atom);

/* ---- for the rules of ops ----------------------------------------------
 *
 * When memory runs out, they only set is_out_of_memory. */

/* The atoms along an axis. n = 0: there are none, or the value is left out. */
struct labels channels_of(const struct channels *channels, uint32_t value,
                          int axis);
/* NULL if the shape is not known. */
const struct shape *channels_shape(const struct channels *channels,
                                   uint32_t value);
/* An int64 value whose data is known; NULL otherwise. */
const struct tensor *channels_numbers(const struct channels *channels,
                                      uint32_t value);
/* Parameters, buffers and constants: these can be made smaller directly. */
bool channels_is_leaf(const struct channels *channels, uint32_t value);
/* Leaves, and values dequantized from them. */
bool channels_is_weight(const struct channels *channels, uint32_t value);

struct labels channels_new(struct channels *channels, size_t n);
/* Memory for n atoms, all fixed until they are written. */
uint32_t *channels_room(struct channels *channels, size_t n);
void channels_join(struct channels *channels, uint32_t a, uint32_t b);
void channels_fix(struct channels *channels, struct labels labels);
/* Fixes all atoms of a value. */
void channels_fix_value(struct channels *channels, uint32_t value);
void channels_fix_inputs(struct channels *channels, const struct node *node);

/* Gives an output its atoms along an axis. */
void channels_set(struct channels *channels, uint32_t value, int axis,
                  struct labels labels);
/* Joins an input's atoms with these; fixes both if that is impossible. */
void channels_match(struct channels *channels, uint32_t value, int axis,
                    struct labels labels);
/* The atoms of a weight's filters: new ones unless it was read before. */
struct labels channels_filters(struct channels *channels, uint32_t weight,
                               int axis);
/* Gives `to` the atoms of `from`, along all dimensions. */
void channels_pass(struct channels *channels, uint32_t from, uint32_t to);

enum { CHANNEL_AXIS = 1 }; /* of images and maps */

/* The axis counted from 0. */
static inline int channels_axis(int64_t axis, int rank)
{
    return (int)(axis < 0 ? axis + rank : axis);
}

/* The shapes of the first input and the first output. False if one is not
 * known; then all inputs are fixed. */
bool channels_shapes(struct channels *channels, const struct node *node,
                     const struct shape **x, const struct shape **y);
/* The shape of the first output. NULL if that or the shape of any input is not
 * known; then all inputs are fixed. */
const struct shape *channels_all_shapes(struct channels *channels,
                                        const struct node *node);

/* ---- rules that several ops share (channel_rules.c) ---------------------- */

/* The output has the atoms of the first input. */
void channel_pass(struct channels *channels, const struct node *node);
/* Inputs broadcast to one shape: additions, squeeze-excite products. */
void channel_broadcast(struct channels *channels, const struct node *node);
/* A window that moves over each channel of a map by itself. */
void channel_window(struct channels *channels, const struct node *node);
/* All inputs and outputs but the first have one number per channel. */
void channel_norm(struct channels *channels, const struct node *node);
/* The same elements in another shape: Flatten, Reshape, Squeeze. */
void channel_reshape(struct channels *channels, const struct node *node);
/* Dimensions that keep their size pass; the others are fixed. */
void channel_same_size(struct channels *channels, const struct node *node);
/* For ops that read sizes, not data. */
void channel_none(struct channels *channels, const struct node *node);

/* A product with a parameter matrix, the second input; `summed` is the
 * dimension of it that is summed over. */
void channel_product(struct channels *channels, const struct node *node,
                     int summed, int y_axis);

#endif
