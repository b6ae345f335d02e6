/* formats/onnx/wire_put_internal.h - protocol buffers, written: numbered fields
 * behind one another in a growing text.
 *
 * Each returns false without memory.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_WIRE_PUT_INTERNAL_H
#define FORMATS_ONNX_WIRE_PUT_INTERNAL_H

#include "base/str.h"
#include "formats/onnx/wire_internal.h"

bool wire_put_varint(struct str *to, uint64_t value);
bool wire_put_tag(struct str *to, uint32_t field, enum wire_type type);
bool wire_put_int(struct str *to, uint32_t field, int64_t value);
bool wire_put_float(struct str *to, uint32_t field, float value);
bool wire_put_bytes(struct str *to, uint32_t field, const void *bytes,
                    size_t n);
bool wire_put_text(struct str *to, uint32_t field, const char *text);
/* A message inside of the message; empties it. */
bool wire_put_message(struct str *to, uint32_t field, struct str *message);

#endif
