/* graph/graph.h - a model: nodes, values, parameters, scopes.
 *
 * Built by importers and model builders, changed by passes, executed by the
 * engine. Knows ops only through struct op_class. Nodes are in an order in
 * which they can run. The graph owns everything; ids are indices.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "graph/op_class.h"
#include "tensor/tensor.h"

struct graph;

#define GRAPH_NONE UINT32_MAX

enum assay_status graph_new(struct graph **out, struct error *err);
void graph_free(struct graph *graph); /* accepts NULL */

/* A copy with the same ids that shares the data; passes change only one of
 * them. The caller frees *out. */
enum assay_status graph_copy(const struct graph *graph, struct graph **out,
                             struct error *err);
/* Gives a new graph the name and the scopes of another, with the same ids. */
enum assay_status graph_copy_scopes(const struct graph *from, struct graph *to,
                                    struct error *err);

/* The model's name and class: "fasterrcnn_resnet50_fpn", "FasterRCNN". */
enum assay_status graph_set_name(struct graph *graph, const char *name,
                                 const char *class_name, struct error *err);
const char *graph_name(const struct graph *graph);
const char *graph_class(const struct graph *graph);

/* ---- scopes: the modules the nodes belong to -------------------------- */

struct graph_scope {
    uint32_t parent; /* GRAPH_NONE: directly under the model */
    const char *name;
    const char *class_name;
    const char *path;  /* "backbone.body.conv1" */
    bool is_container; /* ModuleList and the like: never called itself */
};

/* Finds (parent, name) or adds it. parent GRAPH_NONE: under the model. */
enum assay_status graph_scope_add(struct graph *graph, uint32_t parent,
                                  const char *name, const char *class_name,
                                  bool is_container, uint32_t *id,
                                  struct error *err);
size_t graph_scope_count(const struct graph *graph);
const struct graph_scope *graph_scope(const struct graph *graph, uint32_t id);

/* ---- values ----------------------------------------------------------- */

enum value_kind {
    VALUE_INPUT,
    VALUE_PARAMETER, /* trained: weight, bias */
    VALUE_BUFFER,    /* kept with the model, not trained: running_mean */
    VALUE_CONSTANT,
    VALUE_COMPUTED
};

/* How to fill a parameter that no checkpoint fills. */
enum fill {
    FILL_ZERO,
    FILL_ONE,
    FILL_NORMAL, /* mean 0, standard deviation fill_scale */
    FILL_UNIFORM /* between -fill_scale and fill_scale */
};

/* What a constant was computed from: (quantised - zero) * scale. */
struct dequantised {
    uint32_t quantised, scale, zero; /* zero GRAPH_NONE: 0 */
    int64_t axis; /* of the scales, where there are several */
};

struct value {
    enum value_kind kind;
    enum dtype dtype;
    const char *name;   /* "backbone.body.conv1.weight"; "" if computed */
    struct shape shape; /* not of computed values; of inputs if declared */
    bool is_declared;   /* an input's shape is declared; -1: any size */
    bool is_frozen;     /* a parameter that training does not change */
    struct tensor data; /* of parameters, buffers and constants, once loaded */
    uint32_t producer;  /* node, or GRAPH_NONE */
    int output;         /* which output of the producer */
    uint32_t scope;     /* the module that holds the parameter */
    uint32_t reader;    /* the module that reads it, if none holds it */
    enum fill fill;
    float fill_scale;
    uint32_t n_uses;     /* see graph_use_count() */
    bool is_dequantised; /* a constant that was computed from: */
    struct dequantised from;
};

enum assay_status graph_input(struct graph *graph, const char *name,
                              enum dtype dtype, uint32_t *value,
                              struct error *err);
/* Declares the shape of an input, which the engine then checks; -1: any size.
 * graph_input_shape() is NULL if nothing was declared or there is no such
 * input. */
void graph_declare_input(struct graph *graph, uint32_t value,
                         const struct shape *shape);
const struct shape *graph_input_shape(const struct graph *graph, size_t i);
/* Adds a parameter without data. name is relative to the scope: "weight". */
enum assay_status graph_parameter(struct graph *graph, uint32_t scope,
                                  const char *name, enum value_kind kind,
                                  enum dtype dtype, const struct shape *shape,
                                  uint32_t *value, struct error *err);
/* Takes the tensor over, also on failure. */
enum assay_status graph_constant(struct graph *graph, const char *name,
                                 struct tensor data, uint32_t *value,
                                 struct error *err);
/* Notes that a constant was computed from a quantised one, which stays. */
void graph_note_dequantised(struct graph *graph, uint32_t value,
                            const struct dequantised *from);
void graph_set_fill(struct graph *graph, uint32_t value, enum fill fill,
                    float scale);
/* Makes a parameter a buffer: running statistics of a file that lists them
 * among its weights. */
