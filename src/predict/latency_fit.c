/* predict/latency_fit.c - see physical_internal.h: fits the parameters of a law
 * of latencies, its scales first. */
#include "predict/physical_internal.h"

#include "base/doubles.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { most_parameters = PHYSICAL_MAX_PARAMETERS };

static const double deviation = 0.1; /* of a good prediction, in logarithms */
/* Very little is known in advance about the speed of a device. */
static const double scale_deviation = 2;

struct law_fitting {
    const struct latency_law *law;
    const struct data_points *points;
    const double *weights;
    double centre[most_parameters]; /* of the priors, as logarithms */
    double share;                   /* factor on their deviations */
    double scale_centre[LATENCY_MAX_SCALES],
        scale_deviation[LATENCY_MAX_SCALES];
};

double latency_row_deviation(void)
{
    return deviation;
}

static void law_weigh(const struct law_fitting *fitting, double *out)
{
    for (size_t i = 0; i < fitting->points->n; i++)
        out[i] = fitting->weights[i] * least_squares_huber(out[i], deviation);
}

static void law_miss(const struct law_fitting *fitting, const double *log_value,
                     double *out)
{
    fitting->law->miss(fitting->law->context, log_value, out);
}

static void apply_scales(const struct law_fitting *fitting,
                         const double *scales, double *log_value)
{
    const struct latency_law *law = fitting->law;

    for (size_t i = 0; i < law->n_fitted; i++) {
        log_value[i] = fitting->centre[i];
        for (size_t s = 0; s < law->n_scales; s++)
            log_value[i] += law->is_scaled(i, s) ? scales[s] : 0;
    }
}

static void scale_residuals(const void *context, const double *scales,
                            double *out)
{
    const struct law_fitting *fitting = context;
    double log_value[most_parameters];

    apply_scales(fitting, scales, log_value);
    law_miss(fitting, log_value, out);
    law_weigh(fitting, out);
    for (size_t s = 0; s < fitting->law->n_scales; s++)
        out[fitting->points->n + s] = (scales[s] - fitting->scale_centre[s]) /
                                      fitting->scale_deviation[s];
}

static void latency_residuals(const void *context, const double *log_value,
                              double *out)
{
    const struct law_fitting *fitting = context;
    const struct latency_law *law = fitting->law;

    law_miss(fitting, log_value, out);
    law_weigh(fitting, out);
    for (size_t i = 0; i < law->n_fitted; i++)
        out[fitting->points->n + i] =
            (log_value[i] - fitting->centre[i]) /
            (law->prior(law->context, i).deviation * fitting->share);
}

/* Starts the scales so that the median row is right. */
static enum assay_status guess_scales(struct law_fitting *fitting,
                                      const double *ratios, struct error *err)
{
    const struct latency_law *law = fitting->law;
    size_t n = fitting->points->n;
    double *misses = mem_array(n + 1, sizeof *misses);
    double log_value[most_parameters];

    if (!misses)
        return error_nomem(err, n * sizeof *misses, "a fit");
    for (size_t s = 0; s < law->n_scales; s++)
        fitting->scale_centre[s] = log(ratios[s]);
    apply_scales(fitting, fitting->scale_centre, log_value);
    law_miss(fitting, log_value, misses);
    doubles_sort(misses, n);
    for (size_t s = 0; s < law->n_scales; s++)
        fitting->scale_centre[s] -= misses[n / 2];
    mem_free(misses);
    return ASSAY_OK;
}

/* The scales that one start leads to. */
static enum assay_status solve_scales(struct law_fitting *fitting,
                                      const double *ratios, double *found,
                                      double *cost, struct error *err)
{
    size_t n = fitting->law->n_scales;
    struct least_squares scales = {.n_parameters = n,
                                   .n_residuals = fitting->points->n + n,
                                   .residuals = scale_residuals,
                                   .context = fitting};
    enum assay_status st = guess_scales(fitting, ratios, err);

    for (size_t s = 0; s < n; s++) {
        const struct prior *known =
            fitting->law->scale_priors ? &fitting->law->scale_priors[s] : NULL;

        found[s] = fitting->scale_centre[s];
        fitting->scale_deviation[s] = scale_deviation;
        if (!known || !(known->centre > 0))
            continue;
        fitting->scale_centre[s] = log(known->centre);
        fitting->scale_deviation[s] = known->deviation;
    }
    return st ? st : least_squares_solve(&scales, found, cost, err);
}

/* Centres the priors on what is expected of a device as fast as this one. */
static enum assay_status find_scales(struct law_fitting *fitting,
                                     double *log_value, struct error *err)
{
    const struct latency_law *law = fitting->law;
    double best[LATENCY_MAX_SCALES] = {0}, least = INFINITY;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < law->n_fitted; i++)
        fitting->centre[i] = log(law->prior(law->context, i).centre);
    for (size_t i = 0; !st && i < law->n_starts; i++) {
        double found[LATENCY_MAX_SCALES], cost = INFINITY;

        st = solve_scales(fitting, law->ratios + i * law->n_scales, found,
                          &cost, err);
        if (st || (i && !(cost < least)))
            continue;
        least = cost;
        memcpy(best, found, sizeof best);
    }
    if (st)
        return st;
    apply_scales(fitting, best, log_value);
    for (size_t i = 0; i < law->n_fitted; i++)
        fitting->centre[i] = log_value[i];
    return ASSAY_OK;
}

static enum assay_status law_solve(struct law_fitting *fitting,
                                   double *log_value,
                                   const struct physical *about,
                                   struct error *err)
{
    size_t n = fitting->law->n_fitted;
    struct least_squares all = {.n_parameters = n,
                                .n_residuals = fitting->points->n + n,
                                .residuals = latency_residuals,
                                .context = fitting};
    enum assay_status st = ASSAY_OK;

    fitting->share = about ? about_share : 1;
    if (!about)
        st = find_scales(fitting, log_value, err);
    for (size_t i = 0; about && i < n; i++)
        fitting->centre[i] = log_value[i] = about->log_value[i];
    return st ? st : least_squares_solve(&all, log_value, NULL, err);
}

enum assay_status latency_law_fit(const struct latency_law *law,
                                  const struct data_points *points,
                                  double n_effective,
                                  const struct physical *about,
                                  double *log_value, struct error *err)
{
    struct law_fitting fitting = {
        .law = law,
        .points = points,
        .weights = point_weights(points, n_effective, deviation)};
    enum assay_status st =
        fitting.weights
            ? law_solve(&fitting, log_value, about, err)
            : error_nomem(err, points->n * sizeof *fitting.weights, "a fit");

    mem_free((void *)(uintptr_t)fitting.weights);
    return st;
}
