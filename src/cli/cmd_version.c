/* cli/cmd_version.c - assay version. */
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
    .purpose = "print the version",
    .usage = TEXTS("version"),
    .description = TEXTS("The same as 'assay --version'."),
    .options = no_options,
    .run = run_version,
};
