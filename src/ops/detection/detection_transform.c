/* ops/detection/detection_transform.c - see detection_transform.h. */
#include "ops/detection/detection_transform.h"

#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/detection/bilinear_internal.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <string.h>

enum { n_channels = 3 };

/* Rows of an output plane that one thread makes. */
enum { band = 32 };

void detection_transform_size(const struct detection_transform_attrs *attrs,
                              int64_t height, int64_t width, int64_t *to_height,
                              int64_t *to_width)
{
    /* In single precision, by the reciprocal: this is how PyTorch divides a
     * number by a tensor. It sometimes loses the last pixel. */
    float shorter = (float)(height < width ? height : width);
    float longer = (float)(height < width ? width : height);
    float by_min = 1 / shorter * (float)attrs->min_size;
    float by_max = 1 / longer * (float)attrs->max_size;
    double scale = by_min < by_max ? by_min : by_max;

    *to_height = (int64_t)((double)height * scale);
    *to_width = (int64_t)((double)width * scale);
}

static enum assay_status
transform_check_image(const struct detection_transform_attrs *attrs,
                      const struct tensor *const *inputs, size_t i,
                      int64_t *height, int64_t *width, struct error *err)
{
    const int64_t *dims = inputs[i]->shape.dims;
    enum assay_status st = rule_rank(inputs, i, 3, err);

    if (!st)
        st = rule_dtype(inputs, i, DTYPE_F32, err);
    if (st)
        return st;
    if (dims[0] != n_channels || dims[1] < 1 || dims[2] < 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "image %zu is %lldx%lldx%lld; expected 3 planes with "
                         "pixels",
                         i, (long long)dims[0], (long long)dims[1],
                         (long long)dims[2]);
    detection_transform_size(attrs, dims[1], dims[2], height, width);
    if (*height < 1 || *width < 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "image %zu of %lldx%lld pixels is too narrow: it "
                         "would be resized to %lldx%lld",
                         i, (long long)dims[2], (long long)dims[1],
                         (long long)*width, (long long)*height);
    return ASSAY_OK;
}

static int64_t detection_transform_round_up(int64_t size, int64_t multiple)
{
    return (size + multiple - 1) / multiple * multiple;
}

static enum assay_status
detection_transform_infer(const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    const struct detection_transform_attrs *attrs = node->attrs;
    int64_t n = (int64_t)node->n_inputs, rows = 0, cols = 0;
    struct shape batch, sizes = shape_of(2, n, (int64_t)2);

    for (size_t i = 0; i < node->n_inputs; i++) {
        int64_t height = 0, width = 0;
        enum assay_status st =
            transform_check_image(attrs, inputs, i, &height, &width, err);

        if (st)
            return st;
        rows = height > rows ? height : rows;
        cols = width > cols ? width : cols;
    }
    batch = shape_of(4, n, (int64_t)n_channels,
                     detection_transform_round_up(rows, attrs->size_divisible),
                     detection_transform_round_up(cols, attrs->size_divisible));
    rule_set(&outputs[TRANSFORM_BATCH], DTYPE_F32, &batch);
    rule_set(&outputs[TRANSFORM_SIZES], DTYPE_I64, &sizes);
    rule_set(&outputs[TRANSFORM_ORIGINAL], DTYPE_I64, &sizes);
    return ASSAY_OK;
}

/* One colour of one image, and its place in the batch. */
struct plane {
    const float *from;
    float *to;
    int64_t from_height, from_width;
    int64_t height, width;       /* after resizing */
    int64_t to_height, to_width; /* with the padding */
    float mean, std;
};

static struct plane transform_plane_at(const struct node *node,
                                       const struct tensor *const *inputs,
                                       const struct tensor *outputs, int64_t i)
{
    const struct detection_transform_attrs *attrs = node->attrs;
    const int64_t *batch = outputs[TRANSFORM_BATCH].shape.dims;
    int64_t image = i / n_channels, channel = i % n_channels;
    const int64_t *dims = inputs[image]->shape.dims;
    const int64_t *size = tensor_i64(&outputs[TRANSFORM_SIZES]) + 2 * image;

    return (struct plane){
        .from = tensor_f32(inputs[image]) + channel * dims[1] * dims[2],
        .to = tensor_f32(&outputs[TRANSFORM_BATCH]) + i * batch[2] * batch[3],
        .from_height = dims[1],
        .from_width = dims[2],
        .height = size[0],
        .width = size[1],
        .to_height = batch[2],
        .to_width = batch[3],
        .mean = attrs->mean[channel],
        .std = attrs->std[channel],
    };
}

