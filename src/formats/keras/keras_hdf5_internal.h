/* formats/keras/keras_hdf5_internal.h - reads attributes and datasets of an
 * HDF5 file.
 *
 * Only for hdf5_reader.c, which calls it in a child process.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_KERAS_HDF5_INTERNAL_H
#define FORMATS_KERAS_KERAS_HDF5_INTERNAL_H

#include "base/str.h"
#include "tensor/tensor.h"

struct keras_hdf5;

/* Bytes of an attribute; far more than any model's JSON has. */
enum { KERAS_HDF5_MAX_ATTRIBUTE = 256 << 20 };

struct keras_hdf5_source {
    const char *path;  /* NULL: in memory */
    const void *image; /* if in memory; it is copied */
    size_t bytes;      /* of either */
};

/* The file stays open until the process ends. */
enum assay_status keras_hdf5_open(const struct keras_hdf5_source *source,
                                  struct keras_hdf5 **out, struct error *err);

/* Appends the text of an attribute of the root. */
enum assay_status keras_hdf5_attribute(const struct keras_hdf5 *file,
                                       const char *name, struct str *text,
                                       bool *is_there, struct error *err);

/* The path of the i-th dataset, without a leading slash; NULL after the last.
 * Borrowed. */
const char *keras_hdf5_dataset(const struct keras_hdf5 *file, size_t i);

/* Reads one of these as float32. */
enum assay_status keras_hdf5_read(const struct keras_hdf5 *file,
                                  const char *path, struct pool *pool,
                                  struct tensor *out, struct error *err);

#endif
