/* formats/onnx/wire_put.c - see wire_put_internal.h. */
#include "formats/onnx/wire_put_internal.h"

#include <string.h>

bool wire_put_varint(struct str *to, uint64_t value)
{
    while (value >= 128) {
        if (str_append_char(to, (char)((value & 127) | 128)))
            return false;
        value >>= 7;
    }
    return !str_append_char(to, (char)value);
}

bool wire_put_tag(struct str *to, uint32_t field, enum wire_type type)
{
    return wire_put_varint(to, (uint64_t)field << 3 | type);
}

bool wire_put_int(struct str *to, uint32_t field, int64_t value)
{
    return wire_put_tag(to, field, WIRE_VARINT) &&
           wire_put_varint(to, (uint64_t)value);
}

bool wire_put_float(struct str *to, uint32_t field, float value)
{
    uint32_t bits;
    char bytes[4];

    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(bits >> (8 * i) & 255);
    return wire_put_tag(to, field, WIRE_FIXED32) &&
           !str_append_n(to, bytes, sizeof bytes);
}

bool wire_put_bytes(struct str *to, uint32_t field, const void *bytes, size_t n)
{
    return wire_put_tag(to, field, WIRE_BYTES) && wire_put_varint(to, n) &&
           !str_append_n(to, bytes, n);
}

bool wire_put_text(struct str *to, uint32_t field, const char *text)
{
    return wire_put_bytes(to, field, text, strlen(text));
}

bool wire_put_message(struct str *to, uint32_t field, struct str *message)
{
    bool is_put = wire_put_bytes(to, field, str_text(message), message->n);

    str_clear(message);
    return is_put;
}
