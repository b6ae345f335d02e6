/* formats/keras/keras_call_internal.h - what the files of the importer itself
 * share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_KERAS_CALL_INTERNAL_H
#define FORMATS_KERAS_KERAS_CALL_INTERNAL_H

#include "formats/keras/keras_import_internal.h"

/* What is known of a value before anything ran. */
struct keras_known {
    struct shape shape;
    bool is_sized;
};

void keras_know(struct keras_import *import, uint32_t value,
                const struct shape *shape, bool is_sized);

/* A model, its layers and those of the models in it, at the place of a
 * configuration. The graph gets the inputs and outputs of the whole. */
void keras_model_import(struct keras_import *import,
                        const struct json_value *model);

/* The number or list inside of what NumPy's are written as. */
const struct json_value *keras_plain(const struct json_value *value);

#endif
