/* base/toml_scalar.c - numbers, booleans and other single values of TOML. */
#include "base/decimal.h"
#include "base/toml_internal.h"

#include <math.h>
#include <string.h>

static bool toml_scalar_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word_byte(char c)
{
    return toml_scalar_is_digit(c) || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || (c != '\0' && strchr("+-_.:", c));
}

/* The bytes of a number, word or time, from at on. A date and its time may
 * have one space between them. */
static size_t word_length(const struct toml_parser *parser)
{
    enum { date_bytes = 10 };
    size_t n = 0;

    while (is_word_byte(toml_peek(parser, n)))
        n++;
    if (n == date_bytes && toml_is_time(parser->at, n) &&
        toml_peek(parser, n) == ' ' &&
        toml_scalar_is_digit(toml_peek(parser, n + 1))) {
        n++;
        while (is_word_byte(toml_peek(parser, n)))
            n++;
    }
    return n;
}

static bool is_word(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

static int digit_value(char c)
{
    if (toml_scalar_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static bool toml_scalar_append(struct toml_parser *parser, char c)
{
    return str_append_char(&parser->scratch, c) == ASSAY_OK ||
           toml_fail_memory(parser);
}

/* Digits of this base with single underscores between them, into scratch
 * without the underscores; returns how many bytes they took, 0 where there are
 * none. */
static size_t take_digits(struct toml_parser *parser, const char *text,
                          size_t n, int base)
{
    size_t i = 0;

    while (i < n) {
        if (i > 0 && text[i] == '_' && i + 1 < n && text[i - 1] != '_')
            i++;
        if (digit_value(text[i]) >= base)
            break;
        if (!toml_scalar_append(parser, text[i]))
            return 0;
        i++;
    }
    return i > 0 && text[i - 1] == '_' ? 0 : i;
}

/* Behind 0x, 0o or 0b. */
static bool read_based(struct toml_parser *parser, const char *text, size_t n,
                       int base, struct toml_value *value)
{
    uint64_t number = 0;

    if (take_digits(parser, text, n, base) != n)
        return toml_fail(parser, "a malformed number");
    for (size_t i = 0; i < parser->scratch.n; i++) {
        uint64_t digit = (uint64_t)digit_value(parser->scratch.text[i]);

        if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
            __builtin_add_overflow(number, digit, &number) ||
            number > INT64_MAX)
            return toml_fail(parser, "an integer beyond 64 bits");
    }
    value->kind = TOML_INTEGER;
    value->integer = (int64_t)number;
    return true;
}

/* Appends one byte and, behind it, digits; false where there are none. */
static bool take_part(struct toml_parser *parser, const char **text,
                      const char *end)
{
    size_t taken;

    if (!toml_scalar_append(parser, *(*text)++))
        return false;
    taken = take_digits(parser, *text, (size_t)(end - *text), 10);
    *text += taken;
    return taken > 0;
}

/* [+-]digits[.digits][e[+-]digits] into scratch; false where malformed.
 * *is_float tells what it is. */
static bool take_decimal(struct toml_parser *parser, const char *text, size_t n,
                         bool *is_float)
{
    const char *end = text + n;
    size_t taken;

    *is_float = false;
    if (n && (*text == '+' || *text == '-')) {
        if (!toml_scalar_append(parser, *text++))
            return false;
    }
    taken = take_digits(parser, text, (size_t)(end - text), 10);
    if (!taken || (taken > 1 && *text == '0'))
        return false;
    text += taken;
    if (text < end && *text == '.') {
        *is_float = true;
        if (!take_part(parser, &text, end))
            return false;
    }
    if (text < end && (*text == 'e' || *text == 'E')) {
        *is_float = true;
        if (end - text > 1 && (text[1] == '+' || text[1] == '-')) {
            if (!toml_scalar_append(parser, *text++))
                return false;
        }
        if (!take_part(parser, &text, end))
            return false;
    }
    return text == end;
}

static bool toml_scalar_read_decimal(struct toml_parser *parser,
                                     const char *text, size_t n,
                                     struct toml_value *value)
{
    const struct str *digits = &parser->scratch;
    bool is_float;

    if (!take_decimal(parser, text, n, &is_float))
        return toml_fail(parser, "a malformed value");
    if (is_float) {
        value->kind = TOML_FLOAT;
        value->real = decimal_double(digits->text, digits->n);
        return true;
    }
    value->kind = TOML_INTEGER;
    return decimal_int64(digits->text, digits->n, &value->integer) ||
           toml_fail(parser, "an integer beyond 64 bits");
}

/* inf and nan, with or without a sign. */
static bool read_special(const char *text, size_t n, struct toml_value *value)
{
    bool has_sign = n && (*text == '+' || *text == '-');
    const char *word = text + has_sign;
    double number;

    n -= has_sign;
    if (is_word(word, n, "inf"))
        number = INFINITY;
    else if (is_word(word, n, "nan"))
        number = NAN;
    else
        return false;
    value->kind = TOML_FLOAT;
    value->real = *text == '-' ? -number : number;
    return true;
}

static bool toml_scalar_read_number(struct toml_parser *parser,
                                    const char *text, size_t n,
                                    struct toml_value *value)
{
    str_clear(&parser->scratch);
    if (n > 2 && text[0] == '0') {
        switch (text[1]) {
        case 'x':
            return read_based(parser, text + 2, n - 2, 16, value);
        case 'o':
            return read_based(parser, text + 2, n - 2, 8, value);
        case 'b':
            return read_based(parser, text + 2, n - 2, 2, value);
        }
    }
    return toml_scalar_read_decimal(parser, text, n, value);
}

static bool toml_scalar_read_word(struct toml_parser *parser, const char *text,
                                  size_t n, struct toml_value *value)
{
    if (n == 0 && parser->at == parser->end)
        return toml_fail(parser, "the file ends where a value is wanted");
    if (n == 0)
        return toml_fail(parser, "a value is wanted");
    if (is_word(text, n, "true") || is_word(text, n, "false")) {
        value->kind = TOML_BOOL;
        value->boolean = *text == 't';
        return true;
    }
    if (read_special(text, n, value))
        return true;
    if (toml_is_time(text, n))
        return toml_read_time(text, n, value) ||
               toml_fail(parser, "there is no such date or time");
    return toml_scalar_read_number(parser, text, n, value);
}

bool toml_read_scalar(struct toml_parser *parser, struct toml_value *value)
{
    char first = toml_peek(parser, 0);
    size_t n;

    if (first == '"' || first == '\'') {
        value->kind = TOML_STRING;
        return toml_read_string(parser, &value->string);
    }
    n = word_length(parser);
    if (!toml_scalar_read_word(parser, parser->at, n, value))
        return false;
    parser->at += n;
    return true;
}
