/* formats/onnx/wire.c - see wire_internal.h. */
#include "formats/onnx/wire_internal.h"

#include "formats/little_endian_internal.h"

struct wire wire_open(struct wire_bytes message)
{
    struct wire wire = {.at = message.at, .end = message.at};

    if (message.n) /* nothing may have no place */
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
    return wire_stop(wire); /* groups, which ended with proto1 */
}
