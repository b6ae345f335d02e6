/* formats/keras/keras_frame.c - see keras_frame_internal.h. */
#include "formats/keras/keras_frame_internal.h"

#include "base/str.h"

#include <inttypes.h>
#include <string.h>

bool keras_is_model(const char *class_name)
{
    return strcmp(class_name, "Functional") == 0 ||
           strcmp(class_name, "Sequential") == 0 ||
           strcmp(class_name, "Model") == 0;
}

const char *keras_key(struct keras_import *import, const char *class_name,
                      const struct json_value *config)
{
    struct str key = {0};
    const char *kept = NULL;

    if (strcmp(class_name, "TFOpLambda") != 0 &&
        strcmp(class_name, "SlicingOpLambda") != 0)
        return class_name;
    if (!str_printf(&key, "tf.%s",
                    json_tree_text(json_tree_get(config, "function"), "?")))
        kept = arena_strdup(&import->arena, key.text);
    str_release(&key);
    if (!kept && !import->st)
        import->st = error_nomem(import->err, key.n, "a function's name");
    return kept ? kept : class_name;
}

/* ---- layers ------------------------------------------------------------- */

/* As Keras does it: MaxPooling2D is max_pooling2d, PReLU is p_re_lu. */
static void snake_case(const char *name, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; name[i] && n + 2 < size; i++) {
        bool is_upper = name[i] >= 'A' && name[i] <= 'Z';
        bool is_lower_next = name[i + 1] >= 'a' && name[i + 1] <= 'z';
        bool is_lower_before = i && name[i - 1] >= 'a' && name[i - 1] <= 'z';

        if (is_upper && i && (is_lower_next || is_lower_before))
            out[n++] = '_';
        out[n++] = is_upper ? (char)(name[i] - 'A' + 'a') : name[i];
    }
    out[n] = '\0';
}

/* "layers/conv2d_2" for the third of its class. */
static const char *make_folder(struct keras_frame *frame, struct map *counts,
                               const char *class_name)
{
    struct keras_import *import = frame->import;
    struct str path = {0};
    char snake[96];
    const char *kept = NULL;
    uint64_t count = 0;
    enum assay_status st;

    snake_case(class_name, snake, sizeof snake);
    st = str_printf(&path, "%s%slayers/%s", frame->folder ? frame->folder : "",
                    frame->folder ? "/" : "", snake);
    if (!st && map_find_text(counts, snake, &count))
        st = str_printf(&path, "_%" PRIu64, count);
    if (!st)
        st = map_put_text(counts, snake, count + 1);
    if (!st)
        kept = arena_strdup(&import->arena, path.text);
    if (!kept && !import->st)
        import->st = error_nomem(import->err, path.n, "a layer's folder");
    str_release(&path);
    return kept;
}

static void keras_frame_read_item(struct keras_frame *frame,
                                  struct keras_item *item,
                                  const struct json_value *layer,
                                  struct map *counts)
{
    struct keras_import *import = frame->import;
    const char *name;

    item->config = json_tree_get(layer, "config");
    item->class_name = json_tree_text(json_tree_get(layer, "class_name"), NULL);
    name = json_tree_text(json_tree_get(item->config, "name"), NULL);
    item->name = json_tree_text(json_tree_get(layer, "name"), name);
    if (!item->class_name || !item->config) {
        keras_import_fail(import, "a layer has no class or configuration");
        return;
    }
    if (!item->name)
        item->name = item->class_name;
    item->is_model = keras_is_model(item->class_name);
    item->is_input = strcmp(item->class_name, "InputLayer") == 0;
    if (!item->is_model && !item->is_input)
        item->key = keras_key(import, item->class_name, item->config);
    item->folder = make_folder(frame, counts, item->class_name);
    item->calls = json_tree_get(layer, "inbound_nodes");
    item->n_calls = item->is_input || !item->calls ? 1 : item->calls->n;
    item->results =
        keras_import_alloc(import, item->n_calls, sizeof *item->results);
    item->first_call = INT64_MAX;
}

/* In Keras 2, nested models count their calls from 1: the smallest number in a
 * reference is the first call. */
