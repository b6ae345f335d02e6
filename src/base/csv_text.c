/* base/csv_text.c - see csv_text.h. */
#include "base/csv_text.h"

#include "base/term.h"

#include <string.h>

static const char *csv_text_skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

bool csv_is_number(const char *text)
{
    const char *from = text + (*text == '-' || *text == '+');
    const char *at = csv_text_skip_digits(from);

    if (at == from)
        return false;
    if (*at == '.') {
        from = at + 1;
        at = csv_text_skip_digits(from);
        if (at == from)
            return false;
    }
    if (*at == 'e' || *at == 'E') {
        from = at + 1 + (at[1] == '-' || at[1] == '+');
        at = csv_text_skip_digits(from);
        if (at == from)
            return false;
    }
    return *at == '\0';
}

/* Whether it begins a formula, after any number of apostrophes. Spreadsheets
 * skip tabs and line ends first, but we never write those. */
static bool begins_formula(const char *text)
{
    text += strspn(text, "'");
    return *text && strchr("=+-@", *text);
}

static bool is_guarded(const char *text)
{
    return begins_formula(text) && !csv_is_number(text);
}

const char *csv_meant(const char *field)
{
    return field[0] == '\'' && begins_formula(field) ? field + 1 : field;
}

void csv_text(struct sink *sink, const char *text)
{
    const struct term plain = term_plain(80);
    bool has_apostrophe = is_guarded(text);

    if (!has_apostrophe && !strpbrk(text, "\",") && text[0] != ' ') {
        text_put(sink, &plain, text);
        return;
    }
    sink_puts(sink, has_apostrophe ? "\"'" : "\"");
    for (;;) {
        size_t n = strcspn(text, "\"");

        text_put_n(sink, &plain, text, n);
        text += n;
        if (!*text)
            break;
        sink_puts(sink, "\"\"");
        text++;
    }
    sink_puts(sink, "\"");
}
