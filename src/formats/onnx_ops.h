/* formats/onnx_ops.h - the tables of mappings, one a file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_OPS_H
#define FORMATS_ONNX_OPS_H

#include "formats/onnx_import.h"

extern const struct onnx_op onnx_control_ops[]; /* onnx_map_control.c */
extern const struct onnx_op onnx_layer_ops[];   /* onnx_map_layers.c */

#endif
