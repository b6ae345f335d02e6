/* backend/winograd/winograd_body_internal.h - transforms and products, in
 * vectors of a width that the including file chooses: a header with vectors,
 * and `group`. It is compiled once for each instruction set, with that set's
 * flags.
 *
 * The transforms are those of Lavin and Gray (2015) for the points of
 * winograd_internal.h: with finite points p_j, row j of the input transform has
 * the coefficients of the product of all (x - p_k) but its own, and that row of
 * the weights' transform divides by its value at p_j. Points come in pairs +-p,
 * whose rows share their even and their odd part.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_WINOGRAD_WINOGRAD_BODY_INTERNAL_H
#define BACKEND_WINOGRAD_WINOGRAD_BODY_INTERNAL_H

#include "backend/vector_activations_internal.h"
#include "backend/winograd/winograd_internal.h"

#include <string.h>

enum { max_side = 6, max_tile = 4 };

/* Where a tile lies: the first element of y that it makes. The next ones are
 * `dilation` rows and columns apart. */
struct corner {
    int64_t image, row, column;
};

PART struct corner find_corner(const struct winograd *winograd, int64_t tile)
{
    int64_t across = winograd->tiles_across, down = winograd->tiles_down;
    int64_t dilation = winograd->shape.dilation;
    int64_t phase = tile / (down * across);
    int64_t step = (int64_t)winograd->tile * dilation;

    return (struct corner){.image = phase / (dilation * dilation),
                           .row = tile / across % down * step +
                                  phase / dilation % dilation,
                           .column = tile % across * step + phase % dilation};
}

/* ---- on the way in ------------------------------------------------------- */

/* One line of a tile of 6. */
PART void line_in_6(const vec *d, vec *t)
{
    static const float a = WINOGRAD_A, b = WINOGRAD_B;
    vec even_a = d[4] - b * b * d[2], odd_a = d[3] - b * b * d[1];
    vec even_b = d[4] - a * a * d[2], odd_b = d[3] - a * a * d[1];

    t[0] = a * a * b * b * d[0] + (d[4] - (a * a + b * b) * d[2]);
    t[1] = even_a + a * odd_a;
    t[2] = even_a - a * odd_a;
    t[3] = even_b + b * odd_b;
    t[4] = even_b - b * odd_b;
    t[5] = a * a * b * b * d[1] + (d[5] - (a * a + b * b) * d[3]);
}

/* One line of a tile of 4, whose points are 0, 1, -1 and infinity. */
PART void line_in_4(const vec *d, vec *t)
{
    t[0] = d[2] - d[0];
    t[1] = d[2] + d[1];
    t[2] = d[2] - d[1];
    t[3] = d[3] - d[1];
}

/* One line of a tile of 5, whose outputs are 2 apart: the differences of even
 * elements, and odd ones as they are. */
PART void line_in_5(const vec *d, vec *t)
{
    t[0] = d[0] - d[2];
    t[1] = d[2];
    t[2] = d[2] - d[4];
    t[3] = d[1];
    t[4] = d[3];
}

PART void line_in(const vec *d, vec *t, int side)
{
    if (side == 6)
        line_in_6(d, t);
    else if (side == 5)
        line_in_5(d, t);
    else
        line_in_4(d, t);
}

/* Transforms the tile at `from`, whose rows and columns are so many floats
 * apart. */
PART void tile_in(const float *from, int64_t row_floats, int64_t column_floats,
                  float *to, int64_t point_floats, int side)
{
    vec half[max_side][max_side], line[max_side], out[max_side];

    for (int j = 0; j < side; j++) {
        for (int i = 0; i < side; i++)
            line[i] = vec_load(from + i * row_floats + j * column_floats);
        line_in(line, half[j], side);
    }
    for (int i = 0; i < side; i++) {
        for (int j = 0; j < side; j++)
            line[j] = half[j][i];
        line_in(line, out, side);
        for (int j = 0; j < side; j++)
            vec_store(to + (i * side + j) * point_floats, out[j]);
    }
}

/* The part of a line of n elements, `step` apart, that lies inside of
 * 0 .. size, from `at` on. */
PART void clip_line(int64_t at, int64_t n, int64_t step, int64_t size,
                    int64_t *first, int64_t *end)
{
    *first = at < 0 ? (step - 1 - at) / step : 0;
    *end = at < size ? (size - at + step - 1) / step : 0;
    *end = *end < n ? *end : n;
    if (*end < *first)
        *end = *first;
}

