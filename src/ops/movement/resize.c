/* ops/movement/resize.c - see resize.h.
 *
 * Resizes one axis after the other, through a table of the elements that make
 * up each new one. */
#include "ops/movement/resize.h"

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

enum resize_input { RESIZE_X, RESIZE_ROI, RESIZE_SCALES, RESIZE_SIZES };

/* For each new element of an axis, the n elements that make it up. */
struct resize_table {
    int64_t n;
    int64_t *at;
    float *weights;
    bool *is_outside; /* of each new element */
};

/* How an axis changes. */
struct resize_axis {
    int64_t from, to;  /* sizes */
    double scale;      /* as given, or from the sizes */
    double start, end; /* of the region, as fractions */
};

/* Older exporters pass an empty tensor for an input that is left out. */
static const struct tensor *resize_input_at(const struct node *node,
                                            const struct tensor *const *inputs,
                                            size_t i)
{
    const struct tensor *tensor = op_input(node, inputs, i);

    return tensor && tensor_elements(tensor) ? tensor : NULL;
}

static enum assay_status get_floats(const struct tensor *tensor, size_t n,
                                    double *values, struct error *err)
{
    if (setting_check(tensor, err))
        return ASSAY_UNSUPPORTED;
    if (tensor_elements(tensor) != n ||
        (tensor->dtype != DTYPE_F32 && tensor->dtype != DTYPE_F64))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%zu numbers of %s; expected %zu of a float type",
                         tensor_elements(tensor), dtype_name(tensor->dtype), n);
    for (size_t i = 0; i < n; i++)
        values[i] = number_at(tensor, i);
    return ASSAY_OK;
}

/* Which axis the i-th number of an input is for. */
static enum assay_status resize_axis_at(const struct resize_attrs *attrs,
                                        int rank, size_t i, int *axis,
                                        struct error *err)
{
    return axis_resolve(attrs->n_axes ? attrs->axes[i] : (int64_t)i, rank, axis,
                        err);
}

static size_t resize_axis_count(const struct resize_attrs *attrs, int rank)
{
    return attrs->n_axes ? attrs->n_axes : (size_t)rank;
}

/* The one scale that keeps the proportions; 0: each axis has its own. */
static double resize_common_scale(const struct resize_attrs *attrs,
                                  const struct resize_axis *axes, int rank,
                                  const struct int_list *sizes)
{
    double common = 0;

    for (size_t i = 0; attrs->aspect != RESIZE_STRETCH && i < sizes->n; i++) {
        double scale;
        int at;

        if (resize_axis_at(attrs, rank, i, &at, NULL) || !axes[at].from)
            continue;
        scale = (double)sizes->of[i] / (double)axes[at].from;
        if (common == 0 ||
            (attrs->aspect == RESIZE_NOT_LARGER ? scale < common
                                                : scale > common))
            common = scale;
    }
    return common;
}

static enum assay_status set_sizes(const struct resize_attrs *attrs,
                                   struct resize_axis *axes, int rank,
                                   const struct tensor *sizes,
                                   struct error *err)
{
    size_t n = resize_axis_count(attrs, rank);
    struct int_list list;
    double common;
    enum assay_status st = int_list_read(sizes, &list, err);

    if (!st && list.n != n)
        st = error_set(err, ASSAY_BAD_INPUT, "%zu sizes for %zu dimensions",
                       list.n, n);
    if (st)
        return st;
    common = resize_common_scale(attrs, axes, rank, &list);
    for (size_t i = 0; !st && i < n; i++) {
        int at;

        st = resize_axis_at(attrs, rank, i, &at, err);
        if (st)
            return st;
        if (list.of[i] < 0 || (axes[at].from == 0 && list.of[i]))
            return error_set(err, ASSAY_BAD_INPUT, "cannot resize %lld to %lld",
                             (long long)axes[at].from, (long long)list.of[i]);
        axes[at].to = list.of[i];
        axes[at].scale =
            axes[at].from ? (double)axes[at].to / (double)axes[at].from : 1;
        if (common > 0) {
            axes[at].scale = common;
            axes[at].to = (int64_t)floor(common * (double)axes[at].from + 0.5);
        }
    }
    return st;
}

static enum assay_status set_scales(const struct resize_attrs *attrs,
                                    struct resize_axis *axes, int rank,
                                    const struct tensor *scales,
                                    struct error *err)
{
    size_t n = resize_axis_count(attrs, rank);
    bool is_crop = attrs->place == RESIZE_CROP;
    double values[SHAPE_MAX_RANK];
    enum assay_status st = get_floats(scales, n, values, err);

