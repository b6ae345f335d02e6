/* views/markdown.h - foreign text in Markdown.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_MARKDOWN_H
#define VIEWS_MARKDOWN_H

#include "base/sink.h"
#include "base/term.h"

/* Writes a name so that nothing in it ends a cell, opens markup or is HTML. Can
 * only return ASSAY_NOMEM. */
enum assay_status markdown_text(struct sink *sink, const struct term *term,
                                const char *text);

#endif
