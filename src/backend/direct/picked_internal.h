/* backend/direct/picked_internal.h - pixels whose channels lie anywhere, in
 * vectors of a width that the including file chooses, as those of
 * direct_body_internal.h, which comes before.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DIRECT_PICKED_INTERNAL_H
#define BACKEND_DIRECT_PICKED_INTERNAL_H

#include "backend/direct/direct_internal.h"

/* Pixels from `at` on; their number and that of the blocks are constants, so
 * that the sums stay in registers. */
PART void picked_tile(const struct direct_picked *picked, int64_t at,
                      struct limits limits, int n_pixels, int n_blocks)
{
    const float *weights = picked->weights;
    float *y = picked->y + at * lanes;
    vec sums[most_sums];

#pragma GCC unroll 24
    for (int i = 0; i < n_pixels * n_blocks; i++) {
        sums[i] = vec_load(picked->bias + i % n_blocks * lanes);
        if (picked->adds)
            sums[i] += vec_load(y + i % n_blocks * picked->y_plane +
                                i / n_blocks * lanes);
    }
    for (int64_t c = 0; c < picked->n_channels; c++) {
        const float *x = picked->channels[c] + at * lanes;
        vec w[DIRECT_PANEL];

#pragma GCC unroll 2
        for (int b = 0; b < n_blocks; b++)
            w[b] = vec_load(weights + b * lanes);
#pragma GCC unroll 24
        for (int p = 0; p < n_pixels; p++) {
            vec v = vec_splat(x[p * lanes]);

#pragma GCC unroll 2
            for (int b = 0; b < n_blocks; b++)
                sums[p * n_blocks + b] += v * w[b];
        }
        weights += n_blocks * lanes;
    }
#pragma GCC unroll 24
    for (int i = 0; i < n_pixels * n_blocks; i++)
        vec_store(y + i % n_blocks * picked->y_plane + i / n_blocks * lanes,
                  vec_limit(sums[i], limits));
}

PART void picked_tiles(const struct direct_picked *picked, int n_blocks)
{
    struct limits limits = find_limits(&picked->then);
    int whole = n_blocks == 1 ? single : group, third = whole / 3;
    int64_t at = picked->first;

    for (; picked->end - at >= whole; at += whole)
        picked_tile(picked, at, limits, whole, n_blocks);
    for (; picked->end - at >= third; at += third)
        picked_tile(picked, at, limits, third, n_blocks);
    for (; picked->end - at >= 1; at++)
        picked_tile(picked, at, limits, 1, n_blocks);
}

static void body_picked(const struct direct_picked *picked)
{
    int64_t n = picked->end - picked->first;

    if (picked->n_blocks == DIRECT_PANEL)
        picked_tiles(picked, DIRECT_PANEL);
    else
        picked_tiles(picked, 1);
    for (int64_t b = 0; picked->then.kind && b < picked->n_blocks; b++)
        body_activate(picked->y + b * picked->y_plane + picked->first * lanes,
                      n, &picked->then);
}

#endif
