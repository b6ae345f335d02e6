/* views/tree_internal.h - the tree of a run with its columns.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_TREE_INTERNAL_H
#define VIEWS_TREE_INTERNAL_H

#include "views/scope_rows.h"
#include "views/views.h"

/* Which rows are shown, and what is hidden. */
struct tree_choice {
    bool *is_shown;     /* by row */
    bool *has_next;     /* by row: a shown sibling follows */
    size_t n_small;     /* hidden because of their share */
    double small_share; /* of those together */
    size_t n_fused;     /* hidden because others do their work */
    size_t n_deep;      /* hidden because of their depth */
    uint32_t depth;     /* levels shown below the root */
};

/* max_rows 0 shows all levels unless options.depth says otherwise; else the
 * depth is chosen so that the tree has at most about max_rows rows. */
enum assay_status tree_choose(const struct rows *rows,
                              const struct view_options *options,
                              size_t max_rows, struct tree_choice *choice,
                              struct error *err);
void tree_release(struct tree_choice *choice); /* start from {0} */

/* At most max_rows rows, the first of which is `top`: of those whose parents
 * are shown, always the one that takes the most time next. Rows that only
 * repeat their parents wait for others. */
enum assay_status tree_choose_costly(const struct rows *rows, size_t top,
                                     const struct view_options *options,
                                     size_t max_rows,
                                     struct tree_choice *choice,
                                     struct error *err);

/* Whether the shown rows say little about where the time of `top` goes, as in
 * files that list hundreds of nodes: they have less than half of it, or are a
 * few of more than twenty side by side. Classes say more then. */
bool tree_is_flat(const struct rows *rows, size_t top,
                  const struct tree_choice *choice);

/* Caption, head, rows, what ran outside the iterations, what is hidden, what
 * the MACs cover. */
enum assay_status tree_write(const struct run *run, const struct rows *rows,
                             const struct tree_choice *choice,
                             const struct view_options *options,
                             struct sink *sink, struct error *err);

/* Head and rows only, with `top` on the left. */
void tree_write_rows(const struct run *run, const struct rows *rows, size_t top,
                     const struct tree_choice *choice,
                     const struct view_options *options, struct sink *sink);

#endif
