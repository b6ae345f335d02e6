/* formats/torch/torch_tree.c - see torch_tree_internal.h.
 *
 * The values may form any graph, so depth and steps are bounded. */
#include "formats/torch/torch_tree_internal.h"

#include "base/str.h"

#include <inttypes.h>

enum { max_depth = 64, max_steps = 1 << 22 };

struct level {
    const struct pickle_item *next;
    size_t name_bytes; /* of the path to it */
    size_t index;      /* of the next item */
};

struct walk {
    struct checkpoint *checkpoint;
    const struct torch_storages *storages;
    struct level levels[max_depth];
    size_t depth;
    struct str name;
    size_t outer_bytes; /* of the first key */
    size_t n_steps;
};

static bool torch_tree_is_container(const struct pickle_value *value)
{
    return value->kind == PICKLE_DICT || value->kind == PICKLE_LIST ||
           value->kind == PICKLE_TUPLE;
}

static enum assay_status torch_tree_enter(struct walk *walk,
                                          const struct pickle_value *value,
                                          struct error *err)
{
    if (walk->depth == max_depth)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its dicts are nested more than %d deep",
                         (int)max_depth);
    walk->levels[walk->depth++] =
        (struct level){.next = value->items.first, .name_bytes = walk->name.n};
    return ASSAY_OK;
}

/* Extends the path by an item of the level: its key, or its number. */
static enum assay_status name_item(struct walk *walk, const struct level *level,
                                   const struct pickle_value *key,
                                   struct error *err)
{
    enum assay_status st;

    if (walk->name.text)
        walk->name.n = level->name_bytes;
    st = level->name_bytes ? str_append_char(&walk->name, '.') : ASSAY_OK;
    if (!st && !key)
        st = str_printf(&walk->name, "%zu", level->index);
    else if (!st && key->kind == PICKLE_INT)
        st = str_printf(&walk->name, "%" PRId64, key->integer);
    else if (!st && key->kind == PICKLE_TEXT &&
             key->text.n <= CHECKPOINT_MAX_NAME)
        st = str_append_n(&walk->name, key->text.bytes, key->text.n);
    else if (!st)
        st = str_append_char(&walk->name, '?');
    return st ? error_nomem(err, walk->name.n, "the name of a tensor") : st;
}

static enum assay_status add_tensor(struct walk *walk,
                                    const struct torch_tensor *tensor,
                                    struct error *err)
{
    struct checkpoint_view view = {
        .name = walk->name.n ? walk->name.text : "tensor",
        .name_bytes = walk->name.n ? walk->name.n : 6,
        .outer_bytes = walk->depth > 1 ? walk->outer_bytes : 0,
        .dtype = tensor->storage->dtype,
        .shape = tensor->shape,
        .strides = tensor->strides,
        .n_elements = tensor->storage->n_elements,
        .first = (uint64_t)tensor->offset,
    };
    enum assay_status st =
        walk->storages->find(walk->storages->context, tensor->storage,
                             &view.elements, &view.part, err);

    if (st) {
        error_context(err, "tensor %.*s", (int)view.name_bytes, view.name);
        return st;
    }
    view.elements += tensor->storage->first * dtype_bytes(view.dtype);
    return checkpoint_add(walk->checkpoint, &view, err);
}

static enum assay_status torch_tree_visit(struct walk *walk,
                                          const struct pickle_value *value,
                                          struct error *err)
{
    if (++walk->n_steps > max_steps)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it holds more than %d values, more than any "
                         "checkpoint needs",
                         (int)max_steps);
    if (value->kind == PICKLE_TENSOR)
        return add_tensor(walk, value->tensor, err);
    return torch_tree_is_container(value) ? torch_tree_enter(walk, value, err)
                                          : ASSAY_OK;
}

/* Visits the next item of the innermost level, or leaves the level. */
static enum assay_status torch_tree_step(struct walk *walk, struct error *err)
{
    struct level *level = &walk->levels[walk->depth - 1];
    const struct pickle_item *item = level->next;
    enum assay_status st;

    if (!item) {
        walk->depth--;
        return ASSAY_OK;
    }
    st = name_item(walk, level, item->key, err);
    if (st)
        return st;
    if (walk->depth == 1)
        walk->outer_bytes = walk->name.n;
    level->next = item->next;
    level->index++;
    return torch_tree_visit(walk, item->value, err);
}

enum assay_status torch_tree_add(struct checkpoint *checkpoint,
                                 const struct pickle_value *root,
                                 const struct torch_storages *storages,
                                 struct error *err)
{
    struct walk walk = {.checkpoint = checkpoint, .storages = storages};
    enum assay_status st = torch_tree_visit(&walk, root, err);

    while (!st && walk.depth)
        st = torch_tree_step(&walk, err);
    str_release(&walk.name);
    return st;
}
