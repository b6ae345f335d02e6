/* picture/clean_text_internal.h - text that cairo can draw.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_CLEAN_TEXT_INTERNAL_H
#define PICTURE_CLEAN_TEXT_INTERNAL_H

#include "base/str.h"

/* Appends n bytes, with question marks for bytes that are not UTF-8, which put
 * cairo into an error state, and for control characters, which it draws as
 * boxes. */
enum assay_status clean_text(struct str *out, const char *text, size_t n);

#endif
