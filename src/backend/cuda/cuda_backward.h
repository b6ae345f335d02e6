/* backend/cuda/cuda_backward.h - backward passes: which ops have kernels, and
 * who launches them.
 *
 * Gradients of parameters are float32. Those of maps have their channels last,
 * and are stored in the type of the precision by the ops that take any; what
 * the others are given and make is float32.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_BACKWARD_H
#define BACKEND_CUDA_CUDA_BACKWARD_H

#include "backend/cuda/cuda_internal.h"

/* Makes each pass->dx that is asked for. call->inputs are those of the pass, in
 * any layout, and call->outputs is not there. Of the first output there is a
 * gradient with elements, unless the table says otherwise. */
typedef enum assay_status cuda_back(struct cuda_call *call,
                                    const struct op_backward *pass);

/* See struct backend_class. */
bool cuda_can_backward(const struct backend *backend, const struct node *node);
struct op_reads cuda_backward_reads(const struct backend *backend,
                                    const struct node *node, uint64_t wanted);
enum assay_status cuda_run_backward(struct backend *backend,
                                    const struct op_context *context,
                                    const struct node *node, size_t at,
                                    const struct op_backward *pass,
                                    struct error *err);
enum assay_status cuda_accumulate(struct backend *backend,
                                  const struct op_context *context,
                                  struct tensor *sum, const struct tensor *dx,
                                  struct error *err);

/* What ops store maps as that know float32 only. */
static inline const struct layout *cuda_map_layout(void)
{
    return cuda_layout(CUDA_CHANNELS_LAST, DTYPE_F32);
}

/* ---- cuda_gradients.c -----------------------------------------------------
 */

cuda_back cuda_back_relu, cuda_back_clip, cuda_back_activation, cuda_back_add,
    cuda_back_concat, cuda_back_resize_nearest;

/* Whether kernels may write over `own`, which cuda_in_layout() made of dy: it
 * is a copy, or nobody else needs dy. */
bool cuda_is_ours(const struct tensor *own, const struct tensor *dy);
/* dy in the layout, 0 where y is not between low and high; the caller's to
 * release. */
enum assay_status cuda_pass_between(struct cuda_call *call,
                                    const struct layout *layout,
                                    const struct tensor *y,
                                    const struct tensor *dy, float low,
                                    float high, struct tensor *out);

/* ---- cuda_pool.c, cuda_max_pool.c -----------------------------------------
 */

cuda_back cuda_back_pool2d, cuda_back_max_pool2d;
/* Of a maximum in each window, for a backward pass: a byte for each, in the
 * order of a map that has these channels, which are last. 0: nobody asks for
 * them. */
enum assay_status cuda_save_places(struct cuda_call *call, int64_t channels,
                                   cu_pointer *places);

/* ---- cuda_conv_backward.c -------------------------------------------------
 */

cuda_back cuda_back_conv2d, cuda_back_linear, cuda_back_conv_transpose2d;
bool cuda_can_back_transposed(const struct cuda *cuda, const struct node *node);

/* ---- cuda_norm_training.c -------------------------------------------------
 */

cuda_back cuda_back_batch_norm, cuda_back_batch_norm_training;
/* Of the first channels of x, `real` of them, which lies as [rows,c]; dense, to
 * be released. */
enum assay_status cuda_channel_sums(struct cuda_call *call, cu_pointer x,
                                    enum dtype stored, int64_t rows, int64_t c,
                                    int64_t real, struct tensor *out);

/* ---- cuda_dropout.c -------------------------------------------------------
 */

cuda_back cuda_back_dropout;

/* ---- cuda_losses.c, cuda_detection.c --------------------------------------
 */

cuda_back cuda_back_cross_entropy, cuda_back_rpn_loss, cuda_back_box_loss,
    cuda_back_mask_loss;
cuda_back cuda_back_roi_align;

#endif
