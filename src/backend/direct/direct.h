/* backend/direct/direct.h - convolutions in float32 that go from one register
 * of channels to the next: of 1x1 (pointwise), of 3x3 or 5x5 for each channel
 * on its own (depthwise), of 3x3 in groups of fewer channels than a block has
 * (grouped), and of an image's few channels (stem). Activations that oneDNN
 * computes slowly cost little here.
 *
 * Maps lie in channel blocks as wide as the processor's vectors: nChw8c for
 * AVX2, nChw16c for AVX-512.
 *
 * Thread-safe except for what starts OpenMP's threads: direct_run() and those
 * behind it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DIRECT_DIRECT_H
#define BACKEND_DIRECT_DIRECT_H

#include "backend/activation.h"

#include <stddef.h>
#include <stdint.h>

enum direct_kind {
    DIRECT_POINTWISE,
    DIRECT_DEPTHWISE,
    DIRECT_GROUPED,
    DIRECT_STEM
};

/* Output blocks that are computed at once from each pixel. Weights of a panel
 * lie together: a vector for every block of it, input channel by input
 * channel. */
enum { DIRECT_PANEL = 2 };

/* A pointwise one has a kernel of 1 and no padding, a depthwise or grouped one
 * as many input as output channels, a stem a dense x of few channels. */
struct direct_shape {
    int64_t images, in_channels, out_channels;
    int64_t in_height, in_width, out_height, out_width;
    int64_t kernel, stride; /* down and across */
    int64_t top, left;      /* zeros before the first row and column */
    int64_t group;          /* channels of each group, of a grouped one */
};

struct direct_kernels;

struct direct {
    const struct direct_kernels *kernels;
    enum direct_kind kind;
    struct direct_shape shape;
    int64_t in_blocks, out_blocks; /* of channels */
    int64_t narrow; /* pointwise, to so few channels that those of x are summed
                       up vector by vector: 1 or 4; 0: not */
    int n_threads;
    int64_t step; /* pointwise: pixels at a time */
};

/* Channels per block; 0: there is no kernel for this processor. */
int64_t direct_lanes(void);
/* "avx2"; only where there are kernels. */
const char *direct_instructions(void);
/* Whether there is a kernel for the shape. */
bool direct_takes(enum direct_kind kind, const struct direct_shape *shape);

/* False if there is no kernel for this processor. */
bool direct_plan(enum direct_kind kind, const struct direct_shape *shape,
                 int n_threads, struct direct *out);
size_t direct_weight_bytes(const struct direct *direct);
/* What a call needs, with something to do before or without. */
size_t direct_scratch_bytes(const struct direct *direct, bool has_before);
/* Weights [o,c,1,1], [c,1,k,k], [c,group,k,k] or [o,c,k,k]. */
void direct_pack(const struct direct *direct, const float *weights,
                 float *packed);

/* What becomes of x as it is read: a number for every channel, with those that
 * fill up the last block. */
struct direct_before {
    const float *scale, *shift; /* NULL: x is taken as it is */
    bool has_relu;              /* after that */
};

struct direct_call {
    const float *x, *weights, *bias; /* packed; bias NULL: none */
    float *y;
    float *scratch;              /* direct_scratch_bytes(); NULL: 0 are */
    struct direct_before before; /* pointwise only */
    bool adds; /* what y held, before the activation; pointwise only */
    struct activation then;
};

/* What fills up the last block of y becomes the activation of 0. */
void direct_run(const struct direct *direct, const struct direct_call *call);

/* Some pixels of a panel, or of a single block, whose input channels lie
 * anywhere, `lanes` floats from pixel to pixel. */
struct direct_picked {
    const float *const *channels; /* at the first pixel of the map */
    int64_t n_channels, n_blocks;
    const float *weights, *bias; /* bias: a vector for each block */
    float *y;                    /* at the first pixel of the first block */
    int64_t y_plane;             /* floats from block to block */
    int64_t first, end;          /* pixels */
    bool adds;                   /* what y held */
    struct activation then;
};

