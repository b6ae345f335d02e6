/* base/json_reader.c - the reading half of json.h: scanning, escapes and the
 * grammar. */
#include "base/decimal.h"
#include "base/json_internal.h"
#include "base/utf8.h"

#include <endian.h>
#include <string.h>

/* Every token passes through these; inlined into one function they take a fifth
 * fewer instructions. */
#define HOT static inline __attribute__((always_inline))

/* Gets more bytes when the buffer ends inside a token; returns the new place of
 * p, NULL after a failure. */
static char *refill_at(struct json_reader *reader, char *p, const char *what)
{
    size_t done = (size_t)(p - reader->token);

    if (reader->is_last) {
        json_fail_at_end(reader, what);
        return NULL;
    }
    return json_refill(reader) ? reader->token + done : NULL;
}

/* ---- scanning --------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static char *skip_long_space(struct json_reader *reader, char *p)
{
    for (;;) {
        while (is_space(*p))
            p++;
        if (p < reader->end || reader->is_last)
            return p;
        reader->token = p;
        if (!json_refill(reader))
            return NULL;
        p = reader->token;
    }
}

/* One space or none is the usual case. */
static inline char *skip_space(struct json_reader *reader, char *p)
{
    p += *p == ' ';
    return (unsigned char)*p > ' ' ? p : skip_long_space(reader, p);
}

/* The first byte from p on that is not a plain character of a string: a quote,
 * a backslash, a control character or beyond ASCII. Looks at eight at a time:
 * the lowest byte of `found` with its highest bit set is the one. Bytes above
 * it may be wrong because of borrows. */
static char *plain_end(char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;

    for (;; p += 8) {
        uint64_t word, quotes, slashes, found;

        memcpy(&word, p, sizeof word);
        word = le64toh(word);
        quotes = word ^ (ones * '"');
        slashes = word ^ (ones * '\\');
        found =
            ((quotes - ones) | (slashes - ones) | (word - ones * ' ') | word) &
            highs;
        if (found)
            return p + __builtin_ctzll(found) / 8;
    }
}

/* From after the opening quote to the closing one; NULL after a failure. */
static char *string_end(struct json_reader *reader, char *p, bool *has_escape)
{
    static const char what[] = "a string";

    for (;;) {
        p = plain_end(p);
        if (*p == '"')
            return p;
        if (*p == '\\' && p + 1 < reader->end) {
            *has_escape = true;
            p += 2;
        } else if ((unsigned char)*p >= 0x80) {
            size_t left = (size_t)(reader->end - p);
            size_t length = utf8_length(p, left);

            if (!length && (left >= 4 || reader->is_last)) {
                json_fail(reader, p, "the text is not UTF-8");
                return NULL;
            }
            if (!length)
                p = refill_at(reader, p, what);
            else
                p += length;
        } else if (*p == '\\' || p == reader->end) {
            p = refill_at(reader, p, what);
        } else {
            json_fail(reader, p, "a control character must be escaped");
            return NULL;
        }
        if (!p)
            return NULL;
    }
}

static char *json_reader_skip_digits(char *p)
{
    while ((unsigned char)(*p - '0') <= 9)
        p++;
    return p;
}

/* Where the number ends; *is_whole is whether it may end there. */
static char *number_end(char *p, bool *is_whole)
{
    char *digits;

    if (*p == '-')
        p++;
    digits = p;
    p = *p == '0' ? p + 1 : json_reader_skip_digits(p);
    *is_whole = p > digits;
    if (*p == '.' && *is_whole) {
        digits = ++p;
        p = json_reader_skip_digits(p);
        *is_whole = p > digits;
    }
    if ((*p == 'e' || *p == 'E') && *is_whole) {
        p += p[1] == '+' || p[1] == '-' ? 2 : 1;
        digits = p;
        p = json_reader_skip_digits(p);
        *is_whole = p > digits;
    }
    return p;
}

/* ---- escapes ---------------------------------------------------------- */

enum { escape_bytes = 6 /* of \uXXXX */ };

static bool is_high(uint32_t code)
{
    return code >= 0xd800 && code < 0xdc00;
}

static bool is_low(uint32_t code)
{
    return code >= 0xdc00 && code < 0xe000;
}

/* The four hexadecimal digits after \u; false if they are not there. */
static bool json_read_unit(const char *text, const char *end, uint32_t *unit)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";

    if (end - text < escape_bytes || text[0] != '\\' || text[1] != 'u')
        return false;
    *unit = 0;
    for (int i = 2; i < escape_bytes; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

        if (!digit)
            return false;
        *unit = *unit << 4 | ((uint32_t)(digit - digits) & 15);
    }
    return true;
}

/* A \u escape, or two that make one character; 0 bytes if malformed. */
static size_t json_read_code(const char *text, const char *end, uint32_t *code)
{
    uint32_t low;

    if (!json_read_unit(text, end, code))
        return 0;
    if (is_high(*code) && json_read_unit(text + escape_bytes, end, &low) &&
        is_low(low)) {
        *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
        return (size_t)escape_bytes * 2;
    }
    if (is_high(*code) || is_low(*code))
        *code = 0xfffd;
    return escape_bytes;
}

