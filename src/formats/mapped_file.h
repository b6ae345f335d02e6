/* formats/mapped_file.h - a file as memory, read as it is touched.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_MAPPED_FILE_H
#define FORMATS_MAPPED_FILE_H

#include "tensor/pool.h"

/* Maps a regular file that is not empty. Private and writable: whoever gets a
 * part of it may change that. The caller releases the buffer. */
enum assay_status mapped_file_open(const char *path, struct buffer **out,
                                   struct error *err);

#endif
