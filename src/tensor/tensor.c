/* tensor/tensor.c - see tensor.h. */
#include "tensor/tensor.h"

#include "base/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define ROW(name, text, bytes) {text, bytes},
    DTYPE_LIST(ROW)
#undef ROW
};

const char *dtype_name(enum dtype dtype)
{
    return dtypes[dtype].name;
}

size_t dtype_bytes(enum dtype dtype)
{
    return dtypes[dtype].bytes;
}

struct shape shape_of(int rank, ...)
{
    struct shape shape = {.rank = rank};
    va_list dims;

    va_start(dims, rank);
    for (int i = 0; i < rank; i++)
        shape.dims[i] = va_arg(dims, int64_t);
    va_end(dims);
    return shape;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

bool shape_elements(const struct shape *shape, size_t *n)
{
    size_t product = 1;

    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0 ||
            !mem_mul(product, (size_t)shape->dims[i], &product))
            return false;
    }
    *n = product;
    return true;
}

const char *shape_text(const struct shape *shape, char *buffer, size_t size)
{
    size_t n = 0;

    if (shape->rank == 0)
        snprintf(buffer, size, "scalar");
    for (int i = 0; i < shape->rank; i++) {
        int wrote = snprintf(buffer + n, size - n, "%s%" PRId64, i ? "x" : "",
                             shape->dims[i]);

        if (wrote < 0 || (size_t)wrote >= size - n) {
            memcpy(buffer + size - 4, "...", 4);
            break;
        }
        n += (size_t)wrote;
    }
    return buffer;
}

enum assay_status tensor_new(struct pool *pool, enum dtype dtype,
                             const struct shape *shape, struct tensor *out,
                             struct error *err)
{
    char text[64];
    size_t n, bytes;
    enum assay_status st;

    *out = (struct tensor){.dtype = dtype, .shape = *shape};
    if (!shape_elements(shape, &n) || !mem_mul(n, dtype_bytes(dtype), &bytes))
        return error_set(err, ASSAY_BAD_INPUT,
                         "a tensor of %s elements cannot be",
                         shape_text(shape, text, sizeof text));
    st = pool_take(pool, bytes, "a tensor", &out->buffer, err);
    if (st)
        error_context(err, "making a %s tensor of %s",
                      shape_text(shape, text, sizeof text), dtype_name(dtype));
    return st;
}

enum assay_status tensor_assign(const struct tensor *to,
                                const struct tensor *from, struct error *err)
{
    assert(!to->layout && !from->layout &&
           tensor_bytes(to) == tensor_bytes(from));
    return space_copy(buffer_space(to->buffer), tensor_data(to),
                      buffer_space(from->buffer), tensor_data(from),
                      tensor_bytes(from), err);
}

enum assay_status tensor_copy(struct pool *pool, const struct tensor *from,
                              struct tensor *out, struct error *err)
{
    enum assay_status st =
        tensor_new(pool, from->dtype, &from->shape, out, err);

    if (!st)
        st = tensor_assign(out, from, err);
    if (st)
        tensor_release(out);
    return st;
}

enum assay_status tensor_clear(const struct tensor *tensor, struct error *err)
{
    struct space *space = buffer_space(tensor->buffer);
    size_t bytes = tensor_bytes(tensor);

    return bytes ? space->clear(space, tensor_data(tensor), bytes, err)
                 : ASSAY_OK;
}

struct tensor tensor_share(const struct tensor *tensor)
{
    if (tensor->buffer)
        buffer_share(tensor->buffer);
    return *tensor;
}

struct tensor tensor_reshape(const struct tensor *tensor,
                             const struct shape *shape)
{
    struct tensor shared = tensor_share(tensor);

    assert(!tensor->layout);
    shared.shape = *shape;
    return shared;
}

void tensor_release(struct tensor *tensor)
{
    buffer_release(tensor->buffer);
    tensor->buffer = NULL;
}

void tensor_unload(const struct tensor *tensor)
{
    buffer_unload(tensor->buffer, tensor->offset, tensor_bytes(tensor));
}

bool tensor_is_on_host(const struct tensor *tensor)
{
    return !tensor->buffer || buffer_space(tensor->buffer)->is_host;
}

void *tensor_data(const struct tensor *tensor)
{
    return tensor->buffer ? (char *)buffer_data(tensor->buffer) + tensor->offset
                          : NULL;
}

float *tensor_f32(const struct tensor *tensor)
{
    assert(tensor->dtype == DTYPE_F32);
    return tensor_data(tensor);
}

int64_t *tensor_i64(const struct tensor *tensor)
{
    assert(tensor->dtype == DTYPE_I64);
    return tensor_data(tensor);
}

size_t tensor_elements(const struct tensor *tensor)
{
    size_t n = 0;

    (void)shape_elements(&tensor->shape, &n);
    return n;
}

size_t tensor_bytes(const struct tensor *tensor)
{
    return tensor_elements(tensor) * dtype_bytes(tensor->dtype);
}
