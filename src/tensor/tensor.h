/* tensor/tensor.h - typed arrays in pooled memory.
 *
 * A tensor is a small value: type, shape and a counted reference to a buffer.
 * Copying the struct does not copy the reference; tensor_share() does.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include "base/error.h"
#include "tensor/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One list gives the constants, their names and their sizes in bytes. Types of
 * less than 8 bits take a byte each. A sequence is a list of tensors that is
 * packed into bytes (ops/sequence/packed_list.h). */
#define DTYPE_LIST(X)                                                          \
    X(DTYPE_F32, "float32", 4)                                                 \
    X(DTYPE_F64, "float64", 8)                                                 \
    X(DTYPE_F16, "float16", 2)                                                 \
    X(DTYPE_BF16, "bfloat16", 2)                                               \
    X(DTYPE_I8, "int8", 1)                                                     \
    X(DTYPE_U8, "uint8", 1)                                                    \
    X(DTYPE_I16, "int16", 2)                                                   \
    X(DTYPE_U16, "uint16", 2)                                                  \
    X(DTYPE_I32, "int32", 4)                                                   \
    X(DTYPE_U32, "uint32", 4)                                                  \
    X(DTYPE_I64, "int64", 8)                                                   \
    X(DTYPE_U64, "uint64", 8)                                                  \
    X(DTYPE_BOOL, "bool", 1)                                                   \
    X(DTYPE_F8E4M3FN, "float8e4m3fn", 1)                                       \
    X(DTYPE_F8E4M3FNUZ, "float8e4m3fnuz", 1)                                   \
    X(DTYPE_F8E5M2, "float8e5m2", 1)                                           \
    X(DTYPE_F8E5M2FNUZ, "float8e5m2fnuz", 1)                                   \
    X(DTYPE_F8E8M0, "float8e8m0", 1)                                           \
    X(DTYPE_F4E2M1, "float4e2m1", 1)                                           \
    X(DTYPE_I4, "int4", 1)                                                     \
    X(DTYPE_U4, "uint4", 1)                                                    \
    X(DTYPE_I2, "int2", 1)                                                     \
    X(DTYPE_U2, "uint2", 1)                                                    \
    X(DTYPE_SEQUENCE, "sequence", 1)

enum dtype {
#define DTYPE_ENUM(name, text, bytes) name,
    DTYPE_LIST(DTYPE_ENUM)
#undef DTYPE_ENUM
};

const char *dtype_name(enum dtype dtype);
size_t dtype_bytes(enum dtype dtype);

enum { SHAPE_MAX_RANK = 8 };

struct shape {
    int rank; /* 0: a scalar */
    int64_t dims[SHAPE_MAX_RANK];
};

/* shape_of(4, n, c, h, w); the dims are int64_t. */
struct shape shape_of(int rank, ...);
bool shape_equal(const struct shape *a, const struct shape *b);
/* Product of the dims; false where one is negative or it overflows. */
bool shape_elements(const struct shape *shape, size_t *n);
/* "1x3x800x1066", "scalar"; cut with dots where it does not fit. */
const char *shape_text(const struct shape *shape, char *buffer, size_t size);

/* How the elements lie in memory where it is not row by row: a backend's own
 * description, interned by it, valid as long as the backend. */
struct layout;

struct tensor {
    enum dtype dtype;
    struct shape shape;
    struct buffer *buffer;       /* NULL: no data */
    size_t offset;               /* of the first element in the buffer, bytes */
    const struct layout *layout; /* NULL: dense, last dimension fastest */
};

/* Dense, not initialised. On failure *out has no data. */
enum assay_status tensor_new(struct pool *pool, enum dtype dtype,
                             const struct shape *shape, struct tensor *out,
                             struct error *err);

/* A copy of a dense tensor in the pool's space, whichever it is in now. */
enum assay_status tensor_copy(struct pool *pool, const struct tensor *from,
                              struct tensor *out, struct error *err);
/* Between dense tensors of the same type and size that have their memory. */
enum assay_status tensor_assign(const struct tensor *to,
                                const struct tensor *from, struct error *err);
enum assay_status tensor_clear(const struct tensor *tensor, struct error *err);

/* Another reference to the same data, to be released too. */
struct tensor tensor_share(const struct tensor *tensor);
/* The same data under another shape of as many elements. Dense ones only. */
struct tensor tensor_reshape(const struct tensor *tensor,
                             const struct shape *shape);
void tensor_release(struct tensor *tensor); /* accepts one without data */

/* See buffer_unload(): for parameters that a kernel has its own copy of. */
void tensor_unload(const struct tensor *tensor);

/* Whether the host may touch its elements. */
bool tensor_is_on_host(const struct tensor *tensor);

/* The first element; an address in the space of its buffer. */
void *tensor_data(const struct tensor *tensor);
float *tensor_f32(const struct tensor *tensor);      /* asserts the type */
int64_t *tensor_i64(const struct tensor *tensor);    /* asserts the type */
size_t tensor_elements(const struct tensor *tensor); /* of a valid shape */
size_t tensor_bytes(const struct tensor *tensor);    /* dense size */

#endif
