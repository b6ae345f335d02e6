/* formats/keras/keras_model.c - see keras_frame_internal.h: imports models
 * layer by layer. */
#include "formats/keras/keras_frame_internal.h"

#include <string.h>

/* Assumed for sizes that a model leaves free, to infer shapes: large enough for
 * any chain of poolings. */
enum { guessed_size = 512 };

static const struct keras_layer *const tables[] = {
    keras_conv_layers,  keras_pool_layers,       keras_norm_layers,
    keras_shape_layers, keras_activation_layers, keras_arithmetic_layers,
};

const struct keras_layer *keras_layer_find(const char *class_name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        for (const struct keras_layer *row = tables[i]; row->class_name;
             row++) {
            if (strcmp(row->class_name, class_name) == 0)
                return row;
        }
    }
    return NULL;
}

static bool set_result(struct keras_import *import, struct keras_item *item,
                       size_t call, const struct keras_value *value)
{
    struct keras_result *result = &item->results[call];

    result->values = keras_import_alloc(import, 1, sizeof *value);
    if (!result->values)
        return false;
    *result->values = *value;
    result->n = 1;
    item->n_done++;
    return true;
}

/* ---- inputs ------------------------------------------------------------- */

static bool keras_model_read_shape(const struct json_value *sizes,
                                   struct shape *shape)
{
    if (!json_tree_is(sizes, JSON_ARRAY_BEGIN) || !sizes->n ||
        sizes->n > SHAPE_MAX_RANK)
        return false;
    *shape = (struct shape){.rank = (int)sizes->n};
    sizes = sizes->first;
    for (int i = 0; i < shape->rank; i++, sizes = sizes->next) {
        shape->dims[i] = json_tree_int(sizes, -1);
        if (shape->dims[i] < -1 || shape->dims[i] == 0 ||
            shape->dims[i] > INT32_MAX)
            return false;
    }
    return true;
}

static void keras_model_add_input(struct keras_frame *frame, const char *name,
                                  const struct json_value *sizes,
                                  struct keras_value *value)
{
    struct keras_import *import = frame->import;
    struct shape shape;

    *value = (struct keras_value){.first = GRAPH_NONE, .is_sized = true};
    if (!import->st && !keras_model_read_shape(sizes, &shape))
        keras_import_fail(import, "input '%.80s' has no shape", name);
    if (!import->st)
        import->st = graph_input(import->graph, name, DTYPE_F32, &value->last,
                                 import->err);
    if (import->st)
        return;
    graph_declare_input(import->graph, value->last, &shape);
    shape.dims[0] = 1;
    for (int i = 1; i < shape.rank; i++) {
        if (shape.dims[i] < 0) {
            shape.dims[i] = guessed_size;
            value->is_sized = false;
        }
    }
    value->shape = shape;
    keras_know(import, value->last, &shape, value->is_sized);
}

static const struct json_value *shape_of_input(const struct json_value *config)
{
    const struct json_value *shape = json_tree_get(config, "batch_input_shape");

    return shape ? shape : json_tree_get(config, "batch_shape");
}

/* The i-th reference of a list. Keras 3 writes a single one without brackets,
 * and named ones as an object. */
static const struct json_value *reference_at(const struct json_value *list,
                                             size_t i)
{
    if (json_tree_is(list, JSON_OBJECT_BEGIN)) {
        for (list = list->first; list && i; list = list->next)
            i--;
        return list;
    }
    if (json_tree_is(json_tree_at(list, 0), JSON_STRING))
        return i ? NULL : list;
    return json_tree_at(list, i);
}

/* Binds the inputs: those of the call of a nested model, or new ones of the
 * graph. */
static void bind_inputs(struct keras_frame *frame,
                        struct keras_value *const *given, size_t n_given)
{
    struct keras_import *import = frame->import;
    const struct json_value *list =
        json_tree_get(frame->config, "input_layers");
    const struct json_value *reference;
    size_t n = 0;

