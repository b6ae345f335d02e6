/* formats/onnx/onnx_map_shapes.c - ops that move, repeat and pick elements.
 *
 * Attributes of older opsets become the constant inputs that they are in later
 * ones. */
#include "formats/onnx/onnx_import_internal.h"
#include "ops/math/cast.h"
#include "ops/movement/center_crop_pad.h"
#include "ops/movement/concat.h"
#include "ops/movement/fill_ops.h"
#include "ops/movement/gather.h"
#include "ops/movement/pad.h"
#include "ops/movement/rearrange.h"
#include "ops/movement/select_ops.h"
#include "ops/movement/shape_views.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "ops/ops.h"

#include <string.h>

/* An input, or in older opsets the list of an attribute. GRAPH_NONE if there is
 * neither. */
static uint32_t input_or_list(struct onnx_call *call, size_t input,
                              const char *name)
{
    uint32_t value = onnx_input(call, input);
    const int64_t *ints;
    size_t n = onnx_ints(call, name, &ints);

    return value == GRAPH_NONE && onnx_has(call, name)
               ? onnx_new_i64s(call, ints, n)
               : value;
}

static void import_identity(struct onnx_call *call)
{
    call->outputs[0] = call->inputs[0];
}

/* ---- views -------------------------------------------------------------- */

static void onnx_shapes_import_reshape(struct onnx_call *call)
{
    struct shape_view_attrs attrs = {.allows_zero =
                                         onnx_int(call, "allowzero", 0)};
    uint32_t inputs[] = {onnx_input(call, 0), input_or_list(call, 1, "shape")};

    onnx_emit_inputs(call, &op_reshape, &attrs, inputs, 2);
}

static void onnx_shapes_import_flatten(struct onnx_call *call)
{
    struct shape_view_attrs attrs = {.axis = onnx_int(call, "axis", 1)};

    onnx_emit(call, attrs.axis == 1 ? &op_flatten : &op_flatten_at, &attrs);
}

static void import_squeeze(struct onnx_call *call)
{
    uint32_t inputs[] = {onnx_input(call, 0), input_or_list(call, 1, "axes")};

    onnx_emit_inputs(call, op_find(call->node->op_type), NULL, inputs, 2);
}

/* ---- order and parts ---------------------------------------------------- */

static void import_transpose(struct onnx_call *call)
{
    struct transpose_attrs attrs = {0};
    const int64_t *order;
    size_t n = onnx_ints(call, "perm", &order);

    if (n > SHAPE_MAX_RANK)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "it has %zu dimensions; at most %d are supported", n,
                  SHAPE_MAX_RANK);
    else if (n)
        memcpy(attrs.order, order, n * sizeof *order);
    attrs.rank = (int)n;
    onnx_emit(call, &op_transpose, &attrs);
}

static void import_slice(struct onnx_call *call)
{
    uint32_t inputs[] = {onnx_input(call, 0), input_or_list(call, 1, "starts"),
                         input_or_list(call, 2, "ends"),
                         input_or_list(call, 3, "axes"), onnx_input(call, 4)};

    onnx_emit_inputs(call, &op_slice, NULL, inputs, 5);
}

static void import_split(struct onnx_call *call)
{
    struct split_attrs attrs = {.axis = onnx_int(call, "axis", 0)};
    uint32_t inputs[] = {onnx_input(call, 0), input_or_list(call, 1, "split")};

    if (onnx_int(call, "num_outputs", (int64_t)call->n_outputs) !=
        (int64_t)call->n_outputs)
        onnx_fail(call, ASSAY_BAD_INPUT, "num_outputs is not its outputs");
    onnx_emit_inputs(call, &op_split, &attrs, inputs, 2);
}

static void import_center_crop_pad(struct onnx_call *call)
{
    struct center_crop_pad_attrs attrs = {0};
    const int64_t *axes;

    attrs.n_axes = onnx_ints(call, "axes", &axes);
    if (attrs.n_axes > SHAPE_MAX_RANK)
        onnx_fail(call, ASSAY_BAD_INPUT, "it names %zu axes", attrs.n_axes);
    else if (attrs.n_axes)
        memcpy(attrs.axes, axes, attrs.n_axes * sizeof *axes);
    onnx_emit(call, &op_center_crop_pad, &attrs);
}

