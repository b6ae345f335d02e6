/* predict/memory_fit.c - see physical_internal.h: fits the parameters of a law
 * of memory. */
#include "predict/physical_internal.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { most_parameters = PHYSICAL_MAX_PARAMETERS };

static const double deviation = 0.05; /* of a good prediction, in logarithms */
static const double corner = 24;
/* If no run failed, nothing shows where the ceiling is: assume far above. */
static const double far_ceiling = 4, far_deviation = 0.3;

static const struct memory_law *law_of(const struct physical *physical)
{
    return physical_class(physical)->memory;
}

/* Parameters that follow those of the terms. */
static size_t floor_of(const struct memory_law *law)
{
    return law->n_terms;
}

static size_t ceiling_of(const struct memory_law *law)
{
    return law->n_terms + 1;
}

static size_t limit_of(const struct memory_law *law)
{
    return law->n_terms + 2;
}

static size_t fitted_of(const struct memory_law *law)
{
    return law->n_terms + 3;
}

double memory_row_deviation(void)
{
    return deviation;
}

static double demand_of(const struct memory_law *law, const double *terms,
                        const double *q)
{
    double sum = 0;

    for (size_t i = 0; i < law->n_terms; i++)
        sum += q[i] * terms[i];
    return sum;
}

static double used_of(const struct memory_law *law, double demand,
                      const double *q)
{
    return soft_min(soft_max(demand, q[floor_of(law)], corner),
                    q[ceiling_of(law)], corner);
}

static void memory_exp(const struct memory_law *law, const double *log_value,
                       double *q)
{
    for (size_t i = 0; i < fitted_of(law); i++)
        q[i] = exp(log_value[i]);
}

double memory_law_demand(const struct physical *physical,
                         const struct description *description, double batch)
{
    const struct memory_law *law = law_of(physical);
    double terms[most_parameters], q[most_parameters];

    law->terms(physical, description, batch, terms);
    memory_exp(law, physical->log_value, q);
    return soft_max(demand_of(law, terms, q), q[floor_of(law)], corner);
}

double memory_law_predict(const struct physical *physical,
                          const struct description *description, double batch)
{
    const struct memory_law *law = law_of(physical);
    double terms[most_parameters], q[most_parameters];

    law->terms(physical, description, batch, terms);
    memory_exp(law, physical->log_value, q);
    return used_of(law, demand_of(law, terms, q), q);
}

double memory_law_limit(const struct physical *physical)
{
    const struct memory_law *law = law_of(physical);
    double limit = exp(physical->log_value[limit_of(law)]);
    double ceiling = exp(physical->log_value[ceiling_of(law)]);

    /* A ceiling far above everything that was seen: nothing failed. */
    return limit < ceiling / 2 ? (double)NAN : limit;
}

double memory_law_deviation(const struct physical *physical, size_t i)
{
    return law_of(physical)->prior(physical, i).deviation;
}

/* ---- fitting ------------------------------------------------------------- */

struct memory_fitting {
    const struct memory_law *law;
    const struct data_points *points;
    const double *weights;
    double *terms; /* most_parameters per point */
    double centre[most_parameters], deviation[most_parameters];
};

/* Two residuals per point: the memory used, and the side of the limit it is on.
 * A failed run has only the second. */
static void memory_residuals(const void *context, const double *log_value,
                             double *out)
{
    const struct memory_fitting *fitting = context;
    const struct memory_law *law = fitting->law;
    size_t n = fitting->points->n;
    double q[most_parameters];

    memory_exp(law, log_value, q);
    for (size_t i = 0; i < n; i++) {
        const struct data_point *point = &fitting->points->items[i];
        double demand = demand_of(law, fitting->terms + i * most_parameters, q);
        double beyond = log(demand) - log_value[limit_of(law)];
        double wrong = point->is_bound ? fmin(beyond, 0) : fmax(beyond, 0);
        double miss =
            point->is_bound ? 0 : log(used_of(law, demand, q) / point->value);

        out[i] = fitting->weights[i] * least_squares_huber(miss, deviation);
        out[n + i] =
            fitting->weights[i] * least_squares_huber(wrong, deviation);
    }
    for (size_t i = 0; i < fitted_of(law); i++)
        out[2 * n + i] =
            (log_value[i] - fitting->centre[i]) / fitting->deviation[i];
}

/* What the centre of a prior is in units of. */
static double unit_of(const struct memory_law *law, size_t parameter,
                      const struct data_points *points)
{
    if (parameter == ceiling_of(law) || parameter == limit_of(law))
        return points_most(points);
    return parameter == floor_of(law) || law->is_constant(parameter)
               ? points_least(points)
               : 1;
}

static void memory_set_priors(struct memory_fitting *fitting,
                              const struct physical *physical,
                              const struct physical *about)
{
    const struct memory_law *law = fitting->law;
    const struct data_points *points = fitting->points;
    size_t n = fitted_of(law), ceiling = ceiling_of(law);

    for (size_t i = 0; i < n; i++) {
        struct prior prior = law->prior(physical, i);

        fitting->centre[i] = log(prior.centre * unit_of(law, i, points));
        fitting->deviation[i] = prior.deviation;
    }
    if (!points_have_bounds(points)) {
        fitting->centre[ceiling] += log(far_ceiling);
        fitting->deviation[ceiling] = far_deviation;
    }
    for (size_t i = 0; about && i < n; i++) {
        fitting->centre[i] = about->log_value[i];
        fitting->deviation[i] *= about_share;
    }
}

enum assay_status memory_law_fit(struct physical *physical,
                                 const struct data_points *points,
                                 double n_effective,
                                 const struct physical *about,
                                 struct error *err)
{
    const struct memory_law *law = law_of(physical);
    struct memory_fitting fitting = {.law = law, .points = points};
    struct least_squares problem = {.n_parameters = fitted_of(law),
                                    .n_residuals =
                                        2 * points->n + fitted_of(law),
                                    .residuals = memory_residuals,
                                    .context = &fitting};
    double *weights = point_weights(points, n_effective, deviation);
    enum assay_status st = ASSAY_OK;

    fitting.terms =
        mem_array((points->n + 1) * most_parameters, sizeof *fitting.terms);
    if (!weights || !fitting.terms) {
        st = error_nomem(err, points->n * sizeof *fitting.terms, "a fit");
    } else {
        fitting.weights = weights;
        for (size_t i = 0; i < points->n; i++)
            law->terms(physical, points->items[i].description,
                       points->items[i].batch,
                       fitting.terms + i * most_parameters);
        memory_set_priors(&fitting, physical, about);
        memcpy(physical->log_value, fitting.centre,
               fitted_of(law) * sizeof *fitting.centre);
        st = least_squares_solve(&problem, physical->log_value, NULL, err);
    }
    mem_free(fitting.terms);
    mem_free(weights);
    return st;
}