    for (; !import->st && (reference = reference_at(list, n)); n++) {
        const char *name = json_tree_text(json_tree_at(reference, 0), "");
        struct keras_value value;
        uint64_t i;

        if (!map_find_text(&frame->names, name, &i) ||
            !frame->items[i].is_input || frame->items[i].n_done) {
            keras_import_fail(import, "there is no input layer '%.80s'", name);
            return;
        }
        if (given && n >= n_given) {
            keras_import_fail(import, "it is called without its input '%.80s'",
                              name);
            return;
        }
        if (given)
            value = *given[n];
        else
            keras_model_add_input(
                frame, name, shape_of_input(frame->items[i].config), &value);
        if (!import->st)
            set_result(import, &frame->items[i], 0, &value);
    }
}

/* ---- layers ------------------------------------------------------------- */

static void import_layer(struct keras_frame *frame, struct keras_item *item,
                         struct keras_call *call)
{
    struct keras_import *import = frame->import;
    const struct keras_layer *layer = keras_layer_find(item->key);

    call->import = import;
    call->class_name = item->class_name;
    call->name = item->name;
    call->key = item->key;
    call->config = item->config;
    call->place =
        (struct keras_place){.folder = item->folder,
                             .top = frame->top ? frame->top : item->name,
                             .layer = item->name,
                             .parent = frame->name};
    call->output =
        (struct keras_value){.last = GRAPH_NONE, .first = GRAPH_NONE};
    if (call->n_inputs < layer->min_inputs ||
        call->n_inputs > layer->max_inputs)
        keras_fail(call, ASSAY_BAD_INPUT, "it is called with %zu inputs",
                   call->n_inputs);
    if (!import->st)
        import->st =
            graph_scope_add(import->graph, frame->scope, item->name,
                            item->class_name, false, &call->scope, import->err);
    if (!import->st)
        layer->import(call);
    if (import->st)
        error_context(import->err, "layer '%.80s' (%.40s)", item->name,
                      item->class_name);
}

static void import_values(struct keras_frame *frame,
                          struct keras_value *const *given, size_t n_given,
                          struct keras_result *result);

/* Imports one call of a nested model. */
static void import_inner(struct keras_frame *frame, struct keras_item *item,
                         const struct keras_call *call,
                         struct keras_result *result)
{
    struct keras_import *import = frame->import;
    struct keras_frame inner = {.import = import,
                                .config = item->config,
                                .folder = item->folder,
                                .top = frame->top ? frame->top : item->name,
                                .name = item->name,
                                .scope = frame->scope,
                                .depth = frame->depth + 1};

    if (inner.depth > KERAS_MAX_DEPTH) {
        keras_import_fail(import, "models are nested more than %d deep",
                          KERAS_MAX_DEPTH);
        return;
    }
    import->st =
        graph_scope_add(import->graph, frame->scope, item->name,
                        item->class_name, false, &inner.scope, import->err);
    if (!import->st)
        keras_frame_read(&inner);
    if (!import->st)
        import_values(&inner, call->inputs, call->n_inputs, result);
    keras_frame_release(&inner);
    if (import->st)
        error_context(import->err, "model '%.80s'", item->name);
}

/* Makes one call; false if it has to wait for others. */
static bool make_call(struct keras_frame *frame, struct keras_item *item,
                      size_t number, const struct json_value *node)
{
    struct keras_call call = {0};

    if (!keras_frame_arguments(frame, node, &call))
        return false;
    if (item->is_model) {
        import_inner(frame, item, &call, &item->results[number]);
        item->n_done++;
        return true;
    }
    import_layer(frame, item, &call);
    return !frame->import->st &&
           set_result(frame->import, item, number, &call.output);
}

/* ---- models ------------------------------------------------------------- */

/* Makes all calls that have their inputs, and returns how many. */
static size_t make_calls(struct keras_frame *frame)
{
    size_t made = 0;

    for (size_t i = 0; i < frame->n && !frame->import->st; i++) {
        struct keras_item *item = &frame->items[i];
        const struct json_value *node = item->calls ? item->calls->first : NULL;

        if (item->is_input || item->n_done == item->n_calls)
            continue;
        for (size_t k = 0; node && k < item->n_calls && !frame->import->st;
             k++, node = node->next) {
            if (!item->results[k].n && make_call(frame, item, k, node))
                made++;
        }
    }
    return made;
}

