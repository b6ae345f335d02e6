/* formats/onnx/onnx_data.c - see onnx_data_internal.h. */
#include "formats/onnx/onnx_data_internal.h"

#include "formats/little_endian_internal.h"
#include "formats/onnx/onnx.h"
#include "tensor/convert.h"

#include <string.h>

/* The fields of a TensorProto that may hold the elements instead of raw_data.
 */
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
    [17] = {true, DTYPE_F8E4M3FN, INT32_DATA},
    [18] = {true, DTYPE_F8E4M3FNUZ, INT32_DATA},
    [19] = {true, DTYPE_F8E5M2, INT32_DATA},
    [20] = {true, DTYPE_F8E5M2FNUZ, INT32_DATA},
    [21] = {true, DTYPE_U4, INT32_DATA},
    [22] = {true, DTYPE_I4, INT32_DATA},
    [23] = {true, DTYPE_F4E2M1, INT32_DATA},
    [24] = {true, DTYPE_F8E8M0, INT32_DATA},
    [25] = {true, DTYPE_U2, INT32_DATA},
    [26] = {true, DTYPE_I2, INT32_DATA},
};

bool onnx_dtype(int64_t data_type, enum dtype *dtype)
{
    if (data_type < 0 || (size_t)data_type >= sizeof types / sizeof *types ||
        !types[data_type].is_known)
        return false;
    *dtype = types[data_type].dtype;
    return true;
}

static const char *onnx_data_type_words(int64_t data_type)
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
        return "of a type that is newer than ONNX 1.22";
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
                         "it has %zu dimensions; at most %d are supported", n,
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

/* ---- types that share bytes -------------------------------------------- */

/* How many elements a byte of the file holds. */
static size_t onnx_data_per_byte(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_I4:
    case DTYPE_U4:
    case DTYPE_F4E2M1:
        return 2;
    case DTYPE_I2:
    case DTYPE_U2:
        return 4;
    default:
        return 1;
    }
}

static size_t onnx_data_file_bytes(const struct tensor *tensor)
{
    size_t each = onnx_data_per_byte(tensor->dtype);

    return each == 1 ? tensor_bytes(tensor)
                     : (tensor_elements(tensor) + each - 1) / each;
}

/* Element i of a packed byte, the lowest bits first, as it is kept in memory.
 */
static uint8_t onnx_data_unpack(enum dtype dtype, unsigned byte, size_t i)
{
    unsigned n_bits = (unsigned)(8 / onnx_data_per_byte(dtype));
    unsigned bits = byte >> (i * n_bits) & ((1U << n_bits) - 1);

    if (dtype_is_signed(dtype) && !dtype_is_float(dtype) &&
        bits >> (n_bits - 1))
        bits |= ~0U << n_bits;
    return (uint8_t)bits;
}

/* ---- elements ----------------------------------------------------------- */

/* A tensor while it is filled from a list. */
struct filling {
    const struct tensor *to;
    size_t n, room; /* numbers found so far; numbers that fit */
};

/* The element is the low bytes of the number, or whether it is not 0. */
static void onnx_data_put_number(struct filling *filling, uint64_t bits)
{
    size_t size = dtype_bytes(filling->to->dtype);
    size_t each = onnx_data_per_byte(filling->to->dtype);
    unsigned char bytes[sizeof bits];

    if (each > 1) {
        uint8_t *to = tensor_data(filling->to);

        for (size_t i = 0; i < each; i++, filling->n++) {
            if (filling->n < filling->room)
                to[filling->n] =
                    onnx_data_unpack(filling->to->dtype, bits & 0xff, i);
        }
        return;
    }
    put_le64(bytes, filling->to->dtype == DTYPE_BOOL ? bits != 0 : bits);
    if (filling->n < filling->room)
        memcpy((char *)tensor_data(filling->to) + filling->n * size, bytes,
               size);
    filling->n++;
}

