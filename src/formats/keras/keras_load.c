/* formats/keras/keras_load.c - see keras.h. */
#include "formats/keras/keras.h"

#include "base/mem.h"
#include "base/str.h"
#include "formats/keras/keras_frame_internal.h"

#include <string.h>

/* ---- unsupported layers ------------------------------------------------- */

struct missing {
    struct keras_import *import;
    struct str names; /* "a (Lambda), b (LSTM)" */
    size_t n;
    bool is_out_of_memory;
};

static void keras_load_note_missing(struct missing *missing, const char *path,
                                    const char *class_name)
{
    struct sink *problems = missing->import->problems;

    if (missing->n++ < 8 &&
        str_printf(&missing->names, "%s%.40s (%.40s)",
                   missing->n > 1 ? ", " : "", path, class_name))
        missing->is_out_of_memory = true;
    if (problems)
        sink_printf(problems, "layer %s: %s is not supported\n", path,
                    class_name);
}

static void check_layer(struct missing *missing, const char *class_name,
                        const struct json_value *layer)
{
    struct keras_import *import = missing->import;
    const struct json_value *config = json_tree_get(layer, "config");
    const char *name = json_tree_text(json_tree_get(config, "name"), "?");
    const char *key = keras_key(import, class_name, config);

    if (!import->st && strcmp(class_name, "InputLayer") != 0 &&
        !keras_layer_find(key))
        keras_load_note_missing(missing, name, key);
}

/* Checks all layers of the model and of nested ones. */
static void keras_load_check_layers(struct missing *missing,
                                    const struct json_value *model)
{
    const struct json_value *open[KERAS_MAX_DEPTH + 2];
    const struct json_value *config = json_tree_get(model, "config");
    const struct json_value *layers = json_tree_get(config, "layers");
    const struct json_value *layer;
    size_t depth = 0;

    layers = layers ? layers : config;
    layer = json_tree_is(layers, JSON_ARRAY_BEGIN) ? layers->first : NULL;
    while (layer || depth) {
        const char *class_name;

        if (!layer) {
            layer = open[--depth]->next;
            continue;
        }
        class_name = json_tree_text(json_tree_get(layer, "class_name"), "?");
        config = json_tree_get(layer, "config");
        layers = json_tree_get(config, "layers");
        if (keras_is_model(class_name) && depth <= KERAS_MAX_DEPTH &&
            json_tree_is(layers, JSON_ARRAY_BEGIN) && layers->first) {
            open[depth++] = layer;
            layer = layers->first;
            continue;
        }
        if (!keras_is_model(class_name))
            check_layer(missing, class_name, layer);
        layer = layer->next;
    }
}

static void keras_load_check_model(struct keras_import *import,
                                   const struct json_value *model)
{
    struct missing missing = {.import = import};
    const char *class_name =
        json_tree_text(json_tree_get(model, "class_name"), NULL);

    if (!class_name)
        import->st = error_set(import->err, ASSAY_BAD_INPUT,
                               "its configuration has no class_name");
    else if (!keras_is_model(class_name))
        import->st = error_set(import->err, ASSAY_UNSUPPORTED,
                               "it is a %.60s, a custom class; only Functional "
                               "and Sequential models are supported",
                               class_name);
    else
        keras_load_check_layers(&missing, model);
    if (!import->st && missing.is_out_of_memory)
        import->st = error_nomem(import->err, 64, "the names of layers");
    if (!import->st && missing.n)
        import->st =
            error_set(import->err, ASSAY_UNSUPPORTED,
                      "%zu of its layers %s not supported: %.150s%s", missing.n,
                      missing.n == 1 ? "is" : "are", str_text(&missing.names),
                      missing.n > 8 ? ", ..." : "");
    str_release(&missing.names);
}

/* ---- loading ------------------------------------------------------------ */

/* "vgg19" of "models/vgg19.h5". */
static void keras_load_set_name(struct keras_import *import, const char *path,
                                const char *class_name)
{
    const char *slash = strrchr(path, '/');
    const char *begin = slash ? slash + 1 : path;
    const char *dot = strrchr(begin, '.');
    size_t n = dot && dot > begin ? (size_t)(dot - begin) : strlen(begin);
    char *name = arena_strndup(&import->arena, begin, n);

    import->st =
        name ? graph_set_name(import->graph, name, class_name, import->err)
             : error_nomem(import->err, n, "the name of a model");
}

static void import_json(struct keras_import *import, const char *json, size_t n,
                        const char *path)
{
    const struct json_value *model;

    import->st = json_tree_read(json, n, &import->arena, &model, import->err);
    if (import->st) {
        error_context(import->err, "its configuration");
        return;
    }
    keras_load_check_model(import, model);
    if (!import->st)
        import->st = graph_new(&import->graph, import->err);
    if (!import->st)
        keras_load_set_name(
            import, path,
            json_tree_text(json_tree_get(model, "class_name"), "Model"));
    if (!import->st)
        keras_model_import(import, model);
    if (!import->st)
        import->st = graph_check(import->graph, import->err);
}

static enum assay_status keras_load_finish(struct keras_import *import,
                                           struct graph **out)
{
    if (import->st)
        graph_free(import->graph);
    else
        *out = import->graph;
    mem_free(import->known);
    arena_release(&import->arena);
    return import->st;
}

enum assay_status keras_load_config(const char *json, size_t n,
                                    struct pool *pool, struct graph **out,
                                    struct error *err)
{
    struct keras_import import = {.pool = pool, .version = 3, .err = err};

    *out = NULL;
    import_json(&import, json, n, "model");
    return keras_load_finish(&import, out);
}

enum assay_status keras_load(const char *path, struct sink *problems,
                             struct pool *pool, struct graph **out,
                             struct error *err)
{
    struct keras_import import = {
        .pool = pool, .problems = problems, .err = err};
    struct keras_store *store = NULL;
    const char *json;
    size_t n;

    *out = NULL;
    import.st = keras_store_open(path, &store, err);
    if (!import.st) {
        import.store = store;
        import.version = keras_store_version(store);
        json = keras_store_config(store, &n);
        import_json(&import, json, n, path);
    }
    keras_load_finish(&import, out);
    keras_store_close(store);
    if (import.st)
        error_context(err, "reading %s", path);
    return import.st;
}
