/* views/view_tree.c - the modules of a run as a tree. */
#include "views/training_internal.h"
#include "views/tree_internal.h"

struct view_options view_defaults(struct term term)
{
    return (struct view_options){
        .term = term, .depth = -1, .sort = SORT_SELF, .hide_below = 0.02};
}

enum assay_status view_tree(const struct run *run,
                            const struct view_options *options,
                            struct sink *sink, struct error *err)
{
    struct rows rows = {0};
    struct tree_choice choice = {0};
    enum assay_status st = training_rows_build(run, &rows, err);

    if (!st)
        st = tree_choose(&rows, options, 0, &choice, err);
    if (!st)
        st = tree_write(run, &rows, &choice, options, sink, err);
    tree_release(&choice);
    rows_release(&rows);
    return st ? st : sink_status(sink, err);
}
