/* cli/help.h - the help screens, made from the table of commands.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "base/term.h"
#include "cli/command.h"

/* `assay help`: one line per command. */
enum assay_status help_overview(struct sink *sink, const struct term *term,
                                struct error *err);

/* `assay help COMMAND` and `assay COMMAND --help`. */
enum assay_status help_command(const struct command *command, struct sink *sink,
                               const struct term *term, struct error *err);

/* Either of them on standard output; command NULL: the overview. */
/* The screen of `assay` without a command. */
enum assay_status help_start(struct error *err);

enum assay_status help_show(const struct command *command, struct error *err);

#endif
