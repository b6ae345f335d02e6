/* cli/messages.c - see messages.h. */
#include "cli/messages.h"

#include <stdarg.h>
#include <stdio.h>

int message_failure(const struct command *command, enum assay_status status,
                    const struct error *err)
{
    const char *text = err->text[0] ? err->text : assay_status_text(status);

    if (command && status == ASSAY_BAD_USAGE)
        fprintf(stderr, "assay %s: %s\n", command->name, text);
    else
        fprintf(stderr, "assay: %s\n", text);
    return status_exit_code(status);
}

void message_note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("assay: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}
