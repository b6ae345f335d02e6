/* formats/model_file.h - a model from a file, whoever wrote it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_MODEL_FILE_H
#define FORMATS_MODEL_FILE_H

#include "formats/onnx/onnx.h"

/* onnx_load(), or keras_load() where the file begins as HDF5 or as a zip
 * archive, or net_load() where it begins as a network description, which no
 * ONNX file does. Of the options, those use the shapes and the problems. A
 * network description may leave parameters without data. What is known to be
 * something else is refused by what it is: see model_kind.h. */
enum assay_status model_file_load(const char *path,
                                  const struct onnx_options *options,
                                  struct pool *pool, struct graph **out,
                                  struct error *err);

#endif
