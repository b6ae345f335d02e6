/* tests/formats/onnx_build.h - makes ONNX files field by field.
 *
 * Messages are growing texts; adding one to another releases it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_FORMATS_ONNX_BUILD_H
#define TESTS_FORMATS_ONNX_BUILD_H

#include "base/mem.h"
#include "base/str.h"
#include "formats/onnx/onnx.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* Field numbers of onnx.proto. */
enum {
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_FUNCTION = 25,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_ATTRIBUTE = 5,
    NODE_METADATA = 9,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_INT32S = 5,
    TENSOR_INT64S = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10,
    TENSOR_UINT64S = 11,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14
};

enum { ONNX_FLOAT = 1, ONNX_INT64 = 7, ONNX_BOOL = 9 };

static inline void put(struct str *to, const void *bytes, size_t n)
{
    CHECK_INT(str_append_n(to, bytes, n), ASSAY_OK);
}

static inline void put_varint(struct str *to, uint64_t value)
{
    for (; value > 127; value >>= 7)
        CHECK_INT(str_append_char(to, (char)(value | 128)), ASSAY_OK);
    CHECK_INT(str_append_char(to, (char)value), ASSAY_OK);
}

static inline void put_int(struct str *to, uint32_t field, int64_t value)
{
    put_varint(to, field << 3);
    put_varint(to, (uint64_t)value);
}

static inline void put_bytes(struct str *to, uint32_t field, const void *bytes,
                             size_t n)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, n);
    if (n)
        put(to, bytes, n);
}

static inline void put_text(struct str *to, uint32_t field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

static inline void put_float(struct str *to, uint32_t field, float value)
{
    put_varint(to, field << 3 | 5);
    put(to, &value, sizeof value);
}

/* Adds the message and releases it. */
static inline void put_message(struct str *to, uint32_t field,
                               struct str message)
{
    put_bytes(to, field, message.text, message.n);
    str_release(&message);
}

/* Adds each word of a text, separated by spaces; "-" is a name left out. */
static inline void put_words(struct str *to, uint32_t field, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");

        put_bytes(to, field, words, n == 1 && *words == '-' ? 0 : n);
        words += n;
        words += *words == ' ';
    }
}

/* A node without attributes. */
static inline struct str make_node(const char *op_type, const char *name,
                                   const char *inputs, const char *outputs)
{
    struct str node = {0};

    put_words(&node, 1, inputs);
    put_words(&node, 2, outputs);
    put_text(&node, 3, name);
    put_text(&node, 4, op_type);
    return node;
}

static inline void put_int_attribute(struct str *node, const char *name,
                                     int64_t value)
{
    struct str attribute = {0};

    put_text(&attribute, 1, name);
    put_int(&attribute, 3, value);
    put_int(&attribute, 20, 2);
    put_message(node, NODE_ATTRIBUTE, attribute);
}

static inline void put_graph_attribute(struct str *node, const char *name,
                                       struct str graph)
{
    struct str attribute = {0};

    put_text(&attribute, 1, name);
    put_message(&attribute, 6, graph);
    put_int(&attribute, 20, 5);
    put_message(node, NODE_ATTRIBUTE, attribute);
}

/* "1x3x?": ? leaves a size free; "" is a scalar. */
static inline struct str make_value(const char *name, int type,
                                    const char *sizes)
{
    struct str value = {0}, shape = {0}, tensor = {0}, both = {0};

    while (*sizes) {
        struct str size = {0};

        if (*sizes == '?')
            put_text(&size, 2, "n");
        else
            put_int(&size, 1, strtoll(sizes, NULL, 10));
        put_message(&shape, 1, size);
        sizes += strcspn(sizes, "x");
        sizes += *sizes == 'x';
    }
    put_int(&tensor, 1, type);
    put_message(&tensor, 2, shape);
    put_message(&both, 1, tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, both);
    return value;
}

/* A tensor without its elements, which follow. */
static inline struct str make_tensor(const char *name, int type,
                                     const int64_t *dims, size_t n_dims)
{
    struct str tensor = {0};

    for (size_t i = 0; i < n_dims; i++)
        put_int(&tensor, TENSOR_DIMS, dims[i]);
    put_int(&tensor, TENSOR_TYPE, type);
    put_text(&tensor, TENSOR_NAME, name);
    return tensor;
}

static inline struct str make_floats(const char *name, const float *numbers,
                                     size_t n)
{
    int64_t dim = (int64_t)n;
    struct str tensor = make_tensor(name, ONNX_FLOAT, &dim, 1);

    put_bytes(&tensor, TENSOR_RAW, numbers, n * sizeof *numbers);
    return tensor;
}

/* Takes the graph. */
static inline struct str make_model(struct str graph, int64_t opset)
{
    struct str model = {0}, set = {0};

    put_int(&set, 2, opset);
    put_int(&model, 1, 8);
    put_message(&model, MODEL_OPSET, set);
    put_message(&model, MODEL_GRAPH, graph);
    return model;
}

/* Reads a model from memory; takes the bytes. */
static inline enum assay_status
load_bytes(struct str model, const struct model_file_options *options,
           struct pool *pool, struct graph **graph, struct error *err)
{
    struct buffer *file;
    enum assay_status st;

    *err = (struct error){0};
    CHECK_INT(
        buffer_wrap(model.text, model.n, mem_free, model.text, &file, err),
        ASSAY_OK);
    st = onnx_load_buffer(file, options, pool, graph, err);
    buffer_release(file);
    return st;
}

#endif
