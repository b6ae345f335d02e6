/* cli/inputs.h - the run files that a command line names.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "cli/options.h"
#include "run/run.h"

/* The endings of run files, for completion. */
extern const char *const run_endings[];

/* Says on standard error where a run is incomplete. */
void inputs_note(const struct run *run, const char *name);

/* Loads all of them as one run, in this order. The caller frees it.
 * ASSAY_BAD_USAGE where they are of different models. */
enum assay_status inputs_join(const struct words *paths, struct run **out,
                              struct error *err);

/* Appends what the files are called together: "a.assay and 2 more". */
enum assay_status inputs_name(const struct words *paths, struct str *out,
                              struct error *err);

/* Runs that are kept apart. */
struct run_list {
    struct run **items;
    size_t n;
};

void run_list_release(struct run_list *list); /* start from {0} */

/* Notes those that are incomplete. */
enum assay_status run_list_load(struct run_list *list,
                                const struct words *paths, struct error *err);

#endif
