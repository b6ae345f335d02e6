/* formats/onnx/onnx_vector.c - see onnx.h: values of test vectors, which may be
 * lists of tensors, texts, or nothing.
 *
 * A TensorProto, a SequenceProto and an OptionalProto do not say what they are;
 * the model does. */
#include "formats/onnx/onnx.h"

#include "base/file_guard.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "formats/mapped_file_internal.h"
#include "formats/onnx/onnx_data_internal.h"
#include "ops/sequence/packed_list.h"

#include <string.h>

/* Fields of SequenceProto and OptionalProto, and of TensorProto. */
enum { LIST_NAME = 1, LIST_TYPE = 2, LIST_TENSOR = 3, LIST_LIST = 5 };
enum { TENSOR_TEXT = 6, TENSOR_NAME = 8, TEXT_TYPE = 8 };

/* What the fields of a message are. */
struct vector_fields {
    size_t n_tensors, n_other;
    int64_t type; /* -1: none */
    struct wire_bytes tensor, list, name;
    size_t n_lists;
};

static struct vector_fields vector_look(struct wire_bytes bytes)
{
    struct vector_fields fields = {.type = -1};
    struct wire wire = wire_open(bytes);
    struct wire_field found;

    while (wire_next(&wire, &found)) {
        if (found.number == LIST_TYPE && found.type == WIRE_VARINT)
            fields.type = (int64_t)found.value;
        else if (found.number == LIST_NAME && found.type == WIRE_BYTES)
            fields.name = found.bytes;
        else if (found.number == LIST_TENSOR && found.type == WIRE_BYTES)
            fields.n_tensors++, fields.tensor = found.bytes;
        else if (found.number == LIST_LIST && found.type == WIRE_BYTES)
            fields.n_lists++, fields.list = found.bytes;
        else
            fields.n_other += found.number != TENSOR_NAME;
    }
    return fields;
}

/* Tensors while they are collected. */
struct vector_items {
    struct tensor *of;
    size_t n, capacity;
};

static void vector_items_release(struct vector_items *items)
{
    for (size_t i = 0; i < items->n; i++)
        tensor_release(&items->of[i]);
    mem_free(items->of);
}

/* Takes the tensor. */
static enum assay_status vector_items_add(struct vector_items *items,
                                          struct tensor tensor,
                                          struct error *err)
{
    struct tensor *moved = vec_reserve(items->of, &items->capacity,
                                       items->n + 1, sizeof *items->of);

    if (!moved) {
        tensor_release(&tensor);
        return error_nomem(err, sizeof tensor, "a sequence");
    }
    items->of = moved;
    items->of[items->n++] = tensor;
    return ASSAY_OK;
}

static enum assay_status vector_read_tensor(struct onnx_data *data,
                                            struct arena *arena,
                                            struct wire_bytes bytes,
                                            struct tensor *out,
                                            struct str *name, struct error *err)
{
    struct onnx_tensor tensor = {0};
    enum assay_status st = onnx_tensor_read(bytes, arena, &tensor, err);

    if (!st)
        st = onnx_data_load(data, &tensor, out, err);
    if (!st && name && str_append(name, tensor.name))
        st = error_nomem(err, strlen(tensor.name), "the name of a tensor");
    return st;
}

static enum assay_status vector_read_list(struct onnx_data *data,
                                          struct arena *arena,
                                          struct wire_bytes bytes,
                                          struct tensor *out, struct error *err)
{
    struct vector_items items = {0};
    struct wire wire = wire_open(bytes);
    struct wire_field found;
    enum assay_status st = ASSAY_OK;

    while (!st && wire_next(&wire, &found)) {
        struct tensor item = {0};

        if (found.number != LIST_TENSOR || found.type != WIRE_BYTES)
            continue;
        st = vector_read_tensor(data, arena, found.bytes, &item, NULL, err);
        if (!st)
            st = vector_items_add(&items, item, err);
    }
    if (!st) {
        static const struct tensor none;

        st = packed_make(data->pool, items.n ? items.of : &none, items.n, out,
                         err);
    }
    vector_items_release(&items);
    return st;
}

