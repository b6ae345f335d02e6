/* ops/attr_fields.c - see attr_fields.h. */
#include "ops/attr_fields.h"

#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_nd.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/detection/anchor_grid.h"
#include "ops/detection/box_detections.h"
#include "ops/detection/box_select.h"
#include "ops/detection/detection_transform.h"
#include "ops/detection/mask_ops.h"
#include "ops/detection/roi_align.h"
#include "ops/detection/rpn_nms.h"
#include "ops/detection/rpn_top_k.h"
#include "ops/loss/loss.h"
#include "ops/math/arg_max.h"
#include "ops/math/binary_math.h"
#include "ops/math/cast.h"
#include "ops/math/clip.h"
#include "ops/math/reduce.h"
#include "ops/math/softmax.h"
#include "ops/math/top_k.h"
#include "ops/math/unary_math.h"
#include "ops/movement/concat.h"
#include "ops/movement/gather.h"
#include "ops/movement/pad.h"
#include "ops/movement/rearrange.h"
#include "ops/movement/resize.h"
#include "ops/movement/select_ops.h"
#include "ops/movement/shape_views.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/dropout.h"
#include "ops/norm/dropout_training.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"
#include "ops/pooling/adaptive_avg_pool2d.h"
#include "ops/pooling/avg_pool2d.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/pooling/pool_nd.h"
#include "ops/product/linear.h"
#include "ops/product/matmul.h"
#include "ops/product/quantize.h"

enum { far = INT32_MAX }; /* no size of a model comes near */

/* ---- fields of each struct ---------------------------------------------- */

#define PLACE(type, field, of_kind, bytes)                                     \
    .name = #field, .kind = (of_kind), .offset = offsetof(struct type, field), \
    .n = sizeof(((struct type *)0)->field) / (bytes)
#define NUMBER(type, field, low, high)                                         \
    {                                                                          \
        PLACE(type, field, ATTR_NUMBER, sizeof(int64_t)), .min = (low),        \
                                                          .max = (high)        \
    }
#define SIZE(type, field)   NUMBER(type, field, 1, far)
#define AMOUNT(type, field) NUMBER(type, field, 0, far)
#define ANY(type, field)    NUMBER(type, field, INT64_MIN, INT64_MAX)
#define AXIS(type, field)   NUMBER(type, field, -SHAPE_MAX_RANK, SHAPE_MAX_RANK)
#define SMALL(type, field, low, high)                                          \
    {                                                                          \
        PLACE(type, field, ATTR_SMALL, sizeof(int)), .min = (low),             \
                                                     .max = (high)             \
    }
#define COUNT(type, field, most)                                               \
    {                                                                          \
        PLACE(type, field, ATTR_COUNT, sizeof(size_t)), .max = (most)          \
    }
#define FLAG(type, field)                                                      \
    {                                                                          \
        PLACE(type, field, ATTR_FLAG, sizeof(bool))                            \
    }
#define FLOAT(type, field)                                                     \
    {                                                                          \
        PLACE(type, field, ATTR_FLOAT, sizeof(float))                          \
    }
#define DOUBLE(type, field)                                                    \
    {                                                                          \
        PLACE(type, field, ATTR_DOUBLE, sizeof(double))                        \
    }
#define DTYPE(type, field)                                                     \
    {                                                                          \
        PLACE(type, field, ATTR_DTYPE, sizeof(enum dtype))                     \
    }
#define WORD(type, field, list)                                                \
    {                                                                          \
        PLACE(type, field, ATTR_WORD, sizeof(int)), .words = (list)            \
    }
#define WINDOW(type)                                                           \
    SMALL(type, window.rank, 1, WINDOW_MAX_RANK), SIZE(type, window.kernel),   \
        SIZE(type, window.stride), SIZE(type, window.dilation),                \
        NUMBER(type, window.before, -far, far),                                \
        NUMBER(type, window.after, -far, far),                                 \
        WORD(type, window.padding, paddings), FLAG(type, window.ceil)
