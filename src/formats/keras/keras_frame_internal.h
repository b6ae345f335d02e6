/* formats/keras/keras_frame_internal.h - a model, or one inside of it, on its
 * way into a graph: its layers, and what their calls gave.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_KERAS_FRAME_INTERNAL_H
#define FORMATS_KERAS_KERAS_FRAME_INTERNAL_H

#include "formats/keras/keras_call_internal.h"

#include "base/map.h"

/* What a call of a layer gave; n is 0 until it was made. */
struct keras_result {
    struct keras_value *values;
    size_t n;
};

struct keras_item {
    const char *name, *class_name;
    const char *key;    /* NULL: a model or an input */
    const char *folder; /* of its weights in .keras files */
    const struct json_value *config;
    const struct json_value *calls; /* inbound_nodes */
    bool is_model, is_input;
    int64_t first_call; /* the number by which the first is referred to */
    struct keras_result *results;
    size_t n_calls, n_done;
};

struct keras_frame {
    struct keras_import *import;
    const struct json_value *config;
    struct keras_item *items;
    size_t n;
    struct map names;
    const char *folder, *top, *name; /* NULL: the model itself */
    uint32_t scope;
    int depth; /* of models in models */
};

enum { KERAS_MAX_DEPTH = 16 };

bool keras_is_model(const char *class_name);
/* The key of a layer's mapping. */
const char *keras_key(struct keras_import *import, const char *class_name,
                      const struct json_value *config);

/* Reads the layers; release also after a failure. */
void keras_frame_read(struct keras_frame *frame);
void keras_frame_release(struct keras_frame *frame);

/* The value that ["conv2d", 0, 0] refers to, NULL where its call was not made
 * yet or after a failure. */
struct keras_value *keras_frame_resolve(struct keras_frame *frame,
                                        const struct json_value *reference);

/* Fills in what a call is called with; false where it cannot be made yet or
 * after a failure. */
bool keras_frame_arguments(struct keras_frame *frame,
                           const struct json_value *node,
                           struct keras_call *call);

#endif
