/* cli/messages.h - what the program says on standard error.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_MESSAGES_H
#define CLI_MESSAGES_H

#include "base/error.h"
#include "cli/command.h"

/* "assay: TEXT"; wrong usage names its command: "assay show: TEXT". command
 * may be NULL. Returns the exit code. */
int message_failure(const struct command *command, enum assay_status status,
                    const struct error *err);

/* "assay: TEXT", for what a user should know although all went well. */
void message_note(const char *format, ...) ASSAY_PRINTF(1, 2);

#endif
