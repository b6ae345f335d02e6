/* record/record.h - records what this process does into a run file.
 *
 * Other rooms mark spans, iterations, phases, counters, bytes and facts with
 * the inline functions of assay/span.h, as a user's program does; this adds
 * starting and stopping with struct error. Stands on run and store.
 * Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "base/error.h"
#include "store/store.h"

#include <assay/lane.h>

/* See assay_start(): ASSAY_BAD_USAGE if a recording is under way,
 * ASSAY_UNSUPPORTED in the forked child of a process that was recording. On
 * failure nothing is recorded and no file is left behind. */
enum assay_status record_start(const char *path,
                               const struct assay_options *options,
                               struct error *err);

/* See assay_stop(): returns the first thing that went wrong while recording or
 * now. Spans open on the calling thread end here; they and those open elsewhere
 * are counted in the run's health. If the file cannot be finished it is
 * removed, whereas assay_stop() leaves the .part file. */
enum assay_status record_stop(struct error *err);

/* The same without a file: record_stop_run() returns the run. */
enum assay_status record_start_in_memory(const struct assay_options *options,
                                         struct error *err);

/* The result of a recording. Initialise to {0}. */
struct recorded {
    struct run *run;           /* sealed; NULL: nothing was recorded */
    struct store_writer *file; /* where to save it; NULL: nowhere */
    uint32_t *ids;             /* of the run's scopes, by handle */
    size_t n_ids;
};

/* Ends the recording as record_stop() does and returns the run in memory,
 * without writing it: until recorded_save() a crash leaves the recorder's last
 * .part file. ASSAY_NOT_FOUND if nothing was being recorded. */
enum assay_status record_stop_run(struct recorded *out, struct error *err);

/* The scope of the run that a handle stands for; RUN_NONE: it has none. */
uint32_t recorded_scope(const struct recorded *recorded, assay_scope_t scope);

/* Saves the run, which may have been changed, under the path given to
 * record_start(); does nothing without a file. Call it once. */
enum assay_status recorded_save(struct recorded *recorded, struct error *err);
/* The caller then owns the run. */
struct run *recorded_take_run(struct recorded *recorded);
/* Discards what was not saved or taken. */
void recorded_release(struct recorded *recorded);

/* Between the two, marks of all threads are ignored at the cost of a load and a
 * branch, as if nothing were recorded, while the recording goes on: for
 * measuring what recording costs. The same spans must be open at both. Bytes
 * taken in between are not seen: pass their sum to assay_bytes() afterwards. Do
 * nothing if nothing is recorded; a recording starts resumed. */
void record_pause(void);
void record_resume(void);

/* Takes over what was recorded so far, on the calling thread, if it is much:
 * between two iterations, so that the recorder's own thread needs no processor
 * during the next one. */
void record_catch_up(void);

/* Which recording of this process is under way, from 1 on; 0: none. */
unsigned record_number(void);

/* A group is a place in the tree for what is inside, not measured itself. It
 * has no calls and lasts as long as its children together; the span around it
 * counts their time as its children's. The handle is as that of
 * assay_scope(); spans below it are opened by handles too. */
assay_scope_t record_group(assay_scope_t parent, const char *name,
                           const char *class_name);
void record_group_begin(assay_scope_t group);
void record_group_end(void); /* like assay_end() for a span */

/* ---- threads that help --------------------------------------------------- */

/* Opens a span of the scope on the calling thread, which works for the thread
 * that is in the scope: timelines show it on a lane of that name, but it counts
 * for no statistics. assay_end() closes it. Returns false, and opens nothing,
 * if nothing is recorded. */
bool record_help_begin(const char *name, assay_scope_t scope);

/* Whether recordings that start after this show when the recorder's own thread
 * worked, on lanes that count for no statistics: their samples are of the root,
 * outside iterations. */
void record_show_writer(bool is_shown);

#endif
