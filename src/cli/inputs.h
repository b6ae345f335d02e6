/* cli/inputs.h - the run files on a command line.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "cli/options.h"
#include "run/run.h"

/* The endings of run files, for completion. */
extern const char *const run_endings[];

/* Notes on standard error if the run is incomplete. */
void inputs_note(const struct run *run, const char *name);
/* Loads one run, which the caller frees; notes if it is incomplete. */
enum assay_status inputs_load(const char *path, struct run **out,
                              struct error *err);

/* Loads all files as one run, in this order. The caller frees it.
 * ASSAY_BAD_USAGE if they are of different models. */
enum assay_status inputs_join(const struct words *paths, struct run **out,
                              struct error *err);

/* Appends one name for all files: "a.assay and 2 more". */
enum assay_status inputs_name(const struct words *paths, struct str *out,
                              struct error *err);

/* Appends the output that is given, or the name of the last run with another
 * ending, which must not be one of the runs. what: "the trace". */
enum assay_status inputs_name_output(const char *given, const char *what,
                                     const char *ending,
                                     const struct words *runs, struct str *out,
                                     struct error *err);

/* Several runs, not joined. */
struct run_list {
    struct run **items;
    size_t n;
};

void run_list_release(struct run_list *list); /* start from {0} */

/* Notes which of them are incomplete. */
enum assay_status run_list_load(struct run_list *list,
                                const struct words *paths, struct error *err);

#endif
