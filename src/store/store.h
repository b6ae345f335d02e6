/* store/store.h - runs in files.
 *
 * A run file (.assay) is a SQLite database: docs/run-file.md describes the
 * schema. Stands on run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "run/run.h"

#define STORE_SUFFIX      ".assay"
#define STORE_PART_SUFFIX ".part"

/* How much of a path is left without the endings of a run file, finished or
 * not: that of "run" for "run.assay" and for "run.assay.1234-abcdef.part". */
size_t store_stem(const char *path);

/* Loads a whole run, sealed. A `.part` left by a program that died loads too
 * and is marked is_incomplete. Errors name the path and say what the file is
 * instead, or what to do. */
enum assay_status store_load(const char *path, struct run **out,
                             struct error *err);

/* Writes a sealed run as a file that appears under its name only when it is
 * complete. */
enum assay_status store_save(const struct run *run, const char *path,
                             struct error *err);

/* A run file being written while the run goes on: until store_finish() it is
 * `path.PID-LETTERS.part`, a name of this writer's own. Several may write to
 * one path at once: each that finishes replaces what is there, and the last
 * one's file stays, whole. One thread at a time. */
struct store_writer;

/* Makes the .part at once, so that a bad path fails in the first second. */
enum assay_status store_open(const char *path, struct store_writer **out,
                             struct error *err);

/* Where it is now; borrowed. */
const char *store_part(const struct store_writer *writer);

/* Appends samples to be kept for good (the kept ones of the run itself come
 * with the checkpoint). */
enum assay_status store_append(struct store_writer *writer,
                               const struct sample *samples, size_t n,
                               struct error *err);

/* Brings the file up to what the run holds now, in one transaction: a program
 * that dies afterwards leaves that much. The run need not be sealed. */
enum assay_status store_checkpoint(struct store_writer *writer,
                                   const struct run *run, struct error *err);

/* Writes the sealed run, marks the file complete, syncs, and gives it its
 * name. Takes the writer over, also on failure, which leaves nothing. Parts
 * that dead processes left before this one began are removed. */
enum assay_status store_finish(struct store_writer *writer,
                               const struct run *run, struct error *err);

/* The same for a run that cannot be made again: a failure leaves the .part
 * where it holds a checkpoint, and the message names it. */
enum assay_status store_finish_or_keep(struct store_writer *writer,
                                       const struct run *run,
                                       struct error *err);

/* Adds to the run what only the file has of it: the samples of store_append(),
 * as kept ones, and the count of those that were lost on the way there. For a
 * run that goes on in memory and comes back with store_replace(). */
enum assay_status store_complete(struct store_writer *writer, struct run *run,
                                 struct error *err);

/* Puts a run where the writer's was to go, as store_save() does, and removes
 * the .part, which stays until then. Takes the writer over. */
enum assay_status store_replace(struct store_writer *writer,
                                const struct run *run, struct error *err);

/* Gives up: removes the .part. Accepts NULL. */
void store_abandon(struct store_writer *writer);

/* The most bytes that SQLite ever held in this process. */
size_t store_memory_peak(void);

#endif
