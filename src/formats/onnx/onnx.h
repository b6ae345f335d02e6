/* formats/onnx/onnx.h - models that exporters write as ONNX files, opsets 1
 * to 17.
 *
 * The file is mapped; what lies aligned in it is not copied. Scopes come from
 * the names that exporters give to nodes. What a model needs and is not there
 * is said all at once.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_H
#define FORMATS_ONNX_ONNX_H

#include "base/sink.h"
#include "graph/graph.h"

enum { ONNX_NEWEST_OPSET = 17 };

/* Sizes that the user gives to an input: --shape images=1x3x640x640. */
struct onnx_shape_choice {
    const char *input; /* NULL: the only one */
    struct shape shape;
};

/* {0} is fine. */
struct onnx_options {
    const struct onnx_shape_choice *shapes;
    size_t n_shapes;
    bool may_read_outside;    /* external data outside of the model's folder */
    const char *outside_hint; /* what to do where it may not, for the error;
                                 NULL: nothing is said */
    size_t max_folded_bytes;  /* of a node that is computed once, when the model
                                 is loaded; 0: 1 GiB */
    struct sink *problems; /* a line for each op that is missing; NULL: none */
};

/* Makes the graph of a file, with all of its data. Inputs have the shapes that
 * the file declares (graph_input_shape()), -1 for sizes that are free.
 * ASSAY_UNSUPPORTED where ops are missing. The caller frees *out. */
enum assay_status onnx_load(const char *path,
                            const struct onnx_options *options,
                            struct pool *pool, struct graph **out,
                            struct error *err);

/* The same for bytes in memory; external data is refused. */
enum assay_status onnx_load_buffer(struct buffer *file,
                                   const struct onnx_options *options,
                                   struct pool *pool, struct graph **out,
                                   struct error *err);

/* A file with one tensor (a serialized TensorProto), as test vectors are kept.
 * *name is empty where it has none. Both are released by the caller. */
enum assay_status onnx_load_tensor(const char *path, struct pool *pool,
                                   struct tensor *out, struct str *name,
                                   struct error *err);

/* An op type that can be imported, and from which opset to which. */
struct onnx_op_support {
    const char *op_type; /* of ONNX's own domain */
    int first, last;
};

/* The i-th of them, in no order; false behind the last. An op type comes
 * several times where its opsets are mapped differently. */
bool onnx_op_support(size_t i, struct onnx_op_support *out);

#endif
