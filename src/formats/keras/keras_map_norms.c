/* formats/keras/keras_map_norms.c - layers that scale and shift. */
#include "base/mem.h"
#include "formats/keras/keras_import_internal.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"

/* The axis that is normalized: a number, or a list of one. */
static int keras_norms_read_axis(struct keras_call *call,
                                 const struct keras_value *x)
{
    const struct json_value *value = keras_get(call, "axis");
    const struct json_value *item = json_tree_at(value, 0);

    if (json_tree_is(value, JSON_ARRAY_BEGIN) && value->n > 1)
        keras_fail(call, ASSAY_UNSUPPORTED, "several axes are not supported");
    return keras_axis(call, json_tree_int(item ? item : value, -1),
                      x->shape.rank);
}

static int64_t check_last(struct keras_call *call, const struct keras_value *x)
{
    int axis = keras_norms_read_axis(call, x);

    if (axis != x->shape.rank - 1)
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "axis %d is not supported; only the last one is", axis);
    return keras_failed(call) ? 1 : x->shape.dims[axis];
}

/* A constant of n equal numbers. */
static uint32_t constant_of(struct keras_call *call, int64_t n, float number)
{
    struct shape shape = shape_of(1, n);
    float *numbers = mem_array((size_t)n, sizeof *numbers);
    uint32_t value = GRAPH_NONE;

    for (int64_t i = 0; numbers && i < n; i++)
        numbers[i] = number;
    if (numbers)
        value = keras_new_f32s(call, numbers, &shape);
    else
        keras_fail(call, ASSAY_NOMEM, "out of memory for %lld numbers",
                   (long long)n);
    mem_free(numbers);
    return value;
}

static uint32_t keras_norms_read_scale(struct keras_call *call,
                                       const char *flag, const char *name,
                                       int64_t n, float without)
{
    struct keras_weight weight = {.name = name, .shape = shape_of(1, n)};

    return keras_bool(call, flag, true) ? keras_weight(call, &weight)
                                        : constant_of(call, n, without);
}

static uint32_t read_statistic(struct keras_call *call, const char *name,
                               int64_t n)
{
    struct keras_weight weight = {
        .name = name, .shape = shape_of(1, n), .is_buffer = true};

    return keras_weight(call, &weight);
}

/* Over the last axis, or the second one where that has the channels. */
static void keras_norms_import_batch_norm(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    struct batch_norm_attrs attrs = {
        .eps = (float)keras_number(call, "epsilon", 1e-3),
        .momentum = (float)(1 - keras_number(call, "momentum", 0.99))};
    int axis = keras_norms_read_axis(call, x);
    bool is_turned = x->shape.rank == 4 && axis == 3;
    uint32_t inputs[BATCH_NORM_INPUTS], output;
    int64_t n;

    if (x->shape.rank != 2 && x->shape.rank != 4)
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "%d dimensions are not supported; only 2 and 4 are",
                   x->shape.rank);
    if (axis != 1 && !is_turned)
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "axis %d is not supported; only 1 and the last one are",
                   axis);
    if (keras_failed(call))
        return;
    n = x->shape.dims[axis];
    inputs[BATCH_NORM_X] =
        is_turned ? keras_first(call, x) : keras_last(call, x);
    inputs[BATCH_NORM_WEIGHT] =
        keras_norms_read_scale(call, "scale", "gamma", n, 1);
    inputs[BATCH_NORM_BIAS] =
        keras_norms_read_scale(call, "center", "beta", n, 0);
    inputs[BATCH_NORM_MEAN] = read_statistic(call, "moving_mean", n);
    inputs[BATCH_NORM_VARIANCE] = read_statistic(call, "moving_variance", n);
    output =
        keras_emit(call, &op_batch_norm, &attrs, inputs, BATCH_NORM_INPUTS);
    if (is_turned)
        keras_put_first(call, output);
    else
        keras_put_last(call, output);
}

static void keras_norms_import_layer_norm(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    struct normalize_attrs attrs = {
        .eps = (float)keras_number(call, "epsilon", 1e-3), .axis = -1};
    int64_t n = check_last(call, x);
    uint32_t inputs[3];

    if (keras_bool(call, "rms_scaling", false))
        keras_fail(call, ASSAY_UNSUPPORTED, "rms_scaling is not supported");
    if (keras_failed(call))
        return;
    inputs[0] = keras_last(call, x);
    inputs[1] = keras_norms_read_scale(call, "scale", "gamma", n, 1);
    inputs[2] = keras_norms_read_scale(call, "center", "beta", n, 0);
    keras_put_last(call, keras_emit(call, &op_layer_norm, &attrs, inputs, 3));
}

/* ---- statistics of a dataset -------------------------------------------- */

/* The axes that keep their own moments: a number, a list, or null for none. */
struct kept_axes {
    int axes[SHAPE_MAX_RANK];
    int n;
};

