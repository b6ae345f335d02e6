/* formats/onnx/onnx_data.c - see onnx_data_internal.h. */
#include "formats/onnx/onnx_data_internal.h"

#include "base/file_guard.h"
#include "base/mem.h"
#include "formats/mapped_file_internal.h"
#include "formats/onnx/onnx.h"
#include "tensor/convert.h"

#include <string.h>

/* The lists of a TensorProto that elements may lie in, instead of raw_data. */
enum {
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    INT64_DATA = 7,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11
};

/* By TensorProto.DataType. */
static const struct {
    bool is_known;
    enum dtype dtype;
    uint32_t list;
} types[] = {
    [1] = {true, DTYPE_F32, FLOAT_DATA},
    [2] = {true, DTYPE_U8, INT32_DATA},
    [3] = {true, DTYPE_I8, INT32_DATA},
    [4] = {true, DTYPE_U16, INT32_DATA},
    [5] = {true, DTYPE_I16, INT32_DATA},
    [6] = {true, DTYPE_I32, INT32_DATA},
    [7] = {true, DTYPE_I64, INT64_DATA},
    [9] = {true, DTYPE_BOOL, INT32_DATA},
    [10] = {true, DTYPE_F16, INT32_DATA},
    [11] = {true, DTYPE_F64, DOUBLE_DATA},
    [12] = {true, DTYPE_U32, UINT64_DATA},
    [13] = {true, DTYPE_U64, UINT64_DATA},
    [16] = {true, DTYPE_BF16, INT32_DATA},
};

bool onnx_dtype(int64_t data_type, enum dtype *dtype)
{
    if (data_type < 0 || (size_t)data_type >= sizeof types / sizeof *types ||
        !types[data_type].is_known)
        return false;
    *dtype = types[data_type].dtype;
    return true;
}

static const char *type_words(int64_t data_type)
{
    switch (data_type) {
    case 0:
        return "of no type";
    case 8:
        return "of strings";
    case 14:
    case 15:
        return "of complex numbers";
    default:
        return "of a type that came after opset 17";
    }
}

static enum assay_status onnx_data_read_shape(const int64_t *dims, size_t n,
                                              struct shape *shape,
                                              struct error *err)
{
    size_t elements;

    *shape = (struct shape){0};
    if (n > SHAPE_MAX_RANK)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it has %zu dimensions; %d is the most", n,
                         SHAPE_MAX_RANK);
    shape->rank = (int)n;
    for (size_t i = 0; i < n; i++)
        shape->dims[i] = dims[i];
    if (!shape_elements(shape, &elements)) {
        char text[64];

        return error_set(err, ASSAY_BAD_INPUT,
                         "its shape %s is negative or too large",
                         shape_text(shape, text, sizeof text));
    }
    return ASSAY_OK;
}

/* One number of a typed list as an element. */
static void onnx_data_put_element(enum dtype dtype, uint64_t bits, void *to)
{
    uint8_t byte = dtype == DTYPE_BOOL ? bits != 0 : (uint8_t)bits;
    uint16_t two = (uint16_t)bits;
    uint32_t four = (uint32_t)bits;

    switch (dtype_bytes(dtype)) {
    case 1:
        memcpy(to, &byte, sizeof byte);
        break;
    case 2:
        memcpy(to, &two, sizeof two);
        break;
    case 4:
        memcpy(to, &four, sizeof four);
        break;
    default:
        memcpy(to, &bits, sizeof bits);
    }
}

/* Where a list's numbers go, and how many came. */
struct filling {
    const struct tensor *to;
    size_t n, room;
};

static void onnx_data_put_number(struct filling *filling, uint64_t bits)
{
    if (filling->n < filling->room)
        onnx_data_put_element(filling->to->dtype, bits,
                              (char *)tensor_data(filling->to) +
                                  filling->n * dtype_bytes(filling->to->dtype));
    filling->n++;
}

static void put_packed(struct filling *filling, uint32_t list,
                       struct wire_bytes bytes)
{
    size_t size = dtype_bytes(filling->to->dtype);
    struct wire wire = wire_open(bytes);
    uint64_t bits;

