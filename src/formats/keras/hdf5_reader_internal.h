/* formats/keras/hdf5_reader_internal.h - reads an HDF5 file in another process.
 *
 * libhdf5 crashes on some damaged files and loops on others, so it only runs in
 * a child process that answers questions about one file. If the child dies, the
 * call fails with ASSAY_BAD_INPUT and a message. Its answers are checked like
 * any untrusted input.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_HDF5_READER_INTERNAL_H
#define FORMATS_KERAS_HDF5_READER_INTERNAL_H

#include "base/str.h"
#include "tensor/tensor.h"

struct hdf5_reader;

enum assay_status hdf5_reader_open(const char *path, struct hdf5_reader **out,
                                   struct error *err);
/* The same for a file in memory, which may be freed when this returns. */
enum assay_status hdf5_reader_open_image(const void *image, size_t bytes,
                                         struct hdf5_reader **out,
                                         struct error *err);
void hdf5_reader_close(struct hdf5_reader *reader); /* accepts NULL */

/* Appends the text of an attribute of the root. */
enum assay_status hdf5_reader_attribute(struct hdf5_reader *reader,
                                        const char *name, struct str *text,
                                        bool *is_there, struct error *err);

/* The path of the i-th dataset, without a leading slash; NULL after the last.
 * Borrowed. */
const char *hdf5_reader_dataset(const struct hdf5_reader *reader, size_t i);
/* The index of the dataset with exactly that path; false if there is none. */
bool hdf5_reader_find(const struct hdf5_reader *reader, const char *path,
                      size_t *i);

/* Reads the i-th dataset as float32. */
enum assay_status hdf5_reader_read(struct hdf5_reader *reader, size_t i,
                                   struct pool *pool, struct tensor *out,
                                   struct error *err);

#endif