static void note_references(struct keras_frame *frame,
                            const struct json_value *value)
{
    const struct json_value *open[128];
    size_t depth = 0;

    while (value || depth) {
        uint64_t i;

        if (!value) {
            value = open[--depth]->next;
            continue;
        }
        if (json_tree_is(value, JSON_ARRAY_BEGIN) && value->n >= 3 &&
            json_tree_is(value->first, JSON_STRING) &&
            map_find_text(&frame->names, value->first->text, &i)) {
            int64_t number = json_tree_int(value->first->next, 0);

            if (number < frame->items[i].first_call)
                frame->items[i].first_call = number;
        }
        if (value->first && depth < sizeof open / sizeof *open) {
            open[depth++] = value;
            value = value->first;
        } else {
            value = value->next;
        }
    }
}

void keras_frame_read(struct keras_frame *frame)
{
    struct keras_import *import = frame->import;
    const struct json_value *layers = json_tree_get(frame->config, "layers");
    struct map counts = {0};

    if (!layers) /* Sequential, before Keras 2.3: the list itself */
        layers = frame->config;
    if (!json_tree_is(layers, JSON_ARRAY_BEGIN) || !layers->n) {
        keras_import_fail(import, "%.80s has no layers",
                          frame->name ? frame->name : "the model");
        return;
    }
    frame->items = keras_import_alloc(import, layers->n, sizeof *frame->items);
    if (import->st)
        return;
    for (const struct json_value *layer = layers->first; layer && !import->st;
         layer = layer->next) {
        struct keras_item *item = &frame->items[frame->n];

        keras_frame_read_item(frame, item, layer, &counts);
        if (!import->st && map_find_text(&frame->names, item->name, NULL))
            keras_import_fail(import, "two layers are named '%.80s'",
                              item->name);
        if (!import->st && map_put_text(&frame->names, item->name, frame->n))
            import->st = error_nomem(import->err, sizeof *item, "names");
        frame->n += !import->st;
    }
    map_release(&counts);
    for (size_t i = 0; i < frame->n && !import->st; i++) {
        if (frame->items[i].calls)
            note_references(frame, frame->items[i].calls->first);
    }
    if (!import->st && json_tree_get(frame->config, "output_layers"))
        note_references(frame, json_tree_get(frame->config, "output_layers"));
}

void keras_frame_release(struct keras_frame *frame)
{
    map_release(&frame->names);
}

/* ---- references --------------------------------------------------------- */

struct keras_value *keras_frame_resolve(struct keras_frame *frame,
                                        const struct json_value *reference)
{
    struct keras_import *import = frame->import;
    const char *name = json_tree_text(json_tree_at(reference, 0), "");
    int64_t call = json_tree_int(json_tree_at(reference, 1), 0);
    int64_t output = json_tree_int(json_tree_at(reference, 2), 0);
    const struct keras_item *item;
    const struct keras_result *result;
    uint64_t i;

    if (!map_find_text(&frame->names, name, &i)) {
        keras_import_fail(import, "there is no layer '%.80s'", name);
        return NULL;
    }
    item = &frame->items[i];
    if (item->is_model)
        call -= item->first_call;
    if (call < 0 || (uint64_t)call >= item->n_calls) {
        keras_import_fail(import,
                          "it refers to a call of layer '%.80s' that does not "
                          "exist",
                          name);
        return NULL;
    }
    result = &item->results[call];
    if (!result->n)
        return NULL;
    if (output < 0 || (uint64_t)output >= result->n) {
        keras_import_fail(import,
                          "it refers to an output of layer '%.80s' that does "
                          "not exist",
                          name);
        return NULL;
    }
    return &result->values[output];
}

/* ---- arguments ---------------------------------------------------------- */

/* Keras 3: {"class_name": "__keras_tensor__", "config": {"keras_history":
 * ["conv2d", 0, 0]}}; NULL if it is not a value. */
static const struct json_value *history_of(const struct json_value *value)
{
    return json_tree_get(json_tree_get(value, "config"), "keras_history");
}

