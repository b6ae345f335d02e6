/* formats/keras/keras_map_activations.c - activations, by name and as layers.
 */
#include "formats/keras/keras_import_internal.h"
#include "ops/math/clip.h"
#include "ops/math/softmax.h"
#include "ops/math/unary_math.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

static const struct activation {
    const char *name;
    const struct op_class *op; /* NULL: the identity */
    double alpha, beta;        /* the defaults */
} activations[] = {
    {"celu", &op_celu, 1, 0},
    {"elu", &op_elu, 1, 0},
    {"exponential", &op_exp, 0, 0},
    {"gelu", &op_gelu, 0, 0},
    {"hard_silu", &op_hard_swish, 0, 0},
    {"hard_swish", &op_hard_swish, 0, 0},
    {"leaky_relu", &op_leaky_relu, 0.2, 0},
    {"linear", NULL, 0, 0},
    {"mish", &op_mish, 0, 0},
    {"relu", &op_relu, 0, 0},
    {"selu", &op_selu, 1.6732632423543772, 1.0507009873554805},
    {"sigmoid", &op_sigmoid, 0, 0},
    {"silu", &op_silu, 0, 0},
    {"softplus", &op_softplus, 0, 0},
    {"softsign", &op_softsign, 0, 0},
    {"swish", &op_silu, 0, 0},
    {"tanh", &op_tanh, 0, 0},
};

/* ---- one op ------------------------------------------------------------- */

/* Leaves the attributes out for ops that have none. */
static void keras_activations_emit(struct keras_call *call,
                                   const struct op_class *op, double alpha,
                                   double beta)
{
    struct unary_attrs attrs = {.alpha = alpha, .beta = beta};
    bool has_attrs = op->attrs_bytes == sizeof attrs;

    keras_emit_each(call, op, has_attrs ? &attrs : NULL);
}

static void emit_clip(struct keras_call *call, double low, double high)
{
    keras_emit_each(call, &op_clip,
                    &(struct clip_attrs){(float)low, (float)high});
}

static void emit_softmax(struct keras_call *call, const struct op_class *op,
                         int64_t axis)
{
    const struct keras_value *x = call->inputs[0];
    struct softmax_attrs attrs = {.axis =
                                      keras_axis(call, axis, x->shape.rank)};

    if (keras_is_first(x))
        attrs.axis = keras_axis_first(attrs.axis);
    keras_emit_each(call, op, &attrs);
}

/* Keras 2 and 3 have different slopes. */
static void emit_hard_sigmoid(struct keras_call *call)
{
    keras_activations_emit(call, &op_hard_sigmoid,
                           call->import->version >= 3 ? 1.0 / 6 : 0.2, 0.5);
}

static void emit_named(struct keras_call *call, const char *name)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        const struct activation *now = &activations[i];

        if (strcmp(now->name, name) != 0)
            continue;
        if (now->op)
            keras_activations_emit(call, now->op, now->alpha, now->beta);
        else
            call->output = *call->inputs[0];
        return;
    }
    if (strcmp(name, "softmax") == 0)
        emit_softmax(call, &op_softmax, -1);
    else if (strcmp(name, "log_softmax") == 0)
        emit_softmax(call, &op_log_softmax, -1);
    else if (strcmp(name, "relu6") == 0)
        emit_clip(call, 0, 6);
    else if (strcmp(name, "hard_sigmoid") == 0)
        emit_hard_sigmoid(call);
    else
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "activation '%.40s' is not supported", name);
}

/* "relu", {"class_name": "function", "config": "relu"}, or a layer as
 * activation: {"class_name": "ReLU", "config": {...}}. */
static const char *activation_name(const struct keras_call *call)
{
    const struct json_value *value = keras_get(call, "activation");
    const char *inner = json_tree_text(json_tree_get(value, "config"), NULL);

    if (!value || value->kind == JSON_NULL)
        return "linear";
    if (inner)
        return inner;
    return json_tree_text(
        value,
        json_tree_text(json_tree_get(value, "class_name"), "(an object)"));
}

void keras_activate(struct keras_call *call)
{
    struct keras_value made = call->output, *input = &made;
    struct keras_value **inputs = call->inputs;

    if (keras_failed(call))
        return;
    call->inputs = &input;
    emit_named(call, activation_name(call));
    call->inputs = inputs;
}

/* ---- layers ------------------------------------------------------------- */

static void import_activation(struct keras_call *call)
{
    emit_named(call, activation_name(call));
}

/* min(max_value, x or negative_slope * x) */
static void keras_activations_import_relu(struct keras_call *call)
{
    double slope = keras_number(call, "negative_slope", 0);
    double most = keras_number(call, "max_value", INFINITY);
    struct keras_value made, *input = &made, **inputs = call->inputs;

    if (keras_number(call, "threshold", 0) != 0)
        keras_fail(call, ASSAY_UNSUPPORTED, "threshold is not supported");
    if (slope == 0 && isinf(most)) {
        keras_activations_emit(call, &op_relu, 0, 0);
    } else if (slope == 0) {
        emit_clip(call, 0, most);
    } else {
        keras_activations_emit(call, &op_leaky_relu, slope, 0);
        if (isinf(most) || keras_failed(call))
            return;
        made = call->output;
        call->inputs = &input;
        emit_clip(call, -INFINITY, most);
        call->inputs = inputs;
    }
}

