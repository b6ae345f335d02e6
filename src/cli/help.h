/* cli/help.h - the help screens, made from the table of commands.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "base/term.h"
#include "cli/command.h"

/* `assay help`: every command in one line. */
enum assay_status help_overview(struct sink *sink, const struct term *term,
                                struct error *err);

/* `assay help COMMAND` and `assay COMMAND --help`. */
enum assay_status help_command(const struct command *command, struct sink *sink,
                               const struct term *term, struct error *err);

#endif
