/* base/base64.c - see base64.h. */
#include "base/base64.h"

#include <stdint.h>

static void base64_encode(const unsigned char *bytes, size_t n, char out[4])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;

    for (size_t i = 0; i < 3; i++)
        bits = bits << 8 | (i < n ? bytes[i] : 0u);
    for (size_t i = 0; i < 4; i++)
        out[i] = i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=';
}

void base64_write(struct sink *sink, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;
    char text[4096];
    size_t at = 0;

    for (size_t i = 0; i < n; i += 3) {
        base64_encode(from + i, n - i < 3 ? n - i : 3, text + at);
        at += 4;
        if (at == sizeof text) {
            sink_write(sink, text, at);
            at = 0;
        }
    }
    sink_write(sink, text, at);
}
