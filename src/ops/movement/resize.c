/* ops/movement/resize.c - see resize.h.
 *
 * One axis after the other, through a table of the elements that each new one
 * is made of. */
#include "ops/movement/resize_internal.h"

#include "base/mem.h"
#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

#include <math.h>
#include <string.h>

enum { parallel_elements = 1 << 14 };

static const struct tensor *resize_input_at(const struct node *node,
                                            const struct tensor *const *inputs,
                                            size_t i)
{
    const struct tensor *tensor = i < node->n_inputs ? inputs[i] : NULL;

    /* Older exporters give an empty tensor for what is left out. */
    return tensor && tensor_elements(tensor) ? tensor : NULL;
}

static enum assay_status get_floats(const struct tensor *tensor, size_t n,
                                    double *values, struct error *err)
{
    if (!tensor->buffer)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "the shape depends on what is computed before");
    if (tensor_elements(tensor) != n ||
        (tensor->dtype != DTYPE_F32 && tensor->dtype != DTYPE_F64))
        return error_set(err, ASSAY_BAD_INPUT, "%zu numbers of %s for %zu",
                         tensor_elements(tensor), dtype_name(tensor->dtype), n);
    for (size_t i = 0; i < n; i++)
        values[i] = tensor->dtype == DTYPE_F32
                        ? (double)tensor_f32(tensor)[i]
                        : ((double *)tensor_data(tensor))[i];
    return ASSAY_OK;
}

static enum assay_status set_sizes(struct resize_axis *axes, int rank,
                                   const struct tensor *sizes,
                                   struct error *err)
{
    struct int_list list;
    enum assay_status st = int_list_read(sizes, &list, err);

    if (!st && list.n != (size_t)rank)
        st = error_set(err, ASSAY_BAD_INPUT, "%zu sizes for %d dimensions",
                       list.n, rank);
    for (int i = 0; !st && i < rank; i++) {
        if (list.of[i] < 0 || (axes[i].from == 0 && list.of[i]))
            return error_set(err, ASSAY_BAD_INPUT, "a size of %lld from %lld",
                             (long long)list.of[i], (long long)axes[i].from);
        axes[i].to = list.of[i];
        axes[i].scale =
            axes[i].from ? (double)axes[i].to / (double)axes[i].from : 1;
    }
    return st;
}

static enum assay_status set_scales(struct resize_axis *axes, int rank,
                                    bool is_crop, const struct tensor *scales,
                                    struct error *err)
{
    double values[SHAPE_MAX_RANK];
    enum assay_status st = get_floats(scales, (size_t)rank, values, err);

    for (int i = 0; !st && i < rank; i++) {
        double share = is_crop ? axes[i].end - axes[i].start : 1;
        double size = floor((double)axes[i].from * share * values[i]);

        if (!(values[i] > 0) || !(size >= 0 && size < 0x1p40))
            return error_set(err, ASSAY_BAD_INPUT, "a scale of %g for %lld",
                             values[i], (long long)axes[i].from);
        axes[i].scale = values[i];
        axes[i].to = (int64_t)size;
    }
    return st;
}

enum assay_status resize_axes(const struct node *node,
                              const struct tensor *const *inputs,
                              struct resize_axis *axes, struct error *err)
{
    const struct resize_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[RESIZE_X]->shape;
    const struct tensor *roi = resize_input_at(node, inputs, RESIZE_ROI);
    const struct tensor *scales = resize_input_at(node, inputs, RESIZE_SCALES);
    const struct tensor *sizes = resize_input_at(node, inputs, RESIZE_SIZES);
    bool is_crop = attrs->place == RESIZE_CROP;
    double ends[2 * SHAPE_MAX_RANK];
    enum assay_status st = ASSAY_OK;

    if (is_crop && !roi)
        return error_set(err, ASSAY_BAD_INPUT, "no region to crop");
    if (is_crop)
        st = get_floats(roi, 2 * (size_t)x->rank, ends, err);
    for (int i = 0; !st && i < x->rank; i++)
        axes[i] = (struct resize_axis){.from = x->dims[i],
                                       .start = is_crop ? ends[i] : 0,
                                       .end = is_crop ? ends[x->rank + i] : 1};
    if (st)
        return st;
    if (sizes)
        return set_sizes(axes, x->rank, sizes, err);
    if (scales)
        return set_scales(axes, x->rank, is_crop, scales, err);
    return error_set(err, ASSAY_BAD_INPUT, "neither scales nor sizes");
}

static enum assay_status resize_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    struct shape y = inputs[RESIZE_X]->shape;
    struct resize_axis axes[SHAPE_MAX_RANK];
    enum assay_status st = resize_axes(node, inputs, axes, err);

    for (int i = 0; !st && i < y.rank; i++)
        y.dims[i] = axes[i].to;
    if (!st)
        rule_set(&outputs[0], inputs[RESIZE_X]->dtype, &y);
    return st;
}

/* ---- the tables ------------------------------------------------------- */

