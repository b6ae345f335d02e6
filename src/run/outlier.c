/* run/outlier.c - iterations that took much longer, and what the series say
 * about each. */
#include "run/run_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *outlier_cause_text(enum outlier_cause cause)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        RUN_OUTLIER_CAUSES(TEXT)
#undef TEXT
    };

    return texts[cause];
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The value of a series in the iteration, and what is usual; NaN where that is
 * not known. scratch has room for RUN_MAX_POINTS. */
static void compare_value(const struct run *run, const char *name,
                          uint32_t iteration, double *scratch, double *value,
                          double *usual)
{
    const struct series *series = run_series_find(run, name);

    *value = *usual = NAN;
    if (!series || !series_value(series, iteration, value))
        return;
    for (size_t i = 0; i < series->n_points; i++)
        scratch[i] = series->points[i].value;
    qsort(scratch, series->n_points, sizeof *scratch, compare_doubles);
    *usual = stats_quantile(scratch, series->n_points, 0.5);
}

/* Whether the same photograph took about as long every other time: at least
 * two others, and nine tenths of this duration in the middle of them. */
static bool is_of_photo(const struct run *run, const struct outlier *outlier,
                        double *scratch)
{
    const struct series *photo = run_series_find(run, "input.photo");
    double own, other;
    size_t n = 0;

    if (!photo || !series_value(photo, outlier->iteration, &own))
        return false;
    for (size_t i = 0; i < run->n_iterations_kept; i++) {
        const struct iteration *iteration = &run->iterations[i];

        if (iteration->index != outlier->iteration &&
            series_value(photo, iteration->index, &other) && other == own)
            scratch[n++] = (double)iteration->duration_ns;
    }
    if (n < 2)
        return false;
    qsort(scratch, n, sizeof *scratch, compare_doubles);
    return stats_quantile(scratch, n, 0.5) >=
           0.9 * (double)outlier->duration_ns;
}

/* A wait or a number of switches that could account for a good part of what
 * is above the usual. */
static bool is_of_load(const struct run *run, const struct outlier *outlier,
                       double above_ns, double *scratch)
{
    double value, usual;

    compare_value(run, "steady.wait", outlier->iteration, scratch, &value,
                  &usual);
    if (value - usual > 0.3 * above_ns / 1e6)
        return true;
    compare_value(run, "steady.involuntary_switches", outlier->iteration,
                  scratch, &value, &usual);
    return value > 2 * usual + 10;
}

/* At a third of a microsecond each, more than a tenth of what is above. */
static bool is_of_pages(const struct run *run, const struct outlier *outlier,
                        double above_ns, double *scratch)
{
    static const double fault_ns = 300;
    double value, usual;

    compare_value(run, "steady.page_faults", outlier->iteration, scratch,
                  &value, &usual);
    return (value - usual) * fault_ns > 0.1 * above_ns;
}

static enum outlier_cause find_cause(const struct run *run,
                                     const struct outlier *outlier,
                                     double median_ns, double *scratch)
{
    double above_ns = (double)outlier->duration_ns - median_ns, value, usual;

    if (is_of_photo(run, outlier, scratch))
        return OUTLIER_CONTENT;
    compare_value(run, "steady.major_faults", outlier->iteration, scratch,
                  &value, &usual);
    if (value > usual)
        return OUTLIER_DISK;
    if (is_of_load(run, outlier, above_ns, scratch))
        return OUTLIER_LOAD;
    if (is_of_pages(run, outlier, above_ns, scratch))
        return OUTLIER_PAGES;
    compare_value(run, "steady.frequency", outlier->iteration, scratch, &value,
                  &usual);
    if (value < 0.9 * usual)
        return OUTLIER_FREQUENCY;
    compare_value(run, "steady.migrations", outlier->iteration, scratch, &value,
                  &usual);
    return value > usual ? OUTLIER_MIGRATION : OUTLIER_UNKNOWN;
}

static size_t find_slow(const struct run *run, double limit_ns,
                        struct outlier *out)
{
    size_t n = 0;

    for (size_t i = 0; i < run->n_iterations_kept; i++) {
        if ((double)run->iterations[i].duration_ns > limit_ns)
            out[n++] =
                (struct outlier){.iteration = run->iterations[i].index,
                                 .duration_ns = run->iterations[i].duration_ns};
    }
    return n;
}

enum assay_status run_outliers(const struct run *run, struct outlier **out,
                               size_t *n, struct error *err)
{
    size_t n_kept = run->n_iterations_kept;
    size_t room = n_kept > RUN_MAX_POINTS ? n_kept : RUN_MAX_POINTS;
    double *values, *scratch, median, mad;

    *out = NULL;
    *n = 0;
    if (n_kept < NOISE_TOO_FEW)
        return ASSAY_OK;
    *out = mem_array(n_kept, sizeof **out);
    values = mem_array(n_kept, sizeof *values);
    scratch = mem_array(room, sizeof *scratch);
    if (*out && values && scratch) {
        for (size_t i = 0; i < n_kept; i++)
            values[i] = (double)run->iterations[i].duration_ns;
        noise_of(values, scratch, n_kept, &median, &mad);
        if (mad > 0)
            *n = find_slow(run, median + NOISE_OUTLIER_MADS * mad, *out);
        for (size_t i = 0; i < *n; i++)
            (*out)[i].cause = find_cause(run, &(*out)[i], median, scratch);
        mem_free(values);
        mem_free(scratch);
        return ASSAY_OK;
    }
    mem_free(*out);
    mem_free(values);
    mem_free(scratch);
    *out = NULL;
    return error_nomem(err, room * sizeof *scratch, "the outliers of a run");
}
