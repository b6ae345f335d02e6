/* base/toml_string.c - the four kinds of string of TOML. */
#include "base/toml_internal.h"
#include "base/utf8.h"

#include <string.h>

static const char ends_in_string[] = "the file ends in the middle of a string";

static bool toml_string_append(struct toml_parser *parser, const char *bytes,
                               size_t n)
{
    return str_append_n(&parser->scratch, bytes, n) == ASSAY_OK ||
           toml_fail_memory(parser);
}

/* The character of \uXXXX or \UXXXXXXXX; at is behind the letter. */
static bool toml_string_read_code(struct toml_parser *parser, size_t n_digits)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    uint32_t code = 0;
    char bytes[4];

    for (size_t i = 0; i < n_digits; i++) {
        char c = toml_peek(parser, i);
        const char *digit = c ? strchr(digits, c) : NULL;

        if (!digit)
            return toml_fail(parser, n_digits == 4
                                         ? "\\u wants four hex digits"
                                         : "\\U wants eight hex digits");
        code = code << 4 | ((uint32_t)(digit - digits) & 15);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return toml_fail(parser, "there is no such Unicode character");
    parser->at += n_digits;
    return toml_string_append(parser, bytes, utf8_encode(bytes, code));
}

/* at is on the backslash. */
static bool toml_string_read_escape(struct toml_parser *parser)
{
    static const char letters[] = "btnfr\"\\";
    static const char meanings[] = "\b\t\n\f\r\"\\";
    char letter = toml_peek(parser, 1);
    const char *found = letter ? strchr(letters, letter) : NULL;

    if (!found && letter != 'u' && letter != 'U')
        return toml_fail(parser, "an unknown escape");
    parser->at += 2;
    if (found)
        return toml_string_append(parser, &meanings[found - letters], 1);
    return toml_string_read_code(parser, letter == 'u' ? 4 : 8);
}

/* A run of characters that stand for themselves, up to a quote of this kind,
 * a backslash or the end of the line. */
static bool read_plain(struct toml_parser *parser, char quote)
{
    const char *start = parser->at;

    while (parser->at < parser->end) {
        unsigned char c = (unsigned char)*parser->at;

        if (c == (unsigned char)quote || (c == '\\' && quote == '"') ||
            c == '\n' || (c == '\r' && toml_peek(parser, 1) == '\n'))
            break;
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return toml_fail(parser, "a control character must be escaped");
        parser->at++;
    }
    return toml_string_append(parser, start, (size_t)(parser->at - start));
}

static bool toml_string_read_line(struct toml_parser *parser, char quote)
{
    parser->at++;
    for (;;) {
        char c;

        if (!read_plain(parser, quote))
            return false;
        c = toml_peek(parser, 0);
        if (parser->at == parser->end)
            return toml_fail(parser, ends_in_string);
        if (c == quote) {
            parser->at++;
            return true;
        }
        if (c != '\\')
            return toml_fail(parser, "the string does not end on its line");
        if (!toml_string_read_escape(parser))
            return false;
    }
}

/* Three quotes in a row end the string; one or two before them belong to it.
 * *is_end tells. */
static bool read_quotes(struct toml_parser *parser, char quote, bool *is_end)
{
    size_t n = 0;

    while (n < 5 && toml_peek(parser, n) == quote)
        n++;
    *is_end = n >= 3;
    if (!toml_string_append(parser, parser->at, *is_end ? n - 3 : n))
        return false;
    parser->at += n;
    return true;
}

/* A backslash with nothing but blanks behind it on its line takes away all
 * white space up to the next character. */
static bool skip_folded(struct toml_parser *parser)
{
    const char *start = parser->at++;

    toml_skip_blanks(parser);
    if (!toml_take_newline(parser)) {
        parser->at = start;
        return false;
    }
    do
        toml_skip_blanks(parser);
    while (toml_take_newline(parser));
    return true;
}

static bool toml_string_read_lines(struct toml_parser *parser, char quote)
{
    bool is_end = false;

    parser->at += 3;
    toml_take_newline(parser);
    while (!is_end) {
        char c;

        if (!read_plain(parser, quote))
            return false;
        c = toml_peek(parser, 0);
        if (parser->at == parser->end)
            return toml_fail(parser, ends_in_string);
        if (c == quote) {
            if (!read_quotes(parser, quote, &is_end))
                return false;
        } else if (c == '\\') {
            if (!skip_folded(parser) && !toml_string_read_escape(parser))
                return false;
        } else if (toml_take_newline(parser) &&
                   !toml_string_append(parser, "\n", 1)) {
            return false;
        }
    }
    return true;
}

static bool keep_scratch(struct toml_parser *parser, struct toml_text *string)
{
    string->n = parser->scratch.n;
    string->text = arena_strndup(&parser->toml->arena,
                                 str_text(&parser->scratch), string->n);
    return string->text || toml_fail_memory(parser);
}

bool toml_read_line_string(struct toml_parser *parser, struct toml_text *string)
{
    str_clear(&parser->scratch);
    return toml_string_read_line(parser, *parser->at) &&
           keep_scratch(parser, string);
}

bool toml_read_string(struct toml_parser *parser, struct toml_text *string)
{
    char quote = *parser->at;

    if (toml_peek(parser, 1) != quote || toml_peek(parser, 2) != quote)
        return toml_read_line_string(parser, string);
    str_clear(&parser->scratch);
    return toml_string_read_lines(parser, quote) &&
           keep_scratch(parser, string);
}