/* Where in x the i-th new element lies. */
static double resize_place_of(const struct resize_attrs *attrs,
                              const struct resize_axis *axis, int64_t i)
{
    double last = (double)axis->from - 1, x = (double)i;
    /* Not rounded: a scale of 0.6 makes 2.4 of 4. */
    double length = axis->scale * (double)axis->from;

    switch (attrs->place) {
    case RESIZE_PYTORCH_HALF_PIXEL:
        return axis->to > 1 ? (x + 0.5) / axis->scale - 0.5 : 0;
    case RESIZE_ALIGN_CORNERS:
        return length == 1 ? 0 : x * last / (length - 1);
    case RESIZE_ASYMMETRIC:
        return x / axis->scale;
    case RESIZE_HALF_PIXEL_FOR_NEAREST:
        return (x + 0.5) / axis->scale;
    case RESIZE_CROP:
        if (axis->to > 1)
            return axis->start * last + x * (axis->end - axis->start) * last /
                                            ((double)axis->to - 1);
        return 0.5 * (axis->start + axis->end) * last;
    case RESIZE_HALF_PIXEL:
        break;
    }
    return (x + 0.5) / axis->scale - 0.5;
}

static int64_t resize_held(double place, int64_t size)
{
    return place < 0 ? 0 : place > (double)size - 1 ? size - 1 : (int64_t)place;
}

static double nearest_to(enum resize_nearest nearest, double place)
{
    switch (nearest) {
    case RESIZE_ROUND_PREFER_CEIL:
        return floor(place + 0.5);
    case RESIZE_FLOOR:
        return floor(place);
    case RESIZE_CEIL:
        return ceil(place);
    case RESIZE_ROUND_PREFER_FLOOR:
        break;
    }
    return ceil(place - 0.5);
}

/* The weight of an element at a distance, by the cubic of Keys. */
static double resize_cubic_weight(double a, double distance)
{
    double d = fabs(distance);

    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

struct resize_taps resize_make_taps(const struct resize_attrs *attrs,
                                    const struct resize_axis *axis, int64_t i)
{
    double place = resize_place_of(attrs, axis, i), base = floor(place),
           sum = 0;
    int n = attrs->mode == RESIZE_CUBIC ? 4 : 2, before = n / 2 - 1;
    struct resize_taps taps = {
        .is_outside = attrs->place == RESIZE_CROP &&
                      (place < 0 || place > (double)axis->from - 1)};
    double weights[RESIZE_TAPS] = {0};

    if (attrs->mode == RESIZE_NEAREST) {
        taps.at[0] = resize_held(nearest_to(attrs->nearest, place), axis->from);
        taps.weights[0] = 1;
        return taps;
    }
    for (int k = 0; k < n; k++) {
        double at = base + k - before, distance = place - at;
        bool is_there = at >= 0 && at < (double)axis->from;

        taps.at[k] = resize_held(at, axis->from);
        weights[k] = attrs->mode == RESIZE_CUBIC
                         ? resize_cubic_weight((double)attrs->cubic, distance)
                         : 1 - fabs(distance);
        if (attrs->excludes_outside && !is_there)
            weights[k] = 0;
        sum += weights[k];
    }
    for (int k = 0; k < n; k++)
        taps.weights[k] =
            (float)(attrs->excludes_outside ? weights[k] / sum : weights[k]);
    return taps;
}

/* ---- one axis --------------------------------------------------------- */

/* x [outer, from, inner] to y [outer, to, inner]. */
struct pass {
    const struct resize_taps *taps;
    int64_t outer, from, to, inner;
    size_t bytes;
};

static void copy_line(const struct pass *pass, const char *x, char *y)
{
    size_t bytes = (size_t)pass->inner * pass->bytes;

    if (bytes == 4) {
        for (int64_t i = 0; i < pass->to; i++)
            memcpy(y + i * 4, x + pass->taps[i].at[0] * 4, 4);
        return;
    }
    for (int64_t i = 0; i < pass->to; i++)
        memcpy(y + (size_t)i * bytes, x + (size_t)pass->taps[i].at[0] * bytes,
               bytes);
}

VARIANTS(void, blend_line,
         (const struct pass *pass, int n, const float *x, float *y),
         (pass, n, x, y))
{
    for (int64_t i = 0; i < pass->to; i++, y += pass->inner) {
        const struct resize_taps *taps = &pass->taps[i];

        for (int64_t k = 0; k < pass->inner; k++)
            y[k] = taps->weights[0] * x[taps->at[0] * pass->inner + k];
        for (int t = 1; t < n; t++) {
            const float *row = x + taps->at[t] * pass->inner;

            for (int64_t k = 0; k < pass->inner; k++)
                y[k] += taps->weights[t] * row[k];
        }
    }
}

static void run_pass(const struct op_context *context,
                     const struct resize_attrs *attrs, const struct pass *pass,
                     const char *x, char *y)
{
    int n = attrs->mode == RESIZE_CUBIC ? 4 : 2;
    size_t from = (size_t)(pass->from * pass->inner) * pass->bytes;
    size_t to = (size_t)(pass->to * pass->inner) * pass->bytes;

#pragma omp parallel for num_threads(op_threads(                               \
    context)) if (pass->outer * pass->to * pass->inner > parallel_elements)
    for (int64_t i = 0; i < pass->outer; i++) {
        const void *line = x + (size_t)i * from;
        void *made = y + (size_t)i * to;

        if (attrs->mode == RESIZE_NEAREST)
            copy_line(pass, line, made);
        else
            blend_line(pass, n, line, made);
    }
}

