/* formats/onnx/onnx.h - reads ONNX files, opsets 1 to 27.
 *
 * The file is mapped, and tensors that are aligned in it are not copied. Scopes
 * come from the names that exporters give to nodes. Everything that a model
 * needs and Assay lacks is reported at once.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_H
#define FORMATS_ONNX_ONNX_H

#include "formats/model_file.h"

enum { ONNX_NEWEST_OPSET = 27 };

/* Makes the graph of a file, with all of its data. Inputs have the shapes that
 * the file declares (graph_input_shape()), -1 for free sizes.
 * Ignores shapes in the options for inputs that it does not have.
 * ASSAY_UNSUPPORTED if ops are missing. The caller frees *out. */
enum assay_status onnx_load(const char *path,
                            const struct model_file_options *options,
                            struct pool *pool, struct graph **out,
                            struct error *err);

/* The same for bytes in memory; refuses external data. */
enum assay_status onnx_load_buffer(struct buffer *file,
                                   const struct model_file_options *options,
                                   struct pool *pool, struct graph **out,
                                   struct error *err);

/* Reads a file with a single serialized value, the format of test vectors: a
 * tensor, a list of tensors, texts (both packed, see
 * ops/sequence/packed_list.h) or an optional one. is_list: the model says that
 * it is a list. *name is empty if the value has none. The caller releases
 * both. */
enum assay_status onnx_load_vector(const char *path, bool is_list,
                                   struct pool *pool, struct tensor *out,
                                   struct str *name, struct error *err);
enum assay_status onnx_load_vector_buffer(struct buffer *file, bool is_list,
                                          struct pool *pool, struct tensor *out,
                                          struct str *name, struct error *err);

/* An op type that can be imported, and the opsets it is imported from. */
struct onnx_op_support {
    const char *domain; /* "" is ONNX's own */
    const char *op_type;
    int first, last;
};

/* The i-th of them, in no particular order; false after the last. An op type
 * comes several times if its opsets are mapped differently. */
bool onnx_op_support(size_t i, struct onnx_op_support *out);

#endif
