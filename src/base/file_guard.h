/* base/file_guard.h - mapped files that change while they are used.
 *
 * Memory that a file is mapped to is gone when the file shrinks: touching it
 * raises SIGBUS. After file_guard_catch() it reads as zeros instead, and the
 * file is known to be damaged. Who computes something from mapped files asks
 * before the result is used. Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_FILE_GUARD_H
#define BASE_FILE_GUARD_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/stat.h>

/* Turns SIGBUS in guarded memory to zeros from now on; elsewhere it does what
 * it did. For a program: a library has no business with the signals of the one
 * that it is part of. */
void file_guard_catch(void);

struct file_guard;

/* Watches over a private mapping of the file that info is of, until it is
 * freed, which must happen before the memory goes. NULL where there is no room
 * for another: then it should be read instead. */
struct file_guard *file_guard_new(void *bytes, size_t n, const char *path,
                                  const struct stat *info);
void file_guard_free(struct file_guard *guard); /* accepts NULL */

/* For what came out of reading mapped files: st, or ASSAY_BAD_INPUT where one
 * of them lacked something that was read, whatever *err says of the
 * consequences. Costs nothing while none did. */
enum assay_status file_guards_hold(enum assay_status st, struct error *err);
/* The same, and where one was written to since it was mapped. */
enum assay_status file_guards_check(enum assay_status st, struct error *err);

#endif