static enum assay_status vector_new_item(struct pool *pool, enum dtype dtype,
                                         const void *elements, size_t n,
                                         struct vector_items *items,
                                         struct error *err)
{
    struct shape shape = shape_of(1, (int64_t)n);
    struct tensor item;
    enum assay_status st = tensor_new(pool, dtype, &shape, &item, err);

    if (!st && n)
        memcpy(tensor_data(&item), elements, tensor_bytes(&item));
    return st ? st : vector_items_add(items, item, err);
}

/* Texts are packed as their shape, then the bytes of each. */
static enum assay_status vector_read_texts(struct onnx_data *data,
                                           struct arena *arena,
                                           struct wire_bytes bytes,
                                           struct tensor *out, struct str *name,
                                           struct error *err)
{
    struct vector_items items = {0};
    struct wire wire = wire_open(bytes);
    struct onnx_tensor tensor = {0};
    struct wire_field found;
    enum assay_status st = onnx_tensor_read(bytes, arena, &tensor, err);

    if (!st && str_append(name, tensor.name))
        st = error_nomem(err, strlen(tensor.name), "the name of a tensor");
    if (!st)
        st = vector_new_item(data->pool, DTYPE_I64, tensor.dims, tensor.n_dims,
                             &items, err);
    while (!st && wire_next(&wire, &found)) {
        if (found.number == TENSOR_TEXT && found.type == WIRE_BYTES)
            st = vector_new_item(data->pool, DTYPE_U8, found.bytes.at,
                                 found.bytes.n, &items, err);
    }
    if (!st)
        st = packed_make(data->pool, items.of, items.n, out, err);
    vector_items_release(&items);
    return st;
}

static enum assay_status vector_read(struct onnx_data *data,
                                     struct arena *arena, bool is_list,
                                     struct wire_bytes bytes,
                                     struct tensor *out, struct str *name,
                                     struct error *err)
{
    enum { of_lists = 3 };
    struct vector_fields fields = vector_look(bytes);

    if (fields.type == TEXT_TYPE)
        return vector_read_texts(data, arena, bytes, out, name, err);
    if (!is_list && (fields.n_other || (!fields.n_tensors && fields.n_lists)))
        return vector_read_tensor(data, arena, bytes, out, name, err);
    if (fields.name.n &&
        str_append_n(name, (const char *)fields.name.at, fields.name.n))
        return error_nomem(err, fields.name.n, "the name of a value");
    if (!is_list && fields.n_tensors)
        return vector_read_tensor(data, arena, fields.tensor, out, NULL, err);
    if (is_list && fields.n_lists)
        return vector_read_list(data, arena, fields.list, out, err);
    if (!is_list ||
        (!fields.n_tensors && (fields.type <= 0 || fields.type == of_lists)))
        return packed_make(data->pool, NULL, 0, out, err);
    return vector_read_list(data, arena, bytes, out, err);
}

enum assay_status onnx_load_vector_buffer(struct buffer *file, bool is_list,
                                          struct pool *pool, struct tensor *out,
                                          struct str *name, struct error *err)
{
    struct onnx_data data = {.file = file, .pool = pool};
    struct arena arena = {0};
    enum assay_status st;

    *out = (struct tensor){0};
    st = vector_read(&data, &arena, is_list,
                     (struct wire_bytes){buffer_data(file), buffer_bytes(file)},
                     out, name, err);
    if (st)
        tensor_release(out);
    arena_release(&arena);
    return st;
}

enum assay_status onnx_load_vector(const char *path, bool is_list,
                                   struct pool *pool, struct tensor *out,
                                   struct str *name, struct error *err)
{
    struct buffer *file = NULL;
    enum assay_status st = mapped_file_open(path, &file, err);

    *out = (struct tensor){0};
    if (st)
        return st;
    st = onnx_load_vector_buffer(file, is_list, pool, out, name, err);
    if (st)
        error_context(err, "reading %s", path);
    st = file_guards_check(st, err);
    if (st)
        tensor_release(out);
    buffer_release(file);
    return st;
}
