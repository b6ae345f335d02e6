/* formats/onnx/onnx_window_internal.h - the attributes of convolutions and
 * poolings.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_WINDOW_INTERNAL_H
#define FORMATS_ONNX_ONNX_WINDOW_INTERNAL_H

#include "formats/onnx/onnx_import_internal.h"
#include "ops/convolution/window.h"

/* In how many directions the window of a node moves: from its kernel_shape, or
 * from what is known of a tensor with two dimensions more. 0: unknown. */
int onnx_window_rank(const struct onnx_call *call, const struct tensor *known);

/* Reads kernel_shape, strides, dilations, pads and auto_pad. kernel: sizes
 * where the file need not say (of a weight), or NULL. False after a failure of
 * the call. */
bool onnx_window_read(struct onnx_call *call, int rank, const int64_t *kernel,
                      struct window *window);

/* Turns SAME padding into numbers, where the sizes of x are known. */
bool onnx_window_fix(struct window *window, const struct tensor *x);

/* A list of n numbers from min on; left alone where it is not there. */
void onnx_window_list(struct onnx_call *call, const char *name, int64_t min,
                      int64_t *to, size_t n);

#endif
