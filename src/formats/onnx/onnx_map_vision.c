/* formats/onnx/onnx_map_vision.c - ops for pictures and boxes. */
#include "formats/onnx/onnx_steps_internal.h"
#include "ops/convolution/deform_conv.h"
#include "ops/detection/box_select.h"
#include "ops/detection/roi_crop.h"
#include "ops/movement/affine_grid.h"
#include "ops/movement/col2im.h"
#include "ops/movement/grid_sample.h"
#include "ops/movement/rearrange.h"
#include "ops/movement/resize.h"
#include "ops/ops.h"

#include <string.h>

/* ---- Resize, Upsample --------------------------------------------------- */

static const char *const resize_modes[] = {[RESIZE_NEAREST] = "nearest",
                                           [RESIZE_LINEAR] = "linear",
                                           [RESIZE_CUBIC] = "cubic"};
static const char *const resize_places[] = {
    [RESIZE_HALF_PIXEL] = "half_pixel",
    [RESIZE_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
    [RESIZE_ALIGN_CORNERS] = "align_corners",
    [RESIZE_ASYMMETRIC] = "asymmetric",
    [RESIZE_HALF_PIXEL_FOR_NEAREST] = "tf_half_pixel_for_nn",
    [RESIZE_CROP] = "tf_crop_and_resize",
    [RESIZE_HALF_PIXEL_SYMMETRIC] = "half_pixel_symmetric"};
static const char *const resize_aspects[] = {[RESIZE_STRETCH] = "stretch",
                                             [RESIZE_NOT_LARGER] = "not_larger",
                                             [RESIZE_NOT_SMALLER] =
                                                 "not_smaller"};
static const char *const resize_nearests[] = {
    [RESIZE_ROUND_PREFER_FLOOR] = "round_prefer_floor",
    [RESIZE_ROUND_PREFER_CEIL] = "round_prefer_ceil",
    [RESIZE_FLOOR] = "floor",
    [RESIZE_CEIL] = "ceil"};

static void import_resize(struct onnx_call *call)
{
    struct resize_attrs attrs = {
        .mode = (enum resize_mode)ONNX_CHOOSE(call, "mode", "nearest",
                                              resize_modes),
        .place = (enum resize_place)ONNX_CHOOSE(
            call, "coordinate_transformation_mode", "half_pixel",
            resize_places),
        .nearest = (enum resize_nearest)ONNX_CHOOSE(
            call, "nearest_mode", "round_prefer_floor", resize_nearests),
        .cubic = onnx_float(call, "cubic_coeff_a", -0.75F),
        .excludes_outside = onnx_int(call, "exclude_outside", 0),
        .outside = onnx_float(call, "extrapolation_value", 0),
        .antialias = onnx_int(call, "antialias", 0),
        .aspect = (enum resize_aspect)ONNX_CHOOSE(
            call, "keep_aspect_ratio_policy", "stretch", resize_aspects)};
    const int64_t *axes;

    attrs.n_axes = onnx_ints(call, "axes", &axes);
    if (attrs.n_axes > SHAPE_MAX_RANK)
        onnx_fail(call, ASSAY_BAD_INPUT, "it names %zu axes", attrs.n_axes);
    else if (attrs.n_axes)
        memcpy(attrs.axes, axes, attrs.n_axes * sizeof *axes);
    onnx_emit(call, &op_resize, &attrs);
}

/* Before opset 11 there was one coordinate transformation; scales are an input
 * or, in opset 7, an attribute. */
static void import_upsample(struct onnx_call *call)
{
    struct resize_attrs attrs = {.mode = (enum resize_mode)ONNX_CHOOSE(
                                     call, "mode", "nearest", resize_modes),
                                 .place = RESIZE_ASYMMETRIC,
                                 .nearest = RESIZE_FLOOR};
    uint32_t inputs[] = {onnx_input(call, 0), GRAPH_NONE, onnx_input(call, 1)};
    const float *scales;
    size_t n = onnx_floats(call, "scales", &scales);

    if (n)
        inputs[2] = onnx_new_f32s(call, scales, n);
    onnx_emit_inputs(call, &op_resize, &attrs, inputs, 3);
}

/* ---- places ------------------------------------------------------------- */

static void import_grid_sample(struct onnx_call *call)
{
    /* Since opset 20 they are called by other names. */
    static const char *const modes[] = {[GRID_BILINEAR] = "bilinear",
                                        [GRID_NEAREST] = "nearest",
                                        [GRID_BICUBIC] = "bicubic",
                                        [3 + GRID_BILINEAR] = "linear",
                                        [3 + GRID_BICUBIC] = "cubic"};
    static const char *const paddings[] = {[GRID_ZEROS] = "zeros",
                                           [GRID_BORDER] = "border",
                                           [GRID_REFLECTION] = "reflection"};
    struct grid_sample_attrs attrs = {
        .mode =
            (enum grid_mode)(ONNX_CHOOSE(call, "mode", "bilinear", modes) % 3),
        .padding = (enum grid_padding)ONNX_CHOOSE(call, "padding_mode", "zeros",
                                                  paddings),
        .aligns_corners = onnx_int(call, "align_corners", 0)};

    onnx_emit(call, &op_grid_sample, &attrs);
}

static void import_affine_grid(struct onnx_call *call)
{
    struct affine_grid_attrs attrs = {.aligns_corners =
                                          onnx_int(call, "align_corners", 0)};

    onnx_emit(call, &op_affine_grid, &attrs);
}

static void import_col2im(struct onnx_call *call)
{
    int64_t rank = onnx_step_size(call, onnx_input(call, 1), 0);
    static const int64_t ones[] = {1, 1, 1};
    struct col2im_attrs attrs;

    /* The patch's sizes are an input. */
    if (rank < 1 || rank > WINDOW_MAX_RANK)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "pictures of 1 to %d dimensions are supported",
                  WINDOW_MAX_RANK);
    else if (onnx_window_read(call, (int)rank, ones, &attrs.window))
        onnx_emit(call, &op_col2im, &attrs);
}

