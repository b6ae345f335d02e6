/* formats/onnx_window.h - what convolutions and poolings have in common: a
 * window that moves.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_WINDOW_H
#define FORMATS_ONNX_WINDOW_H

#include "formats/onnx_import.h"

enum { WINDOW_MAX_RANK = 3 };

enum window_padding {
    WINDOW_GIVEN,      /* before[] and after[] */
    WINDOW_SAME_UPPER, /* as many outputs as size / stride, rounded up; what is
                          odd goes behind */
    WINDOW_SAME_LOWER  /* ... before */
};

struct onnx_window {
    int rank; /* how many directions it moves in */
    int64_t kernel[WINDOW_MAX_RANK], stride[WINDOW_MAX_RANK];
    int64_t dilation[WINDOW_MAX_RANK];
    int64_t before[WINDOW_MAX_RANK], after[WINDOW_MAX_RANK];
    enum window_padding padding;
};

/* Reads kernel_shape, strides, dilations, pads and auto_pad. kernel: sizes
 * where the file need not say (of a weight), or NULL. False after a failure of
 * the call. */
bool onnx_window_read(struct onnx_call *call, int rank, const int64_t *kernel,
                      struct onnx_window *window);

/* Turns SAME padding into numbers, where the sizes of x are known. */
bool onnx_window_fix(struct onnx_window *window, const struct tensor *x);

#endif
