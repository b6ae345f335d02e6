/* formats/keras/keras_map_shapes.c - layers that move elements or do nothing.
 */
#include "formats/keras/keras_import_internal.h"
#include "ops/movement/concat.h"
#include "ops/movement/pad.h"
#include "ops/movement/resize.h"
#include "ops/movement/transpose.h"
#include "ops/norm/dropout.h"
#include "ops/ops.h"

#include <string.h>

/* For layers that only act in training. */
static void import_nothing(struct keras_call *call)
{
    keras_emit_each(call, &op_dropout, NULL);
}

static void keras_shapes_import_dropout(struct keras_call *call)
{
    struct dropout_attrs attrs = {.ratio =
                                      (float)keras_number(call, "rate", 0)};

    keras_emit_each(call, &op_dropout, &attrs);
}

/* With the second dimension, the channels, moved to the end. */
static uint32_t keras_shapes_turn_last(struct keras_call *call,
                                       struct keras_value *x)
{
    struct transpose_attrs attrs = {.rank = x->shape.rank};
    uint32_t from = keras_last(call, x);

    for (int i = 1; i < attrs.rank; i++)
        attrs.order[i] = i + 1 < attrs.rank ? i + 1 : 1;
    return keras_emit(call, &op_transpose, &attrs, &from, 1);
}

/* Keras flattens with the channels last, wherever the layer has them. */
static void keras_shapes_import_flatten(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    bool is_turned = keras_has_first(call) && x->shape.rank > 2;
    uint32_t from =
        is_turned ? keras_shapes_turn_last(call, x) : keras_last(call, x);

    keras_put_last(call, keras_emit(call, &op_flatten, NULL, &from, 1));
}

/* The batch stays as it is. */
static void keras_shapes_import_reshape(struct keras_call *call)
{
    const struct json_value *target = keras_get(call, "target_shape");
    int64_t sizes[SHAPE_MAX_RANK] = {0};
    size_t n = target ? target->n : 0;
    uint32_t inputs[2];

    if (!json_tree_is(target, JSON_ARRAY_BEGIN) || n >= SHAPE_MAX_RANK) {
        keras_fail(call, ASSAY_BAD_INPUT, "target_shape is not a shape");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        sizes[i + 1] = json_tree_int(json_tree_at(target, i), 0);
        if (sizes[i + 1] == 0)
            keras_fail(call, ASSAY_BAD_INPUT, "target_shape has a size of 0");
    }
    inputs[0] = keras_last(call, call->inputs[0]);
    inputs[1] = keras_new_i64s(call, sizes, n + 1);
    keras_put_last(call, keras_emit(call, &op_reshape, NULL, inputs, 2));
}

static void import_permute(struct keras_call *call)
{
    const struct json_value *dims = keras_get(call, "dims");
    struct transpose_attrs attrs = {.rank = call->inputs[0]->shape.rank};
    uint32_t x = keras_last(call, call->inputs[0]);

    for (int i = 1; i < attrs.rank; i++)
        attrs.order[i] = json_tree_int(json_tree_at(dims, (size_t)i - 1), 0);
    if (!json_tree_is(dims, JSON_ARRAY_BEGIN) ||
        dims->n + 1 != (size_t)attrs.rank)
        keras_fail(call, ASSAY_BAD_INPUT, "dims does not match its input");
    keras_put_last(call, keras_emit(call, &op_transpose, &attrs, &x, 1));
}

/* ---- edges -------------------------------------------------------------- */

/* One number for all, one per direction, or [[top, bottom], [left, right]]. */
static void read_edges(struct keras_call *call, const char *name,
                       int64_t fallback, int64_t edges[2][2])
{
    const struct json_value *value = keras_get(call, name);

    for (size_t i = 0; i < 2; i++) {
        const struct json_value *side = json_tree_at(value, i);

        for (size_t k = 0; k < 2; k++) {
            const struct json_value *edge = json_tree_at(side, k);

            edge = edge ? edge : side ? side : value;
            edges[i][k] = json_tree_int(edge, fallback);
            if (edges[i][k] < 0 || edges[i][k] > INT32_MAX)
                keras_fail(call, ASSAY_BAD_INPUT, "%s is %lld", name,
                           (long long)edges[i][k]);
        }
    }
}

static void import_padding(struct keras_call *call)
{
    struct pad_attrs attrs = {PAD_CONSTANT};
    int64_t edges[2][2], pads[8] = {0};
    uint32_t inputs[2] = {keras_images(call, call->inputs[0])};

    read_edges(call, "padding", 1, edges);
    for (size_t i = 0; i < 2; i++) {
        pads[2 + i] = edges[i][0];
        pads[6 + i] = edges[i][1];
    }
    inputs[1] = keras_new_i64s(call, pads, 8);
    keras_put_images(call, keras_emit(call, &op_pad, &attrs, inputs, 2));
}

static void import_cropping(struct keras_call *call)
{
    static const int64_t axes[] = {2, 3};
    int64_t edges[2][2], ends[2];
    uint32_t inputs[4] = {keras_images(call, call->inputs[0])};

    read_edges(call, "cropping", 0, edges);
    for (size_t i = 0; i < 2; i++)
        ends[i] = edges[i][1] ? -edges[i][1] : INT64_MAX;
    inputs[1] = keras_new_i64s(call, (int64_t[]){edges[0][0], edges[1][0]}, 2);
    inputs[2] = keras_new_i64s(call, ends, 2);
    inputs[3] = keras_new_i64s(call, axes, 2);
    keras_put_images(call, keras_emit(call, &op_slice, NULL, inputs, 4));
}