/* Keras 2 also writes ["conv2d", 0, 0] for keyword arguments. */
static bool is_reference(const struct keras_frame *frame,
                         const struct json_value *value)
{
    return json_tree_is(value, JSON_ARRAY_BEGIN) && value->n >= 3 &&
           json_tree_is(value->first, JSON_STRING) &&
           map_find_text(&frame->names, value->first->text, NULL);
}

static bool keras_frame_add_value(struct keras_frame *frame,
                                  struct keras_call *call, const char *name,
                                  const struct json_value *reference)
{
    struct keras_value *value = keras_frame_resolve(frame, reference);

    if (!value)
        return false;
    call->arguments[call->n_arguments++] =
        (struct keras_argument){.name = name, .value = value};
    call->inputs[call->n_inputs++] = value;
    return true;
}

static void keras_frame_add_json(struct keras_call *call, const char *name,
                                 const struct json_value *json)
{
    if (json && json->kind != JSON_NULL)
        call->arguments[call->n_arguments++] =
            (struct keras_argument){.name = name, .json = json};
}

/* Adds an argument of Keras 3: a value, a list of them, or other JSON. */
static bool add_argument(struct keras_frame *frame, struct keras_call *call,
                         const char *name, const struct json_value *json)
{
    const struct json_value *item = json_tree_at(json, 0);

    if (history_of(json))
        return keras_frame_add_value(frame, call, name, history_of(json));
    if (!history_of(item)) {
        keras_frame_add_json(call, name, json);
        return true;
    }
    call->is_list = true;
    for (; item; item = item->next) {
        if (history_of(item) &&
            !keras_frame_add_value(frame, call, name, history_of(item)))
            return false;
    }
    return true;
}

static bool add_keywords(struct keras_frame *frame, struct keras_call *call,
                         const struct json_value *keywords)
{
    const struct json_value *item =
        json_tree_is(keywords, JSON_OBJECT_BEGIN) ? keywords->first : NULL;

    for (; item; item = item->next) {
        bool is_done = is_reference(frame, item)
                           ? keras_frame_add_value(frame, call, item->key, item)
                           : add_argument(frame, call, item->key, item);

        if (!is_done)
            return false;
    }
    return true;
}

/* Adds arguments of Keras 2: ["conv2d", 0, 0, {"y": 127.5}]. */
static bool keras_frame_add_entry(struct keras_frame *frame,
                                  struct keras_call *call,
                                  const struct json_value *entry)
{
    const char *name = json_tree_text(json_tree_at(entry, 0), "");

    if (strcmp(name, "_CONSTANT_VALUE") == 0)
        keras_frame_add_json(call, NULL, json_tree_at(entry, 2));
    else if (!keras_frame_add_value(frame, call, NULL, entry))
        return false;
    return add_keywords(frame, call, json_tree_at(entry, 3));
}

/* An upper bound for the arguments: each has a member of its own. */
static size_t count_members(const struct json_value *node)
{
    size_t n = node->n;

    for (const struct json_value *item = node->first; item; item = item->next) {
        n += item->n;
        for (const struct json_value *inner = item->first; inner;
             inner = inner->next)
            n += inner->n;
    }
    return n;
}

bool keras_frame_arguments(struct keras_frame *frame,
                           const struct json_value *node,
                           struct keras_call *call)
{
    size_t most = count_members(node);
    const struct json_value *args = json_tree_get(node, "args");

    call->arguments =
        keras_import_alloc(frame->import, most, sizeof *call->arguments);
    call->inputs =
        keras_import_alloc(frame->import, most, sizeof(struct keras_value *));
    if (frame->import->st)
        return false;
    if (json_tree_is(node, JSON_OBJECT_BEGIN)) {
        args = args ? args->first : NULL;
        for (; args; args = args->next) {
            if (!add_argument(frame, call, NULL, args))
                return false;
        }
        return add_keywords(frame, call, json_tree_get(node, "kwargs"));
    }
    if (json_tree_is(node->first, JSON_STRING))
        return keras_frame_add_entry(frame, call, node);
    call->is_list = true;
    for (node = node->first; node; node = node->next) {
        if (!keras_frame_add_entry(frame, call, node))
            return false;
    }
    return true;
}
