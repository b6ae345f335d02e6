/* formats/onnx/onnx_write_ops.c - see onnx_export.h: ops as ONNX has them. */
#include "formats/onnx/onnx_export.h"

#include "formats/onnx/onnx_data.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_nd.h"
#include "ops/convolution/conv_transpose2d.h"
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
#include "ops/movement/shape_views.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/dropout.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"
#include "ops/pooling/adaptive_avg_pool2d.h"
#include "ops/pooling/avg_pool2d.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/pooling/pool_nd.h"
#include "ops/product/linear.h"
#include "ops/product/matmul.h"
#include "ops/product/quantize.h"

#include <math.h>
#include <string.h>

enum { all_inputs = 64 };

static const struct shape *input_shape(const struct onnx_export *to, size_t i)
{
    uint32_t value = to->node->inputs[i];

    return value != GRAPH_NONE && to->survey->is_known[value]
               ? &to->survey->values[value].shape
               : NULL;
}

/* ---- windows ------------------------------------------------------------ */

/* What stands before, then what stands behind. */
static void put_pads(struct onnx_export *to, const int64_t *before,
                     const int64_t *after, size_t rank)
{
    int64_t pads[2 * WINDOW_MAX_RANK];

    memcpy(pads, before, rank * sizeof *pads);
    memcpy(pads + rank, after, rank * sizeof *pads);
    onnx_attr_ints(to, "pads", pads, 2 * rank);
}

static void put_window(struct onnx_export *to, const struct window *window,
                       bool has_kernel)
{
    static const char *const paddings[] = {
        [WINDOW_SAME_UPPER] = "SAME_UPPER", [WINDOW_SAME_LOWER] = "SAME_LOWER"};
    size_t rank = (size_t)window->rank;

    if (has_kernel)
        onnx_attr_ints(to, "kernel_shape", window->kernel, rank);
    onnx_attr_ints(to, "strides", window->stride, rank);
    onnx_attr_ints(to, "dilations", window->dilation, rank);
    if (window->padding == WINDOW_GIVEN)
        put_pads(to, window->before, window->after, rank);
    else
        onnx_attr_text(to, "auto_pad", paddings[window->padding]);
}

static void export_conv2d(struct onnx_export *to)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(to->node);

    if (attrs->has_relu || to->node->n_inputs > CONV2D_INPUTS ||
        to->node->inputs[CONV2D_RESIDUAL] != GRAPH_NONE) {
        onnx_refuse(to, "something is fused into it");
        return;
    }
    onnx_attr_ints(to, "strides", attrs->stride, 2);
    onnx_attr_ints(to, "dilations", attrs->dilation, 2);
    put_pads(to, attrs->before, attrs->after, 2);
    onnx_attr_int(to, "group", attrs->groups);
    onnx_put_node(to, "Conv", CONV2D_RESIDUAL);
}

static void export_conv_nd(struct onnx_export *to)
{
    const struct conv_nd_attrs *attrs = to->node->attrs;

    put_window(to, &attrs->window, false);
    onnx_attr_int(to, "group", attrs->groups);
    onnx_put_node(to, "Conv", all_inputs);
}

static void export_conv_transpose2d(struct onnx_export *to)
{
    const struct conv_transpose2d_attrs *attrs =
        conv_transpose2d_attrs(to->node);

    if (attrs->has_relu) {
        onnx_refuse(to, "something is fused into it");
        return;
    }
    onnx_attr_ints(to, "strides", attrs->stride, 2);
    put_pads(to, attrs->before, attrs->after, 2);
    onnx_put_node(to, "ConvTranspose", all_inputs);
}

static void export_conv_transpose_nd(struct onnx_export *to)
{
    const struct conv_transpose_nd_attrs *attrs = to->node->attrs;
    size_t rank = (size_t)attrs->window.rank;

    put_window(to, &attrs->window, false);
    onnx_attr_int(to, "group", attrs->groups);
    onnx_attr_ints(to, "output_padding", attrs->more, rank);
    if (attrs->has_shape)
        onnx_attr_ints(to, "output_shape", attrs->shape, rank);
    onnx_put_node(to, "ConvTranspose", all_inputs);
}