static void onnx_data_put_packed(struct filling *filling, uint32_t list,
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

/* Fills a tensor from the list that holds its type. */
static enum assay_status onnx_data_fill(const struct onnx_tensor *from,
                                        const struct tensor *to,
                                        struct error *err)
{
    struct filling filling = {.to = to, .room = tensor_elements(to)};
    struct wire wire = wire_open(from->message);
    uint32_t list = types[from->data_type].list;
    size_t each = onnx_data_per_byte(to->dtype);
    struct wire_field found;
    char text[64];

    while (wire_next(&wire, &found)) {
        if (found.number != list)
            continue;
        if (found.type == WIRE_BYTES)
            onnx_data_put_packed(&filling, list, found.bytes);
        else
            onnx_data_put_number(&filling, found.value);
    }
    if ((filling.n + each - 1) / each != (filling.room + each - 1) / each)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it holds %zu elements, which is not its shape %s",
                         filling.n, shape_text(&to->shape, text, sizeof text));
    return ASSAY_OK;
}

/* Shares the elements in the file if they are aligned, else copies them and
 * gives the file's pages back. Integers are always copied: they are indexes and
 * sizes, which are checked before use and must not change in between if someone
 * writes to the file. */
static enum assay_status
onnx_data_take_raw(struct onnx_data *data, struct buffer *file,
                   struct wire_bytes raw, struct tensor *out, struct error *err)
{
    const unsigned char *begin = buffer_data(file);
    size_t wanted = onnx_data_file_bytes(out);
    size_t each = onnx_data_per_byte(out->dtype);
    size_t offset = (size_t)(raw.at - begin);
    struct shape shape = out->shape;
    enum assay_status st;
    char text[64];

    if (raw.n != wanted)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it holds %zu bytes; %s of %s takes %zu", raw.n,
                         shape_text(&shape, text, sizeof text),
                         dtype_name(out->dtype), wanted);
    if (wanted && dtype_is_float(out->dtype) && each == 1 &&
        (uintptr_t)raw.at % dtype_bytes(out->dtype) == 0) {
        buffer_share(file);
        out->buffer = file;
        out->offset = offset;
        return ASSAY_OK;
    }
    st = tensor_new(data->pool, out->dtype, &shape, out, err);
    for (size_t i = 0; !st && each > 1 && i < tensor_elements(out); i++)
        ((uint8_t *)tensor_data(out))[i] =
            onnx_data_unpack(out->dtype, raw.at[i / each], i % each);
    if (!st && wanted && each == 1) {
        memcpy(tensor_data(out), raw.at, wanted);
        buffer_unload(file, offset, wanted);
    }
    return st;
}

static enum assay_status
onnx_data_load_elements(struct onnx_data *data,
                        const struct onnx_tensor *tensor, struct tensor *out,
                        struct error *err)
{
    struct shape shape = out->shape;
    struct buffer *file = data->file;
    struct wire_bytes raw = tensor->raw;
    enum assay_status st = ASSAY_OK;

    if (tensor->location == 1) {
        st = onnx_external_find(data, tensor, onnx_data_file_bytes(out), &file,
                                &raw, err);
        return st ? st : onnx_data_take_raw(data, file, raw, out, err);
    }
    if (tensor->n_raw)
        return onnx_data_take_raw(data, file, raw, out, err);
    /* Each number of the list takes at least one byte of the file. */
    if (onnx_data_file_bytes(out) / dtype_bytes(out->dtype) > tensor->message.n)
        return error_set(err, ASSAY_BAD_INPUT, "its elements are missing");
    st = tensor_new(data->pool, out->dtype, &shape, out, err);
    return st ? st : onnx_data_fill(tensor, out, err);
}

enum assay_status onnx_data_load(struct onnx_data *data,
                                 const struct onnx_tensor *tensor,
                                 struct tensor *out, struct error *err)
{
    enum assay_status st;

    *out = (struct tensor){0};
    if (!onnx_dtype(tensor->data_type, &out->dtype))
        st = error_set(err, ASSAY_UNSUPPORTED, "tensors %s are not supported",
                       onnx_data_type_words(tensor->data_type));
    else
        st = onnx_data_read_shape(tensor->dims, tensor->n_dims, &out->shape,
                                  err);
    if (!st)
        st = onnx_data_load_elements(data, tensor, out, err);
    if (st) {
        tensor_release(out);
        error_context(err, "tensor '%.100s'", tensor->name);
    }
    return st;
}

/* ---- sparse tensors ---------------------------------------------------- */

/* The flat index of the i-th value, from a flat index or a row of them. */
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
                             "an index of a sparse tensor is out of range");
        memcpy((char *)tensor_data(out) + place * size,
               (const char *)tensor_data(values) + i * size, size);
    }
    return ASSAY_OK;
}

/* A few bytes of a file could ask for any size here. */
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