    for (size_t i = 0; !st && i < n; i++) {
        double share, size;
        int at;

        st = resize_axis_at(attrs, rank, i, &at, err);
        if (st)
            return st;
        share = is_crop ? axes[at].end - axes[at].start : 1;
        size = floor((double)axes[at].from * share * values[i]);
        if (!(values[i] > 0) || !(size >= 0 && size < 0x1p40))
            return error_set(err, ASSAY_BAD_INPUT, "cannot scale %lld by %g",
                             (long long)axes[at].from, values[i]);
        axes[at].scale = values[i];
        axes[at].to = (int64_t)size;
    }
    return st;
}

/* Sets the region that is cropped. */
static enum assay_status set_region(const struct resize_attrs *attrs,
                                    struct resize_axis *axes, int rank,
                                    const struct tensor *roi, struct error *err)
{
    size_t n = resize_axis_count(attrs, rank);
    double ends[2 * SHAPE_MAX_RANK];
    enum assay_status st;

    if (!roi)
        return error_set(err, ASSAY_BAD_INPUT, "the region to crop is missing");
    st = get_floats(roi, 2 * n, ends, err);
    for (size_t i = 0; !st && i < n; i++) {
        int at;

        st = resize_axis_at(attrs, rank, i, &at, err);
        if (st)
            return st;
        axes[at].start = ends[i];
        axes[at].end = ends[n + i];
    }
    return st;
}

/* How all axes of x change. */
static enum assay_status resize_axes(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct resize_axis *axes,
                                     struct error *err)
{
    const struct resize_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[RESIZE_X]->shape;
    const struct tensor *roi = resize_input_at(node, inputs, RESIZE_ROI);
    const struct tensor *scales = resize_input_at(node, inputs, RESIZE_SCALES);
    const struct tensor *sizes = resize_input_at(node, inputs, RESIZE_SIZES);
    enum assay_status st = ASSAY_OK;

