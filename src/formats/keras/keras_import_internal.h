/* formats/keras/keras_import_internal.h - turns layers of a Keras model into
 * nodes of a graph; for the files that map layers (keras_map_*.c).
 *
 * Most layers of Keras have the channels last, the graph's ops need them first.
 * A value of four dimensions is held as Keras has it, turned as a layer with
 * the channels last needs it for such an op, or in both ways; the first use of
 * the other adds a transpose. A layer with data_format "channels_first" takes
 * the value as Keras has it. A mapping need not check every step: the first
 * failure is remembered, nothing is added afterwards, and the importer names
 * the layer in the message.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_KERAS_IMPORT_INTERNAL_H
#define FORMATS_KERAS_KERAS_IMPORT_INTERNAL_H

#include "formats/keras/json_tree_internal.h"
#include "formats/keras/keras_store_internal.h"
#include "graph/graph.h"
#include "ops/convolution/window.h"

/* The output of a layer: the value as Keras has it, and for four dimensions
 * also with the last one moved to the second place. GRAPH_NONE: not made yet.
 */
struct keras_value {
    uint32_t last, first;
    struct shape shape; /* in Keras; the batch is 1 */
    bool is_sized;      /* else sizes are guesses: the model takes any */
};

/* An argument of a layer's call: a value, or JSON from the configuration. */
struct keras_argument {
    const char *name; /* NULL: by position */
    struct keras_value *value;
    const struct json_value *json;
};

struct keras_import {
    struct graph *graph;
    const struct keras_store *store; /* NULL: weights are zeros */
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

/* The mapping of a class of layers, or of a function. */
enum { KERAS_ANY = 1 << 20 };

struct keras_layer {
    const char *class_name;
    size_t min_inputs, max_inputs;
    void (*import)(struct keras_call *call);
};

/* The tables of mappings; each ends with a NULL name. */
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
/* Two numbers of at least 1, given as a list or as one number for both. */
void keras_pair(struct keras_call *call, const char *name, int64_t fallback,
                int64_t pair[2]);
/* An integer between bounds; else fails and returns the lower bound. */
int64_t keras_int(struct keras_call *call, const char *name, int64_t fallback,
                  int64_t low, int64_t high);
/* Whether the layer's data_format is "channels_first"; fails if it is neither
 * that nor "channels_last". */
bool keras_has_first(struct keras_call *call);
/* An argument by name or position; NULL if there is none. */
const struct keras_argument *keras_argument(const struct keras_call *call,
                                            const char *name, size_t position);
/* The window of a convolution or a pooling; `kernel` is the name of its size.
 * "same" becomes numbers by TensorFlow's rule, the odd one at the end, or
 * WINDOW_SAME_UPPER if the sizes of x are unknown. */
struct window keras_window(struct keras_call *call, const char *kernel,
                           const struct keras_value *x);

/* ---- values ------------------------------------------------------------- */

/* The value in one of the orders. */
uint32_t keras_last(struct keras_call *call, struct keras_value *value);
uint32_t keras_first(struct keras_call *call, struct keras_value *value);
/* The value with the channels first, wherever the layer's data_format has
 * them; how many there are, and the height (0) or width (1). */
uint32_t keras_images(struct keras_call *call, struct keras_value *value);
int64_t keras_channels(struct keras_call *call,
                       const struct keras_value *value);
int64_t keras_side(struct keras_call *call, const struct keras_value *value,
                   int i);
/* Whether the value exists with the channels first. */
bool keras_is_first(const struct keras_value *value);
/* An axis as Keras counts it, made non-negative; and the same axis with the
 * channels first. */
int keras_axis(struct keras_call *call, int64_t axis, int rank);
int keras_axis_first(int axis);

uint32_t keras_new_i64s(struct keras_call *call, const int64_t *numbers,
                        size_t n);
uint32_t keras_new_f32s(struct keras_call *call, const float *numbers,
                        const struct shape *shape);
uint32_t keras_new_scalar(struct keras_call *call, double number);

/* A number or a nested list from the configuration. */
uint32_t keras_constant(struct keras_call *call,
                        const struct json_value *value);

/* A weight of the layer, in the order in which Keras creates them. */
struct keras_weight {
    const char *name;
    struct shape shape;   /* in Keras; -1: any size */
    const int64_t *order; /* of the graph's dimensions; NULL: the same */
    struct shape as;      /* reshaped to this; rank 0: not reshaped */
    bool is_buffer;       /* not trained */
};

uint32_t keras_weight(struct keras_call *call,
                      const struct keras_weight *weight);
/* Its shape in the graph. */
const struct shape *keras_weight_shape(const struct keras_call *call,
                                       uint32_t weight);

/* ---- nodes -------------------------------------------------------------- */

/* Adds a node and returns its output; GRAPH_NONE after a failure. */
uint32_t keras_emit(struct keras_call *call, const struct op_class *op,
                    const void *attrs, const uint32_t *inputs, size_t n_inputs);
/* Set the call's output, which is in the order named. */
void keras_put_last(struct keras_call *call, uint32_t value);
void keras_put_first(struct keras_call *call, uint32_t value);
/* The same for a value with the channels first, by the layer's data_format. */
void keras_put_images(struct keras_call *call, uint32_t value);
/* Adds an op of one input, in the order that the input has. */
void keras_emit_each(struct keras_call *call, const struct op_class *op,
                     const void *attrs);
/* Applies the activation that the configuration names to the output. */
void keras_activate(struct keras_call *call);

#endif
