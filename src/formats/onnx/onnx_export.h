/* formats/onnx/onnx_export.h - what the mappings of ops to ONNX are made of;
 * for onnx_write*.c.
 *
 * The first failure is remembered; all that follows does nothing.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_EXPORT_H
#define FORMATS_ONNX_ONNX_EXPORT_H

#include "base/str.h"
#include "graph/survey.h"

struct onnx_export {
    const struct graph *graph;
    const struct survey *survey;
    struct str nodes;        /* of the GraphProto, with their tags */
    struct str initializers; /* small ones that mappings made */
    struct str *names;       /* one a value */
    int64_t opset;
    size_t n_made; /* names that mappings made */

    const struct node *node; /* the one that is mapped */
    struct str path;         /* its name */
    struct str *attributes;  /* of the op that is being written */
    enum assay_status st;
    struct error *err;
};

/* An attribute of the op that onnx_put_op() will write next. */
void onnx_attr_int(struct onnx_export *to, const char *name, int64_t value);
void onnx_attr_float(struct onnx_export *to, const char *name, double value);
void onnx_attr_text(struct onnx_export *to, const char *name,
                    const char *value);
void onnx_attr_ints(struct onnx_export *to, const char *name,
                    const int64_t *values, size_t n);

/* An op with inputs and outputs by name ("" where one is left out). */
void onnx_put_op(struct onnx_export *to, const char *op_type,
                 const char *const *inputs, size_t n_inputs,
                 const char *const *outputs, size_t n_outputs);
/* The same with those of the node: its first n inputs. */
void onnx_put_node(struct onnx_export *to, const char *op_type, size_t n);

/* The name of a value; "" where it is left out. */
const char *onnx_name(const struct onnx_export *to, uint32_t value);
/* A name for a value between two ops, or of a small constant; it lives as
 * long as the export. "" without memory. */
const char *onnx_add_name(struct onnx_export *to, const char *what);
const char *onnx_add_scalar(struct onnx_export *to, float value);
const char *onnx_add_list(struct onnx_export *to, const int64_t *values,
                          size_t n);

void onnx_needs_opset(struct onnx_export *to, int64_t opset);
/* Why the node cannot be written. */
void onnx_refuse(struct onnx_export *to, const char *why);

/* Writes the node; false where no op of ONNX does what it does. */
bool onnx_export_node(struct onnx_export *to);

#endif
