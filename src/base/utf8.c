/* base/utf8.c - see utf8.h. */
#include "base/utf8.h"

#include <stdbool.h>

static bool is_tail(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* The second byte rules out overlong forms, surrogates and codes that are too
 * large (Unicode 15, table 3-7). */
static bool second_fits(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf;
    case 0xed:
        return second >= 0x80 && second <= 0x9f;
    case 0xf0:
        return second >= 0x90 && second <= 0xbf;
    case 0xf4:
        return second >= 0x80 && second <= 0x8f;
    }
    return is_tail(second);
}

size_t utf8_length(const char *text, size_t n)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char first = bytes[0];
    size_t length;

    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (n < length || !second_fits(first, bytes[1]))
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (!is_tail(bytes[i]))
            return 0;
    }
    return length;
}

size_t utf8_encode(char out[4], uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}