static void export_max_pool2d(struct onnx_export *to)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(to->node);

    onnx_attr_ints(to, "kernel_shape", attrs->kernel, 2);
    onnx_attr_ints(to, "strides", attrs->stride, 2);
    put_pads(to, attrs->before, attrs->after, 2);
    onnx_attr_int(to, "ceil_mode", attrs->ceil);
    onnx_put_node(to, "MaxPool", 1);
}

static void export_avg_pool2d(struct onnx_export *to)
{
    const struct avg_pool2d_attrs *attrs = avg_pool2d_attrs(to->node);

    onnx_attr_ints(to, "kernel_shape", attrs->kernel, 2);
    onnx_attr_ints(to, "strides", attrs->stride, 2);
    put_pads(to, attrs->before, attrs->after, 2);
    onnx_attr_int(to, "ceil_mode", attrs->ceil);
    onnx_attr_int(to, "count_include_pad", attrs->counts_padding);
    onnx_put_node(to, "AveragePool", 1);
}

static void export_pool_nd(struct onnx_export *to)
{
    const struct pool_nd_attrs *attrs = to->node->attrs;
    const struct window *window = &attrs->window;
    bool is_max = to->node->op == &op_max_pool_nd;

    for (int i = 0; i < window->rank; i++) {
        if (!is_max && window->dilation[i] != 1)
            onnx_refuse(to, "a dilated mean");
    }
    onnx_attr_ints(to, "kernel_shape", window->kernel, (size_t)window->rank);
    onnx_attr_ints(to, "strides", window->stride, (size_t)window->rank);
    if (window->padding == WINDOW_GIVEN)
        put_pads(to, window->before, window->after, (size_t)window->rank);
    else
        onnx_attr_text(to, "auto_pad",
                       window->padding == WINDOW_SAME_UPPER ? "SAME_UPPER"
                                                            : "SAME_LOWER");
    onnx_attr_int(to, "ceil_mode", window->ceil);
    if (is_max) {
        onnx_attr_ints(to, "dilations", window->dilation, (size_t)window->rank);
        onnx_attr_int(to, "storage_order", attrs->is_by_column);
    } else {
        onnx_attr_int(to, "count_include_pad", attrs->counts_padding);
    }
    onnx_put_node(to, is_max ? "MaxPool" : "AveragePool", 1);
}

/* Windows of one size, which divide the map: what ONNX can say. */
static void export_adaptive(struct onnx_export *to)
{
    const struct adaptive_avg_pool2d_attrs *attrs =
        adaptive_avg_pool2d_attrs(to->node);
    const struct shape *x = input_shape(to, 0);
    int64_t kernel[2];

    if (attrs->size[0] == 1 && attrs->size[1] == 1) {
        onnx_put_node(to, "GlobalAveragePool", 1);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (!x || x->dims[2 + i] % attrs->size[i]) {
            onnx_refuse(to, "its windows differ in size at this size of "
                            "images; give one that its map divides");
            return;
        }
        kernel[i] = x->dims[2 + i] / attrs->size[i];
    }
    onnx_attr_ints(to, "kernel_shape", kernel, 2);
    onnx_attr_ints(to, "strides", kernel, 2);
    onnx_put_node(to, "AveragePool", 1);
}

/* ---- products and norms ------------------------------------------------- */

static void export_linear(struct onnx_export *to)
{
    if (linear_attrs(to->node)->has_relu) {
        onnx_refuse(to, "something is fused into it");
        return;
    }
    onnx_attr_int(to, "transB", 1);
    onnx_put_node(to, "Gemm", LINEAR_INPUTS);
}

static void export_gemm(struct onnx_export *to)
{
    const struct gemm_attrs *attrs = to->node->attrs;

    onnx_attr_float(to, "alpha", (double)attrs->alpha);
    onnx_attr_float(to, "beta", (double)attrs->beta);
    onnx_attr_int(to, "transA", attrs->transposes_a);
    onnx_attr_int(to, "transB", attrs->transposes_b);
    onnx_put_node(to, "Gemm", all_inputs);
}

static void export_batch_norm(struct onnx_export *to)
{
    onnx_attr_float(to, "epsilon", (double)batch_norm_attrs(to->node)->eps);
    onnx_put_node(to, "BatchNormalization", BATCH_NORM_INPUTS);
}

static void export_instance_norm(struct onnx_export *to)
{
    const struct normalize_attrs *attrs = to->node->attrs;

    onnx_attr_float(to, "epsilon", (double)attrs->eps);
    onnx_put_node(to, "InstanceNormalization", all_inputs);
}

