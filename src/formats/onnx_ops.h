/* formats/onnx_ops.h - the tables of mappings, one a file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_OPS_H
#define FORMATS_ONNX_OPS_H

#include "formats/onnx_import.h"

/* onnx_map_control.c, ... */
extern const struct onnx_op onnx_control_ops[];
extern const struct onnx_op onnx_conv_ops[];
extern const struct onnx_op onnx_elementwise_ops[];
extern const struct onnx_op onnx_pool_ops[];
extern const struct onnx_op onnx_product_ops[]; /* onnx_map_products.c */
extern const struct onnx_op onnx_reduce_ops[];
extern const struct onnx_op onnx_shape_ops[]; /* onnx_map_shapes.c */

#endif
