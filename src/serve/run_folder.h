/* serve/run_folder.h - the runs of a folder, and what is known about each
 * without opening its page.
 *
 * Only regular files directly in the folder count: nothing outside it is read,
 * whatever a link or a name leads to. What was learned about a file is kept
 * until its size or time changes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SERVE_RUN_FOLDER_H
#define SERVE_RUN_FOLDER_H

#include "run/run.h"

enum entry_kind {
    ENTRY_RUN,
    ENTRY_RECORDING, /* is being written, or its program died */
    ENTRY_DAMAGED,   /* `why` says how */
    ENTRY_FOREIGN    /* not a run file by its name */
};

enum { ENTRY_TEXT = 96 };

struct folder_entry {
    char *name; /* of the file, without the folder */
    int64_t changed_ns, bytes;
    enum entry_kind kind;
    char why[256];
    char model[ENTRY_TEXT], started[ENTRY_TEXT];
    uint64_t n_iterations;
    double mean_ns, p95_ns, peak_bytes; /* NaN: unknown */
    /* Against the run before it of the same model: 0 within noise, otherwise
     * slower (> 1) or faster by that factor; NaN: not compared. */
    double change;
    int64_t compared_ns; /* when the one before had changed; 0: not compared */
};

struct run_folder {
    const char *path;             /* borrowed */
    struct folder_entry *entries; /* by model, then by time */
    size_t n, capacity;
};

/* Initialise to {.path = ...}. */
void folder_release(struct run_folder *folder);

/* Looks again. A folder that is gone is an error; a file that is gone, has
 * shrunk or is damaged is not. */
enum assay_status folder_refresh(struct run_folder *folder, struct error *err);

/* By name; NULL if there is none. */
const struct folder_entry *folder_find(const struct run_folder *folder,
                                       const char *name);

/* Loads the run of an entry. */
enum assay_status folder_load(const struct run_folder *folder, const char *name,
                              struct run **out, struct error *err);

#endif
