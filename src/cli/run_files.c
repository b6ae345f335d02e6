/* cli/run_files.c - see run_files.h. */
#include "cli/run_files.h"

#include "cli/event_folder.h"
#include "cli/report_file.h"
#include "views/views.h"

#include <string.h>

static enum assay_status check_place(const char *option, const char *path,
                                     struct error *err)
{
    if (!path || strcmp(path, "-") != 0)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "--%s wants the name of a file: the screen goes to "
                     "standard output",
                     option);
}

enum assay_status run_files_open(struct run_files *files,
                                 const struct run_file_names *names,
                                 const char *run_path, struct error *err)
{
    enum assay_status st = result_check_run(run_path, err);

    files->names = *names;
    files->run_path = run_path;
    if (!st)
        st = check_place("trace", names->trace, err);
    if (!st)
        st = check_place("html", names->html, err);
    if (!st && names->trace)
        st = result_open(names->trace, &files->trace, err);
    if (!st && names->html)
        st = result_open(names->html, &files->html, err);
    if (!st && names->tensorboard)
        st = event_folder_check(names->tensorboard, run_path, err);
    return st;
}

static enum assay_status write_html(struct run_files *files,
                                    const struct run *run, const char *pictures,
                                    struct str *wrote, struct error *err)
{
    struct report_side side = {run, files->run_path};
    enum assay_status st =
        report_write(&side, 1, pictures, files->html.sink, err);

    return result_end(&files->html, st, wrote, err);
}

enum assay_status run_files_write(struct run_files *files,
                                  const struct run *run, const char *in_report,
                                  const char *in_events, struct str *wrote,
                                  struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (files->trace.output)
        st = result_end(&files->trace, view_trace(run, files->trace.sink, err),
                        wrote, err);
    if (!st && files->html.output)
        st = write_html(files, run, in_report, wrote, err);
    if (!st && files->names.tensorboard)
        st = event_folder_write(run, files->run_path, files->names.tensorboard,
                                in_events, wrote, err);
    return st;
}

void run_files_discard(struct run_files *files)
{
    output_discard(files->trace.output);
    output_discard(files->html.output);
    files->trace.output = files->html.output = NULL;
}
