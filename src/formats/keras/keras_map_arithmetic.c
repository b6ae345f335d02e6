/* formats/keras/keras_map_arithmetic.c - layers and functions with several
 * inputs. */
#include "formats/keras/keras_import_internal.h"
#include "ops/movement/concat.h"
#include "ops/ops.h"

#include <string.h>

/* Whether to use the channels-first order: all inputs have four dimensions, and
 * one exists in that order already. */
static bool choose_order(const struct keras_call *call)
{
    bool is_first = false, is_four = true;

    for (size_t i = 0; i < call->n_inputs; i++) {
        is_first |= keras_is_first(call->inputs[i]);
        is_four &= call->inputs[i]->shape.rank == 4;
    }
    return is_first && is_four;
}

static uint32_t keras_arithmetic_take(struct keras_call *call,
                                      struct keras_value *value, bool is_first)
{
    return is_first ? keras_first(call, value) : keras_last(call, value);
}

static void keras_arithmetic_put(struct keras_call *call, uint32_t value,
                                 bool is_first)
{
    if (is_first)
        keras_put_first(call, value);
    else
        keras_put_last(call, value);
}

/* ---- merging layers ----------------------------------------------------- */

/* Inputs of a lower rank get dimensions of 1 after the batch. */
static void keras_arithmetic_align(struct keras_call *call,
                                   struct keras_value *value, int rank,
                                   struct keras_value *aligned)
{
    int64_t axes[SHAPE_MAX_RANK];
    uint32_t inputs[2];
    size_t n = 0;

    *aligned = *value;
    if (value->shape.rank == rank || value->shape.rank < 1)
        return;
    for (int i = value->shape.rank; i < rank; i++, n++)
        axes[n] = (int64_t)n + 1;
    inputs[0] = keras_last(call, value);
    inputs[1] = keras_new_i64s(call, axes, n);
    keras_put_last(call, keras_emit(call, &op_unsqueeze, NULL, inputs, 2));
    *aligned = call->output;
}

static int greatest_rank(const struct keras_call *call)
{
    int rank = 0;

    for (size_t i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i]->shape.rank > rank)
            rank = call->inputs[i]->shape.rank;
    }
    return rank;
}

/* For equal shapes, uses the op that is fused with convolutions. */
static const struct op_class *choose_op(const struct op_class *op,
                                        const struct keras_value *a,
                                        const struct keras_value *b)
{
    return op == &op_sum && a->shape.rank && a->is_sized && b->is_sized &&
                   shape_equal(&a->shape, &b->shape)
               ? &op_add
               : op;
}

/* Combines the inputs pairwise, from the left. */
static void keras_arithmetic_fold(struct keras_call *call,
                                  const struct op_class *op)
{
    int rank = greatest_rank(call);
    bool is_first = choose_order(call);
    struct keras_value all, next;

    keras_arithmetic_align(call, call->inputs[0], rank, &all);
    for (size_t i = 1; i < call->n_inputs && !keras_failed(call); i++) {
        uint32_t pair[2];

        keras_arithmetic_align(call, call->inputs[i], rank, &next);
        pair[0] = keras_arithmetic_take(call, &all, is_first);
        pair[1] = keras_arithmetic_take(call, &next, is_first);
        keras_arithmetic_put(
            call, keras_emit(call, choose_op(op, &all, &next), NULL, pair, 2),
            is_first);
        all = call->output;
    }
    call->output = all;
}

static void import_average(struct keras_call *call)
{
    bool is_first = choose_order(call);
    uint32_t pair[2];

    keras_arithmetic_fold(call, &op_sum);
    if (keras_failed(call))
        return;
    pair[0] = keras_arithmetic_take(call, &call->output, is_first);
    pair[1] = keras_new_scalar(call, (double)call->n_inputs);
    keras_arithmetic_put(call, keras_emit(call, &op_div, NULL, pair, 2),
                         is_first);
}

