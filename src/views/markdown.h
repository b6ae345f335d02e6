/* views/markdown.h - text from outside inside Markdown.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_MARKDOWN_H
#define VIEWS_MARKDOWN_H

#include "base/sink.h"
#include "base/term.h"

/* A name as text: nothing in it ends a cell, opens markup or is HTML. Only
 * ASSAY_NOMEM can come back. */
enum assay_status markdown_text(struct sink *sink, const struct term *term,
                                const char *text);

#endif
