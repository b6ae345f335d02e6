/* formats/keras/keras.h - reads models that Keras 2 and 3 save as .h5 and
 * .keras files.
 *
 * Functional and Sequential models, also nested. Scopes are the layers, by
 * name. Inputs and outputs have the channels last, as in Keras; inside the
 * graph they are first. HDF5 is not thread-safe: load one model at a time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_KERAS_H
#define FORMATS_KERAS_KERAS_H

#include "base/sink.h"
#include "graph/graph.h"

/* Makes the graph of a file, with its weights, as onnx_load() does. problems
 * gets a line for each unsupported layer (ASSAY_UNSUPPORTED); NULL: nowhere.
 * The caller frees *out. */
enum assay_status keras_load(const char *path, struct sink *problems,
                             struct pool *pool, struct graph **out,
                             struct error *err);

/* The same for a configuration alone, as JSON; all weights are zeros. */
enum assay_status keras_load_config(const char *json, size_t n,
                                    struct pool *pool, struct graph **out,
                                    struct error *err);

#endif
