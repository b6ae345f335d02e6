/* formats/onnx/onnx_data_internal.h - the elements of tensors, from the model
 * file or from files next to it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_DATA_INTERNAL_H
#define FORMATS_ONNX_ONNX_DATA_INTERNAL_H

#include "formats/onnx/onnx_message_internal.h"
#include "tensor/tensor.h"

/* Where elements come from. Start from {0} and set the first five. */
struct onnx_data {
    struct buffer *file; /* the one that the messages were read from */
    struct pool *pool;
    const char *folder;       /* of the model; NULL: read no other file */
    bool may_read_outside;    /* outside that folder */
    const char *outside_hint; /* see struct model_file_options */

    struct external_file *externals;
    size_t n_externals, externals_capacity;
};

void onnx_data_release(struct onnx_data *data);

/* False for strings, complex numbers and types newer than ONNX 1.22. */
bool onnx_dtype(int64_t data_type, enum dtype *dtype);

/* Makes the tensor of a message; it shares the file's memory if it is aligned
 * there. Errors begin with the tensor's name. */
enum assay_status onnx_data_load(struct onnx_data *data,
                                 const struct onnx_tensor *tensor,
                                 struct tensor *out, struct error *err);
enum assay_status onnx_data_load_sparse(struct onnx_data *data,
                                        const struct onnx_sparse_tensor *tensor,
                                        struct tensor *out, struct error *err);

/* The bytes of a tensor that are in another file, for onnx_data_load(). */
enum assay_status onnx_external_find(struct onnx_data *data,
                                     const struct onnx_tensor *tensor,
                                     size_t wanted_bytes, struct buffer **file,
                                     struct wire_bytes *bytes,
                                     struct error *err);

#endif
