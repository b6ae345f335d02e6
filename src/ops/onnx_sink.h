/* ops/onnx_sink.h - how an op writes itself as ONNX.
 *
 * The formats room implements the class; an op's to_onnx() calls the functions
 * below. After the first failure, which is kept, all calls do nothing.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_ONNX_SINK_H
#define OPS_ONNX_SINK_H

#include "graph/survey.h"

struct onnx_sink {
    const struct onnx_sink_class *class;
    const struct graph *graph;
    const struct survey *survey;
    const struct node *node; /* the one being written */
};

struct onnx_sink_class {
    /* Adds an attribute to the op that the next put() writes. */
    void (*attr_int)(struct onnx_sink *to, const char *name, int64_t value);
    void (*attr_float)(struct onnx_sink *to, const char *name, double value);
    void (*attr_text)(struct onnx_sink *to, const char *name,
                      const char *value);
    void (*attr_ints)(struct onnx_sink *to, const char *name,
                      const int64_t *values, size_t n);
    void (*attr_dtype)(struct onnx_sink *to, const char *name,
                       enum dtype dtype);

    /* Writes an op with inputs and outputs by name ("": left out). */
    void (*put)(struct onnx_sink *to, const char *op_type,
                const char *const *inputs, size_t n_inputs,
                const char *const *outputs, size_t n_outputs);

    /* The name of a value; "" if it is left out. */
    const char *(*name)(const struct onnx_sink *to, uint32_t value);
    /* A new name for a value between two ops, or for a constant; it lives as
     * long as the sink. "" when out of memory. */
    const char *(*add_name)(struct onnx_sink *to, const char *what);
    const char *(*add_scalar)(struct onnx_sink *to, float value);

    void (*need_opset)(struct onnx_sink *to, int64_t opset);
    /* Says why the node cannot be written. */
    void (*refuse)(struct onnx_sink *to, const char *why);
};

enum { ONNX_ALL_INPUTS = 64 };

static inline void onnx_attr_int(struct onnx_sink *to, const char *name,
                                 int64_t value)
{
    to->class->attr_int(to, name, value);
}

static inline void onnx_attr_float(struct onnx_sink *to, const char *name,
                                   double value)
{
    to->class->attr_float(to, name, value);
}

static inline void onnx_attr_text(struct onnx_sink *to, const char *name,
                                  const char *value)
{
    to->class->attr_text(to, name, value);
}

static inline void onnx_attr_ints(struct onnx_sink *to, const char *name,
                                  const int64_t *values, size_t n)
{
    to->class->attr_ints(to, name, values, n);
}

static inline void onnx_put_op(struct onnx_sink *to, const char *op_type,
                               const char *const *inputs, size_t n_inputs,
                               const char *const *outputs, size_t n_outputs)
{
    to->class->put(to, op_type, inputs, n_inputs, outputs, n_outputs);
}

static inline const char *onnx_name(const struct onnx_sink *to, uint32_t value)
{
    return to->class->name(to, value);
}

static inline const char *onnx_add_name(struct onnx_sink *to, const char *what)
{
    return to->class->add_name(to, what);
}

static inline const char *onnx_add_scalar(struct onnx_sink *to, float value)
{
    return to->class->add_scalar(to, value);
}

static inline void onnx_needs_opset(struct onnx_sink *to, int64_t opset)
{
    to->class->need_opset(to, opset);
}

static inline void onnx_refuse(struct onnx_sink *to, const char *why)
{
    to->class->refuse(to, why);
}

/* Writes an op with the node's outputs and its first n inputs. */
void onnx_put_node(struct onnx_sink *to, const char *op_type, size_t n);
/* to_onnx() of ops that ONNX has under the same name, without attributes. */
void onnx_put_named(struct onnx_sink *to);

/* "pads": all before, then all after. */
void onnx_attr_pads(struct onnx_sink *to, const int64_t *before,
                    const int64_t *after, size_t rank);

/* The shape of input i of the node; NULL if it is not known. */
const struct shape *onnx_input_shape(const struct onnx_sink *to, size_t i);

#endif
