/* formats/onnx/onnx_import_internal.h - nodes of an ONNX file become nodes of a
 * graph; for the files that map op types (onnx_map_*.c).
 *
 * A mapping is a function that fills typed attributes and adds nodes. It need
 * not check every step: the first failure is remembered in the call, nothing
 * is added from then on, and the importer names the node in the message.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_IMPORT_INTERNAL_H
#define FORMATS_ONNX_ONNX_IMPORT_INTERNAL_H

#include "base/map.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/onnx_data_internal.h"

/* A graph or the body of a function on its way into a graph: what its names
 * stand for. */
struct onnx_frame;
struct onnx_place;

/* One node on its way. */
struct onnx_call {
    struct onnx_frame *frame;
    const struct onnx_node *node;
    const struct onnx_place *place; /* in the tree of modules */
    size_t n_steps;                 /* onnx_step() was called so often */
    int64_t opset;                  /* of the node's domain */
    uint32_t *inputs;
    size_t n_inputs; /* values; GRAPH_NONE: left out */
    uint32_t *outputs;
    size_t n_outputs; /* set by onnx_emit() */
    enum assay_status st;
    struct error *err;
};

/* An op type of a range of opsets. The first min_inputs are there, and all of
 * them where there may be ONNX_ANY; where min_inputs is 0 none need be. */
enum { ONNX_ANY = -1 };

struct onnx_op {
    const char *op_type;
    int first, last;            /* opsets */
    int min_inputs, max_inputs; /* ONNX_ANY: no most */
    void (*import)(struct onnx_call *call);
};

/* The tables of all files of mappings, NULL at the end; each ends with a NULL
 * op type. A range of opsets is in one row only. */
extern const struct onnx_op *const onnx_op_tables[];
const struct onnx_op *onnx_op_find(const char *op_type, int64_t opset);

/* ---- attributes -------------------------------------------------------- */

bool onnx_has(const struct onnx_call *call, const char *name);
int64_t onnx_int(const struct onnx_call *call, const char *name,
                 int64_t fallback);
/* The attribute "axis"; fails where no tensor has that many dimensions. */
int onnx_axis(struct onnx_call *call, int fallback);
float onnx_float(const struct onnx_call *call, const char *name,
                 float fallback);
const char *onnx_text(const struct onnx_call *call, const char *name,
                      const char *fallback);
/* How many there are, 0 where the attribute is not; borrowed. */
size_t onnx_ints(const struct onnx_call *call, const char *name,
                 const int64_t **ints);
size_t onnx_floats(const struct onnx_call *call, const char *name,
                   const float **floats);
size_t onnx_texts(const struct onnx_call *call, const char *name,
                  const char *const **texts);
/* The attribute itself, of the caller where a function hands it through; NULL
 * where it is not there. */
const struct onnx_attribute *onnx_attribute(const struct onnx_call *call,
                                            const char *name);

/* ---- values ------------------------------------------------------------ */

/* GRAPH_NONE where it is left out or there are not so many. */
uint32_t onnx_input(const struct onnx_call *call, size_t i);
/* What is known of a value before anything ran: data where it is constant,
 * else type and shape without data (a batch of any size is -1). NULL where the
 * shape depends on the data. */
const struct tensor *onnx_known(const struct onnx_call *call, uint32_t value);
/* Its data, or NULL where it is computed. */
const struct tensor *onnx_constant(const struct onnx_call *call,
                                   uint32_t value);

/* New constants: a list, a number. GRAPH_NONE on failure. */
uint32_t onnx_new_i64s(struct onnx_call *call, const int64_t *numbers,
                       size_t n);
uint32_t onnx_new_f32s(struct onnx_call *call, const float *numbers, size_t n);
uint32_t onnx_new_scalar(struct onnx_call *call, enum dtype dtype,
                         double number);
/* The tensor of an attribute; GRAPH_NONE where there is none too. */
uint32_t onnx_new_tensor(struct onnx_call *call, const char *attribute);
/* Takes the data over. */
uint32_t onnx_new_constant(struct onnx_call *call, struct tensor data);
struct pool *onnx_pool(const struct onnx_call *call);

/* ---- nodes ------------------------------------------------------------- */

/* Adds the node that the call stands for: its inputs, its outputs. */
void onnx_emit(struct onnx_call *call, const struct op_class *op,
               const void *attrs);
/* The same with other inputs; with the first n_outputs only, where others that
 * the file asks for are set by the mapping. */
void onnx_emit_inputs(struct onnx_call *call, const struct op_class *op,
                      const void *attrs, const uint32_t *inputs,
                      size_t n_inputs);
void onnx_emit_outputs(struct onnx_call *call, const struct op_class *op,
                       const void *attrs, const uint32_t *inputs,
                       size_t n_inputs, size_t n_outputs);
/* A step on the way to it; its only output, GRAPH_NONE after a failure. */
uint32_t onnx_step(struct onnx_call *call, const struct op_class *op,
                   const void *attrs, const uint32_t *inputs, size_t n_inputs);

/* Fails, unless it failed before: "auto_pad 'X' is not supported". */
void onnx_fail(struct onnx_call *call, enum assay_status status,
               const char *format, ...) ASSAY_PRINTF(3, 4);

/* ---- graphs inside of nodes -------------------------------------------- */

/* The graph of an attribute, as a graph of its own. What it reads of the
 * graphs around it become inputs behind its own; *captured lists these values
 * of the call's graph. Both are the caller's (graph_free, mem_free). */
struct onnx_body {
    struct graph *graph;
    uint32_t *captured;
    size_t n_captured;
};

/* onnx_emit_inputs() for a node with graphs, which it owns where the call has
 * not failed. */
void onnx_emit_bodies(struct onnx_call *call, const struct op_class *op,
                      const void *attrs, const uint32_t *inputs,
                      size_t n_inputs, struct graph *const *bodies,
                      size_t n_bodies);

void onnx_import_body(struct onnx_call *call, const char *attribute,
                      struct onnx_body *body);
void onnx_body_release(struct onnx_body *body);

#endif