void graph_make_buffer(struct graph *graph, uint32_t value);
/* Gives each parameter that no module holds to the first one that reads it. */
void graph_find_readers(struct graph *graph);
/* Keeps training from changing a parameter. */
void graph_freeze(struct graph *graph, uint32_t value);
size_t graph_value_count(const struct graph *graph);
const struct value *graph_value(const struct graph *graph, uint32_t id);
/* Sets a parameter's data; shape and type must fit. Takes the data over, also
 * on failure. */
enum assay_status graph_set_data(struct graph *graph, uint32_t value,
                                 struct tensor data, struct error *err);
/* For passes: frees a value's data; type and shape stay. */
void graph_release_data(struct graph *graph, uint32_t value);
/* Whether every parameter and buffer has data. */
bool graph_has_data(const struct graph *graph);
/* By full name; GRAPH_NONE if there is none. */
uint32_t graph_find_value(const struct graph *graph, const char *name);

enum assay_status graph_output(struct graph *graph, const char *name,
                               uint32_t value, struct error *err);
void graph_clear_outputs(struct graph *graph); /* for passes */
size_t graph_input_count(const struct graph *graph);
uint32_t graph_input_at(const struct graph *graph, size_t i);
size_t graph_output_count(const struct graph *graph);
uint32_t graph_output_at(const struct graph *graph, size_t i,
                         const char **name);

/* ---- nodes ------------------------------------------------------------ */

struct node {
    const struct op_class *op;
    void *attrs;      /* op->attrs_bytes of the op's struct */
    uint32_t scope;   /* GRAPH_NONE: directly under the model */
    const char *name; /* unique in its scope; "": a module's only op */
    uint32_t *inputs; /* values; GRAPH_NONE: left out */
    size_t n_inputs;
    uint32_t *outputs;
    size_t n_outputs;
    uint32_t *stands_for; /* scopes of modules that were fused into it */
    size_t n_stands_for;
    struct graph **bodies; /* graphs that its op runs: branches, loop bodies */
    size_t n_bodies;
};

struct node_description {
    const struct op_class *op;
    const void *attrs; /* copied; NULL: all zero */
    uint32_t scope;
    const char *name; /* may be NULL */
    const uint32_t *inputs;
    size_t n_inputs;
    size_t n_outputs;
    struct graph *const *bodies; /* taken over on success */
    size_t n_bodies;
};

/* Appends a node and writes the ids of its new outputs to `outputs`. */
enum assay_status graph_node_add(struct graph *graph,
                                 const struct node_description *description,
                                 uint32_t *outputs, struct error *err);
size_t graph_node_count(const struct graph *graph);
const struct node *graph_node(const struct graph *graph, size_t i);
/* For passes. Change inputs with the functions below, which count readers. */
struct node *graph_node_edit(struct graph *graph, size_t i);
enum assay_status graph_input_append(struct graph *graph, size_t node,
                                     uint32_t value, struct error *err);
void graph_input_set(struct graph *graph, size_t node, size_t input,
                     uint32_t value);
/* Removes all inputs of a node. */
void graph_inputs_drop(struct graph *graph, size_t node);

/* For passes: appends an output, a new value. */
enum assay_status graph_output_append(struct graph *graph, size_t node,
                                      uint32_t *value, struct error *err);
/* For passes: changes the op of a node, keeping inputs and outputs. Copies
 * attrs. */
enum assay_status graph_node_become(struct graph *graph, size_t node,
                                    const struct op_class *op,
                                    const void *attrs, struct error *err);

/* Types and shapes of a node's outputs by op->infer(), for inputs of any type.
 */
enum assay_status node_infer(const struct node *node,
                             const struct tensor *const *inputs,
                             struct tensor *outputs, struct error *err);
/* Whether ops that only know float32 can read elements of the type. */
bool dtype_fits_f32(enum dtype dtype);

/* How many nodes and outputs read a value. */
size_t graph_use_count(const struct graph *graph, uint32_t value);

/* For passes: makes readers of `from`, outputs too, read `to`. */
void graph_replace_uses(struct graph *graph, uint32_t from, uint32_t to);
/* Notes that a node does the work of another scope, which was fused into it. */
enum assay_status graph_stand_for(struct graph *graph, size_t node,
                                  uint32_t scope, struct error *err);
/* For passes that append nodes which earlier ones read: each goes before the
 * first that reads it, the rest stays in order. */
enum assay_status graph_sort(struct graph *graph, struct error *err);
/* Removes nodes whose outputs nothing reads. */
void graph_sweep(struct graph *graph);

/* Checks that every input is made before it is read, ids are in range, and the
 * number of inputs fits the op. */
enum assay_status graph_check(const struct graph *graph, struct error *err);

/* Elements of all parameters, and of all buffers; bytes of both together. */
uint64_t graph_parameter_elements(const struct graph *graph);
uint64_t graph_buffer_elements(const struct graph *graph);
uint64_t graph_parameter_bytes(const struct graph *graph);

#endif
