/* formats/model_file.h - a model from a file, whoever wrote it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_MODEL_FILE_H
#define FORMATS_MODEL_FILE_H

#include "formats/onnx.h"

/* onnx_load(), or keras_load() where the file begins as HDF5 or as a zip
 * archive, which no ONNX file does. Of the options, Keras models use the shapes
 * and the problems. */
enum assay_status model_file_load(const char *path,
                                  const struct onnx_options *options,
                                  struct pool *pool, struct graph **out,
                                  struct error *err);

#endif
