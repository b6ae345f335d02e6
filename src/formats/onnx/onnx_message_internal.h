/* formats/onnx/onnx_message_internal.h - the messages of onnx.proto, limited to
 * the fields that are used.
 *
 * Texts are in the model's arena and "" if missing; bytes point into the file.
 * An `n_` field next to a single one says whether it was there.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_MESSAGE_INTERNAL_H
#define FORMATS_ONNX_ONNX_MESSAGE_INTERNAL_H

#include "base/arena.h"
#include "base/error.h"
#include "formats/onnx/wire_internal.h"

struct onnx_entry {
    const char *key, *value;
};

struct onnx_tensor {
    const char *name;
    int64_t data_type;
    int64_t *dims;
    size_t n_dims;
    struct wire_bytes raw;
    size_t n_raw;
    struct onnx_entry *external;
    size_t n_external;
    int64_t location;          /* 1: in another file */
    struct wire_bytes message; /* all of it, for the typed lists */
};

struct onnx_sparse_tensor {
    struct onnx_tensor *values, *indices;
    int64_t *dims;
    size_t n_dims;
};

struct onnx_dimension {
    int64_t value;
    size_t n_value; /* 0: free */
    const char *param;
};

struct onnx_shape {
    struct onnx_dimension *dims;
    size_t n_dims;
};

struct onnx_tensor_type {
    int64_t elem_type;
    struct onnx_shape *shape; /* NULL: any */
};

struct onnx_type {
    struct onnx_tensor_type *tensor; /* NULL: a sequence, map, optional... */
    struct onnx_optional_type *optional;
    size_t n_sequence, n_map, n_sparse;
};

struct onnx_optional_type {
    struct onnx_type *element;
};

struct onnx_value_info {
    const char *name;
    struct onnx_type *type;
};

struct onnx_attribute {
    const char *name, *ref_name;
    int64_t type; /* enum onnx_attribute_type; 0 in old files */
    float f;
    int64_t i;
    const char *s;
    struct onnx_tensor *t;
    struct onnx_graph *g;
    struct onnx_sparse_tensor *sparse;
    float *floats;
    size_t n_floats;
    int64_t *ints;
    size_t n_ints;
    const char **strings;
    size_t n_strings;
    size_t n_f, n_i, n_s;
};

struct onnx_node {
    const char **inputs, **outputs;
    size_t n_inputs, n_outputs;
    const char *name, *op_type, *domain;
    struct onnx_attribute *attributes;
    size_t n_attributes;
    struct onnx_entry *metadata; /* what the exporter notes about it */
    size_t n_metadata;
};

struct onnx_graph {
    const char *name;
    struct onnx_node *nodes;
    size_t n_nodes;
    struct onnx_tensor *initializers;
    size_t n_initializers;
    struct onnx_sparse_tensor *sparse_initializers;
    size_t n_sparse_initializers;
    struct onnx_value_info *inputs, *outputs;
    size_t n_inputs, n_outputs;
};

struct onnx_opset {
    const char *domain;
    int64_t version;
};

struct onnx_function {
    const char *name, *domain;
    const char **inputs, **outputs;
    size_t n_inputs, n_outputs;
    struct onnx_node *nodes;
    size_t n_nodes;
    struct onnx_opset *opsets;
    size_t n_opsets;
};

struct onnx_model {
    int64_t ir_version;
    const char *producer;
    struct onnx_opset *opsets;
    size_t n_opsets;
    struct onnx_graph *graph; /* never NULL after reading */
    struct onnx_function *functions;
    size_t n_functions;
};

/* Read a model or a tensor into the arena. The bytes must outlive it. */
enum assay_status onnx_model_read(struct wire_bytes file, struct arena *arena,
                                  struct onnx_model *out, struct error *err);
enum assay_status onnx_tensor_read(struct wire_bytes file, struct arena *arena,
                                   struct onnx_tensor *out, struct error *err);

#endif
