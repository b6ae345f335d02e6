/* formats/keras/keras_window_internal.h - how a layer's window moves over a
 * picture.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_KERAS_WINDOW_INTERNAL_H
#define FORMATS_KERAS_KERAS_WINDOW_INTERNAL_H

#include "formats/keras/keras_import_internal.h"
#include "ops/convolution/window.h"

/* Kernel (the configuration's member of that name), strides, dilation and
 * padding. "same" becomes paddings of TensorFlow's rule, the odd one behind,
 * where the sizes of x are known, and WINDOW_SAME_UPPER where they are not. */
struct window keras_window(struct keras_call *call, const char *kernel,
                           const struct keras_value *x);

#endif
