/* formats/model_kind.h - what people take for a model that is not one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_MODEL_KIND_H
#define FORMATS_MODEL_KIND_H

#include "tensor/pool.h"

/* Fails where the path is known to be something else than a model that is read
 * here: weights alone, a model that only another program runs, a picture, a
 * run, a folder. The message says what it is and what to do. What is not known
 * passes, and the reader of models says what is wrong with it. */
enum assay_status model_kind_check(const char *path, struct error *err);

/* The same for the bytes of a file; path is what the message calls it. */
enum assay_status model_kind_check_bytes(const char *path, struct buffer *file,
                                         struct error *err);

#endif
