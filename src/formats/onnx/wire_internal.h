/* formats/onnx/wire_internal.h - protocol buffers, read and written: messages
 * of numbered fields.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_WIRE_INTERNAL_H
#define FORMATS_ONNX_WIRE_INTERNAL_H

#include "base/str.h"

#include <stdbool.h>
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

/* ---- reading ------------------------------------------------------------ */

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;          /* of the types that are numbers */
    struct wire_bytes bytes; /* of WIRE_BYTES; in the message, not copied */
};

struct wire {
    const unsigned char *at, *end;
    bool is_bad; /* truncated, or not a protocol buffer */
};

struct wire wire_open(struct wire_bytes message);

/* The next field; false at the end and at a bad one (wire.is_bad). */
bool wire_next(struct wire *wire, struct wire_field *field);

/* The next number of a packed list. */
bool wire_varint(struct wire *wire, uint64_t *value);

/* ---- writing: fields are appended to a text; false if out of memory ----- */

bool wire_put_varint(struct str *to, uint64_t value);
bool wire_put_tag(struct str *to, uint32_t field, enum wire_type type);
bool wire_put_int(struct str *to, uint32_t field, int64_t value);
bool wire_put_float(struct str *to, uint32_t field, float value);
bool wire_put_bytes(struct str *to, uint32_t field, const void *bytes,
                    size_t n);
bool wire_put_text(struct str *to, uint32_t field, const char *text);
/* A nested message, which is left empty. */
bool wire_put_message(struct str *to, uint32_t field, struct str *message);

#endif
