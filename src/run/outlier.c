/* run/outlier.c - iterations that took much longer, and the likely cause of
 * each, from the series. */
#include "run/run_internal.h"

#include "base/doubles.h"
#include "base/mem.h"

#include <math.h>

const char *outlier_cause_text(enum outlier_cause cause)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        RUN_OUTLIER_CAUSES(TEXT)
#undef TEXT
    };

    return texts[cause];
}

/* The value of a series in the iteration, and its median; NaN if unknown.
 * scratch has room for RUN_MAX_POINTS. */
static void outlier_compare_value(const struct run *run, const char *name,
                                  uint32_t iteration, double *scratch,
                                  double *value, double *usual)
{
    const struct series *series = run_series_find(run, name);

    *value = *usual = NAN;
    if (!series || !series_value(series, iteration, value))
        return;
    for (size_t i = 0; i < series->n_points; i++)
        scratch[i] = series->points[i].value;
    doubles_sort(scratch, series->n_points);
    *usual = stats_quantile(scratch, series->n_points, 0.5);
}

/* Whether the same photograph usually took about as long: there are at least
 * two other iterations of it, with a median of nine tenths of this duration. */
static bool outlier_is_of_photo(const struct run *run,
                                const struct outlier *outlier, double *scratch)
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
    doubles_sort(scratch, n);
    return stats_quantile(scratch, n, 0.5) >=
           0.9 * (double)outlier->duration_ns;
}

/* Whether waiting or context switches could account for a good part of the
 * extra time. */
static bool outlier_is_of_load(const struct run *run,
                               const struct outlier *outlier, double above_ns,
                               double *scratch)
{
    double value, usual;

    outlier_compare_value(run, "steady.wait", outlier->iteration, scratch,
                          &value, &usual);
    if (value - usual > 0.3 * above_ns / 1e6)
        return true;
    outlier_compare_value(run, "steady.involuntary_switches",
                          outlier->iteration, scratch, &value, &usual);
    return value > 2 * usual + 10;
}

/* Whether page faults, at 0.3 us each, are over a tenth of the extra time. */
static bool outlier_is_of_pages(const struct run *run,
                                const struct outlier *outlier, double above_ns,
                                double *scratch)
{
    static const double fault_ns = 300;
    double value, usual;

    outlier_compare_value(run, "steady.page_faults", outlier->iteration,
                          scratch, &value, &usual);
    return (value - usual) * fault_ns > 0.1 * above_ns;
}

static enum outlier_cause outlier_find_cause(const struct run *run,
                                             const struct outlier *outlier,
                                             double median_ns, double *scratch)
{
    double above_ns = (double)outlier->duration_ns - median_ns, value, usual;

    if (outlier_is_of_photo(run, outlier, scratch))
        return OUTLIER_CONTENT;
    outlier_compare_value(run, "steady.major_faults", outlier->iteration,
                          scratch, &value, &usual);
    if (value > usual)
        return OUTLIER_DISK;
    if (outlier_is_of_load(run, outlier, above_ns, scratch))
        return OUTLIER_LOAD;
    if (outlier_is_of_pages(run, outlier, above_ns, scratch))
        return OUTLIER_PAGES;
    outlier_compare_value(run, "steady.frequency", outlier->iteration, scratch,
                          &value, &usual);
    if (value < 0.9 * usual)
        return OUTLIER_FREQUENCY;
    outlier_compare_value(run, "steady.migrations", outlier->iteration, scratch,
                          &value, &usual);
    return value > usual ? OUTLIER_MIGRATION : OUTLIER_UNKNOWN;
}

double outlier_limit(size_t n, double median, double mad)
{
    enum { fewest = 5 };
    static const double mads = 5, share = 0.02;

    return n < fewest || !(mad > 0) ? INFINITY
                                    : median + fmax(mads * mad, share * median);
}

static size_t outlier_find_slow(const struct run *run, double limit_ns,
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
    if (n_kept == 0)
        return ASSAY_OK;
    *out = mem_array(n_kept, sizeof **out);
    values = mem_array(n_kept, sizeof *values);
    scratch = mem_array(room, sizeof *scratch);
    if (*out && values && scratch) {
        for (size_t i = 0; i < n_kept; i++)
            values[i] = (double)run->iterations[i].duration_ns;
        noise_of(values, scratch, n_kept, &median, &mad);
        *n = outlier_find_slow(run, outlier_limit(n_kept, median, mad), *out);
        for (size_t i = 0; i < *n; i++)
            (*out)[i].cause =
                outlier_find_cause(run, &(*out)[i], median, scratch);
    } else {
        mem_free(*out);
        *out = NULL;
    }
    mem_free(values);
    mem_free(scratch);
    return *out ? ASSAY_OK
                : error_nomem(err, room * sizeof *scratch,
                              "the outliers of a run");
}
