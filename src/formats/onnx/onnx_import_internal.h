/* formats/onnx/onnx_import_internal.h - turns nodes of an ONNX file into nodes
 * of a graph; for the files that map op types (onnx_map_*.c).
 *
 * A mapping is a function that fills typed attributes and adds nodes. It need
 * not check every step: the call remembers its first failure and adds nothing
 * afterwards, and the importer names the node in the message.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_IMPORT_INTERNAL_H
#define FORMATS_ONNX_ONNX_IMPORT_INTERNAL_H

#include "base/map.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/onnx_data_internal.h"
#include "ops/convolution/window.h"

struct onnx_frame;
struct onnx_place;

/* One node while it is imported. */
struct onnx_call {
    struct onnx_frame *frame;
    const struct onnx_node *node;
    const struct onnx_place *place; /* in the tree of modules */
    size_t n_steps;                 /* calls of onnx_step() so far */
    int64_t opset;                  /* of the node's domain */
    uint64_t *asked; /* bit i: the mapping asked for the node's attribute i */
    uint32_t *inputs;
    size_t n_inputs; /* values; GRAPH_NONE: left out */
    uint32_t *outputs;
    size_t n_outputs; /* set by onnx_emit() */
    enum assay_status st;
    struct error *err;
};

/* An op type in a range of opsets; ONNX_NOW: and in all later ones, until we
 * know of a change. The first min_inputs inputs must be there, or all of them
 * if max_inputs is ONNX_ANY and min_inputs is not 0. */
enum { ONNX_ANY = -1, ONNX_NOW = ONNX_NEWEST_OPSET };

struct onnx_op {
    const char *op_type;
    int first, last;            /* opsets */
    int min_inputs, max_inputs; /* ONNX_ANY: no maximum */
    void (*import)(struct onnx_call *call);
};

/* The tables of mappings, each from onnx_map_NAME.c; a NULL op type ends them.
 * No op type has two rows for the same opset. */
extern const struct onnx_op onnx_attention_ops[];
extern const struct onnx_op onnx_control_ops[];
extern const struct onnx_op onnx_conv_ops[];
extern const struct onnx_op onnx_elementwise_ops[];
extern const struct onnx_op onnx_microsoft_ops[]; /* of com.microsoft */
extern const struct onnx_op onnx_norm_ops[];
extern const struct onnx_op onnx_pool_ops[];
extern const struct onnx_op onnx_product_ops[];
extern const struct onnx_op onnx_quantized_ops[];
extern const struct onnx_op onnx_random_ops[];
extern const struct onnx_op onnx_recurrent_ops[];
extern const struct onnx_op onnx_reduce_ops[];
extern const struct onnx_op onnx_sequence_ops[];
extern const struct onnx_op onnx_shape_ops[];
extern const struct onnx_op onnx_signal_ops[];
extern const struct onnx_op onnx_vision_ops[];

/* ---- attributes --------------------------------------------------------
 *
 * onnx_attributes.c lists every attribute of an op. A mapping asks for all that
 * it handles; the importer refuses a node with one that is not in the list, or
 * that is handled but was not asked for in this opset. */

bool onnx_has(const struct onnx_call *call, const char *name);
int64_t onnx_int(const struct onnx_call *call, const char *name,
                 int64_t fallback);
/* The attribute "axis"; fails if no tensor has that many dimensions. */
int onnx_axis(struct onnx_call *call, int fallback);
/* An attribute that names a type of elements by ONNX's number. */
enum dtype onnx_type(struct onnx_call *call, const char *name,
                     int64_t fallback);
float onnx_float(const struct onnx_call *call, const char *name,
                 float fallback);
const char *onnx_text(const struct onnx_call *call, const char *name,
                      const char *fallback);
/* Return how many there are, 0 without the attribute; borrowed. */
size_t onnx_ints(const struct onnx_call *call, const char *name,
                 const int64_t **ints);
size_t onnx_floats(const struct onnx_call *call, const char *name,
                   const float **floats);
size_t onnx_texts(const struct onnx_call *call, const char *name,
                  const char *const **texts);
/* The index in a list of the text that the attribute has; entries may be NULL.
 * Fails if the text is not one of them. */
int onnx_choose(struct onnx_call *call, const char *name, const char *fallback,
                const char *const *texts, size_t n);
#define ONNX_CHOOSE(call, name, fallback, texts)                               \
    onnx_choose(call, name, fallback, texts, sizeof texts / sizeof *texts)