static float transform_pixel(const struct plane *plane, int64_t y, int64_t x)
{
    if (y >= plane->height || x >= plane->width)
        return 0;

    struct tap down = bilinear_tap(y, plane->from_height, plane->height);
    struct tap across = bilinear_tap(x, plane->from_width, plane->width);
    const float *low = plane->from + down.low * plane->from_width;
    const float *high = plane->from + down.high * plane->from_width;
    float corners[4] = {low[across.low], low[across.high], high[across.low],
                        high[across.high]};

    for (int i = 0; i < 4; i++)
        corners[i] = (corners[i] - plane->mean) / plane->std;
    return (corners[0] * across.low_weight + corners[1] * across.high_weight) *
               down.low_weight +
           (corners[2] * across.low_weight + corners[3] * across.high_weight) *
               down.high_weight;
}

static void resize_reference(const struct plane *plane)
{
    for (int64_t y = 0; y < plane->to_height; y++) {
        for (int64_t x = 0; x < plane->to_width; x++)
            plane->to[y * plane->to_width + x] = transform_pixel(plane, y, x);
    }
}

/* A thread's memory for a band, with the last two stretched rows. */
struct band_rows {
    struct tap *taps;    /* of each column */
    float *normalised;   /* one row of the image */
    float *stretched[2]; /* two rows of the new width */
    int64_t held[2];     /* their numbers; -1: none yet */
};

VARIANTS(void, normalise,
         (const float *restrict from, float *restrict to, int64_t n, float mean,
          float std),
         (from, to, n, mean, std))
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (from[i] - mean) / std;
}

VARIANTS(void, detection_transform_blend,
         (const float *restrict low, const float *restrict high,
          float *restrict to, int64_t n, float low_weight, float high_weight),
         (low, high, to, n, low_weight, high_weight))
{
    for (int64_t i = 0; i < n; i++)
        to[i] = low[i] * low_weight + high[i] * high_weight;
}

static void detection_transform_stretch_row(const struct plane *plane,
                                            struct band_rows *rows, int64_t y,
                                            float *to)
{
    const float *row = rows->normalised;

    normalise(plane->from + y * plane->from_width, rows->normalised,
              plane->from_width, plane->mean, plane->std);
    for (int64_t x = 0; x < plane->width; x++) {
        const struct tap *tap = &rows->taps[x];

        to[x] =
            row[tap->low] * tap->low_weight + row[tap->high] * tap->high_weight;
    }
}

/* Loads the two rows of the tap; going down, one is often there already. */
static void hold_rows(const struct plane *plane, struct band_rows *rows,
                      const struct tap *tap)
{
    if (rows->held[0] != tap->low && rows->held[1] == tap->low) {
        float *swap = rows->stretched[0];

        rows->stretched[0] = rows->stretched[1];
        rows->stretched[1] = swap;
        rows->held[1] = rows->held[0];
    } else if (rows->held[0] != tap->low) {
        detection_transform_stretch_row(plane, rows, tap->low,
                                        rows->stretched[0]);
    }
    rows->held[0] = tap->low;
    if (tap->high != tap->low && rows->held[1] != tap->high) {
        detection_transform_stretch_row(plane, rows, tap->high,
                                        rows->stretched[1]);
        rows->held[1] = tap->high;
    }
}

static void resize_band(const struct plane *plane, struct band_rows *rows,
                        int64_t top)
{
    int64_t end = top + band < plane->to_height ? top + band : plane->to_height;

    for (int64_t x = 0; x < plane->width; x++)
        rows->taps[x] = bilinear_tap(x, plane->from_width, plane->width);
    rows->held[0] = rows->held[1] = -1;
    for (int64_t y = top; y < end; y++) {
        float *to = plane->to + y * plane->to_width;
        int64_t made = y < plane->height ? plane->width : 0;

        if (made) {
            struct tap tap = bilinear_tap(y, plane->from_height, plane->height);

            hold_rows(plane, rows, &tap);
            detection_transform_blend(rows->stretched[0],
                                      rows->stretched[tap.high != tap.low], to,
                                      made, tap.low_weight, tap.high_weight);
        }
        memset(to + made, 0, (size_t)(plane->to_width - made) * sizeof *to);
    }
}