/* A copy of a tile that reaches over an edge, with zeros beyond it. */
PART void copy_edge(const struct winograd_shape *shape, const float *plane,
                    int64_t row, int64_t column, int side, float *to)
{
    int64_t step = shape->dilation, top, bottom, left, right;

    clip_line(row, side, step, shape->in_height, &top, &bottom);
    clip_line(column, side, step, shape->in_width, &left, &right);
    memset(to, 0, sizeof(float) * (size_t)(side * side * lanes));
    for (int64_t i = top; i < bottom; i++) {
        const float *from =
            plane + ((row + i * step) * shape->in_width + column) * lanes;

        for (int64_t j = left; j < right; j++)
            vec_store(to + (i * side + j) * lanes,
                      vec_load(from + j * step * lanes));
    }
}

PART void read_tiles(const struct winograd *winograd,
                     struct winograd_tiles tiles, int64_t in_block,
                     const float *x, float *to, int side)
{
    const struct winograd_shape *shape = &winograd->shape;
    int64_t plane_floats = shape->in_height * shape->in_width * lanes;
    int64_t reach = (side - 1) * shape->dilation;
    float edge[max_side * max_side * lanes];

    for (int64_t t = 0; t < tiles.n; t++) {
        struct corner at = find_corner(winograd, tiles.first + t);
        const float *plane =
            x + (at.image * shape->groups * winograd->in_blocks + in_block) *
                    plane_floats;
        float *out =
            to +
            ((t / group * winograd->in_blocks + in_block) * group + t % group) *
                lanes;
        int64_t row = at.row * shape->stride - shape->top;
        int64_t column = at.column * shape->stride - shape->left;

        if (row < 0 || column < 0 || row + reach >= shape->in_height ||
            column + reach >= shape->in_width) {
            copy_edge(shape, plane, row, column, side, edge);
            tile_in(edge, (int64_t)side * lanes, lanes, out,
                    winograd->point_floats, side);
            continue;
        }
        plane += (row * shape->in_width + column) * lanes;
        if (shape->dilation == 1)
            tile_in(plane, shape->in_width * lanes, lanes, out,
                    winograd->point_floats, side);
        else
            tile_in(plane, shape->dilation * shape->in_width * lanes,
                    shape->dilation * lanes, out, winograd->point_floats, side);
    }
}

static void body_read(const struct winograd *winograd,
                      struct winograd_tiles tiles, int64_t in_block,
                      const float *x, float *to)
{
    if (winograd->side == 6)
        read_tiles(winograd, tiles, in_block, x, to, 6);
    else if (winograd->side == 5)
        read_tiles(winograd, tiles, in_block, x, to, 5);
    else
        read_tiles(winograd, tiles, in_block, x, to, 4);
}

/* ---- products ------------------------------------------------------------ */

/* The weights of a point and one or two output blocks, and how far it is to
 * those that are read next, 0 after the last. Where a model has more of them
 * than the caches hold they come from memory: in time if they are asked for
 * while these are multiplied. */
struct panel {
    const float *weights;
    int64_t next;
};

/* Adds up one vector of channels, or what there is of the last one. */
PART void add_channels(const float *transformed, struct panel panel,
                       int64_t n_channels, vec (*sums)[WINOGRAD_PANEL],
                       int n_tiles, int n_blocks)
{
    for (int64_t c = 0; c < n_channels; c++) {
        const float *weights = panel.weights + c * n_blocks * lanes;
        vec w[WINOGRAD_PANEL];

#pragma GCC unroll 2
        for (int b = 0; b < n_blocks; b++) {
            w[b] = vec_load(weights + b * lanes);
            if (panel.next)
                vec_fetch(weights + b * lanes + panel.next);
        }
#pragma GCC unroll 12
        for (int t = 0; t < n_tiles; t++) {
            vec x = vec_splat(transformed[t * lanes + c]);

#pragma GCC unroll 2
            for (int b = 0; b < n_blocks; b++)
                sums[t][b] += x * w[b];
        }
    }
}

/* The products of a group of tiles with one or two output blocks, which stay
 * in registers until all channels are added up. */
