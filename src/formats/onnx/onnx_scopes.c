/* formats/onnx/onnx_scopes.c - see onnx_frame_internal.h: the modules that
 * PyTorch's exporter notes with each node.
 *
 * Two lists, written as Python does:
 *     ['', 'features', 'features.0', 'features.0.1', 'hardswish']
 *     ['torchvision...MobileNetV3', 'torch...Sequential', ...]
 * The first entry is the model, the last one the op. */
#include "formats/onnx/onnx_frame_internal.h"

#include <string.h>

static const char *onnx_scopes_note(const struct onnx_node *node,
                                    const char *key)
{
    for (size_t i = 0; i < node->n_metadata; i++) {
        if (strcmp(node->metadata[i].key, key) == 0)
            return node->metadata[i].value;
    }
    return NULL;
}

/* The next text between quotes; NULL at the end. Moves *at behind it. */
static const char *onnx_scopes_next(const char **at, size_t *n)
{
    const char *begin = *at + strcspn(*at, "'\"");
    char quote = *begin;
    const char *end;

    if (!quote)
        return NULL;
    end = strchr(++begin, quote);
    if (!end)
        return NULL;
    *at = end + 1;
    *n = (size_t)(end - begin);
    return begin;
}

static size_t onnx_scopes_count(const char *list)
{
    size_t count = 0, n;

    while (onnx_scopes_next(&list, &n))
        count++;
    return count;
}

/* "Conv2d" of "torch.nn.modules.conv.Conv2d". */
static const char *onnx_scopes_base(const char *name, size_t n,
                                    struct arena *arena)
{
    size_t begin = n;

    while (begin && name[begin - 1] != '.')
        begin--;
    return arena_strndup(arena, name + begin, n - begin);
}

/* Whether a path goes on from another: "features.0" from "features". */
static bool onnx_scopes_extends(const char *path, size_t n, const char *before,
                                size_t n_before)
{
    return n_before && n > n_before && path[n_before] == '.' &&
           memcmp(path, before, n_before) == 0;
}

/* Adds the parts of a path; all but the last are only indexed. */
static bool onnx_scopes_add(struct onnx_place *place, const char *path,
                            size_t n, const char *class_name,
                            struct arena *arena)
{
    while (n) {
        size_t length = 0;
        struct onnx_module module = {0};

        while (length < n && path[length] != '.')
            length++;
        if (place->n_modules == ONNX_MAX_MODULES)
            return true;
        module.is_container = length < n;
        module.class_name = length < n ? NULL : class_name;
        module.name = arena_strndup(arena, path, length);
        if (!module.name)
            return false;
        if (length)
            place->modules[place->n_modules++] = module;
        path += length + (length < n);
        n -= length + (length < n);
    }
    return true;
}

/* The exporter fuses a norm into the convolution before it and notes the norm.
 * The weight's name is still that of the convolution. */
static bool onnx_scopes_unfuse(const struct onnx_node *node,
                               const char *last_path, size_t n,
                               struct onnx_place *place, struct arena *arena)
{
    static const char ending[] = ".weight";
    struct onnx_module *last = &place->modules[place->n_modules - 1];
    const char *weight = node->n_inputs > 1 ? node->inputs[1] : "";
    size_t n_path = strlen(weight), begin = n, n_name;
    bool is_norm = last->class_name && strstr(last->class_name, "Norm");

    while (begin && last_path[begin - 1] != '.')
        begin--;
    if (!is_norm || strncmp(node->op_type, "Conv", 4) != 0 ||
        n_path <= sizeof ending - 1 + begin ||
        strcmp(weight + n_path - (sizeof ending - 1), ending) != 0 ||
        memcmp(weight, last_path, begin) != 0)
        return true;
    n_name = n_path - (sizeof ending - 1) - begin;
    if (memchr(weight + begin, '.', n_name))
        return true;
    place->fused = *last;
    *last = (struct onnx_module){
        .name = arena_strndup(arena, weight + begin, n_name)};
    return last->name;
}

bool onnx_scopes_read(const struct onnx_node *node, struct arena *arena,
                      struct onnx_place *place, bool *is_found)
{
    const char *names = onnx_scopes_note(node, "pkg.torch.onnx.name_scopes");
    const char *classes =
        onnx_scopes_note(node, "pkg.torch.onnx.class_hierarchy");
    size_t count = names ? onnx_scopes_count(names) : 0;
    size_t n = 0, n_class = 0, n_before = 0;
    const char *name, *before = "", *class_at;

    *is_found = count > 1;
    for (size_t i = 0; i + 1 < count; i++) {
        const char *class_name = NULL;
        bool extends;

        name = onnx_scopes_next(&names, &n);
        class_at = classes ? onnx_scopes_next(&classes, &n_class) : NULL;
        if (memchr(name, '@', n)) /* a later call of the same module */
            n = (size_t)((const char *)memchr(name, '@', n) - name);
        if (i == 0 || !n)
            continue;
        if (class_at) {
            class_name = onnx_scopes_base(class_at, n_class, arena);
            if (!class_name)
                return false;
        }
        extends = onnx_scopes_extends(name, n, before, n_before);
        if (!onnx_scopes_add(place, name + (extends ? n_before + 1 : 0),
                             n - (extends ? n_before + 1 : 0), class_name,
                             arena))
            return false;
        before = name;
        n_before = n;
    }
    if (!*is_found)
        return true;
    name = onnx_scopes_next(&names, &n);
    place->label = arena_strndup(arena, name, n);
    if (!place->label)
        return false;
    return !place->n_modules ||
           onnx_scopes_unfuse(node, before, n_before, place, arena);
}

const char *onnx_scopes_class(const struct onnx_node *nodes, size_t n,
                              struct arena *arena)
{
    for (size_t i = 0; i < n; i++) {
        const char *classes =
            onnx_scopes_note(&nodes[i], "pkg.torch.onnx.class_hierarchy");
        const char *name;
        size_t length;

        if (classes && onnx_scopes_count(classes) > 1 &&
            (name = onnx_scopes_next(&classes, &length)) && length)
            return onnx_scopes_base(name, length, arena);
    }
    return NULL;
}
