/* cli/cmd_tensorboard.c - assay tensorboard: a run as an event file. */
#include "cli/command.h"

#include "cli/file_roles.h"
#include "cli/inputs.h"
#include "cli/result.h"
#include "cli/run_files.h"
#include "views/tensorboard.h"

struct settings {
    const char *folder;
    const char *pictures; /* NULL: none */
};

static const struct settings defaults = {.folder = "runs"};

static const struct option options[] = {
    {OPT_FILE("output", "FOLDER"), .letter = 'o',
     .help = "the folder that TensorBoard watches (--logdir)",
     .shown_default = "runs", OPTION_FIELD(struct settings, folder)},
    {OPT_FILE("pictures", "FOLDER"), .implied = ".",
     .help = "include the drawn photographs of this folder, by default the "
             "current one",
     OPTION_FIELD(struct settings, pictures)},
    {.kind = OPTION_END},
};

static enum assay_status run_tensorboard(const struct arguments *arguments,
                                         struct error *err)
{
    const struct settings *settings = arguments->settings;
    const char *path = arguments->operands.items[0];
    struct run *run = NULL;
    struct str next = {0}, events = {0};
    enum assay_status st = inputs_load(path, &run, err);

    if (!st)
        st = event_folder_path(settings->folder, path, run_began(run), &events,
                               err);
    if (!st)
        st = file_roles_check_one("the event file", events.text,
                                  &arguments->operands, err);
    str_release(&events);
    if (!st)
        st = event_folder_write(run, path, settings->folder, NULL,
                                settings->pictures, NULL, err);
    run_free(run);
    if (!st &&
        str_printf(&next, "next   tensorboard --logdir %s\n", settings->folder))
        st = error_nomem(err, 64, "a line");
    if (!st)
        st = result_print(str_text(&next), err);
    str_release(&next);
    return st;
}

const struct command cmd_tensorboard = {
    .name = "tensorboard",
    .section = "Runs",
    .purpose = "write a run as an event file for TensorBoard",
    .usage = TEXTS("tensorboard [options] RUN"),
    .operands = {.min = 1,
                 .max = 1,
                 .missing = "a run file",
                 .endings = run_endings},
    .description = TEXTS(
        "Writes the latency, the stages and the observations of each "
        "iteration as scalars, the latencies as a histogram, the profile "
        "as a table (text and image), and the drawn photographs as images."),
    .options = options,
    .examples = EXAMPLES(
        {"tensorboard run.assay", "write into runs/run/"},
        {"tensorboard run.assay -o /tmp/board --pictures",
         "elsewhere, with the photographs drawn in the current folder"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_tensorboard,
};
