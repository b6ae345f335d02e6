/* formats/keras/keras_hdf5_internal.h - attributes and datasets of an HDF5
 * file, read only.
 *
 * For hdf5_reader_internal.h, which calls this in a process of its own.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_KERAS_HDF5_INTERNAL_H
#define FORMATS_KERAS_KERAS_HDF5_INTERNAL_H

#include "base/str.h"
#include "tensor/tensor.h"

struct keras_hdf5;

/* Bytes of an attribute: far more than any model's JSON. */
enum { KERAS_HDF5_MAX_ATTRIBUTE = 256 << 20 };

enum assay_status keras_hdf5_open(const char *path, struct keras_hdf5 **out,
                                  struct error *err);
/* The file as it lies in memory; it is copied. */
enum assay_status keras_hdf5_open_image(const void *image, size_t bytes,
                                        struct keras_hdf5 **out,
                                        struct error *err);
void keras_hdf5_close(struct keras_hdf5 *file); /* accepts NULL */

/* Appends the text of an attribute of the root. */
enum assay_status keras_hdf5_attribute(const struct keras_hdf5 *file,
                                       const char *name, struct str *text,
                                       bool *is_there, struct error *err);

/* The path of the i-th dataset, without a slash before it; NULL behind the
 * last. Borrowed. */
const char *keras_hdf5_dataset(const struct keras_hdf5 *file, size_t i);

/* One of these, as float32. */
enum assay_status keras_hdf5_read(const struct keras_hdf5 *file,
                                  const char *path, struct pool *pool,
                                  struct tensor *out, struct error *err);

#endif
