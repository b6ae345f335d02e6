/* base/toml_scalar.c - single values of TOML: strings, dates and times (RFC
 * 3339), numbers and booleans. */
#include "base/decimal.h"
#include "base/toml_internal.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

/* ---- strings ------------------------------------------------------------ */

static const char ends_in_string[] = "the file ends in the middle of a string";

static bool toml_append(struct toml_parser *parser, const char *bytes, size_t n)
{
    return str_append_n(&parser->scratch, bytes, n) == ASSAY_OK ||
           toml_fail_memory(parser);
}

/* The character of \uXXXX or \UXXXXXXXX, from after the letter on. */
static bool toml_read_code(struct toml_parser *parser, size_t n_digits)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    uint32_t code = 0;
    char bytes[4];

    for (size_t i = 0; i < n_digits; i++) {
        char c = toml_peek(parser, i);
        const char *digit = c ? strchr(digits, c) : NULL;

        if (!digit)
            return toml_fail(parser, n_digits == 4
                                         ? "\\u needs four hex digits"
                                         : "\\U needs eight hex digits");
        code = code << 4 | ((uint32_t)(digit - digits) & 15);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return toml_fail(parser, "there is no such Unicode character");
    parser->at += n_digits;
    return toml_append(parser, bytes, utf8_encode(bytes, code));
}

/* From the backslash on. */
static bool toml_read_escape(struct toml_parser *parser)
{
    static const char letters[] = "btnfr\"\\";
    static const char meanings[] = "\b\t\n\f\r\"\\";
    char letter = toml_peek(parser, 1);
    const char *found = letter ? strchr(letters, letter) : NULL;

    if (!found && letter != 'u' && letter != 'U')
        return toml_fail(parser, "unknown escape");
    parser->at += 2;
    if (found)
        return toml_append(parser, &meanings[found - letters], 1);
    return toml_read_code(parser, letter == 'u' ? 4 : 8);
}

/* A run of plain characters, up to a quote of this kind, a backslash or the end
 * of the line. */
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
    return toml_append(parser, start, (size_t)(parser->at - start));
}

/* Three quotes in a row end the string and set *is_end; one or two before them
 * belong to it. */
static bool read_quotes(struct toml_parser *parser, char quote, bool *is_end)
{
    size_t n = 0;

    while (n < 5 && toml_peek(parser, n) == quote)
        n++;
    *is_end = n >= 3;
    if (!toml_append(parser, parser->at, *is_end ? n - 3 : n))
        return false;
    parser->at += n;
    return true;
}

/* A backslash with only blanks after it on its line removes all white space up
 * to the next character. */
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

/* The rest of a string, up to its closing quotes. is_long: those are three, and
 * the string may have newlines. */