static void import_concatenate(struct keras_call *call)
{
    int rank = greatest_rank(call);
    struct concat_attrs attrs;
    bool is_first = choose_order(call);
    uint32_t *inputs =
        arena_alloc(&call->import->arena, call->n_inputs * sizeof *inputs);

    attrs.axis = keras_axis(call, keras_int(call, "axis", -1, -8, 8), rank);
    if (is_first)
        attrs.axis = keras_axis_first(attrs.axis);
    if (!inputs)
        keras_fail(call, ASSAY_NOMEM, "out of memory for its inputs");
    for (size_t i = 0; inputs && i < call->n_inputs; i++)
        inputs[i] = keras_arithmetic_take(call, call->inputs[i], is_first);
    keras_arithmetic_put(
        call, keras_emit(call, &op_concat, &attrs, inputs, call->n_inputs),
        is_first);
}

/* ---- functions of two values -------------------------------------------- */

/* Broadcasts by NumPy's rules. A number works in either order, a list needs the
 * channels last. */
static void keras_arithmetic_emit_pair(struct keras_call *call,
                                       const struct op_class *op)
{
    const struct keras_argument *of[2] = {&call->arguments[0],
                                          &call->arguments[1]};
    bool is_first = choose_order(call);
    uint32_t pair[2];

    for (size_t i = 0; i < 2; i++) {
        pair[i] = of[i]->value ? GRAPH_NONE : keras_constant(call, of[i]->json);
        if (pair[i] != GRAPH_NONE && keras_weight_shape(call, pair[i])->rank)
            is_first = false;
    }
    for (size_t i = 0; i < 2; i++) {
        if (of[i]->value)
            pair[i] = keras_arithmetic_take(call, of[i]->value, is_first);
    }
    keras_arithmetic_put(call, keras_emit(call, op, NULL, pair, 2), is_first);
}

static const struct {
    const char *name;
    const struct op_class *op;
} operations[] = {
    {"Add", &op_sum},
    {"Divide", &op_div},
    {"Maximum", &op_max},
    {"Minimum", &op_min},
    {"Multiply", &op_mul},
    {"Power", &op_pow},
    {"Subtract", &op_sub},
    {"TrueDivide", &op_div},
    {"tf.__operators__.add", &op_sum},
    {"tf.math.add", &op_sum},
    {"tf.math.divide", &op_div},
    {"tf.math.maximum", &op_max},
    {"tf.math.minimum", &op_min},
    {"tf.math.multiply", &op_mul},
    {"tf.math.pow", &op_pow},
    {"tf.math.subtract", &op_sub},
    {"tf.math.truediv", &op_div},
    {"tf.nn.bias_add", &op_sum},
};

/* A layer with a list of inputs, or a function of two values. */
static void import_operation(struct keras_call *call)
{
    size_t i = 0;

    while (strcmp(operations[i].name, call->key) != 0)
        i++;
    if (call->is_list)
        keras_arithmetic_fold(call, operations[i].op);
    else if (call->n_arguments >= 2)
        keras_arithmetic_emit_pair(call, operations[i].op);
    else
        keras_fail(call, ASSAY_BAD_INPUT,
                   "it is called with only one argument");
}

const struct keras_layer keras_arithmetic_layers[] = {
    {"Add", 1, KERAS_ANY, import_operation},
    {"Average", 1, KERAS_ANY, import_average},
    {"Concatenate", 1, KERAS_ANY, import_concatenate},
    {"Divide", 1, 2, import_operation},
    {"Maximum", 1, KERAS_ANY, import_operation},
    {"Minimum", 1, KERAS_ANY, import_operation},
    {"Multiply", 1, KERAS_ANY, import_operation},
    {"Power", 1, 2, import_operation},
    {"Subtract", 1, KERAS_ANY, import_operation},
    {"TrueDivide", 1, 2, import_operation},
    {"tf.__operators__.add", 1, 2, import_operation},
    {"tf.math.add", 1, 2, import_operation},
    {"tf.math.divide", 1, 2, import_operation},
    {"tf.math.maximum", 1, 2, import_operation},
    {"tf.math.minimum", 1, 2, import_operation},
    {"tf.math.multiply", 1, 2, import_operation},
    {"tf.math.pow", 1, 2, import_operation},
    {"tf.math.subtract", 1, 2, import_operation},
    {"tf.math.truediv", 1, 2, import_operation},
    {"tf.nn.bias_add", 1, 2, import_operation},
    {0},
};
