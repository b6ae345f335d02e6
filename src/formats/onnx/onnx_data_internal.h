/* formats/onnx/onnx_data_internal.h - the elements of tensors: inside the
 * model, or in files beside it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_DATA_INTERNAL_H
#define FORMATS_ONNX_ONNX_DATA_INTERNAL_H

#include "formats/onnx/onnx_message_internal.h"
#include "tensor/tensor.h"

/* Where elements come from. Start from {0} with the fields that are set. */
struct onnx_data {
    struct buffer *file; /* what the messages were read from */
    struct pool *pool;
    const char *folder;    /* of the model; NULL: no other file is read */
    bool may_read_outside; /* of that folder */
    const char *outside_hint;

    struct external_file *externals;
    size_t n_externals, externals_capacity;
};

void onnx_data_release(struct onnx_data *data);

/* False for strings, complex numbers and what later versions added. */
bool onnx_dtype(int64_t data_type, enum dtype *dtype);

/* The tensor of a message, sharing the file's memory where it is aligned.
 * Errors begin with the tensor's name. */
enum assay_status onnx_data_load(struct onnx_data *data,
                                 const struct onnx_tensor *tensor,
                                 struct tensor *out, struct error *err);
enum assay_status onnx_data_load_sparse(struct onnx_data *data,
                                        const struct onnx_sparse_tensor *tensor,
                                        struct tensor *out, struct error *err);

/* Bytes of another file, for onnx_data_load(). */
enum assay_status onnx_external_find(struct onnx_data *data,
                                     const struct onnx_tensor *tensor,
                                     size_t wanted_bytes, struct buffer **file,
                                     struct wire_bytes *bytes,
                                     struct error *err);

#endif
