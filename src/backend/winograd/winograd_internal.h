/* backend/winograd/winograd_internal.h - the vector code of each instruction
 * set, for the plan that calls it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_WINOGRAD_WINOGRAD_INTERNAL_H
#define BACKEND_WINOGRAD_WINOGRAD_INTERNAL_H

#include "backend/winograd/winograd.h"

/* Tiles of a block: n from the first one of all. */
struct winograd_tiles {
    int64_t first, n;
};

struct winograd_kernels {
    const char *name;
    int64_t lanes; /* floats of a vector, channels of a block */
    int64_t group; /* tiles that are multiplied at once */

    /* Transforms the tiles of one block of input channels. Element (point p,
     * tile t, channel c) of the result is at
     *     p * point_floats + ((t / group * in_blocks + c / lanes) * group +
     *     t % group) * lanes + c % lanes. */
    void (*read)(const struct winograd *winograd, struct winograd_tiles tiles,
                 int64_t in_block, const float *x, float *transformed);
    /* Multiplies them with the weights of n_blocks output blocks. Element
     * (block b, tile t, point p) of the products is the vector at
     *     (b * block_tiles + t) * points + p. */
    void (*multiply)(const struct winograd *winograd,
                     struct winograd_tiles tiles, int64_t out_block,
                     int64_t n_blocks, const float *transformed,
                     const float *weights, float *products);
    /* Transforms the products of one output block back, adds what is to be
     * added and applies the activation. */
    void (*write)(const struct winograd *winograd, struct winograd_tiles tiles,
                  int64_t out_block, const float *products,
                  const struct winograd_call *call);
};

/* Of a group's transformed weights. */
int64_t winograd_group_floats(const struct winograd *winograd);

extern const struct winograd_kernels winograd_avx2, winograd_avx512;

/* The places where F(4x4, 3x3) and F(2x2, 5x5) evaluate are 0, +-a, +-b and
 * infinity. Of the pairs that are exact in binary with their squares and cubes,
 * 5/8 and 3/2 lose the fewest digits: a third of what +-1 and +-2 lose. */
#define WINOGRAD_A 0.625F
#define WINOGRAD_B 1.5F

/* Weights are laid out for this many output blocks at a time: element (point of
 * weight_side^2, output block b, channel c) is the vector at
 *     (point * out_blocks + b / 2 * 2) * in_channels + c * n + b % 2
 * with n = 2, or 1 for a last block without a neighbour. */
enum { WINOGRAD_PANEL = 2 };

#endif
