/* backend/dnnl/int8_product.h - sums of products of 8-bit integers, and what
 * becomes of them, a tile of pixels and outputs at a time.
 *
 * A pixel is a row of inputs in groups whose products one instruction adds;
 * weights lie in the order [vector of outputs][group][output][of the group].
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_INT8_PRODUCT_H
#define BACKEND_DNNL_INT8_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

/* Inputs that a kernel may read of x, or write, beyond those asked for. */
enum { PRODUCT_SLACK = 64 };

/* From sums in steps to bytes. */
struct product_end {
    int16_t zero;      /* of the result; 128 more if it is signed */
    uint8_t low, high; /* the range, as unsigned bytes */
    uint8_t flip;      /* 0x80: the result is signed */
};

/* What is left of weights that are too large for a kernel whose pairs of
 * products have 16 bits. */
struct product_rest {
    const int32_t *ends;   /* of every vector of outputs, in what follows */
    const int32_t *groups; /* which groups of inputs */
    const int8_t *weights; /* of a vector and such a group */
};

/* Windows that lie side by side in rows of x, as rows of inputs. */
struct product_windows {
    const uint8_t *const *rows; /* of the first window */
    const int64_t *steps;       /* from window to window */
    int64_t n_rows, line;       /* inputs of a row of a window */
    int64_t n;
    uint8_t flip;
    uint8_t *to;
    int64_t to_step;
};

/* Some pixels, and the outputs of a tile. */
struct product_strip {
    const uint8_t *x; /* inputs of the first pixel */
    int64_t x_step;   /* bytes from pixel to pixel */
    int64_t n_pixels;
    int64_t n_groups;
    int64_t n_outputs; /* at most those of a tile of the kind */
    const void *weights;
    struct product_rest rest;
    const int32_t *first;      /* sums begin here */
    const float *scale, *bias; /* in steps of the result */
    const struct product_end *end;
    uint8_t *y;     /* the first output of the first pixel */
    int64_t y_step; /* from pixel to pixel */
};

/* How a kernel takes inputs and outputs. */
struct product_kind {
    const char *name;
    int64_t lanes;   /* outputs of a vector */
    int64_t vectors; /* of a tile, at most */
    int64_t group;   /* inputs whose products are added at once */
    int64_t rows;    /* pixels of a tile */
    bool has_bytes;  /* inputs are unsigned and weights signed bytes, else both
                        are numbers of 16 bits */
    bool has_rest;   /* pairs of products have 16 bits */
    void (*run)(const struct product_strip *strip);
    /* n inputs as the kernel takes them, of `room` that may be read; flip is
     * 0x80 for signed bytes. */
    void (*take)(const uint8_t *x, uint8_t flip, void *to, int64_t n,
                 int64_t room);
};

/* The best one of this processor, NULL: none. fits_bytes: the weights are
 * within int8. */
const struct product_kind *product_find(bool fits_bytes);
/* The one for weights of which too many would leave a rest. */
const struct product_kind *product_find_wide(void);

/* Bytes only. */
void product_take_windows(const struct product_windows *windows);

#endif
