/* formats/onnx/onnx_places.c - see onnx_frame_internal.h: the modules that
 * nodes belong to.
 *
 * PyTorch names a node after the modules around it and its op:
 * /backbone/body/layer1/layer1.0/conv1/Conv is in backbone.body.layer1.0.conv1.
 * A module that is only indexed (a ModuleList) shows as a dot:
 * /model.0/conv/Conv is in model.0.conv, and model is never called. Current
 * versions note the modules instead (onnx_scopes.c). */
#include "formats/onnx/onnx_frame_internal.h"

#include "base/str.h"

#include <string.h>

struct places {
    const struct onnx_node *nodes;
    struct arena *arena;
    struct onnx_place *places; /* one per node */
    struct map paths;          /* to the number of nodes in it; has_modules */
    struct map labels;         /* by path and label */
    struct map makers;         /* from values to the nodes with a place */
    struct str path;
    bool has_notes; /* some nodes say where they are */
};

static const uint64_t has_modules = UINT64_C(1) << 63;

static bool onnx_places_add_module(struct places *all, struct onnx_place *place,
                                   const char *name, size_t n,
                                   bool is_container)
{
    char *copy = arena_strndup(all->arena, name, n);

    if (!copy || (all->path.n && str_append_char(&all->path, '.')) ||
        str_append_n(&all->path, name, n))
        return false;
    place->modules[place->n_modules++] =
        (struct onnx_module){.name = copy, .is_container = is_container};
    return true;
}

/* How many characters of a part repeat the end of the path before it:
 * "layer1." of "layer1.0" after backbone.body.layer1. */
static size_t onnx_places_repeated(const struct str *path, const char *part,
                                   size_t n)
{
    for (size_t begin = 0; begin < path->n; begin++) {
        size_t length = path->n - begin;

        if ((begin == 0 || path->text[begin - 1] == '.') && length < n &&
            part[length] == '.' &&
            memcmp(part, path->text + begin, length) == 0)
            return length + 1;
    }
    return 0;
}

/* Adds a part of the name between slashes: modules separated by dots. */
static bool onnx_places_add_part(struct places *all, struct onnx_place *place,
                                 const char *part, size_t n)
{
    size_t skip = onnx_places_repeated(&all->path, part, n);

    part += skip;
    n -= skip;
    while (n) {
        size_t length = 0;

        while (length < n && part[length] != '.')
            length++;
        if (place->n_modules == ONNX_MAX_MODULES - 1)
            length = n;
        if (length &&
            !onnx_places_add_module(all, place, part, length, length < n))
            return false;
        part += length;
        n -= length;
        if (n) {
            part++;
            n--;
        }
    }
    return true;
}

/* "Conv_12"; NULL if out of memory. */
static const char *onnx_places_number(struct places *all, size_t i)
{
    struct str text = {0};
    const char *name = NULL;

    if (!str_printf(&text, "%s_%zu", all->nodes[i].op_type, i))
        name = arena_strdup(all->arena, text.text);
    str_release(&text);
    return name;
}

/* Counts the node in its module, and notes which modules hold others. */
static bool count_place(struct places *all, const struct onnx_place *place)
{
    const char *path = str_text(&all->path);
    uint64_t uses = 0;
    size_t n = 0;

    map_find(&all->paths, path, all->path.n, &uses);
    if (map_put(&all->paths, path, all->path.n, uses + 1))
        return false;
    for (size_t i = 0; i + 1 < place->n_modules; i++) {
        n += (i > 0) + strlen(place->modules[i].name);
        uses = 0;
        map_find(&all->paths, path, n, &uses);
        if (map_put(&all->paths, path, n, uses | has_modules))
            return false;
    }
    return true;
}

static bool onnx_places_split_name(struct places *all, size_t i)
{
    struct onnx_place *place = &all->places[i];
    const char *name =
        all->nodes[i].name[0] ? all->nodes[i].name : onnx_places_number(all, i);
    const char *last = name;

    str_clear(&all->path);
    if (!name)
        return false;
    for (const char *c = name; *c; c++) {
        if (*c == '/' && c[1])
            last = c + 1;
    }
    for (const char *part = name; part < last;) {
        size_t n = strcspn(part, "/");

        if (n && place->n_modules < ONNX_MAX_MODULES - 1 &&
            !onnx_places_add_part(all, place, part, n))
            return false;
        part += n + 1;
    }
    place->label = last;
    if (!place->n_modules) {
        place->label = "";
        if (!onnx_places_add_module(all, place, last, strlen(last), false))
            return false;
    }
    return true;
}

