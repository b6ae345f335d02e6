/* run/cause.c - which of the significant rows explain the others.
 *
 * A scope that is slower makes everything around it slower, and so does one
 * that is new. Going from the leaves up, a row is a cause when its change is
 * more than what changed significantly, came or went nearest below it adds up
 * to, beyond what both leave open. */
#include "run/compare_internal.h"

#include "base/mem.h"

#include <math.h>

/* How well the time of a scope that only one side has is known. */
static const double one_sided_reach = 0.1;

/* The changes nearest below a row, in nanoseconds. */
struct changes {
    double sum, variance;
};

static struct changes one_sided_change(double ns)
{
    double reach = one_sided_reach * ns;

    return isfinite(ns) ? (struct changes){.sum = ns, .variance = reach * reach}
                        : (struct changes){0};
}

static struct changes tested_change(const struct compare_row *row)
{
    double reach = (row->high - row->low) / 2 * row->a_ns;

    return (struct changes){.sum = (row->ratio - 1) * row->a_ns,
                            .variance = reach * reach};
}

static struct changes own_change(const struct compare_row *row)
{
    if (row->match == MATCH_ADDED)
        return one_sided_change(row->b_ns);
    if (row->match == MATCH_REMOVED)
        return one_sided_change(-row->a_ns);
    return tested_change(row);
}

static bool is_explained(const struct changes *own, const struct changes *below)
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

        if (row->is_significant || row->a == RUN_NONE || row->b == RUN_NONE)
            up = own_change(row);
        row->is_cause = row->is_significant && !is_explained(&up, &below[i]);
        if (row->parent != RUN_NONE) {
            below[row->parent].sum += up.sum;
            below[row->parent].variance += up.variance;
        }
    }
    mem_free(below);
    return ASSAY_OK;
}
