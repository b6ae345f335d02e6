/* run/counted.c - which iterations the figures of a run are means of.
 *
 * docs/statistics.md states the rule. Every tree, stage, table and comparison
 * asks here, so that all of them are of the same iterations. */
#include "run/run_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- deciding ------------------------------------------------------------ */

static int counted_compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static int counted_compare_point(const void *key, const void *element)
{
    return counted_compare(key, &((const struct point *)element)->iteration);
}

/* How many calls of any scope an iteration had. */
static uint64_t counted_calls_in(const struct run *run, uint32_t iteration)
{
    uint64_t calls = 0;

    for (size_t i = 0; i < run->n_cells; i++) {
        const struct cell *cell = &run->cells[i];
        const struct point *point = NULL;

        if (!cell->is_outside && cell->n_points)
            point = bsearch(&iteration, cell->points, cell->n_points,
                            sizeof *point, counted_compare_point);
        calls += point ? point->calls : 0;
    }
    return calls;
}

static int counted_compare_durations(const void *left, const void *right)
{
    const struct iteration *a = left, *b = right;

    return (a->duration_ns > b->duration_ns) -
           (a->duration_ns < b->duration_ns);
}

/* How many calls the iteration of median length had. */
static enum assay_status counted_usual_calls(const struct run *run,
                                             uint64_t *calls)
{
    size_t n = run->n_iterations_kept;
    struct iteration *sorted = mem_array(n, sizeof *sorted);

    if (!sorted)
        return ASSAY_NOMEM;
    memcpy(sorted, run->iterations, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, counted_compare_durations);
    *calls = counted_calls_in(run, sorted[n / 2].index);
    mem_free(sorted);
    return ASSAY_OK;
}

/* Whether the series show that the machine is to blame. */
static bool counted_is_of_machine(const struct outlier *outlier)
{
    return outlier->cause == OUTLIER_DISK || outlier->cause == OUTLIER_LOAD ||
           outlier->cause == OUTLIER_FREQUENCY ||
           outlier->cause == OUTLIER_MIGRATION;
}

/* Whether other iterations had the same photograph: at least two. */
static bool counted_is_repeated(const struct series *photo, uint32_t iteration)
{
    double own;
    size_t n = 0;

    if (!series_value(photo, iteration, &own))
        return false;
    for (size_t i = 0; i < photo->n_points; i++)
        n += photo->points[i].value == own;
    return n > 2;
}

/* Whether a slow iteration may have had more to do than the others. */
static bool counted_is_explained(const struct run *run,
                                 const struct outlier *outlier,
                                 uint64_t usual_calls)
{
    const struct series *photo = run_series_find(run, "input.photo");

    if (outlier->cause == OUTLIER_CONTENT ||
        counted_calls_in(run, outlier->iteration) != usual_calls)
        return true;
    if (counted_is_of_machine(outlier))
        return false;
    return run_step_of(run, outlier->iteration) != 0 ||
           (photo && photo->n_labels > 1 &&
            !counted_is_repeated(photo, outlier->iteration));
}

static enum assay_status counted_keep_disturbed(struct run *run,
                                                const struct outlier *outliers,
                                                size_t n)
{
    uint64_t usual_calls;

    run->disturbed = mem_array(n, sizeof *run->disturbed);
    if (!run->disturbed || counted_usual_calls(run, &usual_calls))
        return ASSAY_NOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!counted_is_explained(run, &outliers[i], usual_calls))
            run->disturbed[run->n_disturbed++] = outliers[i].iteration;
    }
    if (run->n_disturbed)
        qsort(run->disturbed, run->n_disturbed, sizeof *run->disturbed,
              counted_compare);
    return ASSAY_OK;
}

/* What all lists of the run have kept. */
static uint32_t counted_common_stride(const struct run *run)
{
    uint32_t stride = run->iteration_stride;

    for (size_t i = 0; i < run->n_cells; i++) {
        if (!run->cells[i].is_outside && run->cells[i].stride > stride)
            stride = run->cells[i].stride;
    }
    return stride;
}

enum assay_status counted_decide(struct run *run, struct error *err)
{
    struct outlier *outliers = NULL;
    enum assay_status st;
    size_t n;

    mem_free(run->disturbed);
    run->disturbed = NULL;
    run->n_disturbed = 0;
    run->n_counted = run->n_iterations;
    st = run_outliers(run, &outliers, &n, err);
    if (st || n == 0) {
        mem_free(outliers);
        return st;
    }
    if (counted_keep_disturbed(run, outliers, n))
        st = error_nomem(err, n * sizeof *run->disturbed,
                         "the iterations that count");
    mem_free(outliers);
    if (st || run->n_disturbed == 0)
        return st;
    run->counted_stride = counted_common_stride(run);
    run->n_counted = 0;
    for (size_t i = 0; i < run->n_iterations_kept; i++)
        run->n_counted += run_iteration_counts(run, run->iterations[i].index);
    if (run->n_counted == 0) { /* all kept ones are thinned away */
        run->n_disturbed = 0;
        run->n_counted = run->n_iterations;
    }
    return ASSAY_OK;
}

/* ---- asking -------------------------------------------------------------- */

struct counted_iterations run_counted(const struct run *run)
{
    return (struct counted_iterations){.n = run->n_counted,
                                       .n_disturbed = run->n_disturbed};
}

bool run_iteration_is_disturbed(const struct run *run, uint32_t iteration)
{
    return run->n_disturbed &&
           bsearch(&iteration, run->disturbed, run->n_disturbed,
                   sizeof iteration, counted_compare);
}

bool run_iteration_counts(const struct run *run, uint32_t iteration)
{
    return run->n_disturbed == 0 ||
           (run_is_kept(iteration, run->counted_stride) &&
            !run_iteration_is_disturbed(run, iteration));
}

struct cell_sums run_cell_sums(const struct run *run, const struct cell *cell)
{
    struct cell_sums sums = {0};

    if (cell->is_outside || run->n_disturbed == 0)
        return (struct cell_sums){.calls = (double)cell->calls.n,
                                  .total_ns = (double)cell->total_ns,
                                  .self_ns = (double)cell->self_ns};
    for (size_t i = 0; i < cell->n_points; i++) {
        const struct point *point = &cell->points[i];

        if (!run_iteration_counts(run, point->iteration))
            continue;
        sums.calls += point->calls;
        sums.total_ns += (double)point->total_ns;
        sums.self_ns += (double)point->self_ns;
    }
    return sums;
}
