/* backend/direct/direct_body_internal.h - the loops, in vectors of a width that
 * the including file chooses: a header with vectors, `group` and `columns`. It
 * is compiled once for each instruction set, with that set's flags.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DIRECT_DIRECT_BODY_INTERNAL_H
#define BACKEND_DIRECT_DIRECT_BODY_INTERNAL_H

#include "backend/direct/direct_internal.h"
#include "backend/vector_activations_internal.h"

#include <math.h>

/* A ReLU, applied in registers; other activations follow when a few vectors of
 * y are there, while they are in the nearest cache. */
struct limits {
    float low, high;
};

PART struct limits find_limits(const struct activation *then)
{
    bool is_cut = then->has_relu && then->relu_limit > 0;

    return (struct limits){.low = then->has_relu ? 0 : -INFINITY,
                           .high = is_cut ? then->relu_limit : INFINITY};
}

/* NaNs pass: minimum and maximum answer with their second argument then. */
PART vec vec_limit(vec x, struct limits limits)
{
    return vec_min(vec_splat(limits.high), vec_max(vec_splat(limits.low), x));
}

/* In place, n vectors. */
static void body_activate(float *y, int64_t n, const struct activation *then)
{
    enum { at_once = 4 };
    vec v[at_once];

    for (; n >= at_once; n -= at_once, y += at_once * lanes) {
        for (int i = 0; i < at_once; i++)
            v[i] = vec_load(y + i * lanes);
        activate(v, at_once, then);
        for (int i = 0; i < at_once; i++)
            vec_store(y + i * lanes, v[i]);
    }
    for (; n > 0; n--, y += lanes) {
        v[0] = vec_load(y);
        activate(v, 1, then);
        vec_store(y, v[0]);
    }
}

/* ---- before pointwise ---------------------------------------------------- */

/* n pixels of one block, `step` floats apart. */
PART void gather_line(const float *from, int64_t step, int64_t n, float *to,
                      vec scale, vec shift, vec low)
{
    for (int64_t i = 0; i < n; i++)
        vec_store(to + i * lanes,
                  vec_max(low, vec_load(from + i * step) * scale + shift));
}

/* Line after line of the output, as far as they belong to the piece. */
PART void gather_block(const struct direct_gather *gather, const float *from,
                       float *to, vec scale, vec shift, vec low)
{
    const struct direct_shape *shape = gather->shape;
    int64_t at = gather->first, end = at + gather->n;
    int64_t width = shape->out_width, stride = shape->stride;

    while (at < end) {
        int64_t column = at % width, left = width - column;
        int64_t n = end - at < left ? end - at : left;

        gather_line(from + (at / width * shape->in_width + column) * stride *
                               lanes,
                    stride * lanes, n, to, scale, shift, low);
        to += n * lanes;
        at += n;
    }
}

static void body_gather(const struct direct_gather *gather)
{
    const struct direct_shape *shape = gather->shape;
    const struct direct_before *before = gather->before;
    int64_t plane = shape->in_height * shape->in_width * lanes;
    vec low = vec_splat(before->has_relu ? 0 : -INFINITY);

    for (int64_t b = 0; b < gather->n_blocks; b++) {
        const float *from = gather->x + b * plane;
        float *to = gather->to + b * gather->to_plane;

        if (before->scale)
            gather_block(gather, from, to, vec_load(before->scale + b * lanes),
                         vec_load(before->shift + b * lanes), low);
        else
            gather_block(gather, from, to, vec_splat(1), vec_splat(0), low);
    }
}

/* ---- pointwise ----------------------------------------------------------- */

/* Pixels of a tile: `group` of a panel, or so many of a single block that no
 * sum has to wait for the one before. */
enum { most_sums = group * DIRECT_PANEL, single = 12 };

/* Where the pixels of a tile are: each step of three has a pointer, so that few
 * registers hold them all. */
enum { stride_pixels = 3, most_strides = (2 * group + 2) / stride_pixels };