static void export_layer_norm(struct onnx_export *to)
{
    const struct normalize_attrs *attrs = to->node->attrs;

    onnx_needs_opset(to, 17);
    onnx_attr_float(to, "epsilon", (double)attrs->eps);
    onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, "LayerNormalization", all_inputs);
}

static void export_local_response_norm(struct onnx_export *to)
{
    const struct local_response_norm_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "size", attrs->size);
    onnx_attr_float(to, "alpha", (double)attrs->alpha);
    onnx_attr_float(to, "beta", (double)attrs->beta);
    onnx_attr_float(to, "bias", (double)attrs->bias);
    onnx_put_node(to, "LRN", 1);
}

/* ---- element by element ---------------------------------------------------
 */

static void export_named(struct onnx_export *to)
{
    onnx_put_node(to, to->node->op->name, all_inputs);
}

static void export_relu(struct onnx_export *to)
{
    onnx_put_node(to, "Relu", 1);
}

/* Those with numbers of their own, and what ONNX calls them. */
static void export_parameters(struct onnx_export *to)
{
    static const struct {
        const struct op_class *op;
        const char *alpha, *beta;
    } names[] = {
        {&op_celu, "alpha", NULL},
        {&op_elu, "alpha", NULL},
        {&op_hard_sigmoid, "alpha", "beta"},
        {&op_leaky_relu, "alpha", NULL},
        {&op_selu, "alpha", "gamma"},
        {&op_shrink, "lambd", "bias"},
        {&op_thresholded_relu, "alpha", NULL},
    };
    const struct unary_attrs *attrs = to->node->attrs;
    size_t i = 0;

    while (names[i].op != to->node->op)
        i++;
    onnx_attr_float(to, names[i].alpha, attrs->alpha);
    if (names[i].beta)
        onnx_attr_float(to, names[i].beta, attrs->beta);
    onnx_put_node(to, to->node->op->name, 1);
}

/* x times something of x. */
static void put_gated(struct onnx_export *to, const char *gate)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *y = onnx_name(to, to->node->outputs[0]);
    const char *pair[2] = {x, gate};

    onnx_put_op(to, "Mul", pair, 2, &y, 1);
}

static void export_silu(struct onnx_export *to)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *gate = onnx_add_name(to, "gate");

    onnx_put_op(to, "Sigmoid", &x, 1, &gate, 1);
    put_gated(to, gate);
}

static void export_hard_swish(struct onnx_export *to)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *gate = onnx_add_name(to, "gate");

    onnx_attr_float(to, "alpha", 1.0 / 6);
    onnx_attr_float(to, "beta", 0.5);
    onnx_put_op(to, "HardSigmoid", &x, 1, &gate, 1);
    put_gated(to, gate);
}

static void export_mish(struct onnx_export *to)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *soft = onnx_add_name(to, "soft");
    const char *gate = onnx_add_name(to, "gate");

    onnx_put_op(to, "Softplus", &x, 1, &soft, 1);
    onnx_put_op(to, "Tanh", &soft, 1, &gate, 1);
    put_gated(to, gate);
}

/* x (1 + erf(x / sqrt 2)) / 2 */
static void export_gelu(struct onnx_export *to)
{
    const char *scaled = onnx_add_name(to, "scaled");
    const char *erf_of = onnx_add_name(to, "erf");
    const char *sum = onnx_add_name(to, "sum");
    const char *gate = onnx_add_name(to, "gate");
    const char *pair[2] = {onnx_name(to, to->node->inputs[0]),
                           onnx_add_scalar(to, (float)sqrt(0.5))};

    onnx_put_op(to, "Mul", pair, 2, &scaled, 1);
    onnx_put_op(to, "Erf", &scaled, 1, &erf_of, 1);
    pair[0] = erf_of;
    pair[1] = onnx_add_scalar(to, 1);
    onnx_put_op(to, "Add", pair, 2, &sum, 1);
    pair[0] = sum;
    pair[1] = onnx_add_scalar(to, 0.5F);
    onnx_put_op(to, "Mul", pair, 2, &gate, 1);
    put_gated(to, gate);
}

