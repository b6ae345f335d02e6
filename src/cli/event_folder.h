/* cli/event_folder.h - a run as an event file in a folder that TensorBoard
 * watches: what `assay tensorboard` and the --tensorboard of others share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_EVENT_FOLDER_H
#define CLI_EVENT_FOLDER_H

#include "base/str.h"
#include "run/run.h"

/* Appends the path of the event file of a run. */
enum assay_status event_folder_path(const struct run *run, const char *run_path,
                                    const char *folder, struct str *out,
                                    struct error *err);

/* Makes FOLDER/NAME, where NAME is the run file's without its ending: that is
 * what TensorBoard calls the run. Tells at once where nothing can be written
 * there. */
enum assay_status event_folder_check(const char *folder, const char *run_path,
                                     struct error *err);

/* Writes the event file, which has the same name for the same run, and appends
 * it to a list of what was written; NULL: it is said on standard output.
 * pictures, which may be NULL, is the folder of the drawn photographs. */
enum assay_status event_folder_write(const struct run *run,
                                     const char *run_path, const char *folder,
                                     const char *pictures, struct str *wrote,
                                     struct error *err);

#endif