/* The attribute itself, or the caller's if a function passes it through; NULL
 * if it is missing. */
const struct onnx_attribute *onnx_attribute(const struct onnx_call *call,
                                            const char *name);

/* ---- values ------------------------------------------------------------ */

/* GRAPH_NONE if the input is left out or there are not that many. */
uint32_t onnx_input(const struct onnx_call *call, size_t i);
/* A value as far as it is known before the model runs: its data if it is
 * constant, else type and shape without data (-1: a batch of any size). NULL if
 * the shape depends on the data. */
const struct tensor *onnx_known(const struct onnx_call *call, uint32_t value);
/* Its data, or NULL if it is computed. */
const struct tensor *onnx_constant(const struct onnx_call *call,
                                   uint32_t value);

/* New constants. GRAPH_NONE on failure. */
uint32_t onnx_new_i64s(struct onnx_call *call, const int64_t *numbers,
                       size_t n);
uint32_t onnx_new_f32s(struct onnx_call *call, const float *numbers, size_t n);
uint32_t onnx_new_scalar(struct onnx_call *call, enum dtype dtype,
                         double number);
/* The tensor of an attribute; GRAPH_NONE also if there is none. */
uint32_t onnx_new_tensor(struct onnx_call *call, const char *attribute);
/* Takes the data. */
uint32_t onnx_new_constant(struct onnx_call *call, struct tensor data);
struct pool *onnx_pool(const struct onnx_call *call);

/* ---- nodes ------------------------------------------------------------- */

/* Adds the node that the call stands for, with its inputs and outputs. */
void onnx_emit(struct onnx_call *call, const struct op_class *op,
               const void *attrs);
/* The same with the op that has the name of the ONNX op; the second without
 * attributes, which makes it a mapping. */
void onnx_emit_named(struct onnx_call *call, const void *attrs);
void onnx_import_named(struct onnx_call *call);
/* The same with other inputs; with only the first n_outputs outputs, if the
 * mapping sets the rest. */
void onnx_emit_inputs(struct onnx_call *call, const struct op_class *op,
                      const void *attrs, const uint32_t *inputs,
                      size_t n_inputs);
void onnx_emit_outputs(struct onnx_call *call, const struct op_class *op,
                       const void *attrs, const uint32_t *inputs,
                       size_t n_inputs, size_t n_outputs);
/* Adds a node on the way to it. Returns its only output, GRAPH_NONE after a
 * failure. */
uint32_t onnx_step(struct onnx_call *call, const struct op_class *op,
                   const void *attrs, const uint32_t *inputs, size_t n_inputs);

/* Fails, unless the call failed before: "auto_pad 'X' is not supported". */
void onnx_fail(struct onnx_call *call, enum assay_status status,
               const char *format, ...) ASSAY_PRINTF(3, 4);

/* ---- windows of convolutions and poolings ------------------------------- */

/* The number of dimensions that a node's window moves in: from kernel_shape, or
 * two less than the rank of a known tensor. 0: unknown. */
int onnx_window_rank(const struct onnx_call *call, const struct tensor *known);

/* Reads kernel_shape, strides, dilations, pads and auto_pad. kernel: the
 * weight's sizes, used if the file does not state them, or NULL. False after a
 * failure of the call. */
bool onnx_window_read(struct onnx_call *call, int rank, const int64_t *kernel,
                      struct window *window);

/* Turns SAME padding into numbers; false if the sizes of x are unknown. */
bool onnx_window_fix(struct window *window, const struct tensor *x);

/* Reads an attribute of n numbers, each at least min; leaves `to` alone if it
 * is missing. */
void onnx_window_list(struct onnx_call *call, const char *name, int64_t min,
                      int64_t *to, size_t n);

/* ---- graphs inside nodes ----------------------------------------------- */

/* The graph of an attribute, as a graph of its own. Values that it reads from
 * the graphs around it become inputs after its own; *captured lists them by
 * their ids in the call's graph. The caller releases both. */
struct onnx_body {
    struct graph *graph;
    uint32_t *captured;
    size_t n_captured;
};

/* onnx_emit_inputs() for a node with graphs. The node owns them, unless the
 * call has failed. */
void onnx_emit_bodies(struct onnx_call *call, const struct op_class *op,
                      const void *attrs, const uint32_t *inputs,
                      size_t n_inputs, struct graph *const *bodies,
                      size_t n_bodies);

void onnx_import_body(struct onnx_call *call, const char *attribute,
                      struct onnx_body *body);
void onnx_body_release(struct onnx_body *body);

#endif