/* Adds up one block of input channels, or what there is of the last one. */
PART void add_block(const float *x, int64_t x_step, const float *weights,
                    int64_t n_channels, vec *sums, int n_pixels, int n_blocks)
{
    const float *at[most_strides];

#pragma GCC unroll 26
    for (int p = 0; p < n_pixels; p += stride_pixels)
        at[p / stride_pixels] = x + p * x_step;
    for (int64_t c = 0; c < n_channels; c++) {
        vec w[DIRECT_PANEL];

#pragma GCC unroll 2
        for (int b = 0; b < n_blocks; b++)
            w[b] = vec_load(weights + (c * n_blocks + b) * lanes);
#pragma GCC unroll 26
        for (int p = 0; p < n_pixels; p++) {
            const float *from = at[p / stride_pixels];
            vec v = vec_splat(from[p % stride_pixels * x_step + c]);

#pragma GCC unroll 2
            for (int b = 0; b < n_blocks; b++)
                sums[p * n_blocks + b] += v * w[b];
        }
    }
}

/* Weights of the next panel come near while this one is at work: of each tile a
 * share. */
struct ahead {
    const char *from;
    int64_t lines; /* for each block of input channels */
};

/* A line of a page that was not read for long waits until the page is found,
 * and all that follow wait with it: so one of a later page is asked for, too.
 */
PART void fetch_ahead(struct ahead *ahead)
{
    enum { line_bytes = 64, page_ahead = 8 << 12 };

    if (ahead->lines)
        vec_fetch(ahead->from + page_ahead);
    for (int64_t i = 0; i < ahead->lines; i++, ahead->from += line_bytes)
        vec_fetch(ahead->from);
}

/* Of pixels from `at` on; their number is a constant, so that the sums stay in
 * registers. */
PART void make_pixels(const struct direct_pixels *pixels, int64_t at,
                      struct ahead *ahead, int64_t x_step, int n_pixels,
                      int n_blocks)
{
    const float *x = pixels->x + at * x_step, *weights = pixels->weights;
    float *y = pixels->y + at * pixels->y_step;
    int64_t left = pixels->in_channels;
    struct limits limits;
    vec sums[most_rows * DIRECT_PANEL];

#pragma GCC unroll 26
    for (int i = 0; i < n_pixels * n_blocks; i++)
        sums[i] = vec_load(pixels->bias + i % n_blocks * lanes);
    for (; left >= lanes; left -= lanes) {
        fetch_ahead(ahead);
        add_block(x, x_step, weights, lanes, sums, n_pixels, n_blocks);
        x += pixels->x_plane;
        weights += lanes * n_blocks * lanes;
    }
    add_block(x, x_step, weights, left, sums, n_pixels, n_blocks);
    limits = find_limits(pixels->then);
#pragma GCC unroll 26
    for (int i = 0; i < n_pixels * n_blocks; i++) {
        float *to =
            y + i % n_blocks * pixels->y_plane + i / n_blocks * pixels->y_step;

        if (pixels->sums)
            sums[i] += vec_load(pixels->sums + i % n_blocks * pixels->y_plane +
                                (at + i / n_blocks) * pixels->sums_step);
        vec_store(to, vec_limit(sums[i], limits));
    }
}

PART struct ahead find_ahead(const struct direct_pixels *pixels,
                             int64_t n_tiles)
{
    enum { line_floats = 16 };
    int64_t shares = n_tiles * (pixels->in_channels / lanes);
    int64_t lines = pixels->next_floats / line_floats;

    if (!lines)
        return (struct ahead){.lines = 0};
    return (struct ahead){.from = (const char *)pixels->next,
                          .lines = shares ? (lines + shares - 1) / shares : 0};
}

