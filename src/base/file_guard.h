/* base/file_guard.h - mapped files that change while they are in use.
 *
 * When a file shrinks, the mapped memory beyond its end is gone: touching it
 * raises SIGBUS. After file_guard_catch() it reads as zeros instead, and the
 * file is marked damaged. Code that computes something from mapped files checks
 * before it uses the result. Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_FILE_GUARD_H
#define BASE_FILE_GUARD_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/stat.h>

/* From now on SIGBUS in guarded memory maps zeros; elsewhere it does what it
 * did before. For programs only: a library must not touch its program's
 * signals. */
void file_guard_catch(void);

struct file_guard;

/* Guards a private mapping of the file with this info. Free the guard before
 * unmapping. NULL if there is no room for another: read the file instead. */
struct file_guard *file_guard_new(void *bytes, size_t n, const char *path,
                                  const struct stat *info);
void file_guard_free(struct file_guard *guard); /* accepts NULL */

/* For results computed from mapped files: returns st, or ASSAY_BAD_INPUT,
 * replacing *err, if a file turned out to lack bytes that were read. Costs
 * nothing while none did. */
enum assay_status file_guards_hold(enum assay_status st, struct error *err);
/* The same, and also if a file was written to since it was mapped. */
enum assay_status file_guards_check(enum assay_status st, struct error *err);

#endif
