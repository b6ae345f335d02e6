/* formats/model_kind.h - recognizes files that people mistake for models.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_MODEL_KIND_H
#define FORMATS_MODEL_KIND_H

#include "tensor/pool.h"

/* Fails if the path is known to be anything but a supported model: weights
 * alone, a model that only another program runs, a picture, a run, a folder.
 * The message says what it is and what to do. Unknown files pass; the reader of
 * models reports what is wrong with them. */
enum assay_status model_kind_check(const char *path, struct error *err);

/* The same for the bytes of a file; the message names path. */
enum assay_status model_kind_check_bytes(const char *path, struct buffer *file,
                                         struct error *err);

#endif
