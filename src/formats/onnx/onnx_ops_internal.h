/* formats/onnx/onnx_ops_internal.h - the tables of mappings, one a file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_OPS_INTERNAL_H
#define FORMATS_ONNX_ONNX_OPS_INTERNAL_H

#include "formats/onnx/onnx_import_internal.h"

/* Each from onnx_map_NAME.c. */
extern const struct onnx_op onnx_control_ops[];
extern const struct onnx_op onnx_conv_ops[];
extern const struct onnx_op onnx_elementwise_ops[];
extern const struct onnx_op onnx_norm_ops[];
extern const struct onnx_op onnx_pool_ops[];
extern const struct onnx_op onnx_product_ops[];
extern const struct onnx_op onnx_quantized_ops[];
extern const struct onnx_op onnx_random_ops[];
extern const struct onnx_op onnx_recurrent_ops[];
extern const struct onnx_op onnx_reduce_ops[];
extern const struct onnx_op onnx_shape_ops[];
extern const struct onnx_op onnx_signal_ops[];
extern const struct onnx_op onnx_vision_ops[];

#endif
