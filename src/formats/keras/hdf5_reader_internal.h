/* formats/keras/hdf5_reader_internal.h - an HDF5 file that another process
 * reads.
 *
 * libhdf5 crashes on some damaged files, and may loop on others. It only ever
 * runs in a child, which answers questions about one file: where it dies, the
 * answer is ASSAY_BAD_INPUT and a sentence. What the child says is checked as
 * if a stranger had said it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_HDF5_READER_INTERNAL_H
#define FORMATS_KERAS_HDF5_READER_INTERNAL_H

#include "base/str.h"
#include "tensor/tensor.h"

struct hdf5_reader;

enum assay_status hdf5_reader_open(const char *path, struct hdf5_reader **out,
                                   struct error *err);
/* The file as it lies in memory, which may go as soon as this returns. */
enum assay_status hdf5_reader_open_image(const void *image, size_t bytes,
                                         struct hdf5_reader **out,
                                         struct error *err);
void hdf5_reader_close(struct hdf5_reader *reader); /* accepts NULL */

/* Appends the text of an attribute of the root. */
enum assay_status hdf5_reader_attribute(struct hdf5_reader *reader,
                                        const char *name, struct str *text,
                                        bool *is_there, struct error *err);

/* The path of the i-th dataset, without a slash before it; NULL behind the
 * last. Borrowed. */
const char *hdf5_reader_dataset(const struct hdf5_reader *reader, size_t i);
/* The number of the dataset of exactly that path; false where there is none. */
bool hdf5_reader_find(const struct hdf5_reader *reader, const char *path,
                      size_t *i);

/* The i-th dataset as float32. */
enum assay_status hdf5_reader_read(struct hdf5_reader *reader, size_t i,
                                   struct pool *pool, struct tensor *out,
                                   struct error *err);

#endif