PART void multiply_group(const struct winograd *winograd,
                         const float *transformed, struct panel panel,
                         float *to, int n_tiles, int n_blocks)
{
    vec sums[group][WINOGRAD_PANEL];
    int64_t left = winograd->shape.in_channels;

#pragma GCC unroll 12
    for (int t = 0; t < n_tiles; t++) {
#pragma GCC unroll 2
        for (int b = 0; b < n_blocks; b++)
            sums[t][b] = vec_splat(0);
    }
    for (; left >= lanes; left -= lanes) {
        add_channels(transformed, panel, lanes, sums, n_tiles, n_blocks);
        transformed += group * lanes;
        panel.weights += lanes * n_blocks * lanes;
    }
    add_channels(transformed, panel, left, sums, n_tiles, n_blocks);
#pragma GCC unroll 12
    for (int t = 0; t < n_tiles; t++) {
#pragma GCC unroll 2
        for (int b = 0; b < n_blocks; b++)
            vec_store(to + (b * winograd->block_tiles + t) * winograd->points *
                               lanes,
                      sums[t][b]);
    }
}

/* A last group may hold fewer tiles: thirds of one are left out. */
PART void multiply_tiles(const struct winograd *winograd, int64_t n_tiles,
                         const float *transformed, struct panel panel,
                         float *to, int n_blocks)
{
    enum { third = group / 3 };

    if (n_tiles > 2 * third)
        multiply_group(winograd, transformed, panel, to, group, n_blocks);
    else if (n_tiles > third)
        multiply_group(winograd, transformed, panel, to, 2 * third, n_blocks);
    else
        multiply_group(winograd, transformed, panel, to, third, n_blocks);
}

/* All tiles; the first ones ask for the next weights. */
static void multiply_panel(const struct winograd *winograd, int64_t n_tiles,
                           const float *transformed, struct panel panel,
                           float *to, int64_t n_blocks)
{
    for (int64_t t = 0; t < n_tiles; t += group) {
        if (n_blocks == WINOGRAD_PANEL)
            multiply_tiles(winograd, n_tiles - t, transformed, panel, to,
                           WINOGRAD_PANEL);
        else
            multiply_tiles(winograd, n_tiles - t, transformed, panel, to, 1);
        transformed += winograd->in_blocks * group * lanes;
        to += group * winograd->points * lanes;
        panel.next = 0;
    }
}

/* The products of all points that share weights: lines beyond the side of the
 * weights have those of the last one. They are multiplied one after the other,
 * so that the weights come from memory once. */
static void multiply_points(const struct winograd *winograd, int64_t n_tiles,
                            int64_t weight_point, const float *transformed,
                            struct panel panel, float *to, int64_t n_blocks)
{
    int64_t side = winograd->side, last = winograd->weight_side - 1;
    int64_t row = weight_point / (last + 1), column = weight_point % (last + 1);
    int64_t end_row = row < last ? row + 1 : side;
    int64_t end_column = column < last ? column + 1 : side;

    for (int64_t i = row; i < end_row; i++) {
        for (int64_t j = column; j < end_column; j++) {
            int64_t p = i * side + j;

            multiply_panel(winograd, n_tiles,
                           transformed + p * winograd->point_floats, panel,
                           to + p * lanes, n_blocks);
            panel.next = 0;
        }
    }
}

static void body_multiply(const struct winograd *winograd,
                          struct winograd_tiles tiles, int64_t out_block,
                          int64_t n_blocks, const float *transformed,
                          const float *weights, float *products)
{
    int64_t block_floats = winograd->shape.in_channels * lanes;
    int64_t point_floats = winograd->out_blocks * block_floats;
    int64_t points = winograd->weight_side * winograd->weight_side;

    for (int64_t p = 0; p < points; p++) {
        for (int64_t b = 0; b < n_blocks; b += WINOGRAD_PANEL) {
            int64_t left = n_blocks - b;
            struct panel panel = {.weights = weights + p * point_floats +
                                             (out_block + b) * block_floats};

            if (left > WINOGRAD_PANEL)
                panel.next = WINOGRAD_PANEL * block_floats;
            else if (p + 1 < points)
                panel.next = point_floats - b * block_floats;
            multiply_points(winograd, tiles.n, p, transformed, panel,
                            products + b * winograd->block_tiles *
                                           winograd->points * lanes,
                            left < WINOGRAD_PANEL ? left : WINOGRAD_PANEL);
        }
    }
}

/* ---- on the way out ------------------------------------------------------ */

PART void line_out_6(const vec *m, vec *y)
{
    static const float a = WINOGRAD_A, b = WINOGRAD_B;
    vec even_a = m[1] + m[2], odd_a = m[1] - m[2];
    vec even_b = m[3] + m[4], odd_b = m[3] - m[4];

    y[0] = m[0] + even_a + even_b;
    y[1] = a * odd_a + b * odd_b;
    y[2] = a * a * even_a + b * b * even_b;
    y[3] = a * a * a * odd_a + (b * b * b * odd_b + m[5]);
}

