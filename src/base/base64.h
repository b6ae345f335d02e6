/* base/base64.h - bytes as base64 text (RFC 4648), with padding.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/sink.h"

#include <stddef.h>

void base64_write(struct sink *sink, const void *bytes, size_t n);

#endif
