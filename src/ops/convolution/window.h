/* ops/convolution/window.h - a window that moves over 1 to 3 dimensions, for
 * general convolutions and poolings.
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
    WINDOW_SAME_UPPER, /* size / stride positions, rounded up; an odd pad goes
                          after */
    WINDOW_SAME_LOWER  /* ... before */
};

struct window {
    int rank; /* dimensions it moves along */
    int64_t kernel[WINDOW_MAX_RANK], stride[WINDOW_MAX_RANK];
    int64_t dilation[WINDOW_MAX_RANK];
    int64_t before[WINDOW_MAX_RANK], after[WINDOW_MAX_RANK];
    enum window_padding padding;
    bool ceil; /* counts a last position that is only partly inside */
};

/* A window on tensors of known sizes, always in three dimensions: missing ones
 * come first and have size 1. */
struct fitted_window {
    int64_t kernel[WINDOW_MAX_RANK], stride[WINDOW_MAX_RANK];
    int64_t dilation[WINDOW_MAX_RANK];
    int64_t before[WINDOW_MAX_RANK], after[WINDOW_MAX_RANK];
    int64_t in[WINDOW_MAX_RANK];  /* sizes of x */
    int64_t out[WINDOW_MAX_RANK]; /* positions */
};

/* x is [n, c, sizes...]. ASSAY_BAD_INPUT if it has another rank or the window
 * does not fit. */
enum assay_status window_fit(const struct window *window, const struct shape *x,
                             struct fitted_window *fitted, struct error *err);

/* Sets the dimensions of y after the first two to the positions. */
void window_shape(const struct window *window,
                  const struct fitted_window *fitted, struct shape *y);

/* A window at one position: where it begins, and its steps [first, end) that
 * are inside. */
struct window_place {
    int64_t begin[WINDOW_MAX_RANK];
    int64_t first[WINDOW_MAX_RANK], end[WINDOW_MAX_RANK];
};

static inline struct window_place
window_place(const struct fitted_window *fitted,
             const int64_t at[WINDOW_MAX_RANK])
{
    struct window_place place;

    for (int i = 0; i < WINDOW_MAX_RANK; i++) {
        int64_t begin = at[i] * fitted->stride[i] - fitted->before[i];
        int64_t step = fitted->dilation[i], room = fitted->in[i] - begin;
        int64_t end = room <= 0 ? 0 : (room + step - 1) / step;

        place.begin[i] = begin;
        place.first[i] = begin < 0 ? (-begin + step - 1) / step : 0;
        place.end[i] = end < fitted->kernel[i] ? end : fitted->kernel[i];
    }
    return place;
}

/* Where in a channel of x the row begins that steps i and j of the first two
 * dimensions lead to. */
static inline int64_t window_row(const struct fitted_window *fitted,
                                 const struct window_place *place, int64_t i,
                                 int64_t j)
{
    int64_t plane = place->begin[0] + i * fitted->dilation[0];
    int64_t row = place->begin[1] + j * fitted->dilation[1];

    return (plane * fitted->in[1] + row) * fitted->in[2] + place->begin[2];
}

static inline int64_t window_volume(const int64_t sizes[WINDOW_MAX_RANK])
{
    return sizes[0] * sizes[1] * sizes[2];
}

/* The attributes of an op that has a window, in text and in ONNX. The latter
 * leaves out the kernel's size, because convolutions do not have it. */
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
