/* formats/torch/torch_values.c - see torch_values_internal.h. */
#include "formats/torch/torch_values_internal.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum global_kind {
    GLOBAL_DICT,      /* OrderedDict(), OrderedDict([[key, value], ...]) */
    GLOBAL_TENSOR,    /* (storage, offset, size, stride, ...) */
    GLOBAL_PARAMETER, /* (tensor, ...) */
    GLOBAL_STORAGE,   /* named by persistent ids, not called */
    GLOBAL_SIZE,      /* (tuple) */
    GLOBAL_PLAIN      /* its result does not matter */
};

struct torch_global {
    const char *module, *name;
    enum global_kind kind;
    enum dtype dtype; /* of a storage */
};

static const struct torch_global globals[] = {
    {"collections", "OrderedDict", GLOBAL_DICT, 0},
    {"torch._utils", "_rebuild_tensor", GLOBAL_TENSOR, 0},
    {"torch._utils", "_rebuild_tensor_v2", GLOBAL_TENSOR, 0},
    {"torch._utils", "_rebuild_parameter", GLOBAL_PARAMETER, 0},
    {"torch._utils", "_rebuild_parameter_with_state", GLOBAL_PARAMETER, 0},
    {"torch", "FloatStorage", GLOBAL_STORAGE, DTYPE_F32},
    {"torch", "DoubleStorage", GLOBAL_STORAGE, DTYPE_F64},
    {"torch", "HalfStorage", GLOBAL_STORAGE, DTYPE_F16},
    {"torch", "BFloat16Storage", GLOBAL_STORAGE, DTYPE_BF16},
    {"torch", "CharStorage", GLOBAL_STORAGE, DTYPE_I8},
    {"torch", "ByteStorage", GLOBAL_STORAGE, DTYPE_U8},
    {"torch", "ShortStorage", GLOBAL_STORAGE, DTYPE_I16},
    {"torch", "IntStorage", GLOBAL_STORAGE, DTYPE_I32},
    {"torch", "LongStorage", GLOBAL_STORAGE, DTYPE_I64},
    {"torch", "BoolStorage", GLOBAL_STORAGE, DTYPE_BOOL},
    {"torch", "Size", GLOBAL_SIZE, 0},
    {"torch", "device", GLOBAL_PLAIN, 0},
    {"_codecs", "encode", GLOBAL_PLAIN, 0}, /* bytes, in protocol 2 */
    {"__builtin__", "bytes", GLOBAL_PLAIN, 0},
};

static const char refusal[] = "it names ";

enum assay_status torch_global_find(const struct pickle_text *module,
                                    const struct pickle_text *name,
                                    const struct torch_global **out,
                                    struct error *err)
{
    enum { shown = 60 }; /* bytes of each part, so that the message fits */

    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
        if (pickle_text_is(module, globals[i].module) &&
            pickle_text_is(name, globals[i].name)) {
            *out = &globals[i];
            return ASSAY_OK;
        }
    }
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%s%.*s.%.*s, which is not loaded because a checkpoint "
                     "may only hold tensors; save the model's state_dict()",
                     refusal, (int)(module->n < shown ? module->n : shown),
                     module->bytes, (int)(name->n < shown ? name->n : shown),
                     name->bytes);
}

const char *torch_storage_class(enum dtype dtype)
{
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
        if (globals[i].kind == GLOBAL_STORAGE && globals[i].dtype == dtype)
            return globals[i].name;
    }
    return NULL;
}

bool torch_refused_name(const struct error *err, char *name, size_t size)
{
    size_t n = strlen(refusal);
    const char *end = strchr(err->text, ',');

    if (err->status != ASSAY_UNSUPPORTED || !end ||
        strncmp(err->text, refusal, n) != 0)
        return false;
    snprintf(name, size, "%.*s", (int)(end - err->text - (ptrdiff_t)n),
             err->text + n);
    return true;
}

static enum assay_status bad_arguments(const struct torch_global *global,
                                       struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT,
                     "the arguments of %s.%s are not what PyTorch writes",
                     global->module, global->name);
}

static bool is_natural(const struct pickle_value *value)
{
    return value && value->kind == PICKLE_INT && value->integer >= 0;
}

/* Up to SHAPE_MAX_RANK natural numbers from a tuple. */
static bool torch_values_read_numbers(const struct pickle_value *tuple,
                                      int64_t *numbers, int *n)
{
    *n = 0;
    if (!tuple || tuple->kind != PICKLE_TUPLE ||
        tuple->items.n > SHAPE_MAX_RANK)
        return false;
    for (const struct pickle_item *item = tuple->items.first; item;
         item = item->next) {
        if (!is_natural(item->value))
            return false;
        numbers[(*n)++] = item->value->integer;
    }
    return true;
}

static enum assay_status make_tensor(struct arena *arena,
                                     const struct torch_global *global,
                                     const struct pickle_items *arguments,
                                     struct pickle_value **out,
                                     struct error *err)
{
    const struct pickle_value *storage = pickle_items_at(arguments, 0);
    const struct pickle_value *offset = pickle_items_at(arguments, 1);
    struct torch_tensor *tensor;
    int n_strides;