/* What is left to do to n rows of a matrix, while they are near. */
static __attribute__((noinline)) void
finish_rows(const struct direct_pixels *pixels, int64_t first, int n,
            int n_blocks)
{
    for (int64_t i = first; i < first + n; i++) {
        for (int b = 0; b < n_blocks; b++) {
            int64_t at = i * pixels->y_step + b * pixels->y_plane;
            vec y = vec_load(pixels->y + at);

            if (pixels->has_gelu)
                y = vec_gelu(y);
            if (pixels->plus)
                y += vec_load(pixels->plus + at);
            vec_store(pixels->y + at, y);
        }
    }
}

PART void make_tile(const struct direct_pixels *pixels, int64_t at,
                    struct ahead *ahead, int64_t x_step, int n_pixels,
                    int n_blocks)
{
    make_pixels(pixels, at, ahead, x_step, n_pixels, n_blocks);
    if (pixels->has_gelu || pixels->plus)
        finish_rows(pixels, at, n_pixels, n_blocks);
}

PART void make_panel(const struct direct_pixels *pixels, int64_t x_step,
                     int n_blocks)
{
    int whole = n_blocks == 1 ? single : group, third = whole / 3;
    struct ahead ahead = find_ahead(pixels, pixels->n / whole);
    int64_t at = 0;

    for (; pixels->n - at >= whole; at += whole)
        make_tile(pixels, at, &ahead, x_step, whole, n_blocks);
    ahead.lines = 0;
    for (; pixels->n - at >= third; at += third)
        make_tile(pixels, at, &ahead, x_step, third, n_blocks);
    for (; pixels->n - at >= 1; at++)
        make_tile(pixels, at, &ahead, x_step, 1, n_blocks);
}

static void body_pointwise(const struct direct_pixels *pixels)
{
    if (pixels->n_blocks == DIRECT_PANEL)
        make_panel(pixels, lanes, DIRECT_PANEL);
    else
        make_panel(pixels, lanes, 1);
    if (pixels->then->kind == CONV2D_NO_ACTIVATION)
        return;
    for (int64_t b = 0; b < pixels->n_blocks; b++)
        body_activate(pixels->y + b * pixels->y_plane, pixels->n, pixels->then);
}

/* ---- rows of a matrix ---------------------------------------------------- */

#define ROW_TILE(height)                                                       \
    case height:                                                               \
        for (; at < end; at += height)                                         \
            make_tile(pixels, at, ahead, pixels->x_step, height,               \
                      DIRECT_PANEL);                                           \
        break;

/* Rows [at, end) of a panel of two blocks, in tiles of a height. */
static __attribute__((noinline)) void
make_row_tiles(const struct direct_pixels *pixels, int64_t at, int64_t end,
               struct ahead *ahead, int64_t height)
{
    switch (height) {
        ROW_TILES(ROW_TILE)
    default:
        break;
    }
}

/* Tiles of the same height, some with one row more: a few rows on their own
 * would take as long as many. */
static void body_rows(const struct direct_pixels *pixels)
{
    int64_t rows = pixels->n, height, higher;
    int64_t n = (rows + most_rows - 1) / most_rows;
    int64_t best = (rows + group / 2) / group;
    struct ahead ahead;

    if (pixels->n_blocks != DIRECT_PANEL) {
        make_panel(pixels, pixels->x_step, 1);
        return;
    }
    if (rows == 0)
        return;
    n = n > best ? n : best;
    height = rows / n;
    higher = rows % n * (height + 1);
    ahead = find_ahead(pixels, n);
    make_row_tiles(pixels, 0, higher, &ahead, height + 1);
    make_row_tiles(pixels, higher, rows, &ahead, height);
}

/* ---- to few channels ----------------------------------------------------- */

/* The sum of all elements of each. */
PART __m128 add_across(const vec *sums)
{
    return _mm_hadd_ps(_mm_hadd_ps(vec_fold(sums[0]), vec_fold(sums[1])),
                       _mm_hadd_ps(vec_fold(sums[2]), vec_fold(sums[3])));
}

