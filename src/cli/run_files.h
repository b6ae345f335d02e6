/* cli/run_files.h - files made from a run: reports and event files, and what
 * `assay run` and `assay train` write besides the run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_RUN_FILES_H
#define CLI_RUN_FILES_H

#include "cli/options.h"
#include "cli/result.h"
#include "run/run.h"
#include "views/report.h"

/* Writes the report of one run, or of what changed from the first run to the
 * second. folder has the drawn photographs, of which those of the last run are
 * included, or all if it does not name any; NULL: none. Without budgets (no
 * items) two runs get no verdict of a gate. trend may be NULL. */
enum assay_status report_write(const struct report_side *sides, size_t n_sides,
                               const struct budgets *budgets,
                               const struct trend *trend, const char *folder,
                               struct sink *sink, struct error *err);

/* Appends the path of the event file of a run that began so many seconds after
 * 1970: FOLDER/NAME/events..., where NAME, which TensorBoard shows, is that of
 * the run file without its ending. */
enum assay_status event_folder_path(const char *folder, const char *run_path,
                                    double began, struct str *out,
                                    struct error *err);

/* Writes the event file, without what view_tensorboard() is told to leave out,
 * and appends its name to *wrote, or prints it if wrote
 * is NULL. pictures is the folder of the drawn photographs; may be NULL. */
enum assay_status event_folder_write(const struct run *run,
                                     const char *run_path, const char *folder,
                                     const char *without, const char *pictures,
                                     struct str *wrote, struct error *err);

/* NULL: not asked for. */
struct run_file_names {
    const char *trace, *html, *tensorboard;
};

/* Rows for a table whose settings have a struct run_file_names called files,
 * and whose FIELD() names what is in them. */
/* clang-format off: it takes the braces of a row for a block. */
#define RUN_FILES_OPTIONS                                                      \
    {OPT_FILE("trace", "FILE"), .role = ROLE_OUTPUT,                           \
     .help = "also write a trace for Perfetto", FIELD(files.trace)},           \
        {OPT_FILE("html", "FILE"), .role = ROLE_OUTPUT,                        \
         .help = "also write a report for the browser", FIELD(files.html)},    \
    {                                                                          \
        OPT_FILE("tensorboard", "FOLDER"),                                     \
            .help = "also write an event file for TensorBoard to this folder", \
            FIELD(files.tensorboard)                                           \
    }
/* clang-format on */

struct run_files {
    struct run_file_names names;
    const char *run_path;
    struct result trace, html;
    bool has_steps; /* another event file already has the steps of a training */
};

/* Opens the files at the start, not when all is done. Start from {0}; the texts
 * are borrowed. */
enum assay_status run_files_open(struct run_files *files,
                                 const struct run_file_names *names,
                                 const char *run_path, struct error *err);

/* Writes the files and appends their names to *wrote. The folders hold the
 * pictures for the report and for the event file; they may be NULL. */
enum assay_status run_files_write(struct run_files *files,
                                  const struct run *run, const char *in_report,
                                  const char *in_events, struct str *wrote,
                                  struct error *err);

/* Drops what was not written. */
void run_files_discard(struct run_files *files);

#endif
