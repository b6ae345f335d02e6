/* observe/pacing.c - see pacing.h. */
#include "observe/pacing.h"

#include "base/mem.h"
#include "base/vec.h"
#include "run/run.h"

#include <math.h>
#include <string.h>

/* With fewer, no interval contains the median with 95 %: all n lie on one side
 * of it with probability 2 / 2^n. */
enum { fewest = 6 };

/* What follows wants to say whether iterations were steady: that takes 10
 * (run/verdict.c), and a few may be disturbed. Where it costs little, so many
 * are measured however well the median is known. */
enum { judged = 12 };
static const int64_t little_ns = INT64_C(8) * 1000 * 1000 * 1000;

void pacing_release(struct pacing *pacing)
{
    mem_free(pacing->sorted);
    *pacing = (struct pacing){0};
}

double pacing_precision(const struct pacing *pacing)
{
    double low, high, median;

    if (pacing->n < fewest)
        return NAN;
    median = stats_quantile(pacing->sorted, pacing->n, 0.5);
    stats_median_interval(pacing->sorted, pacing->n, 0.95, &low, &high);
    return median > 0 ? (high - low) / 2 / median : NAN;
}

static bool can_be_judged(const struct pacing *pacing)
{
    return pacing->n_done >= judged || pacing->spent_ns >= little_ns;
}

bool pacing_goes_on(struct pacing *pacing)
{
    pacing->end = PACING_COUNTED;
    if (pacing->n_done < pacing->least)
        return true;
    if (pacing->goal <= 0)
        return false;
    if (pacing->n_done % pacing->round == 0 && can_be_judged(pacing) &&
        pacing_precision(pacing) <= pacing->goal) {
        pacing->end = PACING_PRECISE;
        return false;
    }
    pacing->end = PACING_OUT_OF_TIME;
    return pacing->spent_ns < pacing->limit_ns;
}

/* The index of a value among those already there. */
static size_t pacing_place_of(const struct pacing *pacing, double value)
{
    size_t low = 0, high = pacing->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pacing->sorted[middle] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum assay_status pacing_add(struct pacing *pacing, int64_t duration_ns,
                             int64_t spent_ns, struct error *err)
{
    double *moved;
    size_t at;

    pacing->n_done++;
    pacing->spent_ns += spent_ns;
    if (pacing->goal <= 0)
        return ASSAY_OK;
    moved = vec_reserve(pacing->sorted, &pacing->capacity, pacing->n + 1,
                        sizeof *moved);
    if (!moved)
        return error_nomem(err, sizeof *moved, "the durations of iterations");
    pacing->sorted = moved;
    at = pacing_place_of(pacing, (double)duration_ns);
    memmove(moved + at + 1, moved + at, (pacing->n - at) * sizeof *moved);
    moved[at] = (double)duration_ns;
    pacing->n++;
    return ASSAY_OK;
}
