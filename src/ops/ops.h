/* ops/ops.h - the list of ops.
 *
 * One source file has everything about an op: shape rule, cost and portable
 * kernels behind a const struct op_class, with its typed attributes in a
 * header. This list is the only other place that names it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "graph/graph.h"

#define OP_LIST(X)                                                             \
    X(op_abs)                                                                  \
    X(op_acos)                                                                 \
    X(op_acosh)                                                                \
    X(op_adaptive_avg_pool2d)                                                  \
    X(op_add)                                                                  \
    X(op_affine_grid)                                                          \
    X(op_anchor_grid)                                                          \
    X(op_anchor_match)                                                         \
    X(op_anchor_sample)                                                        \
    X(op_and)                                                                  \
    X(op_arg_max)                                                              \
    X(op_arg_min)                                                              \
    X(op_asin)                                                                 \
    X(op_asinh)                                                                \
    X(op_atan)                                                                 \
    X(op_atanh)                                                                \
    X(op_attention)                                                            \
    X(op_avg_pool2d)                                                           \
    X(op_avg_pool_nd)                                                          \
    X(op_batch_norm)                                                           \
    X(op_batch_norm_training)                                                  \
    X(op_bernoulli)                                                            \
    X(op_bit_cast)                                                             \
    X(op_bit_shift)                                                            \
    X(op_bitwise_and)                                                          \
    X(op_bitwise_not)                                                          \
    X(op_bitwise_or)                                                           \
    X(op_bitwise_xor)                                                          \
    X(op_box_detections)                                                       \
    X(op_box_loss)                                                             \
    X(op_box_select)                                                           \
    X(op_cast)                                                                 \
    X(op_ceil)                                                                 \
    X(op_celu)                                                                 \
    X(op_center_crop_pad)                                                      \
    X(op_clip)                                                                 \
    X(op_col2im)                                                               \
    X(op_compress)                                                             \
    X(op_concat)                                                               \
    X(op_concat_from_sequence)                                                 \
    X(op_constant_of_shape)                                                    \
    X(op_conv2d)                                                               \
    X(op_conv_integer)                                                         \
    X(op_conv_nd)                                                              \
    X(op_conv_transpose2d)                                                     \
    X(op_conv_transpose_nd)                                                    \
    X(op_cos)                                                                  \
    X(op_cosh)                                                                 \
    X(op_cum_prod)                                                             \
    X(op_cum_sum)                                                              \
    X(op_deform_conv)                                                          \
    X(op_dense)                                                                \
    X(op_depth_to_space)                                                       \
    X(op_dequantize_linear)                                                    \
    X(op_det)                                                                  \
    X(op_detection_targets)                                                    \
    X(op_detection_transform)                                                  \
    X(op_dft)                                                                  \
    X(op_div)                                                                  \
    X(op_dropout)                                                              \
    X(op_dropout_training)                                                     \
    X(op_dynamic_quantize_linear)                                              \
    X(op_einsum)                                                               \
    X(op_elu)                                                                  \
    X(op_equal)                                                                \
    X(op_erf)                                                                  \
    X(op_exp)                                                                  \
    X(op_expand)                                                               \
    X(op_eye_like)                                                             \
    X(op_flatten)                                                              \
    X(op_flatten_at)                                                           \
    X(op_floor)                                                                \
    X(op_gather)                                                               \
    X(op_gather_elements)                                                      \
    X(op_gather_nd)                                                            \
    X(op_gelu)                                                                 \
    X(op_gemm)                                                                 \
    X(op_greater)                                                              \
    X(op_greater_or_equal)                                                     \
    X(op_grid_sample)                                                          \
    X(op_group_norm)                                                           \
    X(op_gru)                                                                  \
    X(op_hard_sigmoid)                                                         \
    X(op_hard_swish)                                                           \
    X(op_hardmax)                                                              \
    X(op_identity)                                                             \
    X(op_if)                                                                   \
    X(op_instance_norm)                                                        \
    X(op_is_inf)                                                               \
    X(op_is_nan)                                                               \
    X(op_layer_norm)                                                           \
    X(op_leaky_relu)                                                           \
    X(op_less)                                                                 \
    X(op_less_or_equal)                                                        \
    X(op_linear)                                                               \
    X(op_linear_attention)                                                     \
    X(op_local_response_norm)                                                  \
    X(op_log)                                                                  \
    X(op_log_softmax)                                                          \
    X(op_lookup)                                                               \
    X(op_loop)                                                                 \
    X(op_lp_pool_nd)                                                           \
    X(op_lstm)                                                                 \
    X(op_mask_loss)                                                            \
    X(op_mask_select)                                                          \
    X(op_mask_targets)                                                         \
    X(op_matmul)                                                               \
    X(op_matmul_integer)                                                       \
    X(op_max)                                                                  \
    X(op_max_pool2d)                                                           \
    X(op_max_pool_nd)                                                          \
    X(op_max_unpool)                                                           \
    X(op_mean)                                                                 \
    X(op_mel_weight_matrix)                                                    \
    X(op_min)                                                                  \
    X(op_mish)                                                                 \
    X(op_mod)                                                                  \
    X(op_mul)                                                                  \
    X(op_multinomial)                                                          \
    X(op_neg)                                                                  \
    X(op_negative_log_likelihood_loss)                                         \
    X(op_non_zero)                                                             \
    X(op_not)                                                                  \
    X(op_one_hot)                                                              \
    X(op_optional_has_element)                                                 \
    X(op_optional_none)                                                        \
    X(op_or)                                                                   \
    X(op_pad)                                                                  \
    X(op_paste_masks)                                                          \
    X(op_pick_channels)                                                        \
    X(op_pick_conv2d)                                                          \
    X(op_pow)                                                                  \
    X(op_prelu)                                                                \
    X(op_qlinear_add)                                                          \
    X(op_qlinear_conv)                                                         \
    X(op_qlinear_matmul)                                                       \
    X(op_qlinear_mul)                                                          \
    X(op_quantize_linear)                                                      \
    X(op_random_normal)                                                        \
    X(op_random_uniform)                                                       \
    X(op_range)                                                                \
    X(op_reciprocal)                                                           \
    X(op_reduce_l1)                                                            \
    X(op_reduce_l2)                                                            \
    X(op_reduce_log_sum)                                                       \
    X(op_reduce_log_sum_exp)                                                   \
    X(op_reduce_max)                                                           \
    X(op_reduce_mean)                                                          \
    X(op_reduce_min)                                                           \
    X(op_reduce_prod)                                                          \
    X(op_reduce_sum)                                                           \
    X(op_reduce_sum_square)                                                    \
    X(op_relu)                                                                 \
    X(op_reshape)                                                              \
    X(op_resize)                                                               \
    X(op_resize_boxes)                                                         \
    X(op_resize_nearest)                                                       \
    X(op_reverse_sequence)                                                     \
    X(op_rms_norm)                                                             \
    X(op_rnn)                                                                  \
    X(op_roi_align)                                                            \
    X(op_roi_crop)                                                             \
    X(op_roi_positives)                                                        \
    X(op_roi_sample)                                                           \
    X(op_round)                                                                \
    X(op_rpn_decode)                                                           \
    X(op_rpn_loss)                                                             \
    X(op_rpn_nms)                                                              \
    X(op_rpn_top_k)                                                            \
    X(op_scan)                                                                 \
    X(op_scatter_elements)                                                     \
    X(op_scatter_nd)                                                           \
    X(op_selu)                                                                 \
    X(op_sequence_at)                                                          \
    X(op_sequence_construct)                                                   \
    X(op_sequence_erase)                                                       \
    X(op_sequence_insert)                                                      \
    X(op_sequence_length)                                                      \
    X(op_sequence_map)                                                         \
    X(op_shape_of)                                                             \
    X(op_shrink)                                                               \
    X(op_sigmoid)                                                              \
    X(op_sign)                                                                 \
    X(op_silu)                                                                 \
    X(op_sin)                                                                  \
    X(op_sinh)                                                                 \
    X(op_size)                                                                 \
    X(op_slice)                                                                \
    X(op_softmax)                                                              \
    X(op_softmax_cross_entropy_loss)                                           \
    X(op_softplus)                                                             \
    X(op_softsign)                                                             \
    X(op_space_to_depth)                                                       \
    X(op_split)                                                                \
    X(op_split_to_sequence)                                                    \
    X(op_sqrt)                                                                 \
    X(op_squeeze)                                                              \
    X(op_stft)                                                                 \
    X(op_string_normalizer)                                                    \
    X(op_sub)                                                                  \
    X(op_sum)                                                                  \
    X(op_tan)                                                                  \
    X(op_tanh)                                                                 \
    X(op_tensor_scatter)                                                       \
    X(op_tf_idf)                                                               \
    X(op_thresholded_relu)                                                     \
    X(op_tile)                                                                 \
    X(op_top_k)                                                                \
    X(op_transpose)                                                            \
    X(op_trilu)                                                                \
    X(op_unique)                                                               \
    X(op_unsqueeze)                                                            \
    X(op_where)                                                                \
    X(op_window_function)                                                      \
    X(op_xor)

#define OP_DECLARE(symbol) extern const struct op_class symbol;
OP_LIST(OP_DECLARE)
#undef OP_DECLARE

/* All ops, then NULL. */
extern const struct op_class *const op_classes[];

/* By name; NULL if there is none. */
const struct op_class *op_find(const char *name);

/* ---- for the files of this room ---------------------------------------- */

/* Members of an op_class: the attributes and their list (attr_fields.h); how
 * many inputs and outputs a node may have. */
#define OP_ATTRS(name)                                                         \
    .attrs_bytes = sizeof(struct name##_attrs), .fields = name##_fields
#define OP_TAKES(least, most) .min_inputs = (least), .max_inputs = (most)
#define OP_MAKES(least, most) .min_outputs = (least), .max_outputs = (most)

/* Input i of a node; NULL if it is left out. */
static inline const struct tensor *
op_input(const struct node *node, const struct tensor *const *inputs, size_t i)
{
    return i < node->n_inputs ? inputs[i] : NULL;
}

#endif