static void import_concat(struct onnx_call *call)
{
    /* Opset 1 has a default. */
    struct concat_attrs attrs = {.axis = onnx_axis(call, 1)};

    onnx_emit(call, &op_concat, &attrs);
}

static void import_pad(struct onnx_call *call)
{
    static const char *const modes[] = {[PAD_CONSTANT] = "constant",
                                        [PAD_REFLECT] = "reflect",
                                        [PAD_EDGE] = "edge",
                                        [PAD_WRAP] = "wrap"};
    struct pad_attrs attrs = {
        .mode = (enum pad_mode)ONNX_CHOOSE(call, "mode", "constant", modes)};
    const struct tensor *x = onnx_known(call, onnx_input(call, 0));
    uint32_t inputs[] = {
        onnx_input(call, 0),
        input_or_list(call, 1, call->opset < 2 ? "paddings" : "pads"),
        onnx_input(call, 2), onnx_input(call, 3)};

    if (call->opset < 11)
        inputs[2] = onnx_new_scalar(call, x ? x->dtype : DTYPE_F32,
                                    (double)onnx_float(call, "value", 0));
    onnx_emit_inputs(call, &op_pad, &attrs, inputs, 4);
}

/* ---- by index ----------------------------------------------------------- */

static void import_gather(struct onnx_call *call)
{
    struct gather_attrs attrs = {.axis = onnx_int(call, "axis", 0),
                                 .batch_dims = onnx_int(call, "batch_dims", 0)};

    onnx_emit_named(call, &attrs);
}

/* Scatter became ScatterElements in opset 11. */
static void import_scatter(struct onnx_call *call)
{
    static const char *const names[] = {
        [SCATTER_NONE] = "none", [SCATTER_ADD] = "add", [SCATTER_MUL] = "mul",
        [SCATTER_MIN] = "min",   [SCATTER_MAX] = "max",
    };
    bool is_nd = strcmp(call->node->op_type, "ScatterND") == 0;
    struct scatter_attrs attrs = {
        .axis = onnx_int(call, "axis", 0),
        .reduction = (enum scatter_reduction)ONNX_CHOOSE(call, "reduction",
                                                         "none", names)};

    onnx_emit(call, is_nd ? &op_scatter_nd : &op_scatter_elements, &attrs);
}

static void import_select(struct onnx_call *call)
{
    struct select_attrs attrs = {.has_axis = onnx_has(call, "axis"),
                                 .axis = onnx_int(call, "axis", 0),
                                 .is_sorted = onnx_int(call, "sorted", 1)};

    onnx_emit_named(call, &attrs);
}

static void import_reverse_sequence(struct onnx_call *call)
{
    struct reverse_sequence_attrs attrs = {
        .batch_axis = onnx_int(call, "batch_axis", 1),
        .time_axis = onnx_int(call, "time_axis", 0)};

    onnx_emit(call, &op_reverse_sequence, &attrs);
}

/* ---- generated ---------------------------------------------------------- */

static void import_constant(struct onnx_call *call)
{
    const float *floats;
    const int64_t *ints;
    size_t n;

    if (onnx_has(call, "value"))
        call->outputs[0] = onnx_new_tensor(call, "value");
    else if (onnx_has(call, "sparse_value"))
        call->outputs[0] = onnx_new_tensor(call, "sparse_value");
    else if (onnx_has(call, "value_float"))
        call->outputs[0] = onnx_new_scalar(
            call, DTYPE_F32, (double)onnx_float(call, "value_float", 0));
    else if (onnx_has(call, "value_floats"))
        n = onnx_floats(call, "value_floats", &floats),
        call->outputs[0] = onnx_new_f32s(call, floats, n);
    else if (onnx_has(call, "value_int"))
        call->outputs[0] = onnx_new_scalar(
            call, DTYPE_I64, (double)onnx_int(call, "value_int", 0));
    else if (onnx_has(call, "value_ints"))
        n = onnx_ints(call, "value_ints", &ints),
        call->outputs[0] = onnx_new_i64s(call, ints, n);
    else
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "only tensors, numbers and lists of them are supported");
}