/* Along a cropped axis: what lies beyond x gets the value for it. */
static void fill_outside(const struct resize_attrs *attrs,
                         const struct pass *pass, float *y)
{
    for (int64_t i = 0; i < pass->outer * pass->to; i++) {
        for (int64_t k = 0;
             pass->taps[i % pass->to].is_outside && k < pass->inner; k++)
            y[i * pass->inner + k] = attrs->outside;
    }
}

/* Replaces x by the resized one; in `last`, where it is the last one. */
static enum assay_status change_axis(const struct op_context *context,
                                     const struct node *node,
                                     const struct resize_axis *axis, int at,
                                     const struct tensor *last,
                                     struct tensor *x, struct error *err)
{
    const struct resize_attrs *attrs = node->attrs;
    struct shape shape = x->shape;
    struct resize_taps *taps = mem_array((size_t)axis->to, sizeof *taps);
    struct pass pass = {.taps = taps,
                        .outer = shape_span(&shape, 0, at),
                        .from = axis->from,
                        .to = axis->to,
                        .inner = shape_span(&shape, at + 1, shape.rank),
                        .bytes = dtype_bytes(x->dtype)};
    struct tensor y = {0};
    enum assay_status st = ASSAY_OK;

    if (!taps)
        return error_nomem(err, (size_t)axis->to * sizeof *taps, "a resize");
    for (int64_t i = 0; i < axis->to; i++)
        taps[i] = resize_make_taps(attrs, axis, i);
    shape.dims[at] = axis->to;
    if (last)
        y = tensor_share(last);
    else
        st = tensor_new(context->pool, x->dtype, &shape, &y, err);
    if (!st) {
        run_pass(context, attrs, &pass, tensor_data(x), tensor_data(&y));
        if (attrs->place == RESIZE_CROP && x->dtype == DTYPE_F32)
            fill_outside(attrs, &pass, tensor_data(&y));
        tensor_release(x);
        *x = y;
    }
    mem_free(taps);
    return st;
}

bool resize_is_kept(const struct resize_axis *axis)
{
    return axis->from == axis->to && axis->scale == 1 && axis->start == 0 &&
           axis->end == 1;
}

static enum assay_status resize_kernel(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct resize_attrs *attrs = node->attrs;
    struct tensor x = tensor_share(inputs[RESIZE_X]);
    struct resize_axis axes[SHAPE_MAX_RANK];
    unsigned changed = 0;
    enum assay_status st = resize_axes(node, inputs, axes, err);

    if (!st && attrs->mode != RESIZE_NEAREST && x.dtype != DTYPE_F32)
        st =
            error_set(err, ASSAY_UNSUPPORTED,
                      "interpolating %s is not supported", dtype_name(x.dtype));
    for (int i = 0; !st && i < x.shape.rank; i++) {
        if (!resize_is_kept(&axes[i]))
            changed |= 1U << i;
    }
    for (int i = x.shape.rank - 1; !st && i >= 0; i--) {
        unsigned left = changed & ((1U << i) - 1);

        if (changed >> i & 1 && tensor_elements(&outputs[0]))
            st = change_axis(context, node, &axes[i], i,
                             left ? NULL : &outputs[0], &x, err);
    }
    if (!st && !changed)
        memcpy(tensor_data(&outputs[0]), tensor_data(&x), tensor_bytes(&x));
    tensor_release(&x);
    return st;
}

WIDEN_FORWARD(resize_forward, resize_kernel)

static void resize_to_onnx(struct onnx_sink *to)
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
    onnx_put_node(to, "Resize", ONNX_ALL_INPUTS);
}

static const char *const resize_modes[] = {"nearest", "linear", "cubic", NULL};
static const char *const resize_places[] = {
    "half_pixel", "pytorch_half_pixel",     "align_corners",
    "asymmetric", "half_pixel_for_nearest", "crop",
    NULL};
static const char *const roundings[] = {
    "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
ATTR_FIELDS(resize, FIELD_WORD(resize_attrs, mode, resize_modes),
            FIELD_WORD(resize_attrs, place, resize_places),
            FIELD_WORD(resize_attrs, nearest, roundings),
            FIELD_FLOAT(resize_attrs, cubic),
            FIELD_FLAG(resize_attrs, excludes_outside),
            FIELD_FLOAT(resize_attrs, outside));

const struct op_class op_resize = {
    .name = "Resize",
    .attrs_bytes = sizeof(struct resize_attrs),
    .fields = resize_fields,
    .min_inputs = 1,
    .max_inputs = 4,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = resize_infer,
    .forward = resize_forward,
    .cost = rule_cost_elementwise,
    .backward = resize_backward,
    .backward_reads = gradient_reads_settings,
    .channels = channel_same_size,
    .to_onnx = resize_to_onnx,
};
