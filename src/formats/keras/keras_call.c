/* formats/keras/keras_call.c - see keras_import_internal.h: configuration,
 * values, nodes. */
#include "formats/keras/keras_frame_internal.h"

#include "base/vec.h"
#include "ops/movement/transpose.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void keras_call_vfail(struct keras_import *import,
                             enum assay_status status, const char *format,
                             va_list args)
{
    char text[160];

    if (import->st)
        return;
    vsnprintf(text, sizeof text, format, args);
    import->st = error_set(import->err, status, "%s", text);
}

void keras_fail(struct keras_call *call, enum assay_status status,
                const char *format, ...)
{
    va_list args;

    va_start(args, format);
    keras_call_vfail(call->import, status, format, args);
    va_end(args);
}

void keras_import_fail(struct keras_import *import, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    keras_call_vfail(import, ASSAY_BAD_INPUT, format, args);
    va_end(args);
}

void *keras_import_alloc(struct keras_import *import, size_t n, size_t bytes)
{
    void *block = arena_alloc(&import->arena, (n ? n : 1) * bytes);

    if (!block && !import->st)
        import->st = error_nomem(import->err, n * bytes, "a model's layers");
    if (block)
        memset(block, 0, (n ? n : 1) * bytes);
    return block;
}

/* ---- configuration ------------------------------------------------------ */

const struct json_value *keras_get(const struct keras_call *call,
                                   const char *name)
{
    return json_tree_get(call->config, name);
}

const char *keras_text(const struct keras_call *call, const char *name,
                       const char *fallback)
{
    return json_tree_text(keras_get(call, name), fallback);
}

/* NumPy values are objects: {"class_name": "__numpy__", "config": {"value":
 * 6.0}} or {"type": "ndarray", "value": 6.0}. */
const struct json_value *keras_plain(const struct json_value *value)
{
    const struct json_value *inner = json_tree_get(value, "config");

    inner = json_tree_get(inner ? inner : value, "value");
    return inner ? inner : value;
}

double keras_number(const struct keras_call *call, const char *name,
                    double fallback)
{
    return json_tree_number(keras_plain(keras_get(call, name)), fallback);
}

bool keras_bool(const struct keras_call *call, const char *name, bool fallback)
{
    return json_tree_bool(keras_get(call, name), fallback);
}

/* Products of such sizes fit into 64 bits. */
static const int64_t most = INT32_MAX;

void keras_pair(struct keras_call *call, const char *name, int64_t fallback,
                int64_t pair[2])
{
    const struct json_value *value = keras_get(call, name);

    for (size_t i = 0; i < 2; i++) {
        const struct json_value *item = json_tree_at(value, i);

        pair[i] = json_tree_int(item ? item : value, fallback);
        if (pair[i] < 1 || pair[i] > most) {
            keras_fail(call, ASSAY_BAD_INPUT, "%s is %" PRId64, name, pair[i]);
            pair[i] = 1;
        }
    }
}

int64_t keras_int(struct keras_call *call, const char *name, int64_t fallback,
                  int64_t low, int64_t high)
{
    int64_t value = json_tree_int(keras_get(call, name), fallback);

    if (value >= low && value <= high)
        return value;
    keras_fail(call, ASSAY_BAD_INPUT, "%s is %" PRId64, name, value);
    return low;
}

bool keras_has_first(struct keras_call *call)
{
    const char *format = keras_text(call, "data_format", "channels_last");
    bool is_first = strcmp(format, "channels_first") == 0;

    if (!is_first && strcmp(format, "channels_last") != 0)
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "data_format '%.20s' is not supported; channels_last and "
                   "channels_first are",
                   format);
    return is_first;
}

const struct keras_argument *keras_argument(const struct keras_call *call,
                                            const char *name, size_t position)
{
    size_t unnamed = 0;

    for (size_t i = 0; i < call->n_arguments; i++) {
        const struct keras_argument *argument = &call->arguments[i];

        if (argument->name ? strcmp(argument->name, name) == 0
                           : unnamed++ == position)
            return argument;
    }
    return NULL;
}

/* ---- shapes of values --------------------------------------------------- */

void keras_know(struct keras_import *import, uint32_t value,
                const struct shape *shape, bool is_sized)
{
    struct keras_known *moved;

    if (import->st)
        return;
    moved = vec_reserve(import->known, &import->known_capacity,
                        value + (size_t)1, sizeof *moved);
    if (!moved) {
        import->st = error_nomem(import->err, sizeof *moved, "shapes");
        return;
    }
    import->known = moved;
    while (import->n_known <= value)
        import->known[import->n_known++] = (struct keras_known){0};
    import->known[value] =
        (struct keras_known){.shape = *shape, .is_sized = is_sized};
}

/* ---- nodes -------------------------------------------------------------- */

enum { max_inputs = 1024 };

/* Infers the shape of a new node's output. */
static enum assay_status keras_call_infer(struct keras_import *import,
                                          const struct node *node,
                                          struct error *err)
{
    struct tensor inputs[max_inputs], output = {0};
    const struct tensor *refs[max_inputs];
    bool is_sized = true;
    enum assay_status st;

