/* formats/onnx/onnx_map_vision.c - what pictures and boxes need. */
#include "formats/onnx/onnx_ops_internal.h"
#include "ops/detection/box_select.h"
#include "ops/detection/roi_crop.h"
#include "ops/movement/grid_sample.h"
#include "ops/movement/rearrange.h"
#include "ops/movement/resize.h"
#include "ops/ops.h"

#include <string.h>

/* The index of the attribute's text in a list. */
static int onnx_vision_choose(struct onnx_call *call, const char *name,
                              const char *fallback, const char *const *texts,
                              int n)
{
    const char *text = onnx_text(call, name, fallback);

    for (int i = 0; i < n; i++) {
        if (texts[i] && strcmp(texts[i], text) == 0)
            return i;
    }
    onnx_fail(call, ASSAY_UNSUPPORTED, "%s '%s' is not supported", name, text);
    return 0;
}

#define CHOOSE(call, name, fallback, texts)                                    \
    onnx_vision_choose(call, name, fallback, texts,                            \
                       (int)(sizeof texts / sizeof *texts))

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
    [RESIZE_CROP] = "tf_crop_and_resize"};
static const char *const resize_nearests[] = {
    [RESIZE_ROUND_PREFER_FLOOR] = "round_prefer_floor",
    [RESIZE_ROUND_PREFER_CEIL] = "round_prefer_ceil",
    [RESIZE_FLOOR] = "floor",
    [RESIZE_CEIL] = "ceil"};

static void import_resize(struct onnx_call *call)
{
    struct resize_attrs attrs = {
        .mode = (enum resize_mode)CHOOSE(call, "mode", "nearest", resize_modes),
        .place =
            (enum resize_place)CHOOSE(call, "coordinate_transformation_mode",
                                      "half_pixel", resize_places),
        .nearest = (enum resize_nearest)CHOOSE(
            call, "nearest_mode", "round_prefer_floor", resize_nearests),
        .cubic = onnx_float(call, "cubic_coeff_a", -0.75F),
        .excludes_outside = onnx_int(call, "exclude_outside", 0),
        .outside = onnx_float(call, "extrapolation_value", 0)};

    onnx_emit(call, &op_resize, &attrs);
}

/* Before opset 11 there was one way; scales are an input or, in opset 7, an
 * attribute. */
static void import_upsample(struct onnx_call *call)
{
    struct resize_attrs attrs = {
        .mode = (enum resize_mode)CHOOSE(call, "mode", "nearest", resize_modes),
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
    static const char *const modes[] = {[GRID_BILINEAR] = "bilinear",
                                        [GRID_NEAREST] = "nearest",
                                        [GRID_BICUBIC] = "bicubic"};
    static const char *const paddings[] = {[GRID_ZEROS] = "zeros",
                                           [GRID_BORDER] = "border",
                                           [GRID_REFLECTION] = "reflection"};
    struct grid_sample_attrs attrs = {
        .mode = (enum grid_mode)CHOOSE(call, "mode", "bilinear", modes),
        .padding =
            (enum grid_padding)CHOOSE(call, "padding_mode", "zeros", paddings),
        .aligns_corners = onnx_int(call, "align_corners", 0)};

    onnx_emit(call, &op_grid_sample, &attrs);
}

static void import_depth(struct onnx_call *call)
{
    static const char *const modes[] = {"DCR", "CRD"};
    struct depth_attrs attrs = {.block = onnx_int(call, "blocksize", 0),
                                .is_depth_first =
                                    CHOOSE(call, "mode", "DCR", modes) == 1};

    onnx_emit(call, op_find(call->node->op_type), &attrs);
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
            CHOOSE(call, "coordinate_transformation_mode",
                   is_old ? "output_half_pixel" : "half_pixel", places) == 1,
        .is_max = CHOOSE(call, "mode", "avg", modes) == 1};

    onnx_emit(call, &op_roi_crop, &attrs);
}

const struct onnx_op onnx_vision_ops[] = {
    {"DepthToSpace", 1, 17, 1, 1, import_depth},
    {"GridSample", 16, 17, 2, 2, import_grid_sample},
    {"NonMaxSuppression", 10, 17, 2, 5, import_non_max_suppression},
    {"Resize", 10, 10, 2, 2, import_upsample},
    {"Resize", 11, 17, 1, 4, import_resize},
    {"RoiAlign", 10, 17, 3, 3, import_roi_align},
    {"SpaceToDepth", 1, 17, 1, 1, import_depth},
    {"Upsample", 7, 9, 1, 2, import_upsample},
    {0},
};
