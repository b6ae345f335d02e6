/* graph/graph.h - what a model is: nodes, values, parameters, scopes.
 *
 * Built by importers and model builders, changed by passes, executed by the
 * engine. Knows ops only through struct op_class. Nodes are kept in an order
 * in which they can run. Everything is owned by the graph and found by index.
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

/* How a parameter is filled where no checkpoint gives its data. */
enum fill {
    FILL_ZERO,
    FILL_ONE,
    FILL_NORMAL, /* mean 0, standard deviation fill_scale */
    FILL_UNIFORM /* between -fill_scale and fill_scale */
};

struct value {
    enum value_kind kind;
    enum dtype dtype;
    const char *name;   /* "backbone.body.conv1.weight"; "" where computed */
    struct shape shape; /* of parameters, buffers, constants, and of inputs
                           where it is declared */
    bool is_declared;   /* an input that has a shape; -1: any size */
    bool is_frozen;     /* a parameter that training leaves as it is */
    struct tensor data; /* of those, once loaded; owned by the graph */
    uint32_t producer;  /* node, or GRAPH_NONE */
    int output;         /* which output of the producer */
    uint32_t scope;     /* the module that holds the parameter */
    enum fill fill;
    float fill_scale;
    uint32_t n_uses; /* by nodes and outputs; see graph_use_count() */
};

enum assay_status graph_input(struct graph *graph, const char *name,
                              enum dtype dtype, uint32_t *value,
                              struct error *err);
/* Which shapes an input may have; -1 leaves a size free. The engine refuses
 * others. NULL from graph_input_shape(): nothing was declared, or there is no
 * such input. */
void graph_declare_input(struct graph *graph, uint32_t value,
                         const struct shape *shape);
const struct shape *graph_input_shape(const struct graph *graph, size_t i);
/* name is relative to the scope: "weight". The data comes later. */
enum assay_status graph_parameter(struct graph *graph, uint32_t scope,
                                  const char *name, enum value_kind kind,
                                  enum dtype dtype, const struct shape *shape,
                                  uint32_t *value, struct error *err);
/* Takes the tensor over, also on failure. */
enum assay_status graph_constant(struct graph *graph, const char *name,
                                 struct tensor data, uint32_t *value,
                                 struct error *err);
void graph_set_fill(struct graph *graph, uint32_t value, enum fill fill,
                    float scale);
/* Training leaves this parameter as it is. */
void graph_freeze(struct graph *graph, uint32_t value);
size_t graph_value_count(const struct graph *graph);
const struct value *graph_value(const struct graph *graph, uint32_t id);
/* Gives a parameter its data; shape and type must fit. Takes it over. */
enum assay_status graph_set_data(struct graph *graph, uint32_t value,
                                 struct tensor data, struct error *err);
/* For passes: gives the data of a value back; type and shape stay. */
void graph_release_data(struct graph *graph, uint32_t value);
/* Whether every parameter and buffer has its data. */
bool graph_has_data(const struct graph *graph);
/* By full name; GRAPH_NONE where there is none. */
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
    void *attrs;      /* of op->attrs_bytes; read through the op's accessor */
    uint32_t scope;   /* GRAPH_NONE: directly under the model */
    const char *name; /* unique inside its scope, "" for a module's only op */
    uint32_t *inputs; /* values; GRAPH_NONE: an optional one left out */
    size_t n_inputs;
    uint32_t *outputs;
    size_t n_outputs;
    uint32_t *stands_for; /* scopes of modules that were fused into it */
    size_t n_stands_for;
    struct graph **bodies; /* graphs that its op runs: branches, a loop's */
    size_t n_bodies;
};

/* Appends a node. attrs are copied; NULL: all zero. outputs gets n_outputs new
 * values. */
struct node_description {
    const struct op_class *op;
    const void *attrs;
    uint32_t scope;
    const char *name; /* may be NULL */
    const uint32_t *inputs;
    size_t n_inputs;
    size_t n_outputs;
    struct graph *const *bodies; /* taken over where it succeeds */
    size_t n_bodies;
};

enum assay_status graph_node_add(struct graph *graph,
                                 const struct node_description *description,
                                 uint32_t *outputs, struct error *err);
size_t graph_node_count(const struct graph *graph);
const struct node *graph_node(const struct graph *graph, size_t i);
/* For passes. Inputs are changed with the functions below, which know who reads
 * what. */
struct node *graph_node_edit(struct graph *graph, size_t i);
/* One more input, behind the others. */
enum assay_status graph_input_append(struct graph *graph, size_t node,
                                     uint32_t value, struct error *err);
void graph_input_set(struct graph *graph, size_t node, size_t input,
                     uint32_t value);
/* The node reads nothing from now on. */
void graph_inputs_drop(struct graph *graph, size_t node);

/* For passes: one more output, a new value. */
enum assay_status graph_output_append(struct graph *graph, size_t node,
                                      uint32_t *value, struct error *err);
/* For passes: the node does another op from now on; its inputs and outputs
 * stay. attrs are copied. */
enum assay_status graph_node_become(struct graph *graph, size_t node,
                                    const struct op_class *op,
                                    const void *attrs, struct error *err);

/* Types and shapes of a node's outputs as op->infer() tells them, for inputs
 * of any type. */
enum assay_status node_infer(const struct node *node,
                             const struct tensor *const *inputs,
                             struct tensor *outputs, struct error *err);
/* Whether elements of the type can be given to ops that know float32 alone. */
bool dtype_fits_f32(enum dtype dtype);

/* How many nodes and outputs read a value. */
size_t graph_use_count(const struct graph *graph, uint32_t value);

/* For passes: readers of `from` read `to` from now on, outputs too. */
void graph_replace_uses(struct graph *graph, uint32_t from, uint32_t to);
/* Notes that a node does the work of the scope of a fused one. */
enum assay_status graph_stand_for(struct graph *graph, size_t node,
                                  uint32_t scope, struct error *err);
/* Removes the nodes whose outputs nobody reads. */
void graph_sweep(struct graph *graph);

/* Every input was made before it is read, ids are in range, the number of
 * inputs fits the op. */
enum assay_status graph_check(const struct graph *graph, struct error *err);

/* Elements of all parameters (not buffers); bytes of parameters and buffers. */
uint64_t graph_parameter_elements(const struct graph *graph);
uint64_t graph_parameter_bytes(const struct graph *graph);

#endif
