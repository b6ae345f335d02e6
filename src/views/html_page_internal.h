/* views/html_page_internal.h - the parts of the report's page: src/views/html/,
 * embedded by cmake/embed.cmake.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_HTML_PAGE_INTERNAL_H
#define VIEWS_HTML_PAGE_INTERNAL_H

#include <stddef.h>

struct html_part {
    const char *bytes;
    size_t n;
};

extern const struct html_part html_style;
extern const struct html_part html_body;
extern const struct html_part html_script;

#endif
