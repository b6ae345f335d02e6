/* views/compare_choice.c - which rows of a comparison are shown. */
#include "views/compare_words_internal.h"

#include "base/mem.h"

enum { MOST_UNCHANGED = 5 };

/* Of what was added or removed, only the top row, and if it counts. */
static bool choice_is_different(const struct comparison *comparison,
                                const struct compare_row *row)
{
    if (row->is_counted || row->match == MATCH_RENAMED)
        return true;
    return row->match != MATCH_BOTH && compare_is_top(comparison, row) &&
           row->share >= compare_floor(comparison);
}

static void choice_show_with_parents(const struct comparison *comparison,
                                     struct compare_choice *choice, size_t i)
{
    while (!choice->is_shown[i]) {
        choice->is_shown[i] = true;
        if (compare_row(comparison, i)->parent == RUN_NONE)
            break;
        i = compare_row(comparison, i)->parent;
    }
}

/* The largest leaf that is not shown yet, or the number of rows. */
static size_t choice_largest_unchanged(const struct comparison *comparison,
                                       const struct compare_choice *choice)
{
    size_t n = compare_row_count(comparison), largest = n;

    for (size_t i = 0; i < n; i++) {
        const struct compare_row *row = compare_row(comparison, i);
        bool is_leaf =
            i + 1 == n || compare_row(comparison, i + 1)->parent != i;

        if (!choice->is_shown[i] && is_leaf && row->match == MATCH_BOTH &&
            !row->is_outside &&
            (largest == n ||
             row->share > compare_row(comparison, largest)->share))
            largest = i;
    }
    return largest;
}

static void choice_mark_last(const struct comparison *comparison,
                             struct compare_choice *choice, size_t *last_child)
{
    size_t n = compare_row_count(comparison);

    for (size_t i = 0; i < n; i++)
        last_child[i] = 0;
    for (size_t i = 1; i < n; i++) {
        size_t parent = compare_row(comparison, i)->parent;

        if (!choice->is_shown[i]) {
            choice->n_hidden++;
            continue;
        }
        if (last_child[parent])
            choice->has_next[last_child[parent]] = true;
        last_child[parent] = i;
    }
}

enum assay_status compare_choose(const struct comparison *comparison, bool all,
                                 struct compare_choice *choice,
                                 struct error *err)
{
    size_t n = compare_row_count(comparison);
    size_t *last_child = mem_array(n, sizeof *last_child);

    choice->is_shown = mem_array(n, sizeof *choice->is_shown);
    choice->has_next = mem_array(n, sizeof *choice->has_next);
    if (!last_child || !choice->is_shown || !choice->has_next) {
        mem_free(last_child);
        return error_nomem(err, n * sizeof *last_child,
                           "the rows of a comparison");
    }
    choice->is_shown[0] = true;
    for (size_t i = 0; i < n; i++) {
        if (all || choice_is_different(comparison, compare_row(comparison, i)))
            choice_show_with_parents(comparison, choice, i);
    }
    for (size_t i = 0; !all && i < MOST_UNCHANGED; i++) {
        size_t largest = choice_largest_unchanged(comparison, choice);

        if (largest < n)
            choice_show_with_parents(comparison, choice, largest);
    }
    choice_mark_last(comparison, choice, last_child);
    mem_free(last_child);
    return ASSAY_OK;
}

void compare_choice_release(struct compare_choice *choice)
{
    mem_free(choice->is_shown);
    mem_free(choice->has_next);
    *choice = (struct compare_choice){0};
}