    if (list == FLOAT_DATA || list == DOUBLE_DATA) {
        size_t n = bytes.n / size;

        if (filling->n <= filling->room && n <= filling->room - filling->n)
            memcpy((char *)tensor_data(filling->to) + filling->n * size,
                   bytes.at, n * size);
        filling->n += n;
        return;
    }
    while (wire_varint(&wire, &bits))
        onnx_data_put_number(filling, bits);
}

/* The elements from the list that is meant for their type. */
static enum assay_status fill_from_list(const struct onnx_tensor *from,
                                        const struct tensor *to,
                                        struct error *err)
{
    struct filling filling = {.to = to, .room = tensor_elements(to)};
    struct wire wire = wire_open(from->message);
    uint32_t list = types[from->data_type].list;
    struct wire_field found;
    char text[64];

    while (wire_next(&wire, &found)) {
        if (found.number != list)
            continue;
        if (found.type == WIRE_BYTES)
            put_packed(&filling, list, found.bytes);
        else
            onnx_data_put_number(&filling, found.value);
    }
    if (filling.n != filling.room)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it holds %zu elements, not those of its shape %s",
                         filling.n, shape_text(&to->shape, text, sizeof text));
    return ASSAY_OK;
}

/* Elements as they lie in a file: shared where they can be, else copied and
 * the file's pages given back. Whole numbers are always copied: they are
 * indexes and sizes, which are checked before they are used, and must not
 * change in between because someone writes to the file. */
static enum assay_status take_raw(struct onnx_data *data, struct buffer *file,
                                  struct wire_bytes raw, struct tensor *out,
                                  struct error *err)
{
    const unsigned char *begin = buffer_data(file);
    size_t wanted = tensor_bytes(out), offset = (size_t)(raw.at - begin);
    struct shape shape = out->shape;
    enum assay_status st;
    char text[64];

    if (raw.n != wanted)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it holds %zu bytes, %s of %s are %zu", raw.n,
                         shape_text(&shape, text, sizeof text),
                         dtype_name(out->dtype), wanted);
    if (wanted && dtype_is_float(out->dtype) &&
        (uintptr_t)raw.at % dtype_bytes(out->dtype) == 0) {
        buffer_share(file);
        out->buffer = file;
        out->offset = offset;
        return ASSAY_OK;
    }
    st = tensor_new(data->pool, out->dtype, &shape, out, err);
    if (!st && wanted) {
        memcpy(tensor_data(out), raw.at, wanted);
        buffer_unload(file, offset, wanted);
    }
    return st;
}

static enum assay_status load_elements(struct onnx_data *data,
                                       const struct onnx_tensor *tensor,
                                       struct tensor *out, struct error *err)
{
    struct shape shape = out->shape;
    struct buffer *file = data->file;
    struct wire_bytes raw = tensor->raw;
    enum assay_status st = ASSAY_OK;

    if (tensor->location == 1) {
        st = onnx_external_find(data, tensor, tensor_bytes(out), &file, &raw,
                                err);
        return st ? st : take_raw(data, file, raw, out, err);
    }
    if (tensor->n_raw)
        return take_raw(data, file, raw, out, err);
    /* An element takes a byte of the file at least: no list holds more. */
    if (tensor_elements(out) > tensor->message.n)
        return error_set(err, ASSAY_BAD_INPUT, "its elements are not there");
    st = tensor_new(data->pool, out->dtype, &shape, out, err);
    return st ? st : fill_from_list(tensor, out, err);
}

enum assay_status onnx_data_load(struct onnx_data *data,
                                 const struct onnx_tensor *tensor,
                                 struct tensor *out, struct error *err)
{
    enum assay_status st;

    *out = (struct tensor){0};
    if (!onnx_dtype(tensor->data_type, &out->dtype))
        st = error_set(err, ASSAY_UNSUPPORTED, "tensors %s are not read",
                       type_words(tensor->data_type));
    else
        st = onnx_data_read_shape(tensor->dims, tensor->n_dims, &out->shape,
                                  err);
    if (!st)
        st = load_elements(data, tensor, out, err);
    if (st) {
        tensor_release(out);
        error_context(err, "tensor '%.100s'", tensor->name);
    }
    return st;
}

/* ---- sparse tensors ---------------------------------------------------- */

