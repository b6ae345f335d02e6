/* predict/forest_internal.h - how the files of forests work together.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_FOREST_INTERNAL_H
#define PREDICT_FOREST_INTERNAL_H

#include "base/random.h"
#include "predict/forest.h"

#include <stdbool.h>

enum {
    FOREST_LANES = 16, /* rows are padded to a multiple of these */
    FOREST_LEAF = -1
};

/* Nodes lie in the order of a walk that goes left first: the left child of a
 * node is the one behind it. */
struct tree_node {
    int32_t feature; /* FOREST_LEAF */
    int32_t right;
    float threshold; /* left: at most this */
    float value;     /* of a leaf */
};

/* What all trees are grown from. */
struct forest_ground {
    const float *x; /* n rows of `stride` floats */
    const float *y;
    size_t n, n_features, stride;
    size_t min_leaf, n_candidates;
    /* Random forests: for each feature the rows in ascending order of it, and
     * their values one behind the other. */
    const int32_t *order;
    const float *columns;
};

/* A tree at work, and the memory of one thread for it. Start from {0}. */
struct tree_growth {
    const struct forest_ground *ground;
    struct random random;
    struct tree_node *nodes; /* room for 2 n */
    size_t n_nodes;
    struct tree_range {
        size_t begin, end;
        int32_t parent; /* whose right child it is; FOREST_LEAF: nobody's */
    } * open;           /* room for n + 1 */
    size_t n_open;
    int32_t *rows;  /* n; what the nodes are ranges of */
    float *lanes;   /* 4 * stride: scratch a feature */
    int32_t *other; /* random forests: (n_features + 2) * (n + 1) */
};

/* Fill nodes for one tree; random is seeded. */
void tree_grow_extra(struct tree_growth *growth);
void tree_grow_random(struct tree_growth *growth);

/* The next node of the walk, and from there the range of the rows it stands
 * for; false at the end. Ranges are opened by tree_cut(). */
bool tree_next(struct tree_growth *growth, size_t *begin, size_t *end);
void tree_leaf(struct tree_growth *growth, double value);
/* The rows from begin to middle go left. */
void tree_cut(struct tree_growth *growth, size_t feature, float threshold,
              size_t begin, size_t middle, size_t end);

#endif
