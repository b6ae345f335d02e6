/* views/csv_text.c - see csv_text.h. */
#include "views/csv_text.h"

#include <string.h>

void csv_text(struct sink *sink, const char *text)
{
    if (!strpbrk(text, "\",\r\n") && text[0] != ' ') {
        sink_puts(sink, text);
        return;
    }
    sink_puts(sink, "\"");
    for (const char *at = text; *at; at++) {
        if (*at == '"')
            sink_puts(sink, "\"");
        sink_write(sink, at, 1);
    }
    sink_puts(sink, "\"");
}
