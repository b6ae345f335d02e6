/* views/markdown.c - see markdown.h. */
#include "views/markdown.h"

#include <string.h>

enum assay_status markdown_text(struct sink *sink, const struct term *term,
                                const char *text)
{
    struct str safe = {0};
    struct sink shown = sink_to_str(&safe);
    enum assay_status st;

    text_put(&shown, term, text);
    for (const char *at = str_text(&safe); *at; at++) {
        if (*at == '<')
            sink_puts(sink, "&lt;");
        else if (*at == '&')
            sink_puts(sink, "&amp;");
        else if (strchr("\\`*_[]|~$>", *at))
            sink_printf(sink, "\\%c", *at);
        else
            sink_write(sink, at, 1);
    }
    st = sink_status(&shown, NULL);
    str_release(&safe);
    return st;
}