static void import_shape(struct onnx_call *call)
{
    struct shape_of_attrs attrs = {.start = onnx_int(call, "start", 0),
                                   .end = onnx_int(call, "end", INT64_MAX)};

    onnx_emit(call, &op_shape_of, &attrs);
}

static void import_constant_of_shape(struct onnx_call *call)
{
    uint32_t inputs[] = {onnx_input(call, 0), onnx_new_tensor(call, "value")};

    if (inputs[1] == GRAPH_NONE)
        inputs[1] = onnx_new_scalar(call, DTYPE_F32, 0);
    onnx_emit_inputs(call, &op_constant_of_shape, NULL, inputs, 2);
}

static void import_eye_like(struct onnx_call *call)
{
    struct eye_like_attrs attrs = {.has_dtype = onnx_has(call, "dtype"),
                                   .dtype = onnx_type(call, "dtype", 1),
                                   .diagonal = onnx_int(call, "k", 0)};

    onnx_emit(call, &op_eye_like, &attrs);
}

static void import_one_hot(struct onnx_call *call)
{
    struct one_hot_attrs attrs = {.axis = onnx_int(call, "axis", -1)};

    onnx_emit(call, &op_one_hot, &attrs);
}

static void import_trilu(struct onnx_call *call)
{
    struct trilu_attrs attrs = {.is_upper = onnx_int(call, "upper", 1)};

    onnx_emit(call, &op_trilu, &attrs);
}

const struct onnx_op onnx_shape_ops[] = {
    {"CenterCropPad", 18, ONNX_NOW, 2, 2, import_center_crop_pad},
    {"Compress", 9, ONNX_NOW, 2, 2, import_select},
    {"Concat", 1, ONNX_NOW, 1, ONNX_ANY, import_concat},
    {"Constant", 1, ONNX_NOW, 0, 0, import_constant},
    {"ConstantOfShape", 9, ONNX_NOW, 1, 1, import_constant_of_shape},
    {"Expand", 8, ONNX_NOW, 2, 2, onnx_import_named},
    {"EyeLike", 9, ONNX_NOW, 1, 1, import_eye_like},
    {"Flatten", 1, ONNX_NOW, 1, 1, onnx_shapes_import_flatten},
    {"Gather", 1, ONNX_NOW, 2, 2, import_gather},
    {"GatherElements", 11, ONNX_NOW, 2, 2, import_gather},
    {"GatherND", 11, ONNX_NOW, 2, 2, import_gather},
    {"Identity", 1, ONNX_NOW, 1, 1, import_identity},
    {"NonZero", 9, ONNX_NOW, 1, 1, onnx_import_named},
    {"OneHot", 9, ONNX_NOW, 3, 3, import_one_hot},
    {"Pad", 1, ONNX_NOW, 1, 4, import_pad},
    {"Range", 11, ONNX_NOW, 3, 3, onnx_import_named},
    {"Reshape", 1, ONNX_NOW, 1, 2, onnx_shapes_import_reshape},
    {"ReverseSequence", 10, ONNX_NOW, 2, 2, import_reverse_sequence},
    {"Scatter", 9, 10, 3, 3, import_scatter},
    {"ScatterElements", 11, ONNX_NOW, 3, 3, import_scatter},
    {"ScatterND", 11, ONNX_NOW, 3, 3, import_scatter},
    {"Shape", 1, ONNX_NOW, 1, 1, import_shape},
    {"Size", 1, ONNX_NOW, 1, 1, onnx_import_named},
    {"Slice", 1, ONNX_NOW, 1, 5, import_slice},
    {"Split", 1, ONNX_NOW, 1, 2, import_split},
    {"Squeeze", 1, ONNX_NOW, 1, 2, import_squeeze},
    {"Tile", 6, ONNX_NOW, 2, 2, onnx_import_named},
    {"Transpose", 1, ONNX_NOW, 1, 1, import_transpose},
    {"Trilu", 14, ONNX_NOW, 1, 2, import_trilu},
    {"Unique", 11, ONNX_NOW, 1, 1, import_select},
    {"Unsqueeze", 1, ONNX_NOW, 1, 2, import_squeeze},
    {0},
};