static bool toml_read_characters(struct toml_parser *parser, char quote,
                                 bool is_long)
{
    bool is_end = false;

    while (!is_end) {
        char c;

        if (!read_plain(parser, quote))
            return false;
        c = toml_peek(parser, 0);
        if (parser->at == parser->end)
            return toml_fail(parser, ends_in_string);
        if (c == quote && !is_long) {
            parser->at++;
            return true;
        }
        if (c == quote) {
            if (!read_quotes(parser, quote, &is_end))
                return false;
        } else if (c == '\\') {
            if (!(is_long && skip_folded(parser)) && !toml_read_escape(parser))
                return false;
        } else if (!is_long) {
            return toml_fail(parser, "the string does not end on its line");
        } else if (toml_take_newline(parser) && !toml_append(parser, "\n", 1)) {
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
    char quote = *parser->at++;

    str_clear(&parser->scratch);
    return toml_read_characters(parser, quote, false) &&
           keep_scratch(parser, string);
}

/* One of the four kinds of string, from its first quote on. */
static bool toml_read_string(struct toml_parser *parser,
                             struct toml_text *string)
{
    char quote = *parser->at;

    if (toml_peek(parser, 1) != quote || toml_peek(parser, 2) != quote)
        return toml_read_line_string(parser, string);
    parser->at += 3;
    toml_take_newline(parser);
    str_clear(&parser->scratch);
    return toml_read_characters(parser, quote, true) &&
           keep_scratch(parser, string);
}

/* ---- dates and times ---------------------------------------------------- */

/* What is left of the text of a date or time. */
struct toml_cursor {
    const char *at, *end;
};

static bool toml_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool toml_take(struct toml_cursor *cursor, char c)
{
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

/* A number of exactly n_digits digits within its bounds. */
static bool toml_take_number(struct toml_cursor *cursor, int n_digits, int low,
                             int high, int *value)
{
    int number = 0;

    for (int i = 0; i < n_digits; i++) {
        if (cursor->at == cursor->end || !toml_is_digit(*cursor->at))
            return false;
        number = number * 10 + (*cursor->at++ - '0');
    }
    *value = number;
    return number >= low && number <= high;
}

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return month == 2 && is_leap ? 29 : days[month - 1];
}

static bool take_date(struct toml_cursor *cursor, struct toml_time *time)
{
    return toml_take_number(cursor, 4, 0, 9999, &time->year) &&
           toml_take(cursor, '-') &&
           toml_take_number(cursor, 2, 1, 12, &time->month) &&
           toml_take(cursor, '-') &&
           toml_take_number(cursor, 2, 1,
                            days_of_month(time->year, time->month), &time->day);
}

static bool take_fraction(struct toml_cursor *cursor, int *nanosecond)
{
    int unit = 100000000;

    if (!toml_take(cursor, '.'))
        return true;
    if (cursor->at == cursor->end || !toml_is_digit(*cursor->at))
        return false;
    while (cursor->at < cursor->end && toml_is_digit(*cursor->at)) {
        *nanosecond += (*cursor->at++ - '0') * unit;
        unit /= 10;
    }
    return true;
}

static bool take_clock(struct toml_cursor *cursor, struct toml_time *time)
{
    return toml_take_number(cursor, 2, 0, 23, &time->hour) &&
           toml_take(cursor, ':') &&
           toml_take_number(cursor, 2, 0, 59, &time->minute) &&
           toml_take(cursor, ':') &&
           toml_take_number(cursor, 2, 0, 60, &time->second) &&
           take_fraction(cursor, &time->nanosecond);
}

/* Sets *has_offset if there is one. */
static bool take_offset(struct toml_cursor *cursor, struct toml_time *time,
                        bool *has_offset)
{
    bool is_west = false;
    int hours, minutes;

    *has_offset = cursor->at < cursor->end;
    if (!*has_offset || toml_take(cursor, 'Z') || toml_take(cursor, 'z'))
        return true;
    if (!toml_take(cursor, '+')) {
        is_west = toml_take(cursor, '-');
        if (!is_west)
            return false;
    }
    if (!toml_take_number(cursor, 2, 0, 23, &hours) ||
        !toml_take(cursor, ':') ||
        !toml_take_number(cursor, 2, 0, 59, &minutes))
        return false;
    time->offset_minutes = (hours * 60 + minutes) * (is_west ? -1 : 1);
    return true;
}

/* Whether the n bytes begin as a date or a time does. */
static bool toml_is_time(const char *text, size_t n)
{
    size_t digits = 0;

    while (digits < n && toml_is_digit(text[digits]))
        digits++;
    return digits < n && ((digits == 4 && text[digits] == '-') ||
                          (digits == 2 && text[digits] == ':'));
}

/* Kind and content of a date, a time or both; false if malformed. */
static bool toml_read_time(const char *text, size_t n, struct toml_value *value)
{
    struct toml_cursor cursor = {text, text + n};
    struct toml_time time = {0};
    bool has_offset = false;

    if (n > 2 && text[2] == ':') {
        value->kind = TOML_LOCAL_TIME;
        if (!take_clock(&cursor, &time))
            return false;
    } else {
        if (!take_date(&cursor, &time))
            return false;
        value->kind = TOML_LOCAL_DATE;
        if (toml_take(&cursor, 'T') || toml_take(&cursor, 't') ||
            toml_take(&cursor, ' ')) {
            if (!take_clock(&cursor, &time) ||
                !take_offset(&cursor, &time, &has_offset))
                return false;
            value->kind =
                has_offset ? TOML_OFFSET_DATETIME : TOML_LOCAL_DATETIME;
        }
    }
    value->time = time;
    return cursor.at == cursor.end;
}

/* ---- numbers and words -------------------------------------------------- */

static bool is_word_byte(char c)
{
    return toml_is_digit(c) || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || (c != '\0' && strchr("+-_.:", c));
}

/* The length of the number, word or time that comes next. A date and its time
 * may have one space between them. */
static size_t word_length(const struct toml_parser *parser)
{
    enum { date_bytes = 10 };
    size_t n = 0;

    while (is_word_byte(toml_peek(parser, n)))
        n++;
    if (n == date_bytes && toml_is_time(parser->at, n) &&
        toml_peek(parser, n) == ' ' &&
        toml_is_digit(toml_peek(parser, n + 1))) {
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
    if (toml_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

/* Copies digits of this base to scratch without the single underscores between
 * them; returns how many bytes they took, 0 if there are none. */
static size_t take_digits(struct toml_parser *parser, const char *text,
                          size_t n, int base)
{
    size_t i = 0;

    while (i < n) {
        if (i > 0 && text[i] == '_' && i + 1 < n && text[i - 1] != '_')
            i++;
        if (digit_value(text[i]) >= base)
            break;
        if (!toml_append(parser, &text[i], 1))
            return 0;
        i++;
    }
    return i > 0 && text[i - 1] == '_' ? 0 : i;
}

/* After 0x, 0o or 0b. */
static bool read_based(struct toml_parser *parser, const char *text, size_t n,
                       int base, struct toml_value *value)
{
    uint64_t number = 0;

    if (take_digits(parser, text, n, base) != n)
        return toml_fail(parser, "malformed number");
    for (size_t i = 0; i < parser->scratch.n; i++) {
        uint64_t digit = (uint64_t)digit_value(parser->scratch.text[i]);

        if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
            __builtin_add_overflow(number, digit, &number) ||
            number > INT64_MAX)
            return toml_fail(parser, "the integer does not fit in 64 bits");
    }
    value->kind = TOML_INTEGER;
    value->integer = (int64_t)number;
    return true;
}

/* Appends one byte and the digits after it; false if there are none. */
static bool take_part(struct toml_parser *parser, const char **text,
                      const char *end)
{
    size_t taken;

    if (!toml_append(parser, (*text)++, 1))
        return false;
    taken = take_digits(parser, *text, (size_t)(end - *text), 10);
    *text += taken;
    return taken > 0;
}

/* [+-]digits[.digits][e[+-]digits] into scratch; false if malformed. */
static bool take_decimal(struct toml_parser *parser, const char *text, size_t n,
                         bool *is_float)
{
    const char *end = text + n;
    size_t taken;

    *is_float = false;
    if (n && (*text == '+' || *text == '-')) {
        if (!toml_append(parser, text++, 1))
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
            if (!toml_append(parser, text++, 1))
                return false;
        }
        if (!take_part(parser, &text, end))
            return false;
    }
    return text == end;
}

static bool toml_read_decimal(struct toml_parser *parser, const char *text,
                              size_t n, struct toml_value *value)
{
    const struct str *digits = &parser->scratch;
    bool is_float;

    if (!take_decimal(parser, text, n, &is_float))
        return toml_fail(parser, "malformed value");
    if (is_float) {
        value->kind = TOML_FLOAT;
        value->real = decimal_double(digits->text, digits->n);
        return true;
    }
    value->kind = TOML_INTEGER;
    return decimal_int64(digits->text, digits->n, &value->integer) ||
           toml_fail(parser, "the integer does not fit in 64 bits");
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

static bool toml_read_number(struct toml_parser *parser, const char *text,
                             size_t n, struct toml_value *value)
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
    return toml_read_decimal(parser, text, n, value);
}

static bool toml_read_word(struct toml_parser *parser, const char *text,
                           size_t n, struct toml_value *value)
{
    if (n == 0 && parser->at == parser->end)
        return toml_fail(parser, "the file ends where a value should be");
    if (n == 0)
        return toml_fail(parser, "expected a value");
    if (is_word(text, n, "true") || is_word(text, n, "false")) {
        value->kind = TOML_BOOL;
        value->boolean = *text == 't';
        return true;
    }
    if (read_special(text, n, value))
        return true;
    if (toml_is_time(text, n))
        return toml_read_time(text, n, value) ||
               toml_fail(parser, "no such date or time");
    return toml_read_number(parser, text, n, value);
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
    if (!toml_read_word(parser, parser->at, n, value))
        return false;
    parser->at += n;
    return true;
}
