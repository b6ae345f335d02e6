/* cli/result.h - where a command's result goes: standard output or a file.
 *
 * Opened before the work starts, so that a bad path fails in the first second;
 * a file appears only when it is whole.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H

#include "base/file.h"
#include "base/term.h"

struct result {
    struct output *output;
    struct sink *sink;
    const char *path; /* NULL: standard output */
    struct term term; /* how what is written will be looked at */
};

/* path NULL or "-" is standard output. */
enum assay_status result_open(const char *path, struct result *result,
                              struct error *err);

/* Whether a run may go to path: "-" is refused, a run is a database. */
enum assay_status result_check_run(const char *path, struct error *err);

/* Ends the result when st is ASSAY_OK and says "wrote  NAME  SIZE" on standard
 * output where it went to a file; discards it otherwise. Returns st, or why
 * the end failed. */
enum assay_status result_close(struct result *result, enum assay_status st,
                               struct error *err);

/* The same, but appends "NAME SIZE" to a list of what was written instead of
 * saying it. */
enum assay_status result_end(struct result *result, enum assay_status st,
                             struct str *wrote, struct error *err);

/* Appends "NAME SIZE" of a file that is there, behind a comma where it is not
 * the first. */
enum assay_status result_list(const char *path, struct str *wrote,
                              struct error *err);

/* Appends what a result is called unless told otherwise: the input's path
 * without the endings (NULL at the end) that it has, in this order, and with
 * the new one. */
enum assay_status result_name(const char *path, const char *const *endings,
                              const char *ending, struct str *out,
                              struct error *err);

/* The same of a run file, finished or not: "run.html" of "run.assay". */
enum assay_status result_name_of_run(const char *path, const char *ending,
                                     struct str *out, struct error *err);

/* Writes text to standard output; a closed or full one is a failure. */
enum assay_status result_print(const char *text, struct error *err);

#endif
