/* cli/messages.c - see messages.h. */
#include "cli/messages.h"

#include "base/term.h"

#include <stdarg.h>
#include <stdio.h>

int message_failure(const struct command *command, enum assay_status status,
                    const struct error *err)
{
    const char *text = err->text[0] ? err->text : assay_status_text(status);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct term term = term_of(stderr);

    if (command && status == ASSAY_BAD_USAGE)
        sink_printf(&screen, "assay %s: ", command->name);
    else
        sink_puts(&screen, "assay: ");
    text_put(&screen, &term, text); /* it may quote any bytes of a file */
    sink_puts(&screen, "\n");
    return status_exit_code(status);
}

void message_note(const char *format, ...)
{
    struct sink screen = sink_to_file(stderr, "standard error");
    struct term term = term_of(stderr);
    struct str text = {0};
    va_list args;

    va_start(args, format);
    sink_puts(&screen, "assay: ");
    if (str_vprintf(&text, format, args))
        sink_puts(&screen, "out of memory");
    text_put(&screen, &term, str_text(&text)); /* names may be any bytes */
    sink_puts(&screen, "\n");
    va_end(args);
    str_release(&text);
}

enum assay_status message_unknown(const char *what,
                                  const struct nearest *nearest,
                                  const char *otherwise, struct error *err)
{
    if (nearest->candidate)
        return error_set(err, ASSAY_BAD_USAGE, "%s '%s'; did you mean '%s'?",
                         what, nearest->word, nearest->candidate);
    return error_set(err, ASSAY_BAD_USAGE, "%s '%s'; %s", what, nearest->word,
                     otherwise);
}

enum assay_status message_unexpected(const char *word, struct error *err)
{
    return error_set(err, ASSAY_BAD_USAGE, "unexpected argument '%s'", word);
}
