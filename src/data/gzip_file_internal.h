/* data/gzip_file_internal.h - the bytes of a gzip file, one after the other.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_GZIP_FILE_INTERNAL_H
#define DATA_GZIP_FILE_INTERNAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct gzip_file;

enum assay_status gzip_open(const char *path, struct gzip_file **out,
                            struct error *err);
void gzip_close(struct gzip_file *file); /* accepts NULL */

/* *got is less than n at the end only. A file that is cut off or damaged is
 * ASSAY_BAD_INPUT. */
enum assay_status gzip_read(struct gzip_file *file, void *bytes, size_t n,
                            size_t *got, struct error *err);

/* Of the file as it lies there: its size, and what was read of it. */
uint64_t gzip_size(const struct gzip_file *file);
uint64_t gzip_at(const struct gzip_file *file);

#endif
