/* formats/keras/keras_import_internal.h - layers of a Keras model become nodes
 * of a graph; for the files that map layers (keras_map_*.c).
 *
 * Keras keeps the channels last, the graph's ops want them first. A value of
 * four dimensions is known in one order or in both; who needs the other one
 * gets a transpose, once. A mapping need not check every step: the first
 * failure is remembered, nothing is added from then on, and the importer names
 * the layer in the message.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_KERAS_IMPORT_INTERNAL_H
#define FORMATS_KERAS_KERAS_IMPORT_INTERNAL_H

#include "formats/keras/json_tree_internal.h"
#include "formats/keras/keras_store_internal.h"
#include "graph/graph.h"

/* What comes out of a layer: the value as Keras has it, and the same with the
 * channels first where it has four dimensions. GRAPH_NONE: not made yet. */
struct keras_value {
    uint32_t last, first;
    struct shape shape; /* as Keras has it; the batch is 1 */
    bool is_sized;      /* else sizes are guesses: the model takes any */
};

/* What a layer is called with: a value, or what the configuration says. */
struct keras_argument {
    const char *name; /* NULL: by its position */
    struct keras_value *value;
    const struct json_value *json;
};

struct keras_import {
    struct graph *graph;
    const struct keras_store *store; /* NULL: weights are made up, of zeros */
    struct pool *pool;
    int version;
    struct arena arena;
    struct sink *problems;
    struct keras_known *known; /* by value of the graph */
    size_t n_known, known_capacity;
    enum assay_status st;
    struct error *err;
};

/* One call of a layer. */
struct keras_call {
    struct keras_import *import;
    const char *class_name, *name;
    const char *key; /* of its mapping: the class, or "tf." and a function */
    const struct json_value *config;
    struct keras_place place;
    uint32_t scope;
    struct keras_argument *arguments;
    size_t n_arguments;
    struct keras_value **inputs; /* the values among them */
    size_t n_inputs;
    bool is_list;     /* it is called with a list of values */
    size_t n_weights; /* asked for so far */
    size_t n_nodes;
    struct keras_value output; /* set by the mapping */
};

/* A class of layers, or a function for those that call one. */
enum { KERAS_ANY = 1 << 20 };

struct keras_layer {
    const char *class_name;
    size_t min_inputs, max_inputs;
    void (*import)(struct keras_call *call);
};

/* The tables of all files of mappings; each ends with a NULL name. */
extern const struct keras_layer keras_conv_layers[];
extern const struct keras_layer keras_pool_layers[];
extern const struct keras_layer keras_norm_layers[];
extern const struct keras_layer keras_shape_layers[];
extern const struct keras_layer keras_activation_layers[];
extern const struct keras_layer keras_arithmetic_layers[];
const struct keras_layer *keras_layer_find(const char *class_name);

/* Fails, unless it failed before. */
void keras_fail(struct keras_call *call, enum assay_status status,
                const char *format, ...) ASSAY_PRINTF(3, 4);
static inline bool keras_failed(const struct keras_call *call)
{
    return call->import->st;
}

/* ---- configuration ------------------------------------------------------ */

const struct json_value *keras_get(const struct keras_call *call,
                                   const char *name);
const char *keras_text(const struct keras_call *call, const char *name,
                       const char *fallback);
double keras_number(const struct keras_call *call, const char *name,
                    double fallback);
bool keras_bool(const struct keras_call *call, const char *name, bool fallback);
/* Two numbers from 1 on, given as a list or as one for both. */
void keras_pair(struct keras_call *call, const char *name, int64_t fallback,
                int64_t pair[2]);
/* A whole number between bounds; a failure and the lower bound otherwise. */
int64_t keras_int(struct keras_call *call, const char *name, int64_t fallback,
                  int64_t low, int64_t high);
/* Fails where a layer has its channels first. */
void keras_check_format(struct keras_call *call);
/* An argument by its name or position; NULL where there is none. */
const struct keras_argument *keras_argument(const struct keras_call *call,
                                            const char *name, size_t position);

/* ---- values ------------------------------------------------------------- */

/* The value in one of the orders. */
uint32_t keras_last(struct keras_call *call, struct keras_value *value);
uint32_t keras_first(struct keras_call *call, struct keras_value *value);
/* Whether a value is there with the channels first. */
bool keras_is_first(const struct keras_value *value);
/* An axis as Keras counts it, from 0 on; where the channels are first, where
 * it is there. */
int keras_axis(struct keras_call *call, int64_t axis, int rank);
int keras_axis_first(int axis);

uint32_t keras_new_i64s(struct keras_call *call, const int64_t *numbers,
                        size_t n);
uint32_t keras_new_f32s(struct keras_call *call, const float *numbers,
                        const struct shape *shape);
uint32_t keras_new_scalar(struct keras_call *call, double number);

/* A number or a list of lists of the configuration. */
uint32_t keras_constant(struct keras_call *call,
                        const struct json_value *value);

/* A weight of the layer, in the order in which Keras creates them. */
struct keras_weight {
    const char *name;
    struct shape shape;   /* as Keras has it; -1: any size */
    const int64_t *order; /* of the graph's dimensions; NULL: the same */
    struct shape as;      /* with rank 0: as they come */
    bool is_buffer;       /* not trained */
};

uint32_t keras_weight(struct keras_call *call,
                      const struct keras_weight *weight);
/* The sizes it has in the graph. */
const struct shape *keras_weight_shape(const struct keras_call *call,
                                       uint32_t weight);

/* ---- nodes -------------------------------------------------------------- */

/* Adds a node and answers its output; GRAPH_NONE after a failure. */
uint32_t keras_emit(struct keras_call *call, const struct op_class *op,
                    const void *attrs, const uint32_t *inputs, size_t n_inputs);
/* Sets the call's output, which is in the order named. */
void keras_put_last(struct keras_call *call, uint32_t value);
void keras_put_first(struct keras_call *call, uint32_t value);
/* An op of one input, in the order in which the input is there. */
void keras_emit_each(struct keras_call *call, const struct op_class *op,
                     const void *attrs);
/* The activation that a layer's configuration names, on its output. */
void keras_activate(struct keras_call *call);

#endif