static void export_clip(struct onnx_export *to)
{
    const struct clip_attrs *attrs = clip_attrs(to->node);
    const char *y = onnx_name(to, to->node->outputs[0]);
    const char *inputs[3] = {onnx_name(to, to->node->inputs[0]), "", ""};

    if (!isinf(attrs->low))
        inputs[1] = onnx_add_scalar(to, attrs->low);
    if (!isinf(attrs->high))
        inputs[2] = onnx_add_scalar(to, attrs->high);
    onnx_put_op(to, "Clip", inputs, 3, &y, 1);
}

static void export_dropout(struct onnx_export *to)
{
    const char *y = onnx_name(to, to->node->outputs[0]);
    const char *inputs[2] = {
        onnx_name(to, to->node->inputs[0]),
        onnx_add_scalar(to, dropout_attrs(to->node)->ratio)};

    onnx_put_op(to, "Dropout", inputs, 2, &y, 1);
}

static void export_prelu(struct onnx_export *to)
{
    onnx_put_node(to, "PRelu", 2);
}

static void export_cast(struct onnx_export *to)
{
    const struct cast_attrs *attrs = to->node->attrs;
    enum dtype dtype;

    if (to->node->n_inputs > 1) {
        onnx_refuse(to, "its type comes from another value");
        return;
    }
    for (int64_t i = 1; i <= 16; i++) {
        if (onnx_dtype(i, &dtype) && dtype == attrs->dtype) {
            onnx_attr_int(to, "to", i);
            break;
        }
    }
    onnx_put_node(to, "Cast", 1);
}

static void export_quantize(struct onnx_export *to)
{
    const struct quantize_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, to->node->op->name, all_inputs);
}

/* ---- moving ------------------------------------------------------------- */

static void export_flatten(struct onnx_export *to)
{
    const struct shape_view_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "axis", to->node->op == &op_flatten_at ? attrs->axis : 1);
    onnx_put_node(to, "Flatten", 1);
}

static void export_reshape(struct onnx_export *to)
{
    const struct shape_view_attrs *attrs = to->node->attrs;

    if (attrs->allows_zero) {
        onnx_needs_opset(to, 14);
        onnx_attr_int(to, "allowzero", 1);
    }
    onnx_put_node(to, "Reshape", all_inputs);
}

static void export_transpose(struct onnx_export *to)
{
    const struct transpose_attrs *attrs = to->node->attrs;

    if (attrs->rank)
        onnx_attr_ints(to, "perm", attrs->order, (size_t)attrs->rank);
    onnx_put_node(to, "Transpose", 1);
}

static void export_concat(struct onnx_export *to)
{
    onnx_attr_int(to, "axis", concat_attrs(to->node)->axis);
    onnx_put_node(to, "Concat", all_inputs);
}

static void export_split(struct onnx_export *to)
{
    const struct split_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, "Split", all_inputs);
}

static void export_gather(struct onnx_export *to)
{
    const struct gather_attrs *attrs = to->node->attrs;

    if (to->node->op == &op_gather_nd)
        onnx_attr_int(to, "batch_dims", attrs->batch_dims);
    else
        onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, to->node->op->name, all_inputs);
}

/* The value, repeated: Expand has it as an input, as we do. */
static void export_constant_of_shape(struct onnx_export *to)
{
    const char *y = onnx_name(to, to->node->outputs[0]);
    const char *inputs[2] = {onnx_name(to, to->node->inputs[1]),
                             onnx_name(to, to->node->inputs[0])};

    onnx_put_op(to, "Expand", inputs, 2, &y, 1);
}

static void export_pad(struct onnx_export *to)
{
    static const char *const modes[] = {[PAD_CONSTANT] = "constant",
                                        [PAD_REFLECT] = "reflect",
                                        [PAD_EDGE] = "edge"};
    const struct pad_attrs *attrs = to->node->attrs;

    if (attrs->mode == PAD_WRAP ||
        (to->node->n_inputs > 3 && to->node->inputs[3] != GRAPH_NONE)) {
        onnx_refuse(to, "this way of padding came with later opsets");
        return;
    }
    onnx_attr_text(to, "mode", modes[attrs->mode]);
    onnx_put_node(to, "Pad", 3);
}

