/* run/pairs.c - which pairs of runs count.
 *
 * Other work that goes on for some seconds may hit one run of a pair and not
 * the other. Such a pair says little about the commands: it is left out if the
 * ratio of its wholes is farther from the median ratio than 4 scaled MADs and
 * than 2 %. At most a quarter of the pairs are: beyond that, it is how the
 * program runs. */
#include "run/compare_internal.h"
#include "run/run_internal.h"

#include "base/mem.h"

#include <math.h>

enum { FEWEST_PAIRS = 6 };
static const double far_mads = 4, far_at_least = 0.02;
static const double most_left_out = 0.25;

static void pairs_leave_out(struct comparison *c, size_t pair)
{
    size_t n_runs = compare_run_count(c);

    for (size_t i = 0; i < c->n_rows; i++) {
        struct location *runs = c->locations + i * n_runs;

        runs[pair] = runs[c->a.n_runs + pair] =
            (struct location){.mean_ns = NAN, .self_ns = NAN};
    }
    c->n_left_out++;
}

/* The log of the ratio of the wholes of a pair. */
static double pairs_difference(const struct comparison *c, size_t pair)
{
    return c->locations[c->a.n_runs + pair].centres[CENTRE_MEAN].log -
           c->locations[pair].centres[CENTRE_MEAN].log;
}

enum assay_status pairs_choose(struct comparison *c, struct error *err)
{
    size_t n = c->are_pairs ? c->a.n_runs : 0, n_far = 0;
    double *values, median, mad;

    for (size_t i = 0; i < n; i++) {
        if (!c->locations[i].n || !c->locations[n + i].n)
            return ASSAY_OK;
    }
    if (n < FEWEST_PAIRS)
        return ASSAY_OK;
    values = mem_array(2 * n, sizeof *values);
    if (!values)
        return error_nomem(err, 2 * n * sizeof *values, "pairs of runs");
    for (size_t i = 0; i < n; i++)
        values[i] = pairs_difference(c, i);
    noise_of(values, values + n, n, &median, &mad);
    for (size_t i = 0; i < n; i++) {
        values[i] = fabs(values[i] - median);
        n_far += values[i] > fmax(far_mads * mad, far_at_least);
    }
    for (size_t i = 0; i < n && (double)n_far <= most_left_out * (double)n;
         i++) {
        if (values[i] > fmax(far_mads * mad, far_at_least))
            pairs_leave_out(c, i);
    }
    mem_free(values);
    return ASSAY_OK;
}
