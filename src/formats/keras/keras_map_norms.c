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

static void keras_norms_import_batch_norm(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    struct batch_norm_attrs attrs = {
        .eps = (float)keras_number(call, "epsilon", 1e-3),
        .momentum = (float)(1 - keras_number(call, "momentum", 0.99))};
    int64_t n = check_last(call, x);
    uint32_t inputs[BATCH_NORM_INPUTS];

    if (keras_failed(call))
        return;
    if (x->shape.rank != 2 && x->shape.rank != 4)
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "%d dimensions are not supported; only 2 and 4 are",
                   x->shape.rank);
    inputs[BATCH_NORM_X] =
        x->shape.rank == 4 ? keras_first(call, x) : keras_last(call, x);
    inputs[BATCH_NORM_WEIGHT] =
        keras_norms_read_scale(call, "scale", "gamma", n, 1);
    inputs[BATCH_NORM_BIAS] =
        keras_norms_read_scale(call, "center", "beta", n, 0);
    inputs[BATCH_NORM_MEAN] = read_statistic(call, "moving_mean", n);
    inputs[BATCH_NORM_VARIANCE] = read_statistic(call, "moving_variance", n);
    keras_put_first(call, keras_emit(call, &op_batch_norm, &attrs, inputs,
                                     BATCH_NORM_INPUTS));
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

/* From the configuration, or as adapt() stored it. */
static uint32_t read_moment(struct keras_call *call, const char *name,
                            int64_t n)
{
    const struct json_value *given = keras_get(call, name);

    return given && given->kind != JSON_NULL ? keras_constant(call, given)
                                             : read_statistic(call, name, n);
}

/* (x - mean) / max(deviation, 1e-7) */
static void import_normalization(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    int64_t n = check_last(call, x);
    uint32_t pair[2], deviation[2];

    if (keras_bool(call, "invert", false))
        keras_fail(call, ASSAY_UNSUPPORTED, "invert is not supported");
    if (keras_failed(call))
        return;
    pair[0] = keras_last(call, x);
    pair[1] = read_moment(call, "mean", n);
    deviation[0] = read_moment(call, "variance", n);
    pair[0] = keras_emit(call, &op_sub, NULL, pair, 2);
    deviation[0] = keras_emit(call, &op_sqrt, NULL, deviation, 1);
    deviation[1] = keras_new_scalar(call, 1e-7);
    pair[1] = keras_emit(call, &op_max, NULL, deviation, 2);
    keras_put_last(call, keras_emit(call, &op_div, NULL, pair, 2));
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
