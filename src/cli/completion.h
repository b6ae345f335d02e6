/* cli/completion.h - scripts that complete command lines, one file per shell,
 * all from the table of commands.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "base/sink.h"
#include "cli/command.h"

void completion_put_bash(struct sink *sink);
void completion_put_fish(struct sink *sink);
void completion_put_zsh(struct sink *sink);

bool completion_takes_file(const struct option *option);
/* A text between single quotes, with a backslash before each of some
 * characters. */
void completion_put_quoted(struct sink *sink, const char *text,
                           const char *escaped);

#endif