    if (node->n_inputs > max_inputs)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it has %zu inputs; at most %d are supported",
                         node->n_inputs, max_inputs);
    for (size_t i = 0; i < node->n_inputs; i++) {
        uint32_t id = node->inputs[i];
        const struct value *value =
            id == GRAPH_NONE ? NULL : graph_value(import->graph, id);

        refs[i] = value ? &inputs[i] : NULL;
        if (!value)
            continue;
        inputs[i] = value->data;
        if (value->data.buffer)
            continue;
        inputs[i].dtype = value->dtype;
        inputs[i].shape = value->shape;
        if (id < import->n_known && value->kind != VALUE_PARAMETER &&
            value->kind != VALUE_BUFFER) {
            inputs[i].shape = import->known[id].shape;
            is_sized &= import->known[id].is_sized;
        }
    }
    st = node_infer(node, refs, &output, err);
    if (!st)
        keras_know(import, node->outputs[0], &output.shape, is_sized);
    return st ? st : import->st;
}

uint32_t keras_emit(struct keras_call *call, const struct op_class *op,
                    const void *attrs, const uint32_t *inputs, size_t n_inputs)
{
    struct keras_import *import = call->import;
    struct node_description description = {.op = op,
                                           .attrs = attrs,
                                           .scope = call->scope,
                                           .name = "",
                                           .inputs = inputs,
                                           .n_inputs = n_inputs,
                                           .n_outputs = 1};
    uint32_t output = GRAPH_NONE;
    char name[48];

    if (import->st)
        return GRAPH_NONE;
    if (op == &op_transpose || call->n_nodes) {
        snprintf(name, sizeof name, "%s_%zu", op->name, call->n_nodes);
        description.name = name;
    }
    call->n_nodes++;
    import->st =
        graph_node_add(import->graph, &description, &output, import->err);
    if (!import->st)
        import->st = keras_call_infer(
            import,
            graph_node(import->graph, graph_node_count(import->graph) - 1),
            import->err);
    return import->st ? GRAPH_NONE : output;
}

static const int64_t to_first[] = {0, 3, 1, 2}, to_last[] = {0, 2, 3, 1};

static struct keras_value keras_call_value_of(const struct keras_call *call,
                                              uint32_t id)
{
    struct keras_value value = {.last = id, .first = GRAPH_NONE};

    if (id != GRAPH_NONE) {
        value.shape = call->import->known[id].shape;
        value.is_sized = call->import->known[id].is_sized;
    }
    return value;
}

void keras_put_last(struct keras_call *call, uint32_t value)
{
    call->output = keras_call_value_of(call, value);
}

void keras_put_first(struct keras_call *call, uint32_t value)
{
    struct keras_value put = keras_call_value_of(call, value);
    struct shape shape = put.shape;

    if (shape.rank == 4) {
        for (int i = 0; i < 4; i++)
            put.shape.dims[i] = shape.dims[to_last[i]];
        put.first = put.last;
        put.last = GRAPH_NONE;
    }
    call->output = put;
}

static uint32_t keras_call_turn(struct keras_call *call, uint32_t value,
                                const int64_t order[4])
{
    struct transpose_attrs attrs = {.rank = 4};

    memcpy(attrs.order, order, 4 * sizeof *order);
    return keras_emit(call, &op_transpose, &attrs, &value, 1);
}

uint32_t keras_last(struct keras_call *call, struct keras_value *value)
{
    if (value->last == GRAPH_NONE && value->first != GRAPH_NONE)
        value->last = keras_call_turn(call, value->first, to_last);
    return value->last;
}

static bool keras_call_has_four(struct keras_call *call,
                                const struct keras_value *value)
{
    if (value->shape.rank != 4)
        keras_fail(call, ASSAY_BAD_INPUT,
                   "its input has %d dimensions instead of 4",
                   value->shape.rank);
    return value->shape.rank == 4;
}

uint32_t keras_first(struct keras_call *call, struct keras_value *value)
{
    if (!keras_call_has_four(call, value))
        return GRAPH_NONE;
    if (value->first == GRAPH_NONE)
        value->first = keras_call_turn(call, value->last, to_first);
    return value->first;
}

/* ---- images -------------------------------------------------------------- */

uint32_t keras_images(struct keras_call *call, struct keras_value *value)
{
    if (!keras_has_first(call))
        return keras_first(call, value);
    return keras_call_has_four(call, value) ? keras_last(call, value)
                                            : GRAPH_NONE;
}

int64_t keras_channels(struct keras_call *call, const struct keras_value *value)
{
    if (value->shape.rank < 2)
        return 0;
    return value->shape.dims[keras_has_first(call) ? 1 : value->shape.rank - 1];
}

int64_t keras_side(struct keras_call *call, const struct keras_value *value,
                   int i)
{
    return value->shape.dims[keras_has_first(call) ? 2 + i : 1 + i];
}

void keras_put_images(struct keras_call *call, uint32_t value)
{
    if (keras_has_first(call))
        keras_put_last(call, value);
    else
        keras_put_first(call, value);
}

bool keras_is_first(const struct keras_value *value)
{
    return value->first != GRAPH_NONE;
}

int keras_axis(struct keras_call *call, int64_t axis, int rank)
{
    axis = axis < 0 ? axis + rank : axis;
    if (axis >= 0 && axis < rank)
        return (int)axis;
    keras_fail(call, ASSAY_BAD_INPUT, "%d dimensions have no axis %" PRId64,
               rank, axis);
    return 0;
}

int keras_axis_first(int axis)
{
    return axis == 3 ? 1 : axis ? axis + 1 : 0;
}

void keras_emit_each(struct keras_call *call, const struct op_class *op,
                     const void *attrs)
{
    struct keras_value *x = call->inputs[0];
    bool is_first = keras_is_first(x);
    uint32_t input = is_first ? x->first : x->last;
    uint32_t output = keras_emit(call, op, attrs, &input, 1);

    if (is_first)
        keras_put_first(call, output);
    else
        keras_put_last(call, output);
}
