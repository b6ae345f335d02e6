/* backend/dnnl/int8_internal.h - kernels for integers of 8 bits.
 *
 * Maps of integers lie with their channels last, as all of oneDNN's int8
 * kernels take them. What these ops do to float32 maps in that order is here
 * as well.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_INT8_INTERNAL_H
#define BACKEND_DNNL_INT8_INTERNAL_H

#include "backend/dnnl/dnnl_internal.h"

/* Makes all outputs, which have types and shapes. */
typedef enum assay_status int8_forward_op(struct onednn *dn, struct job *job,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err);

int8_forward_op int8_conv, int8_matmul, int8_quantize, int8_dequantize,
    int8_dynamic, int8_lookup, int8_binary, int8_concat, int8_split,
    int8_max_pool, int8_resize;

/* Whether the kernel takes such inputs. */
typedef bool int8_takes_op(const struct onednn *dn, const struct node *node,
                           const struct tensor *const *inputs);

int8_takes_op int8_conv_takes, int8_matmul_takes, int8_quantize_takes,
    int8_dequantize_takes, int8_dynamic_takes, int8_lookup_takes,
    int8_binary_takes, int8_concat_takes, int8_split_takes, int8_map_takes,
    int8_resize_takes;

/* The layout of a map with its channels last. */
const struct layout *int8_layout(struct onednn *dn, enum dtype dtype,
                                 const struct shape *shape);
/* Whether a tensor is a map in that layout. */
bool int8_is_last(const struct tensor *tensor);

/* Turns a map of bytes from one of the two orders into the other; false where
 * the layouts are others. */
bool int8_turn(const struct layout *from, const void *data,
               const struct layout *to, void *out);

#endif
