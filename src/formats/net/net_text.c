/* formats/net/net_text.c - see net_text_internal.h: names, numbers, shapes. */
#include "formats/net/net_text_internal.h"

#include "base/decimal.h"

#include <math.h>
#include <string.h>

const char *const net_fills[] = {
    [FILL_ZERO] = "zero",
    [FILL_ONE] = "one",
    [FILL_NORMAL] = "normal",
    [FILL_UNIFORM] = "uniform",
};

const char *const net_kinds[] = {
    [VALUE_PARAMETER] = "parameter",
    [VALUE_BUFFER] = "buffer",
    [VALUE_CONSTANT] = "constant",
};

/* ---- writing ------------------------------------------------------------ */

static bool net_text_is_bare_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c && strchr("_./:+-@%$?", c));
}

/* "-" is an input left out; % and $ begin values without a name. */
static bool net_text_is_bare(const char *name)
{
    if (!name[0] || strcmp(name, "-") == 0 || name[0] == '%' || name[0] == '$')
        return false;
    for (; *name; name++) {
        if (!net_text_is_bare_char(*name))
            return false;
    }
    return true;
}

void net_put_name(struct sink *sink, const char *name)
{
    if (net_text_is_bare(name)) {
        sink_puts(sink, name);
        return;
    }
    sink_puts(sink, "\"");
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;

        if (c == '"' || c == '\\')
            sink_printf(sink, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            sink_printf(sink, "\\x%02x", c);
        else
            sink_write(sink, name, 1);
    }
    sink_puts(sink, "\"");
}

void net_put_number(struct sink *sink, double value)
{
    char text[DECIMAL_MAX];

    if (isnan(value)) {
        sink_puts(sink, "nan");
    } else if (isinf(value)) {
        sink_puts(sink, value < 0 ? "-inf" : "inf");
    } else {
        decimal_write(text, value);
        sink_puts(sink, text);
    }
}

void net_put_float(struct sink *sink, float value)
{
    double rounded = (double)value;

    for (int digits = 1; isfinite(value) && digits < 9; digits++) {
        rounded = decimal_round((double)value, digits);
        if ((float)rounded == value)
            break;
        rounded = (double)value;
    }
    net_put_number(sink, rounded);
}

void net_put_shape(struct sink *sink, const struct shape *shape)
{
    if (!shape->rank)
        sink_puts(sink, "scalar");
    for (int i = 0; i < shape->rank; i++) {
        sink_puts(sink, i ? "x" : "");
        if (shape->dims[i] < 0)
            sink_puts(sink, "?");
        else
            sink_printf(sink, "%lld", (long long)shape->dims[i]);
    }
}

/* ---- reading ------------------------------------------------------------ */

static bool net_text_bad_word(struct net_line *line)
{
    str_clear(&line->word);
    line->is_quoted = false;
    line->at = line->end;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads what follows a backslash; false if it is not valid. */
static bool net_text_read_escape(struct net_line *line, char *c)
{
    int high, low;

    if (line->end - line->at >= 3 && *line->at == 'x') {
        high = hex_digit(line->at[1]);
        low = hex_digit(line->at[2]);
        line->at += 3;
        *c = (char)(high * 16 + low);
        return high >= 0 && low >= 0 && *c;
    }
    if (line->at == line->end || (*line->at != '"' && *line->at != '\\'))
        return false;
    *c = *line->at++;
    return true;
}

static bool net_text_read_quoted(struct net_line *line)
{
    line->at++;
    while (line->at < line->end && *line->at != '"') {
        char c = *line->at++;

        if ((c == '\\' && !net_text_read_escape(line, &c)) ||
            str_append_char(&line->word, c))
            return net_text_bad_word(line);
    }
    if (line->at == line->end)
        return net_text_bad_word(line);
    line->at++;
    line->is_quoted = true;
    return true;
}

bool net_next(struct net_line *line)
{
    str_clear(&line->word);
    line->is_quoted = false;
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
        line->at++;
    if (line->at == line->end || *line->at == '#' || *line->at == '\r')
        return false;
    if (*line->at == '"')
        return net_text_read_quoted(line);
    if (!net_text_is_bare_char(*line->at)) {
        char c = *line->at++;

        return !strchr("(),=", c) || str_append_char(&line->word, c)
                   ? net_text_bad_word(line)
                   : true;
    }
    while (line->at < line->end && net_text_is_bare_char(*line->at)) {
        if (str_append_char(&line->word, *line->at++))
            return net_text_bad_word(line);
    }
    return true;
}

bool net_is_word(const struct net_line *line, const char *word)
{
    return !line->is_quoted && strcmp(str_text(&line->word), word) == 0;
}

bool net_take(struct net_line *line, char mark)
{
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
        line->at++;
    if (line->at == line->end || *line->at != mark)
        return false;
    line->at++;
    return true;
}

/* [+-]digits[.digits][e[+-]digits], as decimal.h requires. */
static bool net_text_is_number(const char *text)
{
    size_t n;

    text += *text == '-' || *text == '+';
    n = strspn(text, "0123456789");
    text += n;
    if (!n)
        return false;
    if (*text == '.') {
        n = strspn(++text, "0123456789");
        if (!n)
            return false;
        text += n;
    }
    if (*text != 'e' && *text != 'E')
        return !*text;
    text++;
    text += *text == '-' || *text == '+';
    n = strspn(text, "0123456789");
    return n && n < 6 && !text[n];
}

bool net_get_number(const struct net_line *line, int64_t *value)
{
    const char *text = str_text(&line->word);

    return !line->is_quoted && net_text_is_number(text) &&
           decimal_int64(text, line->word.n, value);
}

bool net_get_double(const struct net_line *line, double *value)
{
    const char *text = str_text(&line->word);

    *value = strcmp(text, "inf") == 0    ? INFINITY
             : strcmp(text, "-inf") == 0 ? -INFINITY
                                         : (double)NAN;
    if (line->is_quoted || isinf(*value) || strcmp(text, "nan") == 0)
        return !line->is_quoted;
    if (!net_text_is_number(text))
        return false;
    *value = decimal_double(text, line->word.n);
    return true;
}

/* Reads one size of a shape and moves *text past it. */
static bool net_text_read_size(const char **text, bool may_be_free,
                               int64_t *size)
{
    size_t n = strspn(*text, "0123456789");

    *size = -1;
    if (may_be_free && **text == '?')
        n = 1;
    else if (!n || n > 18 || !decimal_int64(*text, n, size))
        return false;
    *text += n;
    return true;
}

bool net_get_shape(const struct net_line *line, bool may_be_free,
                   struct shape *shape)
{
    const char *text = str_text(&line->word);
    size_t elements;

    *shape = (struct shape){0};
    if (line->is_quoted)
        return false;
    if (strcmp(text, "scalar") == 0)
        return true;
    for (;;) {
        if (shape->rank == SHAPE_MAX_RANK ||
            !net_text_read_size(&text, may_be_free,
                                &shape->dims[shape->rank++]))
            return false;
        if (!*text)
            return may_be_free || shape_elements(shape, &elements);
        if (*text++ != 'x')
            return false;
    }
}

bool net_get_dtype(const struct net_line *line, enum dtype *dtype)
{
    for (int i = 0; i <= DTYPE_U2; i++) {
        if (net_is_word(line, dtype_name((enum dtype)i))) {
            *dtype = (enum dtype)i;
            return true;
        }
    }
    return false;
}