static void export_resize(struct onnx_export *to)
{
    static const char *const modes[] = {[RESIZE_NEAREST] = "nearest",
                                        [RESIZE_LINEAR] = "linear",
                                        [RESIZE_CUBIC] = "cubic"};
    static const char *const places[] = {
        [RESIZE_HALF_PIXEL] = "half_pixel",
        [RESIZE_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
        [RESIZE_ALIGN_CORNERS] = "align_corners",
        [RESIZE_ASYMMETRIC] = "asymmetric",
        [RESIZE_CROP] = "tf_crop_and_resize"};
    static const char *const nearests[] = {
        [RESIZE_ROUND_PREFER_FLOOR] = "round_prefer_floor",
        [RESIZE_ROUND_PREFER_CEIL] = "round_prefer_ceil",
        [RESIZE_FLOOR] = "floor",
        [RESIZE_CEIL] = "ceil"};
    const struct resize_attrs *attrs = to->node->attrs;

    if (attrs->place == RESIZE_HALF_PIXEL_FOR_NEAREST) {
        onnx_refuse(to, "its places went with opset 13");
        return;
    }
    onnx_attr_text(to, "mode", modes[attrs->mode]);
    onnx_attr_text(to, "coordinate_transformation_mode", places[attrs->place]);
    onnx_attr_text(to, "nearest_mode", nearests[attrs->nearest]);
    onnx_attr_float(to, "cubic_coeff_a", (double)attrs->cubic);
    onnx_attr_int(to, "exclude_outside", attrs->excludes_outside);
    onnx_attr_float(to, "extrapolation_value", (double)attrs->outside);
    onnx_put_node(to, "Resize", all_inputs);
}

static void export_depth(struct onnx_export *to)
{
    const struct depth_attrs *attrs = to->node->attrs;
    bool to_space = to->node->op == &op_depth_to_space;

    onnx_attr_int(to, "blocksize", attrs->block);
    if (to_space)
        onnx_attr_text(to, "mode", attrs->is_depth_first ? "CRD" : "DCR");
    onnx_put_node(to, to_space ? "DepthToSpace" : "SpaceToDepth", 1);
}

/* ---- along an axis ------------------------------------------------------- */

static void export_softmax(struct onnx_export *to)
{
    const struct softmax_attrs *attrs = to->node->attrs;
    const struct shape *x = input_shape(to, 0);
    int axis = x && attrs->axis < 0 ? attrs->axis + x->rank : attrs->axis;

    for (int i = axis + 1; attrs->is_flat && (!x || i < x->rank); i++) {
        if (!x || x->dims[i] != 1) {
            onnx_refuse(to, "several dimensions as one came to an end with "
                            "opset 13");
            return;
        }
    }
    onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, to->node->op->name, 1);
}

/* The axes are an input of ReduceSum, of the others an attribute. */
static void export_reduce(struct onnx_export *to)
{
    const struct reduce_attrs *attrs = to->node->attrs;
    const struct node *node = to->node;
    bool is_sum = node->op == &op_reduce_sum;
    uint32_t axes = node->n_inputs > 1 ? node->inputs[1] : GRAPH_NONE;

    onnx_attr_int(to, "keepdims", attrs->keeps_dims);
    if (is_sum)
        onnx_attr_int(to, "noop_with_empty_axes", attrs->empty_is_none);
    if (!is_sum && axes != GRAPH_NONE) {
        const struct tensor *list = &graph_value(to->graph, axes)->data;

        if (!list->buffer || list->dtype != DTYPE_I64) {
            onnx_refuse(to, "its axes are computed");
            return;
        }
        onnx_attr_ints(to, "axes", tensor_i64(list), tensor_elements(list));
    }
    onnx_put_node(to, node->op->name, is_sum ? 2 : 1);
}

static void export_top_k(struct onnx_export *to)
{
    const struct top_k_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "axis", attrs->axis);
    onnx_attr_int(to, "largest", !attrs->is_smallest);
    onnx_put_node(to, "TopK", 2);
}

static void export_shape(struct onnx_export *to)
{
    const struct shape_of_attrs *attrs = to->node->attrs;

    if (attrs->start || attrs->end != INT64_MAX) {
        onnx_needs_opset(to, 15);
        onnx_attr_int(to, "start", attrs->start);
        onnx_attr_int(to, "end", attrs->end);
    }
    onnx_put_node(to, "Shape", 1);
}

/* ---- the table ---------------------------------------------------------- */

