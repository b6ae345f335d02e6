/* formats/mapped_file_internal.h - a file as memory: a large one is read as it
 * is touched.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_MAPPED_FILE_INTERNAL_H
#define FORMATS_MAPPED_FILE_INTERNAL_H

#include "tensor/pool.h"

/* Maps a regular file that is not empty, or reads it where it is small. Private
 * and writable: whoever gets a part of it may change that. What others do to
 * the file meanwhile, file_guards_check() tells. The caller releases the
 * buffer. */
enum assay_status mapped_file_open(const char *path, struct buffer **out,
                                   struct error *err);

#endif