static void import_deform_conv(struct onnx_call *call)
{
    const struct tensor *w = onnx_known(call, onnx_input(call, 1));
    struct deform_conv_attrs attrs = {.groups = onnx_int(call, "group", 1),
                                      .offset_groups =
                                          onnx_int(call, "offset_group", 1)};
    int rank = onnx_window_rank(call, w);

    if (rank != 2)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "only deformable convolutions over pictures are supported");
    if (onnx_window_read(call, 2, w ? w->shape.dims + 2 : NULL, &attrs.window))
        onnx_emit(call, &op_deform_conv, &attrs);
}

static void import_depth(struct onnx_call *call)
{
    static const char *const modes[] = {"DCR", "CRD"};
    struct depth_attrs attrs = {
        .block = onnx_int(call, "blocksize", 0),
        .is_depth_first = ONNX_CHOOSE(call, "mode", "DCR", modes) == 1};

    onnx_emit_named(call, &attrs);
}

/* ---- boxes -------------------------------------------------------------- */

static void import_non_max_suppression(struct onnx_call *call)
{
    struct box_select_attrs attrs = {.is_centred =
                                         onnx_int(call, "center_point_box", 0)};

    onnx_emit(call, &op_box_select, &attrs);
}

static void import_roi_align(struct onnx_call *call)
{
    static const char *const modes[] = {"avg", "max"};
    static const char *const places[] = {"output_half_pixel", "half_pixel"};
    bool is_old = call->opset < 16;
    struct roi_crop_attrs attrs = {
        .height = onnx_int(call, "output_height", 1),
        .width = onnx_int(call, "output_width", 1),
        .sampling_ratio = onnx_int(call, "sampling_ratio", 0),
        .scale = onnx_float(call, "spatial_scale", 1),
        .is_half_pixel =
            ONNX_CHOOSE(call, "coordinate_transformation_mode",
                        is_old ? "output_half_pixel" : "half_pixel",
                        places) == 1,
        .is_max = ONNX_CHOOSE(call, "mode", "avg", modes) == 1};

    onnx_emit(call, &op_roi_crop, &attrs);
}

const struct onnx_op onnx_vision_ops[] = {
    {"AffineGrid", 20, ONNX_NOW, 2, 2, import_affine_grid},
    {"Col2Im", 18, ONNX_NOW, 3, 3, import_col2im},
    {"DeformConv", 19, ONNX_NOW, 3, 5, import_deform_conv},
    {"DepthToSpace", 1, ONNX_NOW, 1, 1, import_depth},
    {"GridSample", 16, ONNX_NOW, 2, 2, import_grid_sample},
    {"NonMaxSuppression", 10, ONNX_NOW, 2, 5, import_non_max_suppression},
    {"Resize", 10, 10, 2, 2, import_upsample},
    {"Resize", 11, ONNX_NOW, 1, 4, import_resize},
    {"RoiAlign", 10, ONNX_NOW, 3, 3, import_roi_align},
    {"SpaceToDepth", 1, ONNX_NOW, 1, 1, import_depth},
    {"Upsample", 7, 9, 1, 2, import_upsample},
    {0},
};
