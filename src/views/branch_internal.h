/* views/branch_internal.h - the lines in front of a name in a tree: "│  ├─ ".
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_BRANCH_INTERNAL_H
#define VIEWS_BRANCH_INTERNAL_H

#include "base/sink.h"
#include "base/term.h"

enum {
    BRANCH_COLUMNS = 3,    /* per level */
    BRANCH_MAX_LEVELS = 85 /* drawn in front of one name */
};

/* goes_on tells for the n levels between the top and the name, nearest first,
 * whether another row follows there; has_next is that for the name itself.
 * Returns the number of columns written. */
size_t branch_put(struct sink *sink, const struct term *term,
                  const bool *goes_on, size_t n, bool has_next);

#endif
