/* cli/result.h - where a command's result goes: standard output or a file.
 *
 * It is opened before the work starts, so that a bad path fails in the first
 * second; a file appears only when it is complete.
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
    struct term term; /* what the output will be read on */
};

/* path NULL or "-" is standard output. */
enum assay_status result_open(const char *path, struct result *result,
                              struct error *err);

/* Refuses "-" as the path of a run, which is a database. */
enum assay_status result_check_run(const char *path, struct error *err);

/* Commits the result if st is ASSAY_OK, and prints "wrote  NAME  SIZE" on
 * standard output if it went to a file; discards it otherwise. Returns st, or
 * why committing failed. */
enum assay_status result_close(struct result *result, enum assay_status st,
                               struct error *err);

/* The same, but appends "NAME SIZE" to the list of written files instead of
 * printing it. */
enum assay_status result_end(struct result *result, enum assay_status st,
                             struct str *wrote, struct error *err);

/* Appends "NAME SIZE" of an existing file, after a comma if it is not the
 * first.
 */
enum assay_status result_list(const char *path, struct str *wrote,
                              struct error *err);

/* Appends the default name of a result: the input's path without those of the
 * endings (NULL ends them) that it has, in this order, plus the new ending. */
enum assay_status result_name(const char *path, const char *const *endings,
                              const char *ending, struct str *out,
                              struct error *err);

/* The same for a run file, finished or not: "run.html" for "run.assay". */
enum assay_status result_name_of_run(const char *path, const char *ending,
                                     struct str *out, struct error *err);

/* Writes text to standard output; fails if it is closed or full. */
enum assay_status result_print(const char *text, struct error *err);

#endif