static void kept_axes_add(struct keras_call *call, struct kept_axes *kept,
                          const struct json_value *item,
                          const struct keras_value *x)
{
    int axis = keras_axis(call, json_tree_int(item, -1), x->shape.rank);

    if (axis == 0)
        keras_fail(call, ASSAY_BAD_INPUT, "axis 0 is the batch");
    else if (kept->n && axis <= kept->axes[kept->n - 1])
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "its axes are not in ascending order");
    else
        kept->axes[kept->n++] = axis;
}

static struct kept_axes kept_axes_read(struct keras_call *call,
                                       const struct keras_value *x)
{
    const struct json_value *value = keras_get(call, "axis");
    struct kept_axes kept = {0};

    if (!json_tree_is(value, JSON_ARRAY_BEGIN)) {
        if (!value || value->kind != JSON_NULL)
            kept_axes_add(call, &kept, value, x);
        return kept;
    }
    for (size_t i = 0; i < value->n && !keras_failed(call); i++)
        kept_axes_add(call, &kept, json_tree_at(value, i), x);
    return kept;
}

/* The moments as adapt() stored them, [sizes of the axes], and as they are
 * broadcast, with ones for the others. */
static void kept_axes_shapes(const struct kept_axes *kept,
                             const struct keras_value *x, struct shape *stored,
                             struct shape *broadcast)
{
    *stored = (struct shape){.rank = kept->n};
    *broadcast = (struct shape){.rank = x->shape.rank};
    for (int i = 0; i < broadcast->rank; i++)
        broadcast->dims[i] = 1;
    for (int i = 0; i < kept->n; i++) {
        stored->dims[i] = x->shape.dims[kept->axes[i]];
        broadcast->dims[kept->axes[i]] = stored->dims[i];
    }
}

/* From the configuration: one number for all, or one for each. */
static uint32_t given_moment(struct keras_call *call, const char *name,
                             const struct shape *broadcast)
{
    uint32_t value = keras_constant(call, keras_get(call, name)), inputs[2];
    size_t n = 0, needed = 0;

    if (keras_failed(call))
        return GRAPH_NONE;
    (void)shape_elements(keras_weight_shape(call, value), &n);
    (void)shape_elements(broadcast, &needed);
    if (n == 1)
        return value;
    if (n != needed) {
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "its %s has %zu numbers; 1 and %zu are supported", name, n,
                   needed);
        return GRAPH_NONE;
    }
    inputs[0] = value;
    inputs[1] = keras_new_i64s(call, broadcast->dims, (size_t)broadcast->rank);
    return keras_emit(call, &op_reshape, NULL, inputs, 2);
}

static uint32_t read_moment(struct keras_call *call, const char *name,
                            const struct kept_axes *kept,
                            const struct keras_value *x)
{
    const struct json_value *given = keras_get(call, name);
    struct shape stored, broadcast;
    struct keras_weight weight = {.name = name, .is_buffer = true};

    kept_axes_shapes(kept, x, &stored, &broadcast);
    if (given && given->kind != JSON_NULL)
        return given_moment(call, name, &broadcast);
    weight.shape = stored;
    weight.as = broadcast;
    return keras_weight(call, &weight);
}

/* (x - mean) / max(deviation, 1e-7), or back. */
static void import_normalization(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    struct kept_axes kept = kept_axes_read(call, x);
    bool is_inverse = keras_bool(call, "invert", false);
    uint32_t mean, pair[2], deviation[2];

    if (keras_failed(call))
        return;
    pair[0] = keras_last(call, x);
    mean = read_moment(call, "mean", &kept, x);
    deviation[0] = read_moment(call, "variance", &kept, x);
    deviation[0] = keras_emit(call, &op_sqrt, NULL, deviation, 1);
    deviation[1] = keras_new_scalar(call, 1e-7);
    deviation[0] = keras_emit(call, &op_max, NULL, deviation, 2);
    pair[1] = is_inverse ? deviation[0] : mean;
    pair[0] = keras_emit(call, is_inverse ? &op_mul : &op_sub, NULL, pair, 2);
    pair[1] = is_inverse ? mean : deviation[0];
    keras_put_last(
        call, keras_emit(call, is_inverse ? &op_sum : &op_div, NULL, pair, 2));
}

/* x * scale + offset; numbers, or lists with one per channel. */
static void import_rescaling(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    uint32_t pair[2] = {keras_last(call, x),
                        keras_constant(call, keras_get(call, "scale"))};

    pair[0] = keras_emit(call, &op_mul, NULL, pair, 2);
    pair[1] = keras_constant(call, keras_get(call, "offset"));
    keras_put_last(call, keras_emit(call, &op_sum, NULL, pair, 2));
}

const struct keras_layer keras_norm_layers[] = {
    {"BatchNormalization", 1, 1, keras_norms_import_batch_norm},
    {"BatchNormalizationV1", 1, 1, keras_norms_import_batch_norm},
    {"LayerNormalization", 1, 1, keras_norms_import_layer_norm},
    {"Normalization", 1, 1, import_normalization},
    {"Rescaling", 1, 1, import_rescaling},
    {0},
};