/* The same points for 5 taps, which leave 2 outputs. */
PART void line_out_6_to_2(const vec *m, vec *y)
{
    static const float a = WINOGRAD_A, b = WINOGRAD_B;

    y[0] = m[0] + (m[1] + m[2]) + (m[3] + m[4]);
    y[1] = a * (m[1] - m[2]) + (b * (m[3] - m[4]) + m[5]);
}

PART void line_out_4(const vec *m, vec *y)
{
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
}

PART void line_out_5(const vec *m, vec *y)
{
    y[0] = m[0] + m[1] + m[3];
    y[1] = m[1] - m[2] + m[4];
}

PART void line_out(const vec *m, vec *y, int side, int tile)
{
    if (side == 6 && tile == 4)
        line_out_6(m, y);
    else if (side == 6)
        line_out_6_to_2(m, y);
    else if (side == 5)
        line_out_5(m, y);
    else
        line_out_4(m, y);
}

PART void tile_out(const float *products, vec bias, vec *out, int side,
                   int tile)
{
    vec half[max_side][max_tile], line[max_side];

    for (int j = 0; j < side; j++) {
        for (int i = 0; i < side; i++)
            line[i] = vec_load(products + (i * side + j) * lanes);
        line_out(line, half[j], side, tile);
    }
    for (int i = 0; i < tile; i++) {
        for (int j = 0; j < side; j++)
            line[j] = half[j][i];
        line_out(line, out + i * tile, side, tile);
        for (int j = 0; j < tile; j++)
            out[i * tile + j] += bias;
    }
}

/* Adds what y held, applies the activation and stores what is inside. */
PART void place_tile(vec *out, float *y, int64_t rows, int64_t columns,
                     int64_t row_floats, int64_t column_floats,
                     const struct winograd_call *call, int tile)
{
    if (call->adds) {
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < columns; j++)
                out[i * tile + j] +=
                    vec_load(y + i * row_floats + j * column_floats);
        }
    }
    activate(out, tile * tile, &call->then);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            vec_store(y + i * row_floats + j * column_floats,
                      out[i * tile + j]);
    }
}

/* The bias of a block, with zeros where it has fewer channels. */
PART vec load_bias(const struct winograd *winograd, const float *bias,
                   int64_t out_block)
{
    float padded[lanes] = {0};
    int64_t left = winograd->shape.out_channels - out_block * lanes;

    if (bias)
        memcpy(padded, bias + out_block * lanes,
               sizeof *bias * (size_t)(left < lanes ? left : lanes));
    return vec_load(padded);
}

PART void write_tiles(const struct winograd *winograd,
                      struct winograd_tiles tiles, int64_t out_block,
                      const float *products, const struct winograd_call *call,
                      int side, int tile)
{
    const struct winograd_shape *shape = &winograd->shape;
    int64_t row_floats = shape->out_width * lanes, step = shape->dilation;
    vec bias = load_bias(winograd, call->bias, out_block);

    for (int64_t t = 0; t < tiles.n; t++) {
        struct corner at = find_corner(winograd, tiles.first + t);
        int64_t rows = (shape->out_height - at.row + step - 1) / step;
        int64_t columns = (shape->out_width - at.column + step - 1) / step;
        float *y = call->y + (at.image * shape->groups * winograd->out_blocks +
                              out_block) *
                                 shape->out_height * row_floats;
        vec out[max_tile * max_tile];

        if (rows <= 0 || columns <= 0)
            continue; /* this phase is smaller than others */
        y += at.row * row_floats + at.column * lanes;
        tile_out(products + t * winograd->points * lanes, bias, out, side,
                 tile);
        if (rows >= tile && columns >= tile && step == 1)
            place_tile(out, y, tile, tile, row_floats, lanes, call, tile);
        else
            place_tile(out, y, rows < tile ? rows : tile,
                       columns < tile ? columns : tile, step * row_floats,
                       step * lanes, call, tile);
    }
}

static void body_write(const struct winograd *winograd,
                       struct winograd_tiles tiles, int64_t out_block,
                       const float *products, const struct winograd_call *call)
{
    if (winograd->side == 6 && winograd->tile == WINOGRAD_4)
        write_tiles(winograd, tiles, out_block, products, call, 6, 4);
    else if (winograd->side == 6)
        write_tiles(winograd, tiles, out_block, products, call, 6, 2);
    else if (winograd->side == 5)
        write_tiles(winograd, tiles, out_block, products, call, 5, 2);
    else
        write_tiles(winograd, tiles, out_block, products, call, 4, 2);
}

#endif