    for (int i = 0; i < x->rank; i++)
        axes[i] = (struct resize_axis){
            .from = x->dims[i], .to = x->dims[i], .scale = 1, .end = 1};
    if (attrs->place == RESIZE_CROP)
        st = set_region(attrs, axes, x->rank, roi, err);
    if (st)
        return st;
    if (sizes)
        return set_sizes(attrs, axes, x->rank, sizes, err);
    if (scales)
        return set_scales(attrs, axes, x->rank, scales, err);
    return error_set(err, ASSAY_BAD_INPUT, "scales and sizes are both missing");
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

/* Where in x new element i lies. */
static double resize_place_of(const struct resize_attrs *attrs,
                              const struct resize_axis *axis, int64_t i)
{
    double last = (double)axis->from - 1, x = (double)i;
    /* Not rounded: a scale of 0.6 turns 4 into 2.4. */
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
    case RESIZE_HALF_PIXEL_SYMMETRIC:
        return (double)axis->from / 2 * (1 - (double)axis->to / length) +
               (x + 0.5) / axis->scale - 0.5;
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

/* The weight of an element at a distance, by Keys's cubic. */
static double resize_cubic_weight(double a, double distance)
{
    double d = fabs(distance);

    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* How much wider the weights reach than between neighbours. */
static double resize_reach(const struct resize_attrs *attrs,
                           const struct resize_axis *axis)
{
    return attrs->antialias && axis->scale < 1 ? 1 / axis->scale : 1;
}

/* How many elements make up a new one. */
static double resize_tap_count(const struct resize_attrs *attrs,
                               const struct resize_axis *axis)
{
    double half = attrs->mode == RESIZE_CUBIC ? 2 : 1;

    if (attrs->mode == RESIZE_NEAREST)
        return 1;
    return 2 * (half - floor(-half * resize_reach(attrs, axis)) - 1);
}

/* Sets the taps of new element i. */
static void resize_make_taps(const struct resize_attrs *attrs,
                             const struct resize_axis *axis, int64_t i,
                             const struct resize_table *table)
{
    double place = resize_place_of(attrs, axis, i), base = floor(place);
    double reach = resize_reach(attrs, axis), sum = 0;
    bool is_shared = attrs->excludes_outside || reach > 1;
    int64_t *at = table->at + i * table->n;
    float *weights = table->weights + i * table->n;

    table->is_outside[i] = attrs->place == RESIZE_CROP &&
                           (place < 0 || place > (double)axis->from - 1);
    if (attrs->mode == RESIZE_NEAREST) {
        at[0] = resize_held(nearest_to(attrs->nearest, place), axis->from);
        weights[0] = 1;
        return;
    }
    for (int64_t k = 0; k < table->n; k++) {
        int64_t from_base = k - table->n / 2 + 1;
        double tap = base + (double)from_base;
        double distance = (place - tap) / reach, weight;

        at[k] = resize_held(tap, axis->from);
        if (attrs->mode == RESIZE_CUBIC)
            weight = resize_cubic_weight((double)attrs->cubic, distance);
        else
            weight = fabs(distance) < 1 ? 1 - fabs(distance) : 0;
        if (attrs->excludes_outside && (tap < 0 || tap >= (double)axis->from))
            weight = 0;
        weights[k] = (float)weight;
        sum += weight;
    }
    for (int64_t k = 0; is_shared && k < table->n; k++)
        weights[k] = (float)((double)weights[k] / sum);
}

static void resize_table_release(struct resize_table *table)
{
    mem_free(table->at);
    mem_free(table->weights);
    mem_free(table->is_outside);
    *table = (struct resize_table){0};
}

/* The taps of all new elements of an axis. The caller releases them. */
static enum assay_status resize_table_make(const struct resize_attrs *attrs,
                                           const struct resize_axis *axis,
                                           struct resize_table *table,
                                           struct error *err)
{
    double n = resize_tap_count(attrs, axis);
    size_t total;

    *table = (struct resize_table){0};
    if (!(n >= 1 && n < 0x1p31) ||
        !mem_mul((size_t)axis->to, (size_t)n, &total))
        return error_set(err, ASSAY_BAD_INPUT, "cannot scale %lld by %g",
                         (long long)axis->from, axis->scale);
    table->n = (int64_t)n;
    table->at = mem_array(total, sizeof *table->at);
    table->weights = mem_array(total, sizeof *table->weights);
    table->is_outside = mem_array((size_t)axis->to, sizeof(bool));
    if (!table->at || !table->weights || !table->is_outside) {
        resize_table_release(table);
        return error_nomem(err, total * sizeof *table->at, "a resize");
    }
    for (int64_t i = 0; i < axis->to; i++)
        resize_make_taps(attrs, axis, i, table);
    return ASSAY_OK;
}

/* ---- one axis --------------------------------------------------------- */

/* x [outer, from, inner] to y [outer, to, inner]. */
struct pass {
    struct resize_table table;
    int64_t outer, from, to, inner;
    size_t bytes;
};

static void copy_line(const struct pass *pass, const char *x, char *y)
{
    size_t bytes = (size_t)pass->inner * pass->bytes;

    if (bytes == 4) {
        for (int64_t i = 0; i < pass->to; i++)
            memcpy(y + i * 4, x + pass->table.at[i] * 4, 4);
        return;
    }
    for (int64_t i = 0; i < pass->to; i++)
        memcpy(y + (size_t)i * bytes, x + (size_t)pass->table.at[i] * bytes,
               bytes);
}

/* Two taps at a time; `inner` is a constant where it is small. */
VARIANT_PART void blend_pairs(const struct pass *pass, int64_t inner,
                              const float *x, float *y)
{
    for (int64_t i = 0; i < pass->to; i++, y += inner) {
        const int64_t *at = pass->table.at + 2 * i;
        float first = pass->table.weights[2 * i];
        float second = pass->table.weights[2 * i + 1];
        const float *a = x + at[0] * inner, *b = x + at[1] * inner;

        for (int64_t k = 0; k < inner; k++)
            y[k] = first * a[k] + second * b[k];
    }
}

VARIANTS(void, blend_line, (const struct pass *pass, const float *x, float *y),
         (pass, x, y))
{
    if (pass->table.n == 2) {
        if (pass->inner == 16)
            blend_pairs(pass, 16, x, y);
        else if (pass->inner == 8)
            blend_pairs(pass, 8, x, y);
        else
            blend_pairs(pass, pass->inner, x, y);
        return;
    }
    for (int64_t i = 0; i < pass->to; i++, y += pass->inner) {
        const int64_t *at = pass->table.at + i * pass->table.n;
        const float *weights = pass->table.weights + i * pass->table.n;

        for (int64_t k = 0; k < pass->inner; k++)
            y[k] = weights[0] * x[at[0] * pass->inner + k];
        for (int64_t t = 1; t < pass->table.n; t++) {
            const float *row = x + at[t] * pass->inner;

            for (int64_t k = 0; k < pass->inner; k++)
                y[k] += weights[t] * row[k];
        }
    }
}

static void run_pass(const struct op_context *context,
                     const struct resize_attrs *attrs, const struct pass *pass,
                     const char *x, char *y)
{
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
            blend_line(pass, line, made);
    }
}

/* Along a cropped axis: sets elements outside x to attrs->outside. */
static void fill_outside(const struct resize_attrs *attrs,
                         const struct pass *pass, float *y)
{
    for (int64_t i = 0; i < pass->outer * pass->to; i++) {
        for (int64_t k = 0;
             pass->table.is_outside[i % pass->to] && k < pass->inner; k++)
            y[i * pass->inner + k] = attrs->outside;
    }
}

/* Replaces x by the resized tensor, which is `last` if that is not NULL. */
static enum assay_status change_axis(const struct op_context *context,
                                     const struct node *node,
                                     const struct resize_axis *axis, int at,
                                     const struct tensor *last,
                                     struct tensor *x, struct error *err)
{
    const struct resize_attrs *attrs = node->attrs;
    struct shape shape = x->shape;
    struct pass pass = {.outer = shape_span(&shape, 0, at),
                        .from = axis->from,
                        .to = axis->to,
                        .inner = shape_span(&shape, at + 1, shape.rank),
                        .bytes = dtype_bytes(x->dtype)};
    struct tensor y = {0};
    enum assay_status st = resize_table_make(attrs, axis, &pass.table, err);

    if (st)
        return st;
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
    resize_table_release(&pass.table);
    return st;
}

static bool resize_is_kept(const struct resize_axis *axis)
{
    return axis->from == axis->to && axis->scale == 1 && axis->start == 0 &&
           axis->end == 1;
}

/* Bit i: axis i changes. */
static unsigned resize_changed(const struct resize_axis *axes, int rank)
{
    unsigned changed = 0;

    for (int i = 0; i < rank; i++) {
        if (!resize_is_kept(&axes[i]))
            changed |= 1U << i;
    }
    return changed;
}

/* Releases x. */
static enum assay_status resize_run(const struct op_context *context,
                                    const struct node *node,
                                    const struct resize_axis *axes, int rank,
                                    struct tensor x, const struct tensor *y,
                                    struct error *err)
{
    unsigned changed = resize_changed(axes, rank);
    enum assay_status st = ASSAY_OK;

    for (int i = rank - 1; !st && i >= 0; i--) {
        unsigned left = changed & ((1U << i) - 1);

        if (changed >> i & 1 && tensor_elements(y))
            st = change_axis(context, node, &axes[i], i, left ? NULL : y, &x,
                             err);
    }
    if (!st && !changed)
        memcpy(tensor_data(y), tensor_data(&x), tensor_bytes(&x));
    tensor_release(&x);
    return st;
}

static enum assay_status resize_kernel(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct resize_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[RESIZE_X];
    struct resize_axis axes[SHAPE_MAX_RANK];
    enum assay_status st = resize_axes(node, inputs, axes, err);

    if (!st && attrs->mode != RESIZE_NEAREST && x->dtype != DTYPE_F32)
        st = error_set(err, ASSAY_UNSUPPORTED, "cannot interpolate %s",
                       dtype_name(x->dtype));
    return st ? st
              : resize_run(context, node, axes, x->shape.rank, tensor_share(x),
                           &outputs[0], err);
}

bool resize_keeps_channels(const struct node *node,
                           const struct tensor *const *inputs)
{
    const struct resize_attrs *attrs = node->attrs;
    struct resize_axis axes[SHAPE_MAX_RANK];

    return inputs[RESIZE_X]->shape.rank == 4 && attrs->place != RESIZE_CROP &&
           !resize_axes(node, inputs, axes, NULL) &&
           !(resize_changed(axes, 4) & 3);
}

enum assay_status resize_blocks(const struct op_context *context,
                                const struct node *node,
                                const struct tensor *const *inputs,
                                const struct tensor *x, const struct tensor *y,
                                struct error *err)
{
    struct resize_axis axes[SHAPE_MAX_RANK];
    enum assay_status st = resize_axes(node, inputs, axes, err);

    return st ? st
              : resize_run(context, node, axes, 4, tensor_share(x), y, err);
}

WIDEN_FORWARD(resize_forward, resize_kernel)

/* ---- backward: the axes in the opposite order -------------------------- */

/* Adds lines [to, inner] of dy to lines [from, inner] of dx. */
static void resize_add_line(const struct resize_table *table, int64_t to,
                            int64_t inner, const float *dy, float *dx)
{
    for (int64_t i = 0; i < to; i++, dy += inner) {
        for (int64_t t = 0; t < table->n && !table->is_outside[i]; t++) {
            float weight = table->weights[i * table->n + t];
            float *row = dx + table->at[i * table->n + t] * inner;

            for (int64_t k = 0; weight != 0 && k < inner; k++)
                row[k] += weight * dy[k];
        }
    }
}

/* Replaces dy by the gradient before the axis was resized, which is `last` if
 * that is not NULL. */
static enum assay_status pass_axis(const struct op_context *context,
                                   const struct node *node,
                                   const struct resize_axis *axis, int at,
                                   const struct tensor *last, struct tensor *dy,
                                   struct error *err)
{
    struct shape shape = dy->shape;
    int64_t outer = shape_span(&shape, 0, at);
    int64_t inner = shape_span(&shape, at + 1, shape.rank);
    int parts = gradient_parts(context, tensor_elements(dy));
    struct resize_table table;
    struct tensor dx = {0};
    enum assay_status st = resize_table_make(node->attrs, axis, &table, err);

    if (st)
        return st;
    shape.dims[at] = axis->from;
    if (last)
        dx = tensor_share(last);
    else
        st = tensor_new(context->pool, DTYPE_F32, &shape, &dx, err);
    if (!st) {
        memset(tensor_data(&dx), 0, tensor_bytes(&dx));
#pragma omp parallel for num_threads(parts) if (parts > 1)
        for (int64_t i = 0; i < outer; i++)
            resize_add_line(&table, axis->to, inner,
                            tensor_f32(dy) + i * axis->to * inner,
                            tensor_f32(&dx) + i * axis->from * inner);
        tensor_release(dy);
        *dy = dx;
    }
    resize_table_release(&table);
    return st;
}

static enum assay_status resize_backward(const struct op_context *context,
                                         const struct node *node,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    struct tensor dy = tensor_share(pass->dy[0]);
    const struct tensor *dx = &pass->dx[RESIZE_X];
    struct resize_axis axes[SHAPE_MAX_RANK];
    int last = -1;
    enum assay_status st = resize_axes(node, pass->inputs, axes, err);

    for (int i = 0; !st && i < dy.shape.rank; i++) {
        if (!resize_is_kept(&axes[i]))
            last = i;
    }
    for (int i = 0; !st && i <= last && tensor_elements(pass->dy[0]); i++) {
        if (!resize_is_kept(&axes[i]))
            st = pass_axis(context, node, &axes[i], i, i == last ? dx : NULL,
                           &dy, err);
    }
    if (!st && last < 0)
        gradient_scale(context, 1, &dy, dx);
    tensor_release(&dy);
    return st;
}

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
        onnx_refuse(to, "its coordinate mode ended with opset 12");
        return;
    }
    if (attrs->place == RESIZE_HALF_PIXEL_SYMMETRIC || attrs->antialias ||
        attrs->aspect != RESIZE_STRETCH || attrs->n_axes) {
        onnx_refuse(to, "its attributes need a later opset");
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
static const char *const resize_places[] = {"half_pixel",
                                            "pytorch_half_pixel",
                                            "align_corners",
                                            "asymmetric",
                                            "half_pixel_for_nearest",
                                            "crop",
                                            "half_pixel_symmetric",
                                            NULL};
static const char *const resize_aspects[] = {"stretch", "not_larger",
                                             "not_smaller", NULL};
static const char *const roundings[] = {
    "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
ATTR_FIELDS(resize, FIELD_WORD(resize_attrs, mode, resize_modes),
            FIELD_WORD(resize_attrs, place, resize_places),
            FIELD_WORD(resize_attrs, nearest, roundings),
            FIELD_FLOAT(resize_attrs, cubic),
            FIELD_FLAG(resize_attrs, excludes_outside),
            FIELD_FLOAT(resize_attrs, outside),
            FIELD_FLAG(resize_attrs, antialias),
            FIELD_WORD(resize_attrs, aspect, resize_aspects),
            FIELD_COUNT(resize_attrs, n_axes, SHAPE_MAX_RANK),
            FIELD_AXIS(resize_attrs, axes));

const struct op_class op_resize = {
    .name = "Resize",
    OP_ATTRS(resize),
    OP_TAKES(1, 4),
    OP_MAKES(1, 1),
    .infer = resize_infer,
    .host_inputs =
        OP_INPUT(RESIZE_ROI) | OP_INPUT(RESIZE_SCALES) | OP_INPUT(RESIZE_SIZES),
    .forward = resize_forward,
    .cost = rule_cost_elementwise,
    .backward = resize_backward,
    .backward_reads = gradient_reads_settings,
    .channels = channel_same_size,
    .to_onnx = resize_to_onnx,
};
