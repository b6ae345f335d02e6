/* cli/cmd_help.c - assay help: what there is, and how to use it. */
#include "cli/help.h"
#include "cli/result.h"

static enum assay_status run_help(const struct arguments *arguments,
                                  struct error *err)
{
    const struct command *command = NULL;
    struct result result;
    enum assay_status st = ASSAY_OK;

    if (arguments->operands.n == 1)
        st = command_find(arguments->operands.items[0], &command, err);
    if (!st)
        st = result_open(NULL, &result, err);
    if (st)
        return st;
    if (command)
        st = help_command(command, result.sink, &result.term, err);
    else
        st = help_overview(result.sink, &result.term, err);
    return result_close(&result, st, err);
}

const struct command cmd_help = {
    .name = "help",
    .section = "This program",
    .purpose = "what a command does, and its options",
    .usage = (const char *const[]){"help [COMMAND]", NULL},
    .operands = {.max = 1, .are_commands = true},
    .description =
        (const char *const[]){
            "Without a command: the list of all of them. 'assay COMMAND "
            "--help' says the same as 'assay help COMMAND'.",
            NULL,
        },
    .options = no_options,
    .run = run_help,
};