/* What a one-letter escape stands for; 0 if it is not one. */
static char short_meaning(char letter)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *found = letter ? strchr(letters, letter) : NULL;

    return found ? meanings[found - letters] : '\0';
}

/* Replaces the escapes in the n bytes of text, which never get longer, and
 * returns the new length. Half a surrogate pair becomes U+FFFD. If an escape is
 * malformed, sets *bad to its backslash and stops. */
static size_t json_unescape(char *text, size_t n, const char **bad)
{
    const char *from = text, *end = text + n;
    char *to = text;

    while (from < end) {
        size_t plain = strcspn(from, "\\"), taken;
        uint32_t code;

        if (plain > (size_t)(end - from))
            plain = (size_t)(end - from);
        memmove(to, from, plain);
        to += plain;
        from += plain;
        if (from == end)
            break;
        taken = json_read_code(from, end, &code);
        if (taken) {
            to += utf8_encode(to, code);
        } else if (end - from >= 2 && short_meaning(from[1])) {
            *to++ = short_meaning(from[1]);
            taken = 2;
        } else {
            *bad = from;
            break;
        }
        from += taken;
    }
    return (size_t)(to - text);
}

/* ---- tokens ----------------------------------------------------------- */

HOT bool give(struct json_reader *reader, enum json_token kind, char *after,
              enum json_state state)
{
    reader->kind = kind;
    reader->state = state;
    reader->at = after;
    return true;
}

/* Returns [text, end) as the token's text, with a NUL over the byte at end. */
HOT bool set_text(struct json_reader *reader, char *text, char *end)
{
    reader->text = text;
    reader->n_text = (size_t)(end - text);
    reader->cut = end;
    reader->cut_byte = *end;
    if (reader->n_text > reader->limits.max_text)
        return json_fail_limit(reader, text, "a string or number is longer",
                               reader->limits.max_text, "bytes");
    *end = '\0';
    return true;
}

/* Newlines are counted first: an escape may turn into one. */
static bool unescape(struct json_reader *reader)
{
    const char *bad = NULL;

    reader->place = json_place_at(reader, reader->token);
    reader->place.counted = reader->cut;
    reader->n_text = json_unescape(reader->text, reader->n_text, &bad);
    if (bad)
        return json_fail(reader, bad, "unknown escape");
    reader->text[reader->n_text] = '\0';
    return true;
}

/* The opening quote is at p. */
HOT bool read_string(struct json_reader *reader, char *p, enum json_token kind)
{
    bool has_escape = false;
    char *end;

    reader->token = p;
    end = plain_end(p + 1);
    if (*end != '"')
        end = string_end(reader, end, &has_escape);
    if (!end || !set_text(reader, reader->token + 1, end) ||
        (has_escape && !unescape(reader)))
        return false;
    if (kind == JSON_STRING)
        return give(reader, kind, end + 1, AFTER_VALUE);
    if (end[1] == ':')
        return give(reader, kind, end + 2, AT_VALUE);
    return give(reader, kind, end + 1, AT_COLON);
}

HOT bool read_number(struct json_reader *reader, char *p)
{
    bool is_whole;
    char *end;

    reader->token = p;
    end = number_end(p, &is_whole);
    while (end == reader->end && !reader->is_last) {
        if (!json_refill(reader))
            return false;
        end = number_end(reader->token, &is_whole);
    }
    if (!is_whole && end == reader->end)
        return json_fail_at_end(reader, "a number");
    if (!is_whole)
        return json_fail(reader, end, "expected a digit");
    return set_text(reader, reader->token, end) &&
           give(reader, JSON_NUMBER, end, AFTER_VALUE);
}

static bool json_reader_read_word(struct json_reader *reader, char *p,
                                  const char *word, enum json_token kind)
{
    size_t n = strlen(word);

    reader->token = p;
    if ((size_t)(reader->end - p) < n && !reader->is_last) {
        if (!json_refill(reader))
            return false;
        p = reader->token;
    }
    if (strncmp(p, word, n) == 0)
        return give(reader, kind, p + n, AFTER_VALUE);
    if (strncmp(p, word, (size_t)(reader->end - p)) == 0)
        return json_fail_at_end(reader, "a word");
    return json_fail(reader, p, "expected a value");
}

static bool open_level(struct json_reader *reader, char *p, bool is_object)
{
    reader->token = p;
    if (reader->depth == reader->limits.max_depth)
        return json_fail_limit(reader, p, "nested deeper",
                               reader->limits.max_depth, "levels");
    reader->levels[reader->depth++] = is_object;
    reader->in_object = is_object;
    if (is_object)
        return give(reader, JSON_OBJECT_BEGIN, p + 1, AT_FIRST_KEY);
    return give(reader, JSON_ARRAY_BEGIN, p + 1, AT_FIRST_VALUE);
}

