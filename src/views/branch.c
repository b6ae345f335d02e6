/* views/branch.c - see branch_internal.h. */
#include "views/branch_internal.h"

size_t branch_put(struct sink *sink, const struct term *term,
                  const bool *goes_on, size_t n, bool has_next)
{
    sink_puts(sink, term_style(term, STYLE_DIM));
    for (size_t i = n; i-- > 0;)
        sink_puts(sink, !goes_on[i] ? "   " : term->has_utf8 ? "│  " : "|  ");
    if (has_next)
        sink_puts(sink, term->has_utf8 ? "├─ " : "|- ");
    else
        sink_puts(sink, term->has_utf8 ? "└─ " : "`- ");
    sink_puts(sink, term_style(term, STYLE_NONE));
    return (n + 1) * BRANCH_COLUMNS;
}