PART void place_narrow(const struct direct_pixels *pixels, int64_t at,
                       __m128 sums, struct limits limits)
{
    float *to = pixels->y + at * lanes;
    vec y = vec_widen(sums) + vec_load(pixels->bias);

    if (pixels->sums)
        y += vec_load(pixels->sums + at * lanes);
    vec_store(to, vec_limit(y, limits));
}

/* All outputs of a pixel, or one output of so many pixels. */
PART void make_narrow(const struct direct_pixels *pixels, int64_t at,
                      struct limits limits, bool is_single)
{
    const float *x = pixels->x + at * lanes, *weights = pixels->weights;
    vec sums[DIRECT_NARROW];
    __m128 across;

    for (int i = 0; i < DIRECT_NARROW; i++)
        sums[i] = vec_splat(0);
    for (int64_t c = 0; c < pixels->in_channels; c += lanes) {
        for (int i = 0; i < DIRECT_NARROW; i++)
            sums[i] += vec_load(x + (is_single ? i * lanes : 0)) *
                       vec_load(weights + (is_single ? 0 : i * lanes));
        x += pixels->x_plane;
        weights += is_single ? lanes : DIRECT_NARROW * lanes;
    }
    across = add_across(sums);
    if (!is_single) {
        place_narrow(pixels, at, across, limits);
        return;
    }
    for (int i = 0; i < DIRECT_NARROW; i++)
        place_narrow(pixels, at + i, (__m128){across[i]}, limits);
}

/* The last of a piece's pixels, fewer than are done at once. */
static void make_rest(const struct direct_pixels *pixels, int64_t at,
                      struct limits limits)
{
    for (; at < pixels->n; at++) {
        const float *x = pixels->x + at * lanes, *weights = pixels->weights;
        vec sums[DIRECT_NARROW] = {vec_splat(0), vec_splat(0), vec_splat(0),
                                   vec_splat(0)};

        for (int64_t c = 0; c < pixels->in_channels; c += lanes) {
            sums[0] += vec_load(x) * vec_load(weights + c);
            x += pixels->x_plane;
        }
        place_narrow(pixels, at, add_across(sums), limits);
    }
}

static void body_narrow(const struct direct_pixels *pixels)
{
    struct limits limits = find_limits(pixels->then);
    int64_t at = 0;

    if (pixels->narrow == 1) {
        for (; pixels->n - at >= DIRECT_NARROW; at += DIRECT_NARROW)
            make_narrow(pixels, at, limits, true);
        make_rest(pixels, at, limits);
    } else {
        for (; at < pixels->n; at++)
            make_narrow(pixels, at, limits, false);
    }
    if (pixels->then->kind != CONV2D_NO_ACTIVATION)
        body_activate(pixels->y, pixels->n, pixels->then);
}

/* ---- depthwise ----------------------------------------------------------- */

/* The row of x at which the window of an output begins, and which of the
 * window's rows are inside. */
struct window {
    int64_t top, first, end;
};

/* GCC would load it again for each of the products it is in. */
PART vec keep_in_register(vec v)
{
    __asm__("" : "+v"(v));
    return v;
}

/* What one row of a window adds to `columns` outputs next to each other: x is
 * at the first one's window, in column `column` of the map. At an edge, windows
 * may reach beyond that. */
PART void add_row(const float *x, const float *weights, int64_t column,
                  int64_t in_width, const vec_numbers *numbers, vec *sums,
                  int kernel, int stride, bool is_edge)
{
    vec w[5];

#pragma GCC unroll 5
    for (int j = 0; j < kernel; j++)
        w[j] = vec_load(weights + j * lanes);
#pragma GCC unroll 24
    for (int k = 0; k < (columns - 1) * stride + kernel; k++) {
        vec v;

        if (is_edge && (column + k < 0 || column + k >= in_width))
            continue;
        v = vec_load(x + k * lanes);
        v = keep_in_register(numbers ? vec_pick(v, *numbers) : v);
#pragma GCC unroll 5
        for (int j = 0; j < kernel; j++) {
            if (k >= j && (k - j) % stride == 0 && (k - j) / stride < columns)
                sums[(k - j) / stride] += v * w[j];
        }
    }
}

