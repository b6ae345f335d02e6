/* cli/cmd_version.c - assay version: which one this is. */
#include "cli/command.h"

#include "cli/result.h"

static enum assay_status run_version(const struct arguments *arguments,
                                     struct error *err)
{
    (void)arguments;
    return result_print("assay " ASSAY_VERSION "\n", err);
}

const struct command cmd_version = {
    .name = "version",
    .section = "This program",
    .purpose = "which version this is",
    .usage = (const char *const[]){"version", NULL},
    .description =
        (const char *const[]){"The same as 'assay --version'.", NULL},
    .options = no_options,
    .run = run_version,
};
