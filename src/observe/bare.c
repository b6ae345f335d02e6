/* observe/bare.c - see bare.h. */
#include "observe/bare.h"

#include "base/doubles.h"
#include "run/run.h"

#include <string.h>

bool bare_is_due(const struct bare *bare, uint64_t i)
{
    enum { one_in = 3 };
    static const int64_t short_ns = 20000000;
    bool is_short = bare->n && bare->bare_ns < short_ns;

    return bare->n < BARE_MOST && i && (is_short || i % one_in == 1);
}

bool bare_comes_first(const struct bare *bare)
{
    return bare->n % 2 != 0;
}

void bare_add(struct bare *bare, int64_t recorded_ns, int64_t bare_ns)
{
    if (bare->n == BARE_MOST || bare_ns <= 0)
        return;
    bare->shares[bare->n++] = (double)recorded_ns / (double)bare_ns - 1;
    bare->bare_ns = bare_ns;
}

bool bare_cost(const struct bare *bare, struct bare_cost *cost)
{
    double sorted[BARE_MOST];

    if (bare->n < RUN_FEWEST_PAIRS)
        return false;
    memcpy(sorted, bare->shares, bare->n * sizeof *sorted);
    doubles_sort(sorted, bare->n);
    cost->share = stats_quantile(sorted, bare->n, 0.5);
    stats_median_interval(sorted, bare->n, 0.95, &cost->low, &cost->high);
    return true;
}
