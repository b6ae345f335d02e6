/* formats/onnx/wire.c - see wire_internal.h. */
#include "formats/onnx/wire_internal.h"

#include "formats/little_endian_internal.h"

#include <string.h>

struct wire wire_open(struct wire_bytes message)
{
    struct wire wire = {.at = message.at, .end = message.at};

    if (message.n) /* an empty message may be at NULL */
        wire.end += message.n;
    return wire;
}

static bool wire_stop(struct wire *wire)
{
    wire->is_bad = true;
    wire->at = wire->end;
    return false;
}

bool wire_varint(struct wire *wire, uint64_t *value)
{
    *value = 0;
    if (wire->at == wire->end)
        return false;
    for (unsigned shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
        unsigned char byte = *wire->at++;

        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return wire_stop(wire);
}

static bool wire_take(struct wire *wire, size_t n, const unsigned char **bytes)
{
    if ((size_t)(wire->end - wire->at) < n)
        return wire_stop(wire);
    *bytes = wire->at;
    wire->at += n;
    return true;
}

static bool wire_read_bytes(struct wire *wire, struct wire_bytes *bytes)
{
    uint64_t n;

    if (!wire_varint(wire, &n) || n > SIZE_MAX)
        return wire_stop(wire);
    bytes->n = (size_t)n;
    return wire_take(wire, bytes->n, &bytes->at);
}

bool wire_next(struct wire *wire, struct wire_field *field)
{
    const unsigned char *bytes;
    uint64_t tag;

    *field = (struct wire_field){0};
    if (!wire_varint(wire, &tag))
        return false;
    if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
        return wire_stop(wire);
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum wire_type)(tag & 7);
    switch (field->type) {
    case WIRE_VARINT:
        return wire_varint(wire, &field->value) || wire_stop(wire);
    case WIRE_FIXED64:
        if (!wire_take(wire, 8, &bytes))
            return false;
        field->value = le64(bytes);
        return true;
    case WIRE_BYTES:
        return wire_read_bytes(wire, &field->bytes);
    case WIRE_FIXED32:
        if (!wire_take(wire, 4, &bytes))
            return false;
        field->value = le32(bytes);
        return true;
    }
    return wire_stop(wire); /* groups, which proto2 deprecated */
}

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
    unsigned char bytes[4];
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_le32(bytes, bits);
    return wire_put_tag(to, field, WIRE_FIXED32) &&
           !str_append_n(to, (const char *)bytes, sizeof bytes);
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