/* Where the i-th value goes: a flat place, or a row of places. */
static bool onnx_data_find_place(const struct tensor *indices,
                                 const struct shape *shape, size_t i, size_t n,
                                 size_t *place)
{
    const int64_t *at = tensor_i64(indices);
    int64_t flat = 0;

    if (indices->shape.rank == 1) {
        flat = at[i];
    } else {
        for (int d = 0; d < shape->rank; d++) {
            int64_t index = at[i * (size_t)shape->rank + (size_t)d];

            if (index < 0 || index >= shape->dims[d])
                return false;
            flat = flat * shape->dims[d] + index;
        }
    }
    *place = (size_t)flat;
    return flat >= 0 && (uint64_t)flat < n;
}

static enum assay_status onnx_data_scatter(const struct tensor *values,
                                           const struct tensor *indices,
                                           const struct tensor *out,
                                           struct error *err)
{
    size_t size = dtype_bytes(values->dtype), n = tensor_elements(values);
    bool is_flat = indices->shape.rank == 1;
    size_t each = is_flat ? 1 : (size_t)out->shape.rank;

    if (indices->dtype != DTYPE_I64 || indices->shape.rank < 1 ||
        indices->shape.rank > 2 || tensor_elements(indices) != n * each)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the indices of a sparse tensor do not fit it");
    memset(tensor_data(out), 0, tensor_bytes(out));
    for (size_t i = 0; i < n; i++) {
        size_t place;

        if (!onnx_data_find_place(indices, &out->shape, i, tensor_elements(out),
                                  &place))
            return error_set(err, ASSAY_BAD_INPUT,
                             "an index of a sparse tensor lies outside of it");
        memcpy((char *)tensor_data(out) + place * size,
               (const char *)tensor_data(values) + i * size, size);
    }
    return ASSAY_OK;
}

/* A few bytes of a file may ask for any size here. */
static bool is_reasonable(const struct shape *shape)
{
    enum { most = 1 << 27 }; /* elements of 8 bytes in 1 GiB */
    size_t n;

    return shape_elements(shape, &n) && n <= most;
}

enum assay_status onnx_data_load_sparse(struct onnx_data *data,
                                        const struct onnx_sparse_tensor *tensor,
                                        struct tensor *out, struct error *err)
{
    struct tensor values = {0}, indices = {0};
    struct shape shape;
    enum assay_status st;

    *out = (struct tensor){0};
    if (!tensor->values || !tensor->indices)
        return error_set(err, ASSAY_BAD_INPUT,
                         "a sparse tensor has no values or no indices");
    st = onnx_data_load(data, tensor->values, &values, err);
    if (!st)
        st = onnx_data_load(data, tensor->indices, &indices, err);
    if (!st)
        st = onnx_data_read_shape(tensor->dims, tensor->n_dims, &shape, err);
    if (!st && !is_reasonable(&shape))
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "a sparse tensor would be larger than 1 GiB");
    if (!st)
        st = tensor_new(data->pool, values.dtype, &shape, out, err);
    if (!st)
        st = onnx_data_scatter(&values, &indices, out, err);
    if (st)
        tensor_release(out);
    tensor_release(&values);
    tensor_release(&indices);
    return st;
}

/* ---- files with one tensor --------------------------------------------- */

enum assay_status onnx_load_tensor(const char *path, struct pool *pool,
                                   struct tensor *out, struct str *name,
                                   struct error *err)
{
    struct onnx_data data = {.pool = pool};
    struct onnx_tensor tensor = {0};
    struct arena arena = {0};
    enum assay_status st = mapped_file_open(path, &data.file, err);

    *out = (struct tensor){0};
    if (st)
        return st;
    st = onnx_tensor_read(
        (struct wire_bytes){buffer_data(data.file), buffer_bytes(data.file)},
        &arena, &tensor, err);
    if (!st)
        st = onnx_data_load(&data, &tensor, out, err);
    if (!st && str_append(name, tensor.name))
        st = error_nomem(err, strlen(tensor.name), "the name of a tensor");
    if (st)
        error_context(err, "reading %s", path);
    st = file_guards_check(st, err);
    if (st)
        tensor_release(out);
    buffer_release(data.file);
    arena_release(&arena);
    return st;
}