static bool close_level(struct json_reader *reader, char *p)
{
    bool was_object = reader->in_object;

    reader->token = p;
    reader->depth--;
    reader->in_object = reader->depth && reader->levels[reader->depth - 1];
    return give(reader, was_object ? JSON_OBJECT_END : JSON_ARRAY_END, p + 1,
                AFTER_VALUE);
}

/* ---- grammar ---------------------------------------------------------- */

HOT bool read_value(struct json_reader *reader, char *p)
{
    switch (*p) {
    case '"':
        return read_string(reader, p, JSON_STRING);
    case '{':
        return open_level(reader, p, true);
    case '[':
        return open_level(reader, p, false);
    case 't':
        return json_reader_read_word(reader, p, "true", JSON_TRUE);
    case 'f':
        return json_reader_read_word(reader, p, "false", JSON_FALSE);
    case 'n':
        return json_reader_read_word(reader, p, "null", JSON_NULL);
    }
    if (*p == '-' || (*p >= '0' && *p <= '9'))
        return read_number(reader, p);
    return json_fail_expected(reader, p, "expected a value");
}

HOT bool read_key(struct json_reader *reader, char *p)
{
    if (*p == '"')
        return read_string(reader, p, JSON_KEY);
    return json_fail_expected(reader, p, "expected a key in double quotes");
}

static bool json_reader_read_end(struct json_reader *reader, char *p)
{
    reader->token = p;
    if (p < reader->end)
        return json_fail(reader, p,
                         "extra text after the end of the JSON value");
    return give(reader, JSON_END, p, AFTER_VALUE);
}

HOT bool read_after_value(struct json_reader *reader, char *p)
{
    if (reader->depth == 0)
        return json_reader_read_end(reader, p);
    if (*p == ',') {
        p = skip_space(reader, p + 1);
        if (!p)
            return false;
        return reader->in_object ? read_key(reader, p) : read_value(reader, p);
    }
    if (*p == (reader->in_object ? '}' : ']'))
        return close_level(reader, p);
    return json_fail_expected(reader, p,
                              reader->in_object ? "expected a comma or }"
                                                : "expected a comma or ]");
}

static bool read_after_colon(struct json_reader *reader, char *p)
{
    if (*p != ':')
        return json_fail_expected(reader, p, "expected a colon");
    p = skip_space(reader, p + 1);
    return p && read_value(reader, p);
}

HOT bool next(struct json_reader *reader)
{
    char *p;

    *reader->cut = reader->cut_byte;
    p = skip_space(reader, reader->at);
    if (!p)
        return false;
    switch (reader->state) {
    case AFTER_VALUE:
        return read_after_value(reader, p);
    case AT_VALUE:
        return read_value(reader, p);
    case AT_COLON:
        return read_after_colon(reader, p);
    case AT_FIRST_KEY:
        return *p == '}' ? close_level(reader, p) : read_key(reader, p);
    case AT_FIRST_VALUE:
        return *p == ']' ? close_level(reader, p) : read_value(reader, p);
    }
    return false;
}

enum assay_status json_next(struct json_reader *reader, enum json_token *token,
                            struct error *err)
{
    if (reader->failure.status || !next(reader))
        return json_report(reader, err);
    *token = reader->kind;
    return ASSAY_OK;
}

/* Reads on until no more than `depth` levels are open. */
static enum assay_status skip_to(struct json_reader *reader, size_t depth,
                                 struct error *err)
{
    do {
        if (reader->failure.status || !next(reader))
            return json_report(reader, err);
    } while (reader->depth > depth);
    return ASSAY_OK;
}

enum assay_status json_skip(struct json_reader *reader, struct error *err)
{
    return skip_to(reader, reader->depth, err);
}

enum assay_status json_skip_rest(struct json_reader *reader, struct error *err)
{
    return skip_to(reader, reader->depth ? reader->depth - 1 : 0, err);
}

/* ---- the token just read ---------------------------------------------- */

static bool has_text(const struct json_reader *reader)
{
    return reader->kind == JSON_KEY || reader->kind == JSON_STRING ||
           reader->kind == JSON_NUMBER;
}

const char *json_text(const struct json_reader *reader, size_t *n)
{
    bool has = has_text(reader);

    if (n)
        *n = has ? reader->n_text : 0;
    return has ? reader->text : "";
}

double json_double(const struct json_reader *reader)
{
    if (reader->kind != JSON_NUMBER)
        return 0;
    return decimal_double(reader->text, reader->n_text);
}

bool json_int64(const struct json_reader *reader, int64_t *value)
{
    return reader->kind == JSON_NUMBER &&
           decimal_int64(reader->text, reader->n_text, value);
}

bool json_fixed(const struct json_reader *reader, int decimals, int64_t *value)
{
    return reader->kind == JSON_NUMBER &&
           decimal_fixed(reader->text, reader->n_text, decimals, value);
}
