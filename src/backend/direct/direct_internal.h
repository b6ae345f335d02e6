/* backend/direct/direct_internal.h - the vector code of each instruction set,
 * for direct.c, which divides the work.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DIRECT_DIRECT_INTERNAL_H
#define BACKEND_DIRECT_DIRECT_INTERNAL_H

#include "backend/direct/direct.h"

enum { DIRECT_MOST_LANES = 16 };

/* Outputs of a narrow kernel; weights of one or of all these lie together,
 * input block by input block, a vector for each. */
enum { DIRECT_NARROW = 4 };

/* Pixels of one image, or rows of a matrix, and one panel of output blocks. */
struct direct_pixels {
    const float *x, *weights; /* x: at the first pixel, of the first block */
    const float *bias;        /* a vector for every block */
    const float *next;        /* the weights that come after these */
    int64_t next_floats;      /* of them; 0: none */
    float *y;
    int64_t n, n_blocks;
    int64_t narrow; /* see struct direct */
    int64_t in_channels;
    int64_t x_plane, y_plane; /* floats from block to block */
    int64_t y_step;           /* floats from pixel to pixel of y */
    int64_t x_step;           /* the same of x, of rows of a matrix */
    const float *sums; /* of products before these, added first; NULL: none */
    int64_t sums_step; /* floats from pixel to pixel of sums */
    const struct activation *then;
    bool has_gelu;     /* instead of that */
    const float *plus; /* lies as y does, added last; NULL: none */
};

/* Pixels of one image that are brought together, all channel blocks: those
 * that a stride leaves, as the call's `before` makes them. */
struct direct_gather {
    const float *x;
    float *to;
    int64_t first, n; /* of the output's pixels */
    int64_t n_blocks;
    int64_t to_plane; /* floats from block to block */
    const struct direct_shape *shape;
    const struct direct_before *before;
};

/* Rows of one image and one channel block. */
struct direct_rows {
    const float *x, *weights; /* x: the first row of the block */
    const float *bias;        /* a vector */
    float *y;
    int64_t first, end; /* of the output */
    /* In groups: for each channel of one, which element of a block is that
     * channel for each output of the block. */
    const int32_t *numbers;
    const struct direct_shape *shape;
    const struct activation *then;
};

/* The most that a stem takes: channels of x, a kernel's side, and floats of the
 * lines of x that a row of outputs reads. */
enum {
    DIRECT_STEM_CHANNELS = 4,
    DIRECT_STEM_KERNEL = 11,
    DIRECT_STEM_FLOATS = 24 << 10
};

/* Rows of one image, all channels. */
struct direct_stem {
    const float *x, *weights, *bias; /* bias NULL: none */
    float *y;
    int64_t first, end;  /* of the output */
    int64_t line_floats; /* of x with the zeros around it */
    const struct direct_shape *shape;
    const struct activation *then;
};

/* Some pixels of one channel block. */
struct direct_response {
    const float *x;             /* at the first pixel */
    bool has_before, has_after; /* other blocks */
    float *y;
    int64_t n, plane_floats;
    int64_t before, after;
    float scale, bias, beta;
};

/* A row of the upper and one of the lower half of a matrix, two times n numbers
 * each, and sums of their parts: S1 to S4 of direct_halves.c. */
struct direct_halved {
    const float *upper, *lower; /* NULL: zeros */
    int64_t n;                  /* at least a vector's */
    float *sums;
    int64_t step; /* floats from one sum to the next */
};

/* To the first place goes the third, and second and third together to y. */
struct direct_joined {
    float *first;
    const float *second, *third;
    const float *bias;  /* a row; NULL: none */
    int64_t n_first, n; /* rows of the first place, and of y: no more */
    int64_t width;      /* whole vectors */
    int64_t step;       /* floats from row to row of the places */
    const struct direct_pixels *pixels; /* y and what else happens to it */
};

/* A softmax of each row of x + plus + mask, in place. */
struct direct_attended {
    float *x;                 /* rows have room for whole vectors */
    const float *plus, *mask; /* rows of n numbers; NULL: none */
    int64_t rows, n;
    int64_t step; /* floats from row to row of x */
};

struct direct_kernels {
    const char *name;
    int64_t lanes; /* floats of a vector, channels of a block */
    void (*gather)(const struct direct_gather *gather);
    void (*pointwise)(const struct direct_pixels *pixels);
    void (*rows)(const struct direct_pixels *pixels);
    void (*halve)(const struct direct_halved *halved);
    void (*join)(const struct direct_joined *joined);
    void (*narrow)(const struct direct_pixels *pixels);
    void (*picked)(const struct direct_picked *picked);
    void (*depthwise)(const struct direct_rows *rows);
    void (*grouped)(const struct direct_rows *rows);
    void (*stem)(const struct direct_stem *stem);
    /* Outputs from `first` on, DIRECT_STREAMS of them or what is left. */
    void (*multiply)(const struct direct_product *product, int64_t first);
    void (*respond)(const struct direct_response *response);
    void (*softmax)(const float *x, float *y, int64_t n);
    /* Of `lanes` lines of n numbers each, fewer than `lanes`. */
    void (*softmax_short)(const float *x, float *y, int64_t n);
    void (*attend)(const struct direct_attended *rows);
    void (*norm)(const struct direct_norm *norm, const float *x, float *y);
};

/* Pixels of a direct_response at most. */
enum { DIRECT_RESPONSES = 48 };

/* Rows of a matrix that are read at once. Memory answers several streams faster
 * than one: a prefetcher ends its stream with the page. */
enum { DIRECT_STREAMS = 8 };

/* Products below which a second thread costs more than it saves. */
enum { DIRECT_FEW_PRODUCTS = 1 << 18 };

/* Of this processor; NULL: there are none. */
const struct direct_kernels *direct_kernels(void);

extern const struct direct_kernels direct_avx2, direct_avx512;

#endif
