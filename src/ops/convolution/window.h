/* ops/convolution/window.h - a window that moves over 1 to 3 dimensions: what
 * general convolutions and poolings have in common.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_WINDOW_H
#define OPS_CONVOLUTION_WINDOW_H

#include "graph/graph.h"
#include "ops/attr_fields.h"
#include "ops/onnx_sink.h"

enum { WINDOW_MAX_RANK = 3 };

enum window_padding {
    WINDOW_GIVEN,      /* before[] and after[] */
    WINDOW_SAME_UPPER, /* as many positions as size / stride, rounded up; what
                          is odd goes behind */
    WINDOW_SAME_LOWER  /* ... before */
};

struct window {
    int rank; /* how many directions it moves in */
    int64_t kernel[WINDOW_MAX_RANK], stride[WINDOW_MAX_RANK];
    int64_t dilation[WINDOW_MAX_RANK];
    int64_t before[WINDOW_MAX_RANK], after[WINDOW_MAX_RANK];
    enum window_padding padding;
    bool ceil; /* a last position that is only partly inside counts */
};

/* A window on tensors of known sizes, always in three dimensions: what is not
 * there comes first and has size 1. */
struct fitted_window {
    int64_t kernel[WINDOW_MAX_RANK], stride[WINDOW_MAX_RANK];
    int64_t dilation[WINDOW_MAX_RANK];
    int64_t before[WINDOW_MAX_RANK], after[WINDOW_MAX_RANK];
    int64_t in[WINDOW_MAX_RANK];  /* sizes of x */
    int64_t out[WINDOW_MAX_RANK]; /* positions */
};

/* x is [n, c, sizes...]. ASSAY_BAD_INPUT where it has another rank or the
 * window does not fit. */
enum assay_status window_fit(const struct window *window, const struct shape *x,
                             struct fitted_window *fitted, struct error *err);

/* Puts the positions behind the first two dimensions of y. */
void window_shape(const struct window *window,
                  const struct fitted_window *fitted, struct shape *y);

/* The part of a window at position `at` that lies inside, along a side: from
 * step `first` to before `end` of the kernel. */
static inline void window_reach(const struct fitted_window *fitted, int side,
                                int64_t at, int64_t *first, int64_t *end)
{
    int64_t begin = at * fitted->stride[side] - fitted->before[side];
    int64_t step = fitted->dilation[side], room = fitted->in[side] - begin;

    *first = begin < 0 ? (-begin + step - 1) / step : 0;
    *end = room <= 0 ? 0 : (room + step - 1) / step;
    if (*end > fitted->kernel[side])
        *end = fitted->kernel[side];
}

static inline int64_t window_volume(const int64_t sizes[WINDOW_MAX_RANK])
{
    return sizes[0] * sizes[1] * sizes[2];
}

/* The window as the attributes of an op that has one, in text and in ONNX;
 * there, without the kernel's size, which convolutions have in their weights.
 */
extern const char *const window_paddings[];
#define FIELD_WINDOW(type)                                                     \
    FIELD_SMALL(type, window.rank, 1, WINDOW_MAX_RANK),                        \
        FIELD_SIZE(type, window.kernel), FIELD_SIZE(type, window.stride),      \
        FIELD_SIZE(type, window.dilation),                                     \
        FIELD_NUMBER(type, window.before, -FIELD_FAR, FIELD_FAR),              \
        FIELD_NUMBER(type, window.after, -FIELD_FAR, FIELD_FAR),               \
        FIELD_WORD(type, window.padding, window_paddings),                     \
        FIELD_FLAG(type, window.ceil)
void window_to_onnx(struct onnx_sink *to, const struct window *window);
/* "pads" or "auto_pad". */
void window_pads_to_onnx(struct onnx_sink *to, const struct window *window);

#endif
