/* formats/keras/keras_frame_internal.h - the importer's state; for its own
 * files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_KERAS_FRAME_INTERNAL_H
#define FORMATS_KERAS_KERAS_FRAME_INTERNAL_H

#include "base/map.h"
#include "formats/keras/keras_import_internal.h"

/* A value as far as it is known before the model runs. */
struct keras_known {
    struct shape shape;
    bool is_sized;
};

/* The outputs of a layer's call; n is 0 until it was made. */
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
    int64_t first_call; /* the number that refers to the first one */
    struct keras_result *results;
    size_t n_calls, n_done;
};

/* A model, or one nested in it, while it is imported. */
struct keras_frame {
    struct keras_import *import;
    const struct json_value *config;
    struct keras_item *items;
    size_t n;
    struct map names;
    const char *folder, *top, *name; /* NULL: the model itself */
    uint32_t scope;
    int depth; /* of nested models */
};

enum { KERAS_MAX_DEPTH = 16 };

/* Imports a model with its layers and nested models. The graph gets its inputs
 * and outputs. */
void keras_model_import(struct keras_import *import,
                        const struct json_value *model);

/* ASSAY_BAD_INPUT, unless it failed before. */
void keras_import_fail(struct keras_import *import, const char *format, ...)
    ASSAY_PRINTF(2, 3);
/* Zeroed memory from the arena; fails and returns NULL if there is none. */
void *keras_import_alloc(struct keras_import *import, size_t n, size_t bytes);
void keras_know(struct keras_import *import, uint32_t value,
                const struct shape *shape, bool is_sized);
/* The number or list inside the object that a NumPy value is written as. */
const struct json_value *keras_plain(const struct json_value *value);

bool keras_is_model(const char *class_name);
/* The key of a layer's mapping. */
const char *keras_key(struct keras_import *import, const char *class_name,
                      const struct json_value *config);

/* Reads the layers. Release also after a failure. */
void keras_frame_read(struct keras_frame *frame);
void keras_frame_release(struct keras_frame *frame);

/* The value that ["conv2d", 0, 0] refers to; NULL if its call was not made yet
 * or after a failure. */
struct keras_value *keras_frame_resolve(struct keras_frame *frame,
                                        const struct json_value *reference);

/* Fills in the arguments of a call; false if it cannot be made yet or after a
 * failure. */
bool keras_frame_arguments(struct keras_frame *frame,
                           const struct json_value *node,
                           struct keras_call *call);

#endif
