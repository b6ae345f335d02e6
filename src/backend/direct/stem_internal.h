/* backend/direct/stem_internal.h - the first convolution of a network, from a
 * dense image of a few channels to channel blocks, in vectors of a width that
 * the including file chooses, as those of direct_body_internal.h, which comes
 * before.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DIRECT_STEM_INTERNAL_H
#define BACKEND_DIRECT_STEM_INTERNAL_H

#include "backend/direct/direct_internal.h"

#include <string.h>

enum { most_lines = DIRECT_STEM_CHANNELS * DIRECT_STEM_KERNEL };

/* One row of outputs of a panel, and the lines of x below its window: those of
 * one channel after those of another. */
struct stem_row {
    const float *lines[most_lines];
    const float *weights;
    vec bias[DIRECT_PANEL];
    float *y;
    int64_t n_lines, kernel, plane_floats;
    struct limits limits;
};

/* Pixels from `at` on. With is_half the second block has so few channels that
 * they fill half a vector, and the other half is 0. */
PART void make_stem_pixels(const struct stem_row *row, int64_t at, int n_pixels,
                           int n_blocks, int stride, bool is_half)
{
    int n_whole = is_half ? 1 : n_blocks;
    const float *weights = row->weights;
    vec sums[most_sums];
    half_vec halves[group];

#pragma GCC unroll 24
    for (int i = 0; i < n_pixels * n_whole; i++)
        sums[i] = row->bias[i % n_whole];
#pragma GCC unroll 12
    for (int p = 0; is_half && p < n_pixels; p++)
        halves[p] = vec_low(row->bias[1]);
    for (int64_t i = 0; i < row->n_lines; i++) {
        const float *x = row->lines[i] + at * stride;

        for (int64_t k = 0; k < row->kernel; k++, x++) {
            vec w[DIRECT_PANEL];

            /* GCC would keep what the next place of the kernel reads again in
             * registers that it does not have. */
            __asm__("" : "+r"(x));

#pragma GCC unroll 2
            for (int b = 0; b < n_blocks; b++)
                w[b] = vec_load(weights + b * lanes);
#pragma GCC unroll 24
            for (int p = 0; p < n_pixels; p++) {
                vec v = vec_splat(x[p * stride]);

#pragma GCC unroll 2
                for (int b = 0; b < n_whole; b++)
                    sums[p * n_whole + b] += v * w[b];
                if (is_half)
                    halves[p] += vec_low(v) * vec_low(w[1]);
            }
            weights += n_blocks * lanes;
        }
    }
#pragma GCC unroll 24
    for (int i = 0; i < n_pixels * n_whole; i++)
        vec_store(row->y + i % n_whole * row->plane_floats +
                      (at + i / n_whole) * lanes,
                  vec_limit(sums[i], row->limits));
#pragma GCC unroll 12
    for (int p = 0; is_half && p < n_pixels; p++)
        vec_store(row->y + row->plane_floats + (at + p) * lanes,
                  vec_limit(vec_from_low(halves[p]), row->limits));
}

/* The last tile reaches back over outputs that are there already. */
PART void make_stem_row(const struct stem_row *row, int64_t n, int n_blocks,
                        int stride, bool is_half)
{
    int whole = most_sums / n_blocks;
    int64_t at = 0;

    if (n < whole) {
        for (; at < n; at++)
            make_stem_pixels(row, at, 1, n_blocks, stride, is_half);
        return;
    }
    for (; at < n; at += whole) {
        at = n - at < whole ? n - whole : at;
        make_stem_pixels(row, at, whole, n_blocks, stride, is_half);
    }
}

PART void make_stem_panel(const struct stem_row *row, int64_t n, int64_t left,
                          int stride)
{
    if (left <= lanes)
        make_stem_row(row, n, 1, stride, false);
    else if (left <= lanes + lanes / 2)
        make_stem_row(row, n, DIRECT_PANEL, stride, true);
    else
        make_stem_row(row, n, DIRECT_PANEL, stride, false);
}

static void make_stem_stride(const struct stem_row *row, int64_t n,
                             int64_t left, int64_t stride)
{
    switch (stride) {
    case 1:
        make_stem_panel(row, n, left, 1);
        break;
    case 2:
        make_stem_panel(row, n, left, 2);
        break;
    default:
        make_stem_panel(row, n, left, 4);
        break;
    }
}

/* A line of x with the zeros around it. */
static void copy_line(const struct direct_stem *stem, int64_t channel,
                      int64_t at, float *to)
{
    const struct direct_shape *shape = stem->shape;
    int64_t n = shape->in_width, left = shape->left;

    memset(to, 0, (size_t)stem->line_floats * sizeof *to);
    if (at < 0 || at >= shape->in_height)
        return;
    if (n > stem->line_floats - left)
        n = stem->line_floats - left;
    memcpy(to + left,
           stem->x + (channel * shape->in_height + at) * shape->in_width,
           (size_t)n * sizeof *to);
}

/* All panels of a row. */
static void make_stem_outputs(const struct direct_stem *stem,
                              struct stem_row *row, int64_t at)
{
    const struct direct_shape *shape = stem->shape;
    int64_t n = shape->out_width, out = shape->out_channels;

    for (int64_t o = 0; o < out; o += DIRECT_PANEL * lanes) {
        int64_t left = out - o, n_blocks = left <= lanes ? 1 : DIRECT_PANEL;
        float bias[DIRECT_PANEL * lanes] = {0};

        if (stem->bias)
            memcpy(bias, stem->bias + o,
                   sizeof *bias * (size_t)(left < n_blocks * lanes
                                               ? left
                                               : n_blocks * lanes));
        row->weights = stem->weights + o * row->n_lines * row->kernel;
        row->y = stem->y + o / lanes * row->plane_floats + at * n * lanes;
        for (int b = 0; b < DIRECT_PANEL; b++)
            row->bias[b] = vec_load(bias + b * lanes);
        make_stem_stride(row, n, left, shape->stride);
        for (int64_t b = 0;
             b < n_blocks && stem->then->kind != CONV2D_NO_ACTIVATION; b++)
            body_activate(row->y + b * row->plane_floats, n, stem->then);
    }
}

/* Lines that the next row of outputs reads too stay where they are. */
static void body_stem(const struct direct_stem *stem)
{
    const struct direct_shape *shape = stem->shape;
    int64_t kernel = shape->kernel, channels = shape->in_channels;
    struct stem_row row = {.n_lines = channels * kernel,
                           .kernel = kernel,
                           .plane_floats =
                               shape->out_height * shape->out_width * lanes,
                           .limits = find_limits(stem->then)};
    int64_t next = stem->first * shape->stride - shape->top;
    float lines[DIRECT_STEM_FLOATS];

    for (int64_t i = stem->first; i < stem->end; i++) {
        int64_t top = i * shape->stride - shape->top;

        for (; next < top + kernel; next++) {
            int64_t place = (next + shape->top) % kernel;

            for (int64_t c = 0; c < channels && next >= top; c++)
                copy_line(stem, c, next,
                          lines + (c * kernel + place) * stem->line_floats);
        }
        for (int64_t k = 0; k < row.n_lines; k++) {
            int64_t place = (top + k % kernel + shape->top) % kernel;

            row.lines[k] =
                lines + (k / kernel * kernel + place) * stem->line_floats;
        }
        make_stem_outputs(stem, &row, i);
    }
}

#endif