/* Scratch memory of one thread: taps, then three rows. */
static size_t rows_bytes(const struct node *node,
                         const struct tensor *const *inputs, int64_t to_width)
{
    int64_t widest = 0;

    for (size_t i = 0; i < node->n_inputs; i++) {
        int64_t width = inputs[i]->shape.dims[2];

        widest = width > widest ? width : widest;
    }
    return (size_t)to_width * (sizeof(struct tap) + 2 * sizeof(float)) +
           (size_t)(widest + widest % 2) * sizeof(float);
}

static struct band_rows rows_of_thread(void *memory, int64_t to_width)
{
    struct band_rows rows = {.taps = memory, .held = {-1, -1}};

    rows.stretched[0] = (float *)(void *)(rows.taps + to_width);
    rows.stretched[1] = rows.stretched[0] + to_width;
    rows.normalised = rows.stretched[1] + to_width;
    return rows;
}

static enum assay_status resize_fast(const struct op_context *context,
                                     const struct node *node,
                                     const struct tensor *const *inputs,
                                     const struct tensor *outputs,
                                     struct error *err)
{
    const int64_t *batch = outputs[TRANSFORM_BATCH].shape.dims;
    int64_t n_bands = (batch[2] + band - 1) / band;
    size_t each = rows_bytes(node, inputs, batch[3]);
    int n_threads = op_threads(context);
    struct buffer *memory;
    enum assay_status st =
        pool_take_scratch(context->pool, (size_t)n_threads * each,
                          "resizing images", &memory, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(n_threads) schedule(dynamic)
    for (int64_t i = 0; i < batch[0] * n_channels * n_bands; i++) {
        struct plane plane =
            transform_plane_at(node, inputs, outputs, i / n_bands);
        struct band_rows rows = rows_of_thread(
            (char *)buffer_data(memory) + (size_t)op_thread() * each, batch[3]);

        resize_band(&plane, &rows, i % n_bands * band);
    }
    buffer_release(memory);
    return ASSAY_OK;
}

static enum assay_status
detection_transform_forward(const struct op_context *context,
                            const struct node *node,
                            const struct tensor *const *inputs,
                            struct tensor *outputs, struct error *err)
{
    const struct detection_transform_attrs *attrs = node->attrs;
    int64_t *sizes = tensor_i64(&outputs[TRANSFORM_SIZES]);
    int64_t *original = tensor_i64(&outputs[TRANSFORM_ORIGINAL]);
    int64_t n = (int64_t)node->n_inputs;

    for (int64_t i = 0; i < n; i++) {
        const int64_t *dims = inputs[i]->shape.dims;

        original[2 * i] = dims[1];
        original[2 * i + 1] = dims[2];
        detection_transform_size(attrs, dims[1], dims[2], &sizes[2 * i],
                                 &sizes[2 * i + 1]);
    }
    if (!context->is_reference)
        return resize_fast(context, node, inputs, outputs, err);
    for (int64_t i = 0; i < n * n_channels; i++) {
        struct plane plane = transform_plane_at(node, inputs, outputs, i);

        resize_reference(&plane);
    }
    return ASSAY_OK;
}

ATTR_FIELDS(detection_transform,
            FIELD_SIZE(detection_transform_attrs, min_size),
            FIELD_SIZE(detection_transform_attrs, max_size),
            FIELD_SIZE(detection_transform_attrs, size_divisible),
            FIELD_FLOAT(detection_transform_attrs, mean),
            FIELD_FLOAT(detection_transform_attrs, std));

const struct op_class op_detection_transform = {
    .name = "DetectionTransform",
    OP_ATTRS(detection_transform),
    OP_TAKES(1, SIZE_MAX),
    OP_MAKES(TRANSFORM_OUTPUTS, TRANSFORM_OUTPUTS),
    .infer = detection_transform_infer,
    .forward = detection_transform_forward,
};