    if (!storage || storage->kind != PICKLE_STORAGE || !is_natural(offset))
        return bad_arguments(global, err);
    tensor = arena_alloc(arena, sizeof *tensor);
    *out = pickle_value_new(arena, PICKLE_TENSOR);
    if (!tensor || !*out)
        return error_nomem(err, sizeof *tensor, "a tensor of a checkpoint");
    *tensor = (struct torch_tensor){.storage = storage->storage,
                                    .offset = offset->integer};
    (*out)->tensor = tensor;
    if (!torch_values_read_numbers(pickle_items_at(arguments, 2),
                                   tensor->shape.dims, &tensor->shape.rank) ||
        !torch_values_read_numbers(pickle_items_at(arguments, 3),
                                   tensor->strides, &n_strides) ||
        n_strides != tensor->shape.rank)
        return bad_arguments(global, err);
    return ASSAY_OK;
}

/* Python 2 passes an ordered dict its items as a list of [key, value]. */
static enum assay_status make_dict(struct arena *arena,
                                   const struct torch_global *global,
                                   const struct pickle_items *arguments,
                                   struct pickle_value **out, struct error *err)
{
    const struct pickle_value *pairs = pickle_items_at(arguments, 0);
    enum assay_status st = ASSAY_OK;

    *out = pickle_value_new(arena, PICKLE_DICT);
    if (!*out)
        return error_nomem(err, sizeof **out, "a dict of a checkpoint");
    if (!pairs)
        return ASSAY_OK;
    if (pairs->kind != PICKLE_LIST)
        return bad_arguments(global, err);
    for (const struct pickle_item *item = pairs->items.first; !st && item;
         item = item->next) {
        if ((item->value->kind != PICKLE_LIST &&
             item->value->kind != PICKLE_TUPLE) ||
            item->value->items.n != 2)
            return bad_arguments(global, err);
        st = pickle_items_add(arena, &(*out)->items,
                              pickle_items_at(&item->value->items, 0),
                              pickle_items_at(&item->value->items, 1), err);
    }
    return st;
}

enum assay_status torch_global_apply(struct arena *arena,
                                     const struct torch_global *global,
                                     struct pickle_value *arguments,
                                     struct pickle_value **out,
                                     struct error *err)
{
    struct pickle_value *first;

    *out = NULL;
    if (arguments->kind != PICKLE_TUPLE)
        return bad_arguments(global, err);
    first = pickle_items_at(&arguments->items, 0);
    switch (global->kind) {
    case GLOBAL_DICT:
        return make_dict(arena, global, &arguments->items, out, err);
    case GLOBAL_TENSOR:
        return make_tensor(arena, global, &arguments->items, out, err);
    case GLOBAL_PARAMETER:
        if (!first || first->kind != PICKLE_TENSOR)
            return bad_arguments(global, err);
        *out = first;
        return ASSAY_OK;
    case GLOBAL_SIZE:
        if (!first || first->kind != PICKLE_TUPLE)
            return bad_arguments(global, err);
        *out = first;
        return ASSAY_OK;
    case GLOBAL_PLAIN:
        *out = pickle_value_new(arena, PICKLE_PLAIN);
        return *out ? ASSAY_OK
                    : error_nomem(err, sizeof **out, "a value of a pickle");
    case GLOBAL_STORAGE:
        break;
    }
    return error_set(err, ASSAY_UNSUPPORTED,
                     "it calls %s.%s, but Assay calls nothing that a "
                     "checkpoint names",
                     global->module, global->name);
}

/* (key of the part, offset, elements), or None for the whole storage. */
static bool apply_part(struct torch_storage *storage,
                       const struct pickle_value *part)
{
    const struct pickle_value *offset, *n;

    if (!part || part->kind == PICKLE_PLAIN)
        return true;
    if (part->kind != PICKLE_TUPLE)
        return false;
    offset = pickle_items_at(&part->items, 1);
    n = pickle_items_at(&part->items, 2);
    if (!is_natural(offset) || !is_natural(n) ||
        (uint64_t)offset->integer > storage->n_elements ||
        (uint64_t)n->integer > storage->n_elements - (uint64_t)offset->integer)
        return false;
    storage->first = (uint64_t)offset->integer;
    storage->n_elements = (uint64_t)n->integer;
    return true;
}

static bool is_storage_id(const struct pickle_value *id)
{
    const struct pickle_value *kind, *class, *key;

    if (id->kind != PICKLE_TUPLE || id->items.n < 5)
        return false;
    kind = pickle_items_at(&id->items, 0);
    class = pickle_items_at(&id->items, 1);
    key = pickle_items_at(&id->items, 2);
    return kind->kind == PICKLE_TEXT &&
           pickle_text_is(&kind->text, "storage") &&
           class->kind == PICKLE_GLOBAL &&
           class->global->kind == GLOBAL_STORAGE && key->kind == PICKLE_TEXT &&
           is_natural(pickle_items_at(&id->items, 4));
}

enum assay_status torch_storage_of(struct arena *arena,
                                   const struct pickle_value *id,
                                   struct pickle_value **out, struct error *err)
{
    struct torch_storage *storage;

    *out = NULL;
    if (!is_storage_id(id))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it refers to an external object that is not a "
                         "storage of tensors");
    storage = arena_alloc(arena, sizeof *storage);
    *out = pickle_value_new(arena, PICKLE_STORAGE);
    if (!storage || !*out)
        return error_nomem(err, sizeof *storage, "a storage of a checkpoint");
    *storage = (struct torch_storage){
        .dtype = pickle_items_at(&id->items, 1)->global->dtype,
        .key = pickle_items_at(&id->items, 2)->text,
        .n_elements = (uint64_t)pickle_items_at(&id->items, 4)->integer,
    };
    (*out)->storage = storage;
    if (!apply_part(storage, pickle_items_at(&id->items, 5)))
        return error_set(err, ASSAY_BAD_INPUT,
                         "a storage does not fit into the one that it is a "
                         "part of");
    return ASSAY_OK;
}