/* clang-format off */
static const struct {
    const struct op_class *op;
    void (*write)(struct onnx_export *to);
} table[] = {
    {&op_adaptive_avg_pool2d, export_adaptive},
    {&op_avg_pool2d, export_avg_pool2d},
    {&op_avg_pool_nd, export_pool_nd},
    {&op_batch_norm, export_batch_norm},
    {&op_cast, export_cast},
    {&op_clip, export_clip},
    {&op_concat, export_concat},
    {&op_constant_of_shape, export_constant_of_shape},
    {&op_conv2d, export_conv2d},
    {&op_conv_nd, export_conv_nd},
    {&op_conv_transpose2d, export_conv_transpose2d},
    {&op_conv_transpose_nd, export_conv_transpose_nd},
    {&op_depth_to_space, export_depth},
    {&op_dequantize_linear, export_quantize},
    {&op_dropout, export_dropout},
    {&op_flatten, export_flatten},
    {&op_flatten_at, export_flatten},
    {&op_gather, export_gather},
    {&op_gather_elements, export_gather},
    {&op_gather_nd, export_gather},
    {&op_gelu, export_gelu},
    {&op_gemm, export_gemm},
    {&op_hard_swish, export_hard_swish},
    {&op_hardmax, export_softmax},
    {&op_instance_norm, export_instance_norm},
    {&op_layer_norm, export_layer_norm},
    {&op_linear, export_linear},
    {&op_local_response_norm, export_local_response_norm},
    {&op_log_softmax, export_softmax},
    {&op_max_pool2d, export_max_pool2d},
    {&op_max_pool_nd, export_pool_nd},
    {&op_mish, export_mish},
    {&op_pad, export_pad},
    {&op_prelu, export_prelu},
    {&op_quantize_linear, export_quantize},
    {&op_relu, export_relu},
    {&op_reshape, export_reshape},
    {&op_resize, export_resize},
    {&op_shape_of, export_shape},
    {&op_silu, export_silu},
    {&op_softmax, export_softmax},
    {&op_space_to_depth, export_depth},
    {&op_split, export_split},
    {&op_top_k, export_top_k},
    {&op_transpose, export_transpose},

    {&op_reduce_l1, export_reduce}, {&op_reduce_l2, export_reduce},
    {&op_reduce_max, export_reduce}, {&op_reduce_mean, export_reduce},
    {&op_reduce_min, export_reduce}, {&op_reduce_prod, export_reduce},
    {&op_reduce_sum, export_reduce},

    {&op_celu, export_parameters}, {&op_elu, export_parameters},
    {&op_hard_sigmoid, export_parameters},
    {&op_leaky_relu, export_parameters}, {&op_selu, export_parameters},
    {&op_shrink, export_parameters}, {&op_thresholded_relu, export_parameters},

    /* ONNX has them under the same name, and with nothing to add. */
    {&op_abs, export_named}, {&op_add, export_named},
    {&op_and, export_named}, {&op_ceil, export_named},
    {&op_cos, export_named}, {&op_div, export_named},
    {&op_equal, export_named}, {&op_erf, export_named},
    {&op_exp, export_named}, {&op_expand, export_named},
    {&op_floor, export_named}, {&op_greater, export_named},
    {&op_identity, export_named}, {&op_less, export_named},
    {&op_log, export_named}, {&op_matmul, export_named},
    {&op_max, export_named}, {&op_mean, export_named},
    {&op_min, export_named}, {&op_mul, export_named},
    {&op_neg, export_named}, {&op_non_zero, export_named},
    {&op_not, export_named}, {&op_or, export_named},
    {&op_pow, export_named}, {&op_range, export_named},
    {&op_reciprocal, export_named}, {&op_round, export_named},
    {&op_sigmoid, export_named}, {&op_sin, export_named},
    {&op_size, export_named}, {&op_slice, export_named},
    {&op_softplus, export_named}, {&op_softsign, export_named},
    {&op_sqrt, export_named}, {&op_squeeze, export_named},
    {&op_sub, export_named}, {&op_sum, export_named},
    {&op_tanh, export_named}, {&op_tile, export_named},
    {&op_unsqueeze, export_named}, {&op_where, export_named},
};
/* clang-format on */

bool onnx_export_node(struct onnx_export *to)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].op == to->node->op) {
            table[i].write(to);
            return true;
        }
    }
    return false;
}
