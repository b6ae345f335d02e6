/* predict/doubt.c - see doubt.h. */
#include "predict/doubt.h"

#include "base/doubles.h"
#include "base/mem.h"
#include "predict/physical_internal.h"

#include <math.h>

enum { most = PHYSICAL_MAX_PARAMETERS };

/* Derivatives of the logarithm of a prediction by those of the parameters; the
 * lane, which is the last, is not one that is fitted. Returns the logarithm. */
static double doubt_slopes(const struct physical *physical,
                           const struct description *description, double batch,
                           double slopes[most])
{
    static const double step = 1e-5;
    struct physical moved = *physical;
    double here = log(physical_predict(physical, description, batch));

    for (size_t i = 0; i < physical_fitted_count(physical); i++) {
        slopes[i] = 0;
        if (!physical_uses(physical, i))
            continue;
        moved.log_value[i] += step;
        slopes[i] =
            (log(physical_predict(&moved, description, batch)) - here) / step;
        moved.log_value[i] = physical->log_value[i];
    }
    return here;
}

/* ---- the parameters ------------------------------------------------------ */

/* Outliers count less, as in the fit. */
static double weight_of_miss(double miss, double c)
{
    static const double step = 1e-6;

    return (least_squares_huber(miss + step, c) -
            least_squares_huber(miss - step, c)) /
           (2 * step);
}

static void add_prior(double normal[most][most],
                      const struct physical *physical, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double deviation =
            physical_class(physical)->prior_deviation(physical, i);

        normal[i][i] += 1 / (deviation * deviation);
    }
}

/* Inverts a positive definite matrix in place, by Gauss and Jordan: its pivots
 * are positive. False if they are not. */
static bool invert(double a[most][most], size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double pivot = a[k][k];

        if (!(pivot > 0) || !isfinite(pivot))
            return false;
        a[k][k] = 1;
        for (size_t j = 0; j < n; j++)
            a[k][j] /= pivot;
        for (size_t i = 0; i < n; i++) {
            double factor = a[i][k];

            if (i == k)
                continue;
            a[i][k] = 0;
            for (size_t j = 0; j < n; j++)
                a[i][j] -= factor * a[k][j];
        }
    }
    return true;
}

/* ---- the rows ------------------------------------------------------------ */

/* The deviation of a normal distribution with such a median; of a GPU's, where
 * most rows may be right and some far off, with such a mean. */
static double deviation_of(double *sizes, size_t n, bool is_gpu)
{
    double sum = 0;

    doubles_sort(sizes, n);
    for (size_t i = 0; i < n; i++)
        sum += sizes[i];
    return is_gpu ? 1.2533 * sum / (double)n : 1.4826 * sizes[n / 2];
}

/* Over all networks, each of which counts the same. */
static double noise_of(const struct data_points *points, const double *misses,
                       double *sizes)
{
    double squares = 0, n_networks = 0;

    for (size_t k = 0; k < points->n_networks; k++) {
        size_t n = 0;
        double own;

        for (size_t i = 0; i < points->n; i++) {
            if (points->items[i].network == k && !points->items[i].is_bound)
                sizes[n++] = fabs(misses[i]);
        }
        if (!n)
            continue;
        own = deviation_of(sizes, n, points->multiprocessors > 0);
        squares += own * own;
        n_networks++;
    }
    return sqrt(squares / fmax(n_networks, 1));
}

static void doubt_gather(struct doubt *doubt, const struct physical *physical,
                         const struct data_points *points,
                         const double *weights, double *misses)
{
    size_t n = physical_fitted_count(physical);
    double c = physical_class(physical)->row_deviation();

    for (size_t i = 0; i < points->n; i++) {
        const struct data_point *point = &points->items[i];
        double slopes[most], weight;

        if (point->is_bound)
            continue;
        misses[i] =
            doubt_slopes(physical, point->description, point->batch, slopes) -
            log(point->value);
        weight = weights[i] * weight_of_miss(misses[i], c);
        for (size_t j = 0; j < n; j++) {
            for (size_t k = 0; k < n; k++)
                doubt->covariance[j][k] +=
                    weight * weight * slopes[j] * slopes[k];
        }
    }
    add_prior(doubt->covariance, physical, n);
}

enum assay_status doubt_find(struct doubt *doubt,
                             const struct physical *physical,
                             const struct data_points *points,
                             double n_effective, struct error *err)
{
    double row = physical_class(physical)->row_deviation();
    double *weights = point_weights(points, n_effective, row);
    double *misses = mem_array(2 * points->n + 1, sizeof *misses);
    enum assay_status st = ASSAY_OK;

    *doubt = (struct doubt){0};
    if (weights && misses) {
        doubt_gather(doubt, physical, points, weights, misses);
        doubt->noise = noise_of(points, misses, misses + points->n);
        if (physical->is_walked && physical->target == TARGET_MEMORY)
            doubt->noise = fmax(doubt->noise, row);
        doubt->is_known =
            invert(doubt->covariance, physical_fitted_count(physical)) &&
            isfinite(doubt->noise);
    } else {
        st = error_nomem(err, points->n * sizeof *misses, "a fit");
    }
    mem_free(weights);
    mem_free(misses);
    return st;
}

double doubt_at(const struct doubt *doubt, const struct physical *physical,
                const struct description *description, double batch)
{
    size_t n = physical_fitted_count(physical);
    double slopes[most], variance = doubt->noise * doubt->noise;

    if (!doubt->is_known)
        return NAN;
    doubt_slopes(physical, description, batch, slopes);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            variance += slopes[i] * doubt->covariance[i][j] * slopes[j];
    }
    return sqrt(fmax(variance, 0));
}
