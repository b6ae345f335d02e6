/* backend/winograd/winograd.h - convolutions of 3x3 and 5x5 in float32 by
 * Winograd's algorithm, F(4x4, 3x3), F(2x2, 3x3) and F(2x2, 5x5).
 *
 * With a stride of 2, even and odd rows and columns of x are maps of their own,
 * which 2 taps and 1 of each line meet: F(2, 2) of the one beside 2 products of
 * the other are 5 instead of 6, and 25 instead of 36 in both directions. The 2
 * products have the same weight, so that there are 16 of these for 25 points.
 *
 * Of a dilated convolution, every d-th row and column are maps of their own,
 * d * d of them (phases), which are convolved without dilation.
 *
 * In groups, each of whole blocks, every group is a convolution of its own.
 *
 * Maps lie in channel blocks as wide as the processor's vectors: nChw8c for
 * AVX2, nChw16c for AVX-512; what fills up the last block of x is zero. A few
 * tiles at a time are transformed, multiplied with the transformed weights and
 * transformed back, so that what lies between stays in the caches.
 *
 * Thread-safe except for winograd_run(), which starts OpenMP's threads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_WINOGRAD_WINOGRAD_H
#define BACKEND_WINOGRAD_WINOGRAD_H

#include "backend/activation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Outputs along one side of a tile: F(m x m, r x r) reads m + r - 1, with a
 * stride of 2, which F(2x2, 3x3) alone has, 5. */
enum winograd_tile { WINOGRAD_2 = 2, WINOGRAD_4 = 4 };

struct winograd_shape {
    int64_t images, groups;
    int64_t in_channels, out_channels; /* of a group */
    int64_t in_height, in_width, out_height, out_width;
    int64_t top, left; /* zeros before the first row and column */
    int64_t stride;    /* 1 or 2 */
    int64_t dilation;  /* 1: none; more with a stride of 1 alone */
    int64_t taps;      /* down and across: 3, or 5 for tiles of 2 */
    /* From the gradient of a convolution's output to that of its input, which
     * x and y are here: its weights are those of the convolution. */
    bool is_backward;
};

struct winograd_kernels;

/* How one shape is computed. Tiles are counted through images, phases, rows and
 * columns; a block of them is worked on at a time, for a part of the
 * output blocks at a time. */
struct winograd {
    const struct winograd_kernels *kernels;
    struct winograd_shape shape;
    enum winograd_tile tile;
    int n_threads;
    int64_t side;                     /* of what a tile reads */
    int64_t points;                   /* of a transformed tile */
    int64_t weight_side;              /* of a pair's transformed weights */
    int64_t tiles_across, tiles_down; /* of a phase */
    int64_t n_tiles;                  /* in all */
    int64_t in_blocks, out_blocks;    /* of a group's channels */
    int64_t block_tiles, n_blocks;    /* of tiles */
    int64_t part_blocks, n_parts;     /* of output blocks */
    int64_t point_floats; /* from one point to the next of a block's tiles */
    bool is_shared;       /* all threads work on every block's tiles */
};

/* Channels per block; 0: there is no kernel for this processor. */
int64_t winograd_lanes(void);
/* "avx2"; only where there are kernels. */
const char *winograd_instructions(void);

/* Plans for that many threads, with scratch memory of most_bytes where that is
 * possible. False if there is no kernel for this processor. */
bool winograd_plan(enum winograd_tile tile, const struct winograd_shape *shape,
                   int n_threads, size_t most_bytes, struct winograd *out);

size_t winograd_weight_bytes(const struct winograd *winograd);
size_t winograd_scratch_bytes(const struct winograd *winograd);

/* Transforms weights [o,c,r,r], or [c,o,r,r] on the way back, of one group
 * after the other; *packed has winograd_weight_bytes() and depends on the tile,
 * the processor, the channels and the direction alone. */
void winograd_pack(const struct winograd *winograd, const float *weights,
                   float *packed);

struct winograd_call {
    const float *x, *weights, *bias; /* packed; bias NULL: none */
    float *y, *scratch;
    bool adds; /* what y held, before the activation */
    struct activation then;
};

/* What fills up the last block of y becomes the activation of 0, or of what it
 * held. */
void winograd_run(const struct winograd *winograd,
                  const struct winograd_call *call);

#endif
