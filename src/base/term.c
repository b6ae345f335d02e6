/* base/term.c - see term.h. */
#include "base/term.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    DEFAULT_WIDTH = 100,
    SMALLEST_WIDTH = 20, /* anything narrower is taken for a mistake */
    LARGEST_WIDTH = 10000
};

static const char *text_of_variable(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

static bool is_usable_width(long width)
{
    return width >= SMALLEST_WIDTH && width <= LARGEST_WIDTH;
}

static int term_find_width(FILE *stream)
{
    long columns = strtol(text_of_variable("COLUMNS"), NULL, 10);
    struct winsize size;

    if (is_usable_width(columns))
        return (int)columns;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 &&
        is_usable_width(size.ws_col))
        return size.ws_col;
    return DEFAULT_WIDTH;
}

static bool locale_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *locale = text_of_variable(variables[i]);

        if (locale[0])
            return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
    }
    return false;
}

struct term term_of(FILE *stream)
{
    struct term term = {
        .is_terminal = isatty(fileno(stream)) == 1,
        .has_utf8 = locale_is_utf8(),
        .width = term_find_width(stream),
    };

    term.has_colour = term.is_terminal && !text_of_variable("NO_COLOR")[0] &&
                      strcmp(text_of_variable("TERM"), "dumb") != 0;
    return term;
}

struct term term_plain(int width)
{
    return (struct term){.has_utf8 = true, .width = width};
}

const char *term_style(const struct term *term, enum term_style style)
{
    if (!term->has_colour)
        return "";
    switch (style) {
    case STYLE_NONE:
        return "\x1b[0m";
    case STYLE_BOLD:
        return "\x1b[1m";
    case STYLE_DIM:
        return "\x1b[2m";
    case STYLE_RED:
        return "\x1b[31m";
    case STYLE_GREEN:
        return "\x1b[32m";
    case STYLE_YELLOW:
        return "\x1b[33m";
    case STYLE_CYAN:
        return "\x1b[36m";
    }
    return "";
}
