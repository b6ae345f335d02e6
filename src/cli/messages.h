/* cli/messages.h - what the program says on standard error, and the refusals
 * that several commands share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_MESSAGES_H
#define CLI_MESSAGES_H

#include "base/nearest.h"
#include "cli/command.h"

/* "assay: TEXT"; wrong usage names its command: "assay show: TEXT". command
 * may be NULL. Returns the exit code. */
int message_failure(const struct command *command, enum assay_status status,
                    const struct error *err);

/* "assay: TEXT", for what a user should know although all went well. */
void message_note(const char *format, ...) ASSAY_PRINTF(1, 2);

/* Both set ASSAY_BAD_USAGE.
 * "WHAT 'WORD'; did you mean 'NEAREST'?", or "WHAT 'WORD'; OTHERWISE" if no
 * candidate is near. */
enum assay_status message_unknown(const char *what,
                                  const struct nearest *nearest,
                                  const char *otherwise, struct error *err);
/* "unexpected argument 'WORD'" */
enum assay_status message_unexpected(const char *word, struct error *err);

#endif
