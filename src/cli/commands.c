/* cli/commands.c - the table of commands, see command.h. */
#include "cli/command.h"

#include "base/nearest.h"

#include <string.h>
#include <unistd.h>

/* clang-format off */
const struct command *const commands[] = {
    &cmd_run,
    &cmd_train,
    &cmd_fit,
    &cmd_layers,
    &cmd_metrics,
    &cmd_fingerprint,
    &cmd_predict,
    &cmd_prune,
    &cmd_export,
    &cmd_campaign,
    &cmd_weights,
    &cmd_data,
    &cmd_machine,
    &cmd_verify,
    &cmd_ops,
    &cmd_show,
    &cmd_report,
    &cmd_trace,
    &cmd_plot,
    &cmd_tensorboard,
    &cmd_compare,
    &cmd_import,
    &cmd_help,
    &cmd_version,
    &cmd_completion,
    &cmd_man,
    NULL,
};
/* clang-format on */

const struct option no_options[] = {{.kind = OPTION_END}};

const struct exit_code exit_codes[] = {
    {0, "all is well"},
    {1, "a budget or a comparison failed"},
    {2, "wrong usage: an option or a word that is not understood"},
    {3, "a file that cannot be read, used or written"},
    {4, "out of memory"},
    {5, "too noisy to decide"},
    {0, NULL},
};

enum assay_status command_find(const char *name, const struct command **out,
                               struct error *err)
{
    struct nearest nearest = nearest_to(name);

    *out = NULL;
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            *out = commands[i];
            return ASSAY_OK;
        }
        nearest_offer(&nearest, commands[i]->name);
    }
    if (nearest.candidate)
        return error_set(err, ASSAY_BAD_USAGE,
                         "unknown command '%s'; did you mean '%s'?", name,
                         nearest.candidate);
    if (access(name, F_OK) == 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "'%s' is a file, not a command; did you mean 'assay "
                         "show %s'?",
                         name, name);
    return error_set(err, ASSAY_BAD_USAGE,
                     "unknown command '%s'; 'assay help' lists them", name);
}
