/* run/verdict.c - whether a run's times can be trusted, and if not, why. */
#include "run/run_internal.h"

#include "base/doubles.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double scaled_mad = 1.4826;   /* MAD of a normal is sd / 1.48 */
static const double outlier_share = 0.03;  /* from this on they matter */
static const double drift_at_least = 0.02; /* smaller is not worth mentioning */
static const double drift_z = 3.3;         /* p below 0.001 */
static const double wide_interval = 0.04;  /* the median within 2 % */

static double verdict_median(double *scratch, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = values[i];
    doubles_sort(scratch, n);
    return stats_quantile(scratch, n, 0.5);
}

/* Mann-Whitney's U of two samples of m values each, as a normal deviate. */
static double verdict_rank_z(const double *a, const double *b, size_t m)
{
    double u = 0, md = (double)m;

    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++)
            u += b[j] > a[i] ? 1 : b[j] == a[i] ? 0.5 : 0;
    }
    return (u - md * md / 2) / sqrt(md * md * (2 * md + 1) / 12);
}

void noise_of(const double *values, double *scratch, size_t n, double *median,
              double *mad)
{
    *median = verdict_median(scratch, values, n);
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(values[i] - *median);
    doubles_sort(scratch, n);
    *mad = stats_quantile(scratch, n, 0.5) * scaled_mad;
}

static void verdict_measure_noise(struct verdict *out, const double *values,
                                  double *scratch, size_t n)
{
    double median = verdict_median(scratch, values, n), low, high, mad;

    stats_median_interval(scratch, n, 0.95, &low, &high);
    out->median_width = median > 0 ? (high - low) / median : 0;
    noise_of(values, scratch, n, &median, &mad);
    out->noise = median > 0 ? mad / median : 0;
    for (size_t i = 0; i < n; i++)
        out->n_outliers += values[i] > outlier_limit(n, median, mad);
}

static void verdict_measure_drift(struct verdict *out, const double *values,
                                  double *scratch, size_t n, bool *is_drifting)
{
    size_t third = n / 3;
    const double *last = values + n - third;
    double before = verdict_median(scratch, values, third);
    double after = verdict_median(scratch, last, third);

    out->drift = before > 0 ? after / before - 1 : 0;
    *is_drifting = fabs(out->drift) >= drift_at_least &&
                   fabs(verdict_rank_z(values, last, third)) >= drift_z;
}

static double verdict_times_median(const double *values, double *scratch,
                                   size_t n)
{
    double median = verdict_median(scratch, values, n);

    return median > 0 ? scratch[n - 1] / median : 0;
}

static const char *verdict_drift_cause(double drift, bool is_disturbed)
{
    return is_disturbed ? "other work on the machine"
           : drift > 0  ? "throttling, or something grows"
                        : "a longer warm-up would help";
}

static void verdict_judge(struct verdict *out, const double *values,
                          double *scratch, size_t n, bool is_disturbed)
{
    bool is_drifting;

    verdict_measure_noise(out, values, scratch, n);
    verdict_measure_drift(out, values, scratch, n, &is_drifting);
    if (is_drifting) {
        out->steadiness = STEADY_DRIFTING;
        snprintf(out->text, sizeof out->text,
                 "drifting: the last third is %.1f %% %s than the first (%s)",
                 fabs(out->drift) * 100, out->drift > 0 ? "slower" : "faster",
                 verdict_drift_cause(out->drift, is_disturbed));
    } else if ((double)out->n_outliers >= outlier_share * (double)n) {
        out->steadiness = STEADY_OUTLIERS;
        snprintf(
            out->text, sizeof out->text,
            "%zu of %zu iterations %s %.1f times the median", out->n_outliers,
            n, out->n_outliers == 1 ? "is an outlier," : "are outliers, up to",
            verdict_times_median(values, scratch, n));
    } else if (out->median_width > wide_interval) {
        out->steadiness = STEADY_NOISY;
        snprintf(out->text, sizeof out->text,
                 "noisy: the median is known only to %.1f %%; more iterations "
                 "would help",
                 out->median_width * 50);
    } else {
        out->steadiness = STEADY;
        snprintf(out->text, sizeof out->text,
                 "steady: the median is known to %.1f %%",
                 out->median_width * 50);
    }
}

/* Adds the most frequent cause of the slow ones: " (other work on the machine:
 * 3)". */
static enum assay_status verdict_name_causes(const struct run *run,
                                             struct verdict *out,
                                             struct error *err)
{
    size_t counts[N_OUTLIER_CAUSES] = {0}, n, at = strlen(out->text);
    int most = OUTLIER_UNKNOWN;
    struct outlier *outliers;
    enum assay_status st = run_outliers(run, &outliers, &n, err);

    if (st)
        return st;
    for (size_t i = 0; i < n; i++)
        counts[outliers[i].cause]++;
    mem_free(outliers);
    for (int i = 0; i < N_OUTLIER_CAUSES; i++) {
        if (counts[i] > counts[most])
            most = i;
    }
    if (counts[most])
        snprintf(out->text + at, sizeof out->text - at, " (%s: %zu)",
                 outlier_cause_text((enum outlier_cause)most), counts[most]);
    return ASSAY_OK;
}

static enum assay_status verdict_judge_iterations(const struct run *run,
                                                  struct verdict *out,
                                                  struct error *err)
{
    size_t n = run->n_iterations_kept;
    double *values = mem_array(2 * n, sizeof *values);

    if (!values)
        return error_nomem(err, 2 * n * sizeof *values, "a verdict");
    for (size_t i = 0; i < n; i++)
        values[i] = (double)run->iterations[i].duration_ns;
    verdict_judge(out, values, values + n, n, run_is_disturbed(run));
    mem_free(values);
    return out->steadiness == STEADY_OUTLIERS
               ? verdict_name_causes(run, out, err)
               : ASSAY_OK;
}

enum assay_status run_verdict(const struct run *run, struct verdict *out,
                              struct error *err)
{
    *out = (struct verdict){.n = run->n_iterations_kept};
    if (out->n >= NOISE_TOO_FEW)
        return verdict_judge_iterations(run, out, err);
    out->steadiness = STEADY_TOO_FEW;
    if (!run_has_iterations(run))
        snprintf(out->text, sizeof out->text,
                 "no iterations are marked, so steadiness cannot be judged");
    else
        snprintf(out->text, sizeof out->text,
                 "too few iterations to judge (%zu; at least %d needed)",
                 out->n, NOISE_TOO_FEW);
    return ASSAY_OK;
}
