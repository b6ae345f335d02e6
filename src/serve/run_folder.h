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

#include "views/trend.h"

enum entry_kind {
    ENTRY_RUN,
    ENTRY_RECORDING, /* is being written, or its program died */
    ENTRY_DAMAGED,   /* `why` says how */
    ENTRY_FOREIGN    /* not a run file by its name */
};

struct folder_entry {
    char *name; /* of the file, without the folder */
    int64_t changed_ns, bytes;
    enum entry_kind kind;
    char why[256];
    struct trend_point point; /* without the names in it */
    uint64_t judged_by;       /* the stamp of the run it was judged against */
};

struct run_folder {
    const char *path; /* borrowed, as what follows */
    const struct budgets *budgets;
    const char *base; /* a file that all runs of its model are judged against;
                       * NULL: each against the one before */
    struct folder_entry *entries; /* by model, then by time */
    size_t n, capacity;
};

/* Initialise to {.path = ..., .budgets = ...}. */
void folder_release(struct run_folder *folder);

/* Looks again. A folder that is gone is an error; a file that is gone, has
 * shrunk or is damaged is not. */
enum assay_status folder_refresh(struct run_folder *folder, struct error *err);

/* After a refresh: fails if the base is not a complete run of the folder. */
enum assay_status folder_check_base(const struct run_folder *folder,
                                    struct error *err);

/* The complete runs, of one model if it is not NULL, as the points of a trend,
 * which the caller frees; names in them are borrowed from the folder. */
enum assay_status folder_trend(const struct run_folder *folder,
                               const char *model, struct trend *trend,
                               struct error *err);

/* By name; NULL if there is none. */
const struct folder_entry *folder_find(const struct run_folder *folder,
                                       const char *name);

/* Tells a file from others, and from itself before it changed; not 0. */
uint64_t entry_stamp(const struct folder_entry *entry);

/* Loads the run of an entry. */
enum assay_status folder_load(const struct run_folder *folder, const char *name,
                              struct run **out, struct error *err);

#endif