/* A layer that is called again later has to wait for the ones in between. */
static void make_all_calls(struct keras_frame *frame)
{
    enum { most_rounds = 1000 };

    for (int i = 0; i < most_rounds && make_calls(frame); i++)
        ;
    for (size_t i = 0; i < frame->n && !frame->import->st; i++) {
        if (frame->items[i].n_done < frame->items[i].n_calls &&
            !frame->items[i].is_input)
            keras_import_fail(frame->import,
                              "layer '%.80s' never gets its inputs",
                              frame->items[i].name);
    }
}

static void collect_outputs(struct keras_frame *frame,
                            struct keras_result *result)
{
    const struct json_value *list =
        json_tree_get(frame->config, "output_layers");
    const struct json_value *reference;
    size_t n = list ? list->n : 0;

    result->values =
        keras_import_alloc(frame->import, n, sizeof *result->values);
    for (size_t i = 0;
         !frame->import->st && (reference = reference_at(list, i)); i++) {
        const struct keras_value *value = keras_frame_resolve(frame, reference);

        if (value)
            result->values[result->n++] = *value;
    }
    if (!result->n)
        keras_import_fail(frame->import, "%.80s has no outputs",
                          frame->name ? frame->name : "the model");
}

static void import_functional(struct keras_frame *frame,
                              struct keras_value *const *given, size_t n_given,
                              struct keras_result *result)
{
    bind_inputs(frame, given, n_given);
    if (!frame->import->st)
        make_all_calls(frame);
    if (!frame->import->st)
        collect_outputs(frame, result);
}

static void import_sequential(struct keras_frame *frame,
                              struct keras_value *const *given, size_t n_given,
                              struct keras_result *result)
{
    struct keras_import *import = frame->import;
    const struct json_value *shape = shape_of_input(frame->items[0].config);
    struct keras_value *value = keras_import_alloc(import, 1, sizeof *value);

    if (import->st)
        return;
    if (!shape)
        shape = json_tree_get(frame->config, "build_input_shape");
    if (given && n_given != 1)
        keras_import_fail(import, "it is called with %zu inputs instead of 1",
                          n_given);
    else if (given)
        *value = *given[0];
    else
        keras_model_add_input(
            frame, frame->items[0].is_input ? frame->items[0].name : "input",
            shape, value);
    result->values = value;
    for (size_t i = 0; i < frame->n && !import->st; i++) {
        struct keras_item *item = &frame->items[i];
        struct keras_argument argument = {.value = result->values};
        struct keras_call call = {.arguments = &argument,
                                  .n_arguments = 1,
                                  .inputs = &argument.value,
                                  .n_inputs = 1,
                                  .is_list = true};
        struct keras_result made = {0};

        if (item->is_input)
            continue;
        if (item->is_model) {
            import_inner(frame, item, &call, &made);
        } else {
            import_layer(frame, item, &call);
            made.values = keras_import_alloc(import, 1, sizeof *made.values);
            if (made.values)
                *made.values = call.output;
        }
        result->values = made.values;
    }
    result->n = 1;
}

static void import_values(struct keras_frame *frame,
                          struct keras_value *const *given, size_t n_given,
                          struct keras_result *result)
{
    if (json_tree_get(frame->config, "output_layers"))
        import_functional(frame, given, n_given, result);
    else
        import_sequential(frame, given, n_given, result);
}

static const char *output_name(const struct keras_frame *frame, size_t i)
{
    const struct json_value *list =
        json_tree_get(frame->config, "output_layers");
    const struct json_value *reference = reference_at(list, i);

    return json_tree_text(json_tree_at(reference, 0),
                          frame->items[frame->n - 1].name);
}

void keras_model_import(struct keras_import *import,
                        const struct json_value *model)
{
    struct keras_frame frame = {.import = import,
                                .config = json_tree_get(model, "config"),
                                .scope = GRAPH_NONE};
    struct keras_call call = {.import = import, .scope = GRAPH_NONE};
    struct keras_result result = {0};

    keras_frame_read(&frame);
    if (!import->st)
        import_values(&frame, NULL, 0, &result);
    for (size_t i = 0; i < result.n && !import->st; i++) {
        uint32_t value = keras_last(&call, &result.values[i]);

        if (!import->st)
            import->st = graph_output(import->graph, output_name(&frame, i),
                                      value, import->err);
    }
    keras_frame_release(&frame);
}
