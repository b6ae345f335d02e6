/* backend/cuda/cuda_ops.h - which ops have kernels, and who launches them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_OPS_H
#define BACKEND_CUDA_CUDA_OPS_H

#include "backend/cuda/cuda_internal.h"

struct cuda_op {
    const struct op_class *op;
    cuda_run *run;
    cuda_can *can;       /* NULL: whatever has float32 inputs alone */
    uint64_t any_layout; /* bit i: input i may come in any layout; the rest is
                            made dense first */
};

#define CUDA_ALL_INPUTS UINT64_MAX

/* NULL: there is none. */
const struct cuda_op *cuda_op_find(const struct op_class *op);
/* All of them, in the order of the table; NULL: there are no more. */
const struct cuda_op *cuda_op_at(size_t i);

/* ---- cuda_elementwise.c, cuda_unary.c, cuda_binary.c: arithmetic ----------
 */
cuda_run cuda_run_add, cuda_run_unary, cuda_run_test, cuda_run_binary,
    cuda_run_where;
cuda_can cuda_can_add, cuda_can_unary, cuda_can_test, cuda_can_binary,
    cuda_can_where;

/* ---- cuda_rows.c, cuda_norm.c, cuda_pool.c --------------------------------
 */
cuda_run cuda_run_softmax, cuda_run_arg_max, cuda_run_cum_sum, cuda_run_reduce;
cuda_can cuda_can_softmax, cuda_can_number;
cuda_run cuda_run_batch_norm, cuda_run_layer_norm, cuda_run_instance_norm,
    cuda_run_group_norm, cuda_run_local_response_norm;
cuda_run cuda_run_pool2d, cuda_run_max_pool2d, cuda_run_pool_nd;

/* ---- cuda_norm_training.c, cuda_losses.c, cuda_dropout.c, cuda_targets.c:
 * training -----------------------------------------------------------------
 */
cuda_run cuda_run_anchor_match, cuda_run_anchor_sample;
cuda_can cuda_can_anchor_sample;
cuda_run cuda_run_batch_norm_training, cuda_run_cross_entropy,
    cuda_run_rpn_loss, cuda_run_box_loss, cuda_run_dropout, cuda_run_mask_loss;
cuda_can cuda_can_batch_norm_training, cuda_can_cross_entropy,
    cuda_can_rpn_loss, cuda_can_box_loss, cuda_can_dropout;

/* ---- cuda_move.c, cuda_gather.c, cuda_resize.c: elements move -------------
 */
cuda_run cuda_run_concat, cuda_run_split, cuda_run_slice, cuda_run_transpose,
    cuda_run_expand, cuda_run_depth, cuda_run_pad, cuda_run_tile,
    cuda_run_resize_nearest, cuda_run_resize;
cuda_run cuda_run_gather, cuda_run_gather_elements, cuda_run_gather_nd,
    cuda_run_cast;
cuda_can cuda_can_move, cuda_can_concat, cuda_can_gather, cuda_can_resize;
cuda_can cuda_can_cast;

/* ---- cuda_detection.c, cuda_nms.c, cuda_select.c: detection ---------------
 */
cuda_run cuda_run_detection_transform, cuda_run_anchor_grid,
    cuda_run_rpn_decode, cuda_run_roi_align, cuda_run_resize_boxes,
    cuda_run_mask_select, cuda_run_paste_masks;
cuda_run cuda_run_rpn_nms, cuda_run_box_detections, cuda_run_rpn_top_k,
    cuda_run_top_k, cuda_run_box_select;
cuda_can cuda_can_any, cuda_can_rpn_decode, cuda_can_roi_align,
    cuda_can_rpn_nms, cuda_can_box_detections, cuda_can_rpn_top_k,
    cuda_can_top_k, cuda_can_box_select;

/* ---- cuda_quantize.c: numbers of 8 bits -----------------------------------
 */
cuda_run cuda_run_quantize, cuda_run_dynamic_quantize, cuda_run_lookup,
    cuda_run_qlinear_pair, cuda_run_quantized_matmul, cuda_run_quantized_conv;
cuda_can cuda_can_quantize, cuda_can_lookup, cuda_can_qlinear_pair,
    cuda_can_quantized_matmul, cuda_can_quantized_conv;

/* ---- cuda_convolution.c: by cuDNN and cuBLASLt ----------------------------
 */
cuda_run cuda_run_conv2d, cuda_run_linear, cuda_run_conv_transpose2d;
cuda_can cuda_can_matmul, cuda_can_gemm;
cuda_run cuda_run_matmul, cuda_run_gemm;
cuda_can cuda_can_conv_transpose2d;

#endif
