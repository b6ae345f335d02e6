/* run/cause.c - finds the significant rows that explain the others.
 *
 * A slower scope makes everything around it slower, and so does a new one.
 * Going up from the leaves, a row is a cause if it changed by more than the sum
 * of the nearest changes below it (those that count, added and removed scopes),
 * beyond the uncertainty of both. */
#include "run/compare_internal.h"

#include "base/mem.h"

#include <math.h>

/* Relative uncertainty of the time of a scope that only one side has. */
static const double one_sided_reach = 0.1;

/* The changes nearest below a row, in nanoseconds. */
struct changes {
    double sum, variance;
};

static struct changes cause_one_sided(double ns)
{
    double reach = one_sided_reach * ns;

    return isfinite(ns) ? (struct changes){.sum = ns, .variance = reach * reach}
                        : (struct changes){0};
}

static struct changes cause_tested(const struct compare_row *row)
{
    double reach = (row->high - row->low) / 2 * row->a_ns;

    return (struct changes){.sum = (row->ratio - 1) * row->a_ns,
                            .variance = reach * reach};
}

static struct changes cause_own(const struct compare_row *row)
{
    if (row->match == MATCH_ADDED)
        return cause_one_sided(row->b_ns);
    if (row->match == MATCH_REMOVED)
        return cause_one_sided(-row->a_ns);
    return cause_tested(row);
}

/* A change counts unless it is surely smaller than the floor: unless the whole
 * interval of the row lies below it. */
static bool cause_is_counted(const struct comparison *c, size_t i)
{
    const struct compare_row *row = &c->rows[i];

    return row->is_significant &&
           fmax(fabs(compare_share_of_whole(c, i, row->low)),
                fabs(compare_share_of_whole(c, i, row->high))) >= c->floor;
}

static bool cause_is_explained(const struct changes *own,
                               const struct changes *below)
{
    double rest = own->sum < 0 ? below->sum - own->sum : own->sum - below->sum;

    return below->sum != 0 && rest <= sqrt(own->variance + below->variance);
}

enum assay_status cause_find(struct comparison *c, struct error *err)
{
    struct changes *below = mem_array(c->n_rows, sizeof *below);

    if (!below)
        return error_nomem(err, c->n_rows * sizeof *below,
                           "the causes in a comparison");
    /* Children come after their parents. */
    for (size_t i = c->n_rows; i-- > 0;) {
        struct compare_row *row = &c->rows[i];
        struct changes up = below[i];

        row->is_counted = cause_is_counted(c, i);
        if (row->is_counted || row->a == RUN_NONE || row->b == RUN_NONE)
            up = cause_own(row);
        row->is_cause = row->is_counted && !cause_is_explained(&up, &below[i]);
        if (row->parent != RUN_NONE) {
            below[row->parent].sum += up.sum;
            below[row->parent].variance += up.variance;
        }
    }
    mem_free(below);
    return ASSAY_OK;
}
