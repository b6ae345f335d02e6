/* formats/mapped_file_internal.h - a file as memory; a large one is read as it
 * is touched.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_MAPPED_FILE_INTERNAL_H
#define FORMATS_MAPPED_FILE_INTERNAL_H

#include "tensor/pool.h"

/* Maps a regular file that is not empty, or reads it if it is small. The memory
 * is private and writable: changing it never changes the file.
 * file_guards_check() reports changes of the file by others. The caller
 * releases the buffer. */
enum assay_status mapped_file_open(const char *path, struct buffer **out,
                                   struct error *err);

#endif
