/* record/record.h - recording what this process does into a run file.
 *
 * Other rooms mark spans, iterations, phases, counters, bytes and facts with
 * the inline functions of assay/span.h, as a user's program does; this adds
 * starting and stopping with the errors the program speaks in. Stands on run
 * and store. Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "base/error.h"
#include "store/store.h"

#include <assay/span.h>

/* See assay_start(): ASSAY_BAD_USAGE where a recording is under way,
 * ASSAY_UNSUPPORTED in the forked child of a process that was recording. On
 * failure nothing is recorded and no file is left. */
enum assay_status record_start(const char *path,
                               const struct assay_options *options,
                               struct error *err);

/* See assay_stop(): the first thing that went wrong while recording or now.
 * Spans that are open on the calling thread end here; those and what is open
 * elsewhere are counted in the run's health. Where the file cannot be finished
 * nothing is left of it: assay_stop() leaves what a program of others can still
 * be told from. */
enum assay_status record_stop(struct error *err);

/* The same without a file: what is recorded comes with record_stop_run(). */
enum assay_status record_start_in_memory(const struct assay_options *options,
                                         struct error *err);

/* What a recording came to. Start from {0}. */
struct recorded {
    struct run *run;           /* sealed; NULL: nothing was recorded */
    struct store_writer *file; /* where it is to go; NULL: nowhere */
};

/* Ends the recording as record_stop() does and hands the run over in memory.
 * Nothing is written by that: until recorded_save() a crash leaves the .part as
 * the recorder brought it up to date last. ASSAY_NOT_FOUND where nothing was
 * being recorded. */
enum assay_status record_stop_run(struct recorded *out, struct error *err);

/* Puts the run, which may have been added to, where record_start() was told to;
 * nowhere without a file. Once. */
enum assay_status recorded_save(struct recorded *recorded, struct error *err);
/* The run is the caller's from here on. */
struct run *recorded_take_run(struct recorded *recorded);
/* What was not saved or taken is gone. */
void recorded_release(struct recorded *recorded);

/* Between the two every mark of every thread is passed over at the cost of a
 * load and a branch, as where nothing is recorded; the recording goes on
 * behind it. For telling what recording costs. The same spans are open at
 * both; bytes taken meanwhile are unknown to the recording: assay_bytes() tells
 * their sum after the resumption. Nothing happens where nothing is recorded; a
 * recording starts resumed. */
void record_pause(void);
void record_resume(void);

/* Opens a group inside what is open on this thread: it gives what is inside
 * its place in the tree and is not measured itself. A group has no calls and
 * lasts as long as its children together; the span around it has their time
 * as its children's. Texts as for assay_begin_class(). */
void record_group_begin(const char *name, const char *class_name);
void record_group_end(void); /* closes it, as assay_end() closes a span */

#endif
