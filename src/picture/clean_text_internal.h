/* picture/clean_text_internal.h - text that cairo can draw.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_CLEAN_TEXT_INTERNAL_H
#define PICTURE_CLEAN_TEXT_INTERNAL_H

#include "base/str.h"

/* Appends n bytes; what is not UTF-8, and control characters, as question
 * marks: cairo gives up for good on the one and draws boxes for the other. */
enum assay_status clean_text(struct str *out, const char *text, size_t n);

#endif
