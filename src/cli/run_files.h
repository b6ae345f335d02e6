/* cli/run_files.h - what else is made of a run by the command that made it: a
 * trace, a report, an event file. What `assay run` and `assay train` share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_RUN_FILES_H
#define CLI_RUN_FILES_H

#include "cli/options.h"
#include "cli/result.h"
#include "run/run.h"

/* As they were asked for; NULL: not. */
struct run_file_names {
    const char *trace, *html, *tensorboard;
};

/* Lines of a command's table: the settings have a struct run_file_names called
 * files, and FIELD() names what is in them. */
#define RUN_FILES_OPTIONS                                                      \
    {.name = "trace",                                                          \
     .kind = OPTION_FILE,                                                      \
     .role = ROLE_OUTPUT,                                                      \
     .value = "FILE",                                                          \
     .help = "write a trace for Perfetto too",                                 \
     FIELD(files.trace)},                                                      \
        {.name = "html",                                                       \
         .kind = OPTION_FILE,                                                  \
         .role = ROLE_OUTPUT,                                                  \
         .value = "FILE",                                                      \
         .help = "write a report to look at in a browser too",                 \
         FIELD(files.html)},                                                   \
    {                                                                          \
        .name = "tensorboard", .kind = OPTION_FILE, .value = "FOLDER",         \
        .help = "write an event file for TensorBoard there too",               \
        FIELD(files.tensorboard)                                               \
    }

struct run_files {
    struct run_file_names names;
    const char *run_path;
    struct result trace, html;
};

/* In the first second, not when all is done. Start from {0}; the texts are
 * borrowed. */
enum assay_status run_files_open(struct run_files *files,
                                 const struct run_file_names *names,
                                 const char *run_path, struct error *err);

/* Writes them and appends what was written to *wrote. The folders, which may
 * be NULL, have the pictures of the report and of the event file. */
enum assay_status run_files_write(struct run_files *files,
                                  const struct run *run, const char *in_report,
                                  const char *in_events, struct str *wrote,
                                  struct error *err);

/* What was not written is given up. */
void run_files_discard(struct run_files *files);

#endif