/* On the calling thread; only where direct_lanes() is not 0. */
void direct_pick(const struct direct_picked *picked);

/* y [n,o] = x [n,c] times weights [o,c] as a graph holds them, for so few rows
 * that reading the weights takes longest. */
struct direct_product {
    const float *x, *weights, *bias; /* bias NULL: none */
    float *y;
    int64_t rows, in, out;
    bool has_relu;
};

/* Only where direct_lanes() is not 0. */
void direct_multiply(const struct direct_product *product);

/* y [n,o] = x [n,c] times weights, then the bias, an activation and `plus`, for
 * rows that read the same weights again and again. */
struct direct_dense {
    const float *x;
    const float *weights; /* packed */
    const float *bias;    /* NULL: none */
    const float *plus;    /* [n,o]; NULL: none */
    float *y;
    float *scratch; /* direct_dense_scratch() bytes; NULL: 0 are */
    int64_t rows, in, out;
    bool has_relu, has_gelu; /* not both */
};

/* Whether there is a kernel for so many outputs. */
bool direct_dense_takes(int64_t out);
size_t direct_dense_weight_bytes(int64_t in, int64_t out);
/* Weight (c, o) is at c * in_step + o * out_step. */
void direct_dense_pack(int64_t in, int64_t out, const float *weights,
                       int64_t in_step, int64_t out_step, float *packed);
size_t direct_dense_scratch(int64_t rows, int64_t in, int64_t out);
void direct_dense_run(const struct direct_dense *dense);

/* The same with seven eighths of the products, for many rows, inputs and
 * outputs; weights and scratch memory are others. Every sum loses a bit or two
 * of its precision. */
bool direct_halves_takes(int64_t rows, int64_t in, int64_t out);
size_t direct_halves_weight_bytes(int64_t in, int64_t out);
void direct_halves_pack(int64_t in, int64_t out, const float *weights,
                        int64_t in_step, int64_t out_step, float *packed);
/* Of the products and of the sums around them. */
uint64_t direct_halves_flops(int64_t rows, int64_t in, int64_t out);
size_t direct_halves_scratch(int64_t rows, int64_t in, int64_t out);
void direct_halves_run(const struct direct_dense *dense);

/* y = x / (bias + scale * sum of squares)^beta, over the channels from `before`
 * ahead of each to `after` behind it, at most a block's each. */
struct direct_responses {
    const float *x;
    float *y;
    int64_t images, n_blocks, pixels;
    int64_t before, after;
    float scale, bias, beta;
};

/* Only where direct_lanes() is not 0. */
void direct_respond(const struct direct_responses *responses);

/* Of lines of n numbers, at least 1. Only where direct_lanes() is not 0. */
void direct_softmax(const float *x, float *y, int64_t lines, int64_t n);

/* y [batch,heads,n,e] = softmax(q k + plus + mask) v for each head, where q is
 * [n,d], k [d,m] and v [m,e]. */
struct direct_summand {
    const float *at; /* [n,m]; NULL: none */
    int64_t batch_step, head_step;
};

struct direct_attention {
    const float *q, *k, *v;
    struct direct_summand plus, mask;
    float *y;
    float *scratch; /* direct_attention_scratch() bytes */
    int64_t batch, heads, n, d, m, e;
};

/* Only where direct_lanes() is not 0. */
size_t direct_attention_scratch(int64_t d, int64_t m, int64_t e);
void direct_attention_run(const struct direct_attention *attention);

/* (x - mean) / deviation * scale + bias of lines of n numbers, at least 1. */
struct direct_norm {
    const float *scale, *bias; /* bias NULL: none */
    int64_t n;
    float eps; /* added to the variance */
};

/* Only where direct_lanes() is not 0. */
void direct_normalize(const struct direct_norm *norm, const float *x, float *y,
                      int64_t lines);

#endif
