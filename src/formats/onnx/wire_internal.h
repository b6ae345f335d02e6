/* formats/onnx/wire_internal.h - protocol buffers as they lie in a file:
 * numbered fields.
 *
 * Nothing is copied: fields of bytes point into the message.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_WIRE_INTERNAL_H
#define FORMATS_ONNX_WIRE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_bytes {
    const unsigned char *at;
    size_t n;
};

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2, /* text, a message, packed numbers */
    WIRE_FIXED32 = 5
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;          /* of the types that are numbers */
    struct wire_bytes bytes; /* of WIRE_BYTES */
};

struct wire {
    const unsigned char *at, *end;
    bool is_bad; /* it ended in the middle, or is no protocol buffer */
};

struct wire wire_open(struct wire_bytes message);

/* The next field; false at the end, also at a bad one (wire.is_bad). */
bool wire_next(struct wire *wire, struct wire_field *field);

/* The next number of a packed list. */
bool wire_varint(struct wire *wire, uint64_t *value);

#endif
