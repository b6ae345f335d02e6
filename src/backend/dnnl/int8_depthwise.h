/* backend/dnnl/int8_depthwise.h - kernels for channels of bytes that have
 * weights of their own.
 *
 * Channels are taken in blocks, taps in groups whose bytes lie side by side for
 * an instruction that adds their products: four with VNNI, which takes weights
 * of 8 bits, two of 16 bits with AVX2, which takes all. Both interleave
 * channels in halves of 128 bits, so weights, scales and sums lie in the order
 * that comes of it; packing the results to bytes undoes it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_INT8_DEPTHWISE_H
#define BACKEND_DNNL_INT8_DEPTHWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct depthwise;

/* Places of a row whose windows of 3x3 are all inside it. */
struct depthwise_places {
    const uint8_t *rows[3]; /* where the first window begins in each row */
    ptrdiff_t steps[3];     /* from a column of the row to the next one */
    int64_t stride, n;
    uint8_t *y;
};

/* How a kernel takes channels and taps. */
struct depthwise_kind {
    const char *name;
    int64_t block;   /* channels at a time */
    int64_t parts;   /* vectors of sums per block */
    int64_t group;   /* taps that are added at once */
    int64_t columns; /* groups for the three taps of a column */
    bool has_bytes;  /* its weights, else 16 bits */
    /* One place: all channels. Behind y are `room` bytes that may be
     * overwritten, since those of the next places are yet to be made. */
    void (*place)(const struct depthwise *dw, const uint8_t *const *taps,
                  uint8_t *y, int64_t room);
    /* Many places, with weights that lie by columns. What is made of a column
     * is used for all places that it is in. */
    void (*places)(const struct depthwise *dw,
                   const struct depthwise_places *places);
};

struct depthwise {
    const struct depthwise_kind *kind;
    int64_t channels, n_groups;
    int64_t padded;      /* channels in whole blocks */
    int64_t per_block;   /* places whose channels fill a block; else 1 */
    void *weights;       /* [block][group][channel][tap] */
    void *columns;       /* the same with three groups of columns, or NULL */
    int32_t *first;      /* sums begin here: what the zero of x leaves out */
    float *scale, *bias; /* in steps of the result */
    int16_t zero;        /* of the result; 128 more if that is signed */
    uint8_t low, high;   /* the range of the result, as unsigned bytes */
    uint8_t y_flip;      /* 0x80: the result is signed */
    uint8_t x_flip;      /* 0x80: x is signed */
    uint8_t *outside;    /* channels beside the map */
};

/* The best one of this processor, NULL: none. fits_bytes: the weights are
 * within int8. */
const struct depthwise_kind *depthwise_find(bool fits_bytes);

#endif