static bool onnx_places_join_path(struct places *all,
                                  const struct onnx_place *place)
{
    str_clear(&all->path);
    for (size_t i = 0; i < place->n_modules; i++) {
        if ((i && str_append_char(&all->path, '.')) ||
            str_append(&all->path, place->modules[i].name))
            return false;
    }
    return true;
}

/* A node that says nothing, between others that do, is where its input comes
 * from. */
static bool onnx_places_inherit(struct places *all, size_t i)
{
    const struct onnx_node *node = &all->nodes[i];
    struct onnx_place *place = &all->places[i];
    uint64_t from;

    if (!node->n_inputs || !map_find_text(&all->makers, node->inputs[0], &from))
        return false;
    memcpy(place->modules, all->places[from].modules,
           all->places[from].n_modules * sizeof *place->modules);
    place->n_modules = all->places[from].n_modules;
    place->label = node->name;
    return place->n_modules;
}

/* An op of the model itself is shown like a module. */
static bool onnx_places_add_root(struct places *all, struct onnx_place *place)
{
    const char *label = place->label;

    place->label = "";
    str_clear(&all->path);
    return onnx_places_add_module(all, place, label, strlen(label), false);
}

static bool onnx_places_find(struct places *all, size_t i)
{
    const struct onnx_node *node = &all->nodes[i];
    struct onnx_place *place = &all->places[i];
    bool is_noted = false, is_made = true;

    place->modules =
        arena_alloc(all->arena, ONNX_MAX_MODULES * sizeof *place->modules);
    if (!place->modules ||
        !onnx_scopes_read(node, all->arena, place, &is_noted))
        return false;
    all->has_notes |= is_noted;
    if (!is_noted && !(all->has_notes && onnx_places_inherit(all, i)))
        is_made = onnx_places_split_name(all, i);
    else if (!place->n_modules)
        is_made = onnx_places_add_root(all, place);
    else
        is_made = onnx_places_join_path(all, place);
    for (size_t k = 0; is_made && all->has_notes && k < node->n_outputs; k++)
        is_made = !map_put_text(&all->makers, node->outputs[k], i);
    return is_made && count_place(all, place);
}

/* Chooses a label that no other op of the module has. */
static bool choose_label(struct places *all, size_t i)
{
    struct onnx_place *place = &all->places[i];
    uint64_t uses = 0;

    if (!onnx_places_join_path(all, place))
        return false;
    map_find(&all->paths, str_text(&all->path), all->path.n, &uses);
    if (uses == 1) {
        place->label = "";
        return true;
    }
    if (str_append_char(&all->path, '/') ||
        str_append(&all->path, place->label))
        return false;
    if (!place->label[0] ||
        map_find(&all->labels, all->path.text, all->path.n, NULL)) {
        place->label = onnx_places_number(all, i);
        return place->label;
    }
    return !map_put(&all->labels, all->path.text, all->path.n, i);
}

enum assay_status onnx_places_make(const struct onnx_node *nodes, size_t n,
                                   struct arena *arena,
                                   struct onnx_place **places,
                                   struct error *err)
{
    struct places all = {.nodes = nodes, .arena = arena};
    bool is_made;

    all.places = arena_alloc(arena, (n ? n : 1) * sizeof *all.places);
    is_made = all.places;
    if (is_made)
        memset(all.places, 0, n * sizeof *all.places);
    for (size_t i = 0; is_made && i < n; i++)
        is_made = onnx_places_find(&all, i);
    for (size_t i = 0; is_made && i < n; i++)
        is_made = choose_label(&all, i);
    map_release(&all.paths);
    map_release(&all.labels);
    map_release(&all.makers);
    str_release(&all.path);
    *places = all.places;
    return is_made ? ASSAY_OK
                   : error_nomem(err, n * sizeof *all.places,
                                 "the modules of a model");
}