/* `columns` outputs; the window of the first one begins at `column`. At an
 * edge, `n` of them are stored. In groups, every channel of one is spread over
 * its outputs in turn. */
PART void make_columns(const struct direct_rows *rows, struct window window,
                       int64_t column, float *y, struct limits limits,
                       int kernel, int stride, bool has_groups, bool is_edge,
                       int64_t n)
{
    int64_t in_width = rows->shape->in_width;
    int64_t side = kernel * lanes, plane = kernel * side;
    vec sums[columns];

#pragma GCC unroll 8
    for (int t = 0; t < columns; t++)
        sums[t] = vec_load(rows->bias);
    for (int64_t i = window.first; i < window.end; i++) {
        const float *x =
            rows->x + ((window.top + i) * in_width + column) * lanes;
        const float *weights = rows->weights + i * side;

        if (!has_groups) {
            add_row(x, weights, column, in_width, NULL, sums, kernel, stride,
                    is_edge);
            continue;
        }
        for (int64_t c = 0; c < rows->shape->group; c++) {
            vec_numbers numbers = vec_load_numbers(rows->numbers + c * lanes);

            add_row(x, weights + c * plane, column, in_width, &numbers, sums,
                    kernel, stride, is_edge);
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < columns; t++) {
        if (!is_edge || t < n)
            vec_store(y + t * lanes, vec_limit(sums[t], limits));
    }
}

/* A row of outputs. Where they are no multiple of a tile's, the last tile
 * reaches back over outputs that are there already. */
PART void make_row(const struct direct_rows *rows, int64_t row,
                   struct limits limits, int kernel, int stride,
                   bool has_groups)
{
    const struct direct_shape *shape = rows->shape;
    int64_t top = row * stride - shape->top, width = shape->out_width;
    struct window window = {.top = top,
                            .first = top < 0 ? -top : 0,
                            .end = shape->in_height - top < kernel
                                       ? shape->in_height - top
                                       : kernel};
    float *y = rows->y + row * width * lanes;

    for (int64_t j = 0; j < width; j += columns) {
        int64_t column;

        if (width - j < columns && width > columns)
            j = width - columns;
        column = j * stride - shape->left;
        if (column < 0 ||
            column + (columns - 1) * stride + kernel > shape->in_width)
            make_columns(rows, window, column, y + j * lanes, limits, kernel,
                         stride, has_groups, true, width - j);
        else
            make_columns(rows, window, column, y + j * lanes, limits, kernel,
                         stride, has_groups, false, columns);
    }
}

PART void make_rows(const struct direct_rows *rows, int kernel, int stride,
                    bool has_groups)
{
    int64_t width = rows->shape->out_width;
    struct limits limits = find_limits(rows->then);

    for (int64_t i = rows->first; i < rows->end; i++) {
        make_row(rows, i, limits, kernel, stride, has_groups);
        if (rows->then->kind != CONV2D_NO_ACTIVATION)
            body_activate(rows->y + i * width * lanes, width, rows->then);
    }
}

static void body_depthwise(const struct direct_rows *rows)
{
    bool is_wide = rows->shape->kernel == 5;

    if (rows->shape->stride == 1) {
        if (is_wide)
            make_rows(rows, 5, 1, false);
        else
            make_rows(rows, 3, 1, false);
    } else {
        if (is_wide)
            make_rows(rows, 5, 2, false);
        else
            make_rows(rows, 3, 2, false);
    }
}

static void body_grouped(const struct direct_rows *rows)
{
    if (rows->shape->stride == 1)
        make_rows(rows, 3, 1, true);
    else
        make_rows(rows, 3, 2, true);
}

#endif
