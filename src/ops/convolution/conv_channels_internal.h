/* ops/convolution/conv_channels_internal.h - which channels of convolutions go
 * together; for their classes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_CONV_CHANNELS_INTERNAL_H
#define OPS_CONVOLUTION_CONV_CHANNELS_INTERNAL_H

#include "ops/channels.h"

/* Weight [o, c / groups, ...]. residual: the input that is added to y and has
 * its channels; SIZE_MAX: there is none. */
void conv_channels(struct channels *channels, const struct node *node,
                   int64_t groups, size_t residual);

/* Weight [c, o / groups, ...]: its filters are columns. */
void conv_transpose_channels(struct channels *channels, const struct node *node,
                             int64_t groups);

#endif
