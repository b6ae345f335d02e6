/* base/file.h - files that are whole or not there.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/sink.h"

#include <stdbool.h>

/* An output that appears under its name only when it is complete: it is
 * written beside it, without a name where the file system can do that, and
 * named by output_commit(). Opening tells at once whether the place can be
 * written. path "-" is standard output; devices and pipes are written as they
 * are. */
struct output;

enum assay_status output_open(const char *path, struct output **out,
                              struct error *err);

/* Borrowed, until commit or discard. */
struct sink *output_sink(struct output *output);

/* Both take the output over. Commit flushes, syncs and renames; when it fails
 * nothing is left behind. discard accepts NULL. */
enum assay_status output_commit(struct output *output, struct error *err);
void output_discard(struct output *output);

/* Letters for a name that nobody else makes, with a NUL behind them. */
void file_random_letters(char *out, size_t n);

/* The whole of a file that should be small, as text with a NUL behind it.
 * Refuses more than max_bytes. The caller releases *out. */
enum assay_status file_read(const char *path, size_t max_bytes, struct str *out,
                            struct error *err);

/* Opens a regular file for reading; the caller closes *fd. Whatever else has
 * the name (a folder, a pipe, a socket, a device) is refused at once: nobody
 * waits for a pipe that no one writes to. Links are followed. */
enum assay_status file_open(const char *path, int *fd, struct error *err);

/* Checks that path names a readable regular file that is not empty; says what
 * is wrong in the words every command uses. */
enum assay_status file_check_input(const char *path, struct error *err);

/* The same for input that is read once from its beginning to its end, which
 * may come through a pipe. */
enum assay_status file_check_stream(const char *path, struct error *err);

#endif
