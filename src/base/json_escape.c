/* base/json_escape.c - see json_internal.h. */
#include "base/json_internal.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { escape_bytes = 6 /* of \uXXXX */ };

static bool is_high(uint32_t code)
{
    return code >= 0xd800 && code < 0xdc00;
}

static bool is_low(uint32_t code)
{
    return code >= 0xdc00 && code < 0xe000;
}

/* The four hexadecimal digits behind \u; false where they are not. */
static bool read_unit(const char *text, const char *end, uint32_t *unit)
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

/* A \u escape, or two that are one character; 0 bytes where malformed. */
static size_t json_escape_read_code(const char *text, const char *end,
                                    uint32_t *code)
{
    uint32_t low;

    if (!read_unit(text, end, code))
        return 0;
    if (is_high(*code) && read_unit(text + escape_bytes, end, &low) &&
        is_low(low)) {
        *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
        return (size_t)escape_bytes * 2;
    }
    if (is_high(*code) || is_low(*code))
        *code = 0xfffd;
    return escape_bytes;
}

/* What a one-letter escape stands for, 0 where there is none. */
static char short_meaning(char letter)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *found = letter ? strchr(letters, letter) : NULL;

    return found ? meanings[found - letters] : '\0';
}

size_t json_unescape(char *text, size_t n, const char **bad)
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
        taken = json_escape_read_code(from, end, &code);
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