static void import_leaky_relu(struct keras_call *call)
{
    double slope = keras_number(call, "alpha", 0.3);

    keras_activations_emit(call, &op_leaky_relu,
                           keras_number(call, "negative_slope", slope), 0);
}

static void import_elu(struct keras_call *call)
{
    keras_activations_emit(call, &op_elu, keras_number(call, "alpha", 1), 0);
}

static void keras_activations_import_softmax(struct keras_call *call)
{
    const struct json_value *axis = keras_get(call, "axis");
    const struct json_value *item = json_tree_at(axis, 0);

    if (json_tree_is(axis, JSON_ARRAY_BEGIN) && axis->n > 1)
        keras_fail(call, ASSAY_UNSUPPORTED, "several axes are not supported");
    emit_softmax(call, &op_softmax, json_tree_int(item ? item : axis, -1));
}

/* One slope per element of x, or shared along axes. */
static void keras_activations_import_prelu(struct keras_call *call)
{
    static const int64_t order[] = {2, 0, 1};
    struct keras_value *x = call->inputs[0];
    const struct json_value *shared = keras_get(call, "shared_axes");
    struct keras_weight alpha = {.name = "alpha",
                                 .shape = {.rank = x->shape.rank - 1}};
    bool is_first = keras_is_first(x);
    uint32_t inputs[2], output;

    for (int i = 1; i < x->shape.rank; i++)
        alpha.shape.dims[i - 1] = x->shape.dims[i];
    for (size_t i = 0; json_tree_at(shared, i); i++) {
        int64_t axis = json_tree_int(json_tree_at(shared, i), 0);

        if (axis < 1 || axis >= x->shape.rank)
            keras_fail(call, ASSAY_BAD_INPUT, "shared_axes has %lld",
                       (long long)axis);
        else
            alpha.shape.dims[axis - 1] = 1;
    }
    if (is_first)
        alpha.order = order;
    inputs[0] = is_first ? keras_first(call, x) : keras_last(call, x);
    inputs[1] = keras_weight(call, &alpha);
    output = keras_emit(call, &op_prelu, NULL, inputs, 2);
    if (is_first)
        keras_put_first(call, output);
    else
        keras_put_last(call, output);
}

/* ---- functions ---------------------------------------------------------- */

/* "Relu6" of Keras 3 and "nn.relu6" of TensorFlow are "relu6". */
static void keras_activations_import_function(struct keras_call *call)
{
    const char *function = keras_text(call, "function", call->class_name);
    const char *dot = strrchr(function, '.');
    char name[32] = "";
    size_t n = 0;

    for (const char *c = dot ? dot + 1 : function; *c && n < 30; c++) {
        if (*c >= 'A' && *c <= 'Z') {
            if (n)
                name[n++] = '_';
            name[n++] = (char)(*c - 'A' + 'a');
        } else {
            name[n++] = *c;
        }
    }
    name[n] = '\0';
    emit_named(call,
               strcmp(name, "log_softmax_v2") == 0 ? "log_softmax" : name);
}

static void import_gelu(struct keras_call *call)
{
    const struct keras_argument *approximate =
        keras_argument(call, "approximate", 1);
    /* The function of Keras 3 approximates by default. */
    bool is_rough =
        call->import->version >= 3 && strcmp(call->class_name, "Gelu") == 0;

    is_rough = keras_bool(
        call, "approximate",
        json_tree_bool(approximate ? approximate->json : NULL, is_rough));
    if (is_rough)
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "the approximate gelu is not supported");
    emit_named(call, "gelu");
}

const struct keras_layer keras_activation_layers[] = {
    {"Activation", 1, 1, import_activation},
    {"ELU", 1, 1, import_elu},
    {"Gelu", 1, 1, import_gelu},
    {"HardSigmoid", 1, 1, keras_activations_import_function},
    {"HardSilu", 1, 1, keras_activations_import_function},
    {"LeakyReLU", 1, 1, import_leaky_relu},
    {"PReLU", 1, 1, keras_activations_import_prelu},
    {"ReLU", 1, 1, keras_activations_import_relu},
    {"Relu", 1, 1, keras_activations_import_function},
    {"Relu6", 1, 1, keras_activations_import_function},
    {"Sigmoid", 1, 1, keras_activations_import_function},
    {"Silu", 1, 1, keras_activations_import_function},
    {"Softmax", 1, 1, keras_activations_import_softmax},
    {"Tanh", 1, 1, keras_activations_import_function},
    {"tf.math.sigmoid", 1, 1, keras_activations_import_function},
    {"tf.math.tanh", 1, 1, keras_activations_import_function},
    {"tf.nn.elu", 1, 1, keras_activations_import_function},
    {"tf.nn.gelu", 1, 1, import_gelu},
    {"tf.nn.relu", 1, 1, keras_activations_import_function},
    {"tf.nn.relu6", 1, 1, keras_activations_import_function},
    {"tf.nn.selu", 1, 1, keras_activations_import_function},
    {"tf.nn.sigmoid", 1, 1, keras_activations_import_function},
    {"tf.nn.silu", 1, 1, keras_activations_import_function},
    {"tf.nn.softmax", 1, 1, keras_activations_import_function},
    {"tf.nn.swish", 1, 1, keras_activations_import_function},
    {"tf.nn.tanh", 1, 1, keras_activations_import_function},
    {0},
};