#define FIELDS(name, ...)                                                      \
    static const struct attr_field name##_fields[] = {__VA_ARGS__, {0}}

static const char *const paddings[] = {"given", "same_upper", "same_lower",
                                       NULL};
static const char *const pad_modes[] = {"constant", "reflect", "edge", "wrap",
                                        NULL};
static const char *const resize_modes[] = {"nearest", "linear", "cubic", NULL};
static const char *const resize_places[] = {
    "half_pixel", "pytorch_half_pixel",     "align_corners",
    "asymmetric", "half_pixel_for_nearest", "crop",
    NULL};
static const char *const roundings[] = {
    "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
static const char *const reductions[] = {"none", "add", "mul",
                                         "min",  "max", NULL};

FIELDS(adaptive, SIZE(adaptive_avg_pool2d_attrs, size));
FIELDS(anchor, COUNT(anchor_grid_attrs, n_levels, ANCHOR_MAX_LEVELS),
       COUNT(anchor_grid_attrs, n_ratios, ANCHOR_MAX_RATIOS),
       FLOAT(anchor_grid_attrs, sizes), FLOAT(anchor_grid_attrs, ratios));
FIELDS(arg_max, AXIS(arg_max_attrs, axis), FLAG(arg_max_attrs, keeps_dims),
       FLAG(arg_max_attrs, takes_last));
FIELDS(avg_pool, SIZE(avg_pool2d_attrs, kernel), SIZE(avg_pool2d_attrs, stride),
       AMOUNT(avg_pool2d_attrs, before), AMOUNT(avg_pool2d_attrs, after),
       FLAG(avg_pool2d_attrs, ceil), FLAG(avg_pool2d_attrs, counts_padding));
FIELDS(batch_norm, FLOAT(batch_norm_attrs, eps),
       FLOAT(batch_norm_attrs, momentum));
FIELDS(binary, FLAG(binary_attrs, is_fmod), FLAG(binary_attrs, to_right));
FIELDS(box_detections, FLOAT(box_detections_attrs, weights),
       FLOAT(box_detections_attrs, score),
       FLOAT(box_detections_attrs, min_size), FLOAT(box_detections_attrs, iou),
       AMOUNT(box_detections_attrs, keep));
FIELDS(box_select, FLAG(box_select_attrs, is_centred));
FIELDS(cast, DTYPE(cast_attrs, dtype));
FIELDS(clip, FLOAT(clip_attrs, low), FLOAT(clip_attrs, high));
FIELDS(concat, SMALL(concat_attrs, axis, -SHAPE_MAX_RANK, SHAPE_MAX_RANK));
FIELDS(conv2d, SIZE(conv2d_attrs, stride), SIZE(conv2d_attrs, dilation),
       AMOUNT(conv2d_attrs, before), AMOUNT(conv2d_attrs, after),
       SIZE(conv2d_attrs, groups), FLAG(conv2d_attrs, has_relu),
       FLOAT(conv2d_attrs, relu_limit));
FIELDS(conv_nd, WINDOW(conv_nd_attrs), SIZE(conv_nd_attrs, groups));
FIELDS(conv_transpose2d, SIZE(conv_transpose2d_attrs, stride),
       AMOUNT(conv_transpose2d_attrs, before),
       AMOUNT(conv_transpose2d_attrs, after),
       FLAG(conv_transpose2d_attrs, has_relu));
FIELDS(conv_transpose_nd, WINDOW(conv_transpose_nd_attrs),
       SIZE(conv_transpose_nd_attrs, groups),
       AMOUNT(conv_transpose_nd_attrs, more),
       FLAG(conv_transpose_nd_attrs, has_shape),
       AMOUNT(conv_transpose_nd_attrs, shape));
FIELDS(cum_sum, FLAG(cum_sum_attrs, is_exclusive),
       FLAG(cum_sum_attrs, is_reverse));
FIELDS(depth, SIZE(depth_attrs, block), FLAG(depth_attrs, is_depth_first));
FIELDS(detection_transform, SIZE(detection_transform_attrs, min_size),
       SIZE(detection_transform_attrs, max_size),
       SIZE(detection_transform_attrs, size_divisible),
       FLOAT(detection_transform_attrs, mean),
       FLOAT(detection_transform_attrs, std));
FIELDS(dropout, FLOAT(dropout_attrs, ratio));
FIELDS(dropout_training,
       {PLACE(dropout_training_attrs, seed, ATTR_SEED, sizeof(uint32_t))},
       FLOAT(dropout_training_attrs, ratio),
       FLAG(dropout_training_attrs, is_on));
FIELDS(gather, AXIS(gather_attrs, axis), AMOUNT(gather_attrs, batch_dims));
FIELDS(gemm, FLOAT(gemm_attrs, alpha), FLOAT(gemm_attrs, beta),
       FLAG(gemm_attrs, transposes_a), FLAG(gemm_attrs, transposes_b));
FIELDS(linear, FLAG(linear_attrs, has_relu));
FIELDS(local_response_norm, SIZE(local_response_norm_attrs, size),
       FLOAT(local_response_norm_attrs, alpha),
       FLOAT(local_response_norm_attrs, beta),
       FLOAT(local_response_norm_attrs, bias));
FIELDS(max_pool, SIZE(max_pool2d_attrs, kernel), SIZE(max_pool2d_attrs, stride),
       AMOUNT(max_pool2d_attrs, before), AMOUNT(max_pool2d_attrs, after),
       FLAG(max_pool2d_attrs, ceil));
FIELDS(normalize, FLOAT(normalize_attrs, eps), AXIS(normalize_attrs, axis),
       FLOAT(normalize_attrs, momentum), FLAG(normalize_attrs, is_unbiased),
       FLAG(normalize_attrs, has_relu), FLOAT(normalize_attrs, relu_limit));
FIELDS(pad, WORD(pad_attrs, mode, pad_modes));
FIELDS(paste_masks, FLAG(paste_masks_attrs, is_soft));
FIELDS(pool_nd, WINDOW(pool_nd_attrs), FLAG(pool_nd_attrs, counts_padding),
       FLAG(pool_nd_attrs, is_by_column), AMOUNT(pool_nd_attrs, power));
FIELDS(quantize, AXIS(quantize_attrs, axis));
FIELDS(reduce, FLAG(reduce_attrs, keeps_dims),
       FLAG(reduce_attrs, empty_is_none));
FIELDS(resize, WORD(resize_attrs, mode, resize_modes),
       WORD(resize_attrs, place, resize_places),
       WORD(resize_attrs, nearest, roundings), FLOAT(resize_attrs, cubic),
       FLAG(resize_attrs, excludes_outside), FLOAT(resize_attrs, outside));
FIELDS(roi_align, NUMBER(roi_align_attrs, size, 1, ROI_ALIGN_MAX_SIZE),
       NUMBER(roi_align_attrs, sampling_ratio, 1, ROI_ALIGN_MAX_RATIO),
       FLOAT(roi_align_attrs, canonical_size),
       FLOAT(roi_align_attrs, canonical_level));
FIELDS(rpn_nms, FLOAT(rpn_nms_attrs, min_size), FLOAT(rpn_nms_attrs, score),
       FLOAT(rpn_nms_attrs, iou), AMOUNT(rpn_nms_attrs, keep));
FIELDS(rpn_top_k, AMOUNT(rpn_top_k_attrs, k));
FIELDS(scatter, AXIS(scatter_attrs, axis),
       WORD(scatter_attrs, reduction, reductions));
FIELDS(select, FLAG(select_attrs, has_axis), AXIS(select_attrs, axis),
       FLAG(select_attrs, is_sorted));
FIELDS(shape_of, ANY(shape_of_attrs, start), ANY(shape_of_attrs, end));
FIELDS(shape_view, FLAG(shape_view_attrs, allows_zero),
       AXIS(shape_view_attrs, axis));
FIELDS(softmax, SMALL(softmax_attrs, axis, -SHAPE_MAX_RANK, SHAPE_MAX_RANK),
       FLAG(softmax_attrs, is_flat));
FIELDS(split, AXIS(split_attrs, axis));
FIELDS(top_k, AXIS(top_k_attrs, axis), FLAG(top_k_attrs, is_smallest));
FIELDS(transpose, SMALL(transpose_attrs, rank, 0, SHAPE_MAX_RANK),
       NUMBER(transpose_attrs, order, 0, SHAPE_MAX_RANK - 1));
FIELDS(unary, DOUBLE(unary_attrs, alpha), DOUBLE(unary_attrs, beta));

/* ---- who has them ---------------------------------------------------------
 */

/* clang-format off */
static const struct {
    const struct op_class *op;
    const struct attr_field *fields;
} table[] = {
    {&op_adaptive_avg_pool2d, adaptive_fields},
    {&op_anchor_grid, anchor_fields},
    {&op_arg_max, arg_max_fields},
    {&op_arg_min, arg_max_fields},
    {&op_avg_pool2d, avg_pool_fields},
    {&op_batch_norm, batch_norm_fields},
    {&op_box_detections, box_detections_fields},
    {&op_box_select, box_select_fields},
    {&op_cast, cast_fields},
    {&op_clip, clip_fields},
    {&op_concat, concat_fields},
    {&op_conv2d, conv2d_fields},
    {&op_conv_nd, conv_nd_fields},
    {&op_conv_transpose2d, conv_transpose2d_fields},
    {&op_conv_transpose_nd, conv_transpose_nd_fields},
    {&op_cum_sum, cum_sum_fields},
    {&op_depth_to_space, depth_fields},
    {&op_space_to_depth, depth_fields},
    {&op_detection_transform, detection_transform_fields},
    {&op_gather, gather_fields},
    {&op_gather_elements, gather_fields},
    {&op_gather_nd, gather_fields},
    {&op_gemm, gemm_fields},
    {&op_linear, linear_fields},
    {&op_local_response_norm, local_response_norm_fields},
    {&op_max_pool2d, max_pool_fields},
    {&op_batch_norm_training, normalize_fields},
    {&op_instance_norm, normalize_fields},
    {&op_layer_norm, normalize_fields},
    {&op_pad, pad_fields},
    {&op_paste_masks, paste_masks_fields},
    {&op_avg_pool_nd, pool_nd_fields},
    {&op_lp_pool_nd, pool_nd_fields},
    {&op_max_pool_nd, pool_nd_fields},
    {&op_max_unpool, pool_nd_fields},
    {&op_quantize_linear, quantize_fields},
    {&op_dequantize_linear, quantize_fields},
    {&op_dropout, dropout_fields},
    {&op_dropout_training, dropout_training_fields},
    {&op_resize, resize_fields},
    {&op_roi_align, roi_align_fields},
    {&op_rpn_nms, rpn_nms_fields},
    {&op_rpn_top_k, rpn_top_k_fields},
    {&op_scatter_elements, scatter_fields},
    {&op_scatter_nd, scatter_fields},
    {&op_compress, select_fields},
    {&op_non_zero, select_fields},
    {&op_where, select_fields},
    {&op_unique, select_fields},
    {&op_shape_of, shape_of_fields},
    {&op_size, shape_of_fields},
    {&op_flatten_at, shape_view_fields},
    {&op_identity, shape_view_fields},
    {&op_reshape, shape_view_fields},
    {&op_squeeze, shape_view_fields},
    {&op_unsqueeze, shape_view_fields},
    {&op_hardmax, softmax_fields},
    {&op_log_softmax, softmax_fields},
    {&op_softmax, softmax_fields},
    {&op_split, split_fields},
    {&op_top_k, top_k_fields},
    {&op_transpose, transpose_fields},

    {&op_reduce_l1, reduce_fields}, {&op_reduce_l2, reduce_fields},
    {&op_reduce_log_sum, reduce_fields},
    {&op_reduce_log_sum_exp, reduce_fields},
    {&op_reduce_max, reduce_fields}, {&op_reduce_mean, reduce_fields},
    {&op_reduce_min, reduce_fields}, {&op_reduce_prod, reduce_fields},
    {&op_reduce_sum, reduce_fields}, {&op_reduce_sum_square, reduce_fields},

    {&op_and, binary_fields}, {&op_bit_shift, binary_fields},
    {&op_div, binary_fields}, {&op_equal, binary_fields},
    {&op_greater, binary_fields}, {&op_greater_or_equal, binary_fields},
    {&op_less, binary_fields}, {&op_less_or_equal, binary_fields},
    {&op_max, binary_fields}, {&op_mean, binary_fields},
    {&op_min, binary_fields}, {&op_mod, binary_fields},
    {&op_mul, binary_fields}, {&op_or, binary_fields},
    {&op_pow, binary_fields}, {&op_prelu, binary_fields},
    {&op_sub, binary_fields}, {&op_sum, binary_fields},
    {&op_xor, binary_fields},

    {&op_abs, unary_fields}, {&op_acos, unary_fields},
    {&op_acosh, unary_fields}, {&op_asin, unary_fields},
    {&op_asinh, unary_fields}, {&op_atan, unary_fields},
    {&op_atanh, unary_fields}, {&op_ceil, unary_fields},
    {&op_celu, unary_fields}, {&op_cos, unary_fields},
    {&op_cosh, unary_fields}, {&op_elu, unary_fields},
    {&op_erf, unary_fields}, {&op_exp, unary_fields},
    {&op_floor, unary_fields}, {&op_gelu, unary_fields},
    {&op_hard_sigmoid, unary_fields}, {&op_hard_swish, unary_fields},
    {&op_is_inf, unary_fields}, {&op_is_nan, unary_fields},
    {&op_leaky_relu, unary_fields}, {&op_log, unary_fields},
    {&op_mish, unary_fields}, {&op_neg, unary_fields},
    {&op_not, unary_fields}, {&op_reciprocal, unary_fields},
    {&op_round, unary_fields}, {&op_selu, unary_fields},
    {&op_shrink, unary_fields}, {&op_sigmoid, unary_fields},
    {&op_sign, unary_fields}, {&op_silu, unary_fields},
    {&op_sin, unary_fields}, {&op_sinh, unary_fields},
    {&op_softplus, unary_fields}, {&op_softsign, unary_fields},
    {&op_sqrt, unary_fields}, {&op_tan, unary_fields},
    {&op_tanh, unary_fields}, {&op_thresholded_relu, unary_fields},
};
/* clang-format on */

size_t attr_kind_bytes(enum attr_kind kind)
{
    static const size_t bytes[] = {
        [ATTR_NUMBER] = sizeof(int64_t),   [ATTR_SMALL] = sizeof(int),
        [ATTR_COUNT] = sizeof(size_t),     [ATTR_SEED] = sizeof(uint32_t),
        [ATTR_FLAG] = sizeof(bool),        [ATTR_FLOAT] = sizeof(float),
        [ATTR_DOUBLE] = sizeof(double),    [ATTR_WORD] = sizeof(int),
        [ATTR_DTYPE] = sizeof(enum dtype),
    };

    return bytes[kind];
}

const struct attr_field *attr_fields(const struct op_class *op)
{
    static const struct attr_field none[] = {{0}};

    if (!op->attrs_bytes)
        return none;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].op == op)
            return table[i].fields;
    }
    return NULL;
}
