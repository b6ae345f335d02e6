/* base/file.h - files that are complete or do not exist.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/sink.h"

#include <stdbool.h>

/* An output that appears under its name only when it is complete: it is written
 * next to it, without a name if the file system supports that, and named by
 * output_commit(). Opening fails at once if the place cannot be written. path
 * "-" is standard output; devices and pipes are written directly. */
struct output;

enum assay_status output_open(const char *path, struct output **out,
                              struct error *err);

/* Why path cannot be written, with errnum of what failed: "cannot write
 * out/x.json: there is no folder out; make it first". */
enum assay_status file_cannot_write(struct error *err, int errnum,
                                    const char *path);

/* Borrowed, until commit or discard. */
struct sink *output_sink(struct output *output);

/* Both take ownership of the output. Commit flushes, syncs and renames; if it
 * fails, nothing is left behind. discard accepts NULL. */
enum assay_status output_commit(struct output *output, struct error *err);
void output_discard(struct output *output);

/* Random letters for a unique name, with a NUL at the end. */
void file_random_letters(char *out, size_t n);

/* The whole of a file that should be small, as text with a NUL at the end.
 * Refuses more than max_bytes. The caller releases *out. */
enum assay_status file_read(const char *path, size_t max_bytes, struct str *out,
                            struct error *err);

/* Opens a regular file for reading; the caller closes *fd. Anything else (a
 * folder, a pipe, a socket, a device) is refused at once, so that nobody waits
 * for a pipe without a writer. Follows links. */
enum assay_status file_open(const char *path, int *fd, struct error *err);

/* Checks that path is a readable regular file that is not empty; the message is
 * the same in every command. */
enum assay_status file_check_input(const char *path, struct error *err);

/* The same for input that is read once from beginning to end, and so may come
 * through a pipe. */
enum assay_status file_check_stream(const char *path, struct error *err);

#endif