static void import_upsampling(struct keras_call *call)
{
    const char *mode = keras_text(call, "interpolation", "nearest");
    struct resize_attrs attrs = {.mode = RESIZE_NEAREST,
                                 .place = RESIZE_ASYMMETRIC,
                                 .nearest = RESIZE_FLOOR};
    struct shape four = shape_of(1, (int64_t)4);
    uint32_t inputs[3] = {keras_images(call, call->inputs[0]), GRAPH_NONE};
    int64_t size[2];

    keras_pair(call, "size", 2, size);
    if (strcmp(mode, "bilinear") == 0) {
        attrs.mode = RESIZE_LINEAR;
        attrs.place = RESIZE_HALF_PIXEL;
    } else if (strcmp(mode, "nearest") != 0) {
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "interpolation '%.20s' is not supported", mode);
    }
    inputs[2] = keras_new_f32s(
        call, (float[]){1, 1, (float)size[0], (float)size[1]}, &four);
    keras_put_images(call, keras_emit(call, &op_resize, &attrs, inputs, 3));
}

/* ---- parts -------------------------------------------------------------- */

struct cut {
    int64_t starts[SHAPE_MAX_RANK], ends[SHAPE_MAX_RANK];
    int64_t axes[SHAPE_MAX_RANK], steps[SHAPE_MAX_RANK];
    size_t n;
};

static void add_cut(struct keras_call *call, struct cut *cut, int axis,
                    const struct json_value *slice)
{
    const struct json_value *config = json_tree_get(slice, "config");
    const struct json_value *from = config ? config : slice;
    int64_t step = json_tree_int(json_tree_get(from, "step"), 1);
    const struct json_value *start = json_tree_get(from, "start");
    const struct json_value *stop = json_tree_get(from, "stop");

    if (!json_tree_get(from, "step") || step == 0 || cut->n == SHAPE_MAX_RANK) {
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "an index that is not a slice is not supported");
        return;
    }
    cut->axes[cut->n] = axis;
    cut->steps[cut->n] = step;
    cut->starts[cut->n] = json_tree_int(start, step > 0 ? 0 : INT64_MAX);
    cut->ends[cut->n++] = json_tree_int(stop, step > 0 ? INT64_MAX : INT64_MIN);
}

static bool is_ellipsis(const struct json_value *value)
{
    return strcmp(json_tree_text(json_tree_get(value, "class_name"), ""),
                  "__ellipsis__") == 0;
}

/* x[..., ::-1]: slices of the first dimensions, or of the last ones after an
 * ellipsis. */
static void import_get_item(struct keras_call *call)
{
    const struct keras_argument *key = keras_argument(call, "slice_spec", 1);
    struct keras_value *x = call->inputs[0];
    struct cut cut = {0};
    uint32_t inputs[5];
    int axis = 0;

    if (!key)
        key = keras_argument(call, "key", 1);
    if (!key || !json_tree_is(key->json, JSON_ARRAY_BEGIN)) {
        keras_fail(call, ASSAY_UNSUPPORTED, "its index is not supported");
        return;
    }
    for (const struct json_value *item = key->json->first; item;
         item = item->next) {
        if (is_ellipsis(item)) {
            for (const struct json_value *rest = item; rest; rest = rest->next)
                axis += rest == item ? x->shape.rank - axis : -1;
            continue;
        }
        axis = keras_axis(call, axis, x->shape.rank);
        add_cut(call, &cut, axis++, item);
    }
    inputs[0] = keras_last(call, x);
    inputs[1] = keras_new_i64s(call, cut.starts, cut.n);
    inputs[2] = keras_new_i64s(call, cut.ends, cut.n);
    inputs[3] = keras_new_i64s(call, cut.axes, cut.n);
    inputs[4] = keras_new_i64s(call, cut.steps, cut.n);
    keras_put_last(call, keras_emit(call, &op_slice, NULL, inputs, 5));
}

const struct keras_layer keras_shape_layers[] = {
    {"ActivityRegularization", 1, 1, import_nothing},
    {"AlphaDropout", 1, 1, import_nothing},
    {"Cropping2D", 1, 1, import_cropping},
    {"Dropout", 1, 1, keras_shapes_import_dropout},
    {"Flatten", 1, 1, keras_shapes_import_flatten},
    {"GaussianDropout", 1, 1, import_nothing},
    {"GaussianNoise", 1, 1, import_nothing},
    {"GetItem", 1, 1, import_get_item},
    {"Identity", 1, 1, import_nothing},
    {"Permute", 1, 1, import_permute},
    {"RandomFlip", 1, 1, import_nothing},
    {"RandomRotation", 1, 1, import_nothing},
    {"RandomTranslation", 1, 1, import_nothing},
    {"RandomZoom", 1, 1, import_nothing},
    {"RandomContrast", 1, 1, import_nothing},
    {"RandomBrightness", 1, 1, import_nothing},
    {"Reshape", 1, 1, keras_shapes_import_reshape},
    {"SpatialDropout2D", 1, 1, import_nothing},
    {"UpSampling2D", 1, 1, import_upsampling},
    {"ZeroPadding2D", 1, 1, import_padding},
    {"tf.__operators__.getitem", 1, 1, import_get_item},
    {0},
};
