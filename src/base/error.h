/* base/error.h - one failure, described in one line.
 *
 * A function that can fail returns enum assay_status and takes an optional
 * trailing struct error. The first message wins; the layers above add context.
 * Needs no memory, so that "out of memory" can be reported too.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <assay/status.h>

#include <stddef.h>

struct error {
    enum assay_status status;
    char text[256]; /* ends in "..." if it was cut to fit */
};

/* Writes the message unless *err already holds one; returns status, so that
 * a failing function can end with it. err may be NULL. */
enum assay_status error_set(struct error *err, enum assay_status status,
                            const char *format, ...) ASSAY_PRINTF(3, 4);

/* Puts "context: " before the message, if there is one. */
void error_context(struct error *err, const char *format, ...)
    ASSAY_PRINTF(2, 3);

/* Puts "; hint", what to do next, after the message, if there is one. */
void error_hint(struct error *err, const char *hint);

/* "out of memory: 12.0 MiB needed for the scope table" */
enum assay_status error_nomem(struct error *err, size_t bytes,
                              const char *what);

/* "opening run.assay: No such file or directory"; ENOENT is ASSAY_NOT_FOUND,
 * ENOMEM is ASSAY_NOMEM, the rest ASSAY_IO. */
enum assay_status error_errno(struct error *err, int errnum, const char *format,
                              ...) ASSAY_PRINTF(3, 4);

/* Copies a failure for a caller of the public interface. */
enum assay_status error_export(const struct error *err,
                               enum assay_status status,
                               struct assay_error *out);

/* The program's exit code for a status. */
int status_exit_code(enum assay_status status);

#endif
