/* store/store.h - runs in files.
 *
 * A run file (.assay) is a SQLite database; docs/run-file.md describes its
 * schema. Stands on run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "run/run.h"

#define STORE_SUFFIX      ".assay"
#define STORE_PART_SUFFIX ".part"

/* The length of a path without the suffix of a run file, finished or not: that
 * of "run" for "run.assay" and for "run.assay.1234-abcdef.part". */
size_t store_stem(const char *path);

/* Loads a whole run, sealed. A `.part` file of a program that died can be
 * loaded too, and is marked is_incomplete. Errors name the path and say what
 * the file is instead, or what to do. */
enum assay_status store_load(const char *path, struct run **out,
                             struct error *err);

/* Writes a sealed run as a file that appears under its name only when it is
 * complete. */
enum assay_status store_save(const struct run *run, const char *path,
                             struct error *err);

/* Writes a run file while the run goes on. Until store_finish() the file is
 * `path.PID-LETTERS.part`, a name that only this writer uses. Several may write
 * to one path at once: each that finishes replaces the file, so the last one's
 * stays, complete. One thread at a time. */
struct store_writer;

/* Makes the .part at once, so that a bad path fails early. */
enum assay_status store_open(const char *path, struct store_writer **out,
                             struct error *err);

/* Appends samples to the file for good. (Those kept in the run itself come with
 * the checkpoint.) */
enum assay_status store_append(struct store_writer *writer,
                               const struct sample *samples, size_t n,
                               struct error *err);

/* Brings the file up to date with the run, in one transaction: a program that
 * dies afterwards leaves that much. The run need not be sealed. */
enum assay_status store_checkpoint(struct store_writer *writer,
                                   const struct run *run, struct error *err);

/* Writes the sealed run, marks the file complete, syncs it and renames it.
 * Takes ownership of the writer, even on failure, which leaves no file behind.
 * Removes parts left by processes that died before this writer was opened. */
enum assay_status store_finish(struct store_writer *writer,
                               const struct run *run, struct error *err);

/* The same for a run that cannot be repeated: on failure the .part stays if it
 * has a checkpoint, and the message names it. */
enum assay_status store_finish_or_keep(struct store_writer *writer,
                                       const struct run *run,
                                       struct error *err);

/* Adds to the run what only the file has: the samples of store_append(), as
 * kept ones, and the count of those that were lost. For a run that goes on in
 * memory and comes back with store_replace(). */
enum assay_status store_complete(struct store_writer *writer, struct run *run,
                                 struct error *err);

/* Saves a run under the writer's path, as store_save() does, and only then
 * removes the .part. Takes ownership of the writer. */
enum assay_status store_replace(struct store_writer *writer,
                                const struct run *run, struct error *err);

/* Removes the .part and frees the writer. Accepts NULL. */
void store_abandon(struct store_writer *writer);

/* The peak memory use of SQLite in this process. */
size_t store_memory_peak(void);

#endif
