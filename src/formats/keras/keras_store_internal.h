/* formats/keras/keras_store_internal.h - the contents of a Keras file: the
 * model's configuration as JSON, and its weights as datasets in HDF5.
 *
 * An .h5 file is one HDF5 file; a .keras file is a zip archive with both.
 * HDF5 is not thread-safe: open one store at a time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_KERAS_STORE_INTERNAL_H
#define FORMATS_KERAS_KERAS_STORE_INTERNAL_H

#include "tensor/tensor.h"

struct keras_store;

enum assay_status keras_store_open(const char *path, struct keras_store **out,
                                   struct error *err);
void keras_store_close(struct keras_store *store); /* accepts NULL */

/* Borrowed. */
const char *keras_store_config(const struct keras_store *store, size_t *n);
/* The major version of Keras that wrote it; 2 if it does not say. */
int keras_store_version(const struct keras_store *store);

/* Where the weights of a layer are. */
struct keras_place {
    const char *folder; /* in .keras files: "layers/conv2d_1" */
    const char *top;    /* in .h5 files: the top-level layer that contains it */
    const char *layer;  /* in .h5 files: its name */
    const char *parent; /* in .h5 files: the nested model around it, or NULL */
};

/* Reads a weight of a layer by name ("kernel") or, in .keras files, by number;
 * as float32. The caller releases it. */
enum assay_status keras_store_weight(const struct keras_store *store,
                                     const struct keras_place *place,
                                     const char *name, size_t number,
                                     struct pool *pool, struct tensor *out,
                                     struct error *err);

#endif
