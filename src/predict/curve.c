/* predict/curve.c - see curve.h. */
#include "predict/curve.h"

#include "base/doubles.h"
#include "base/mem.h"
#include "predict/physical_internal.h"

#include <math.h>
#include <string.h>

/* Parameters after the polynomial of the slope, highest power first. */
enum latency_place {
    START_SLOPE,
    START,
    SMALL_BATCH,
    LATENCY_FLOOR,
    N_LATENCY_PLACES
};

enum memory_place {
    CONTEXT,
    SMALL_CONTEXT,
    MEMORY_FLOOR,
    CEILING,
    REST_SLOPE,
    REST,
    N_MEMORY_PLACES
};

static const double small_latency_batch = 16, small_memory_batch = 64;
static const double deviation = 0.05;

static size_t slope_count(enum curve_axis axis)
{
    return axis == CURVE_MACS ? 2 : 4;
}

size_t curve_count(enum target target, enum curve_axis axis)
{
    return slope_count(axis) + (target == TARGET_LATENCY
                                    ? (size_t)N_LATENCY_PLACES
                                    : (size_t)N_MEMORY_PLACES);
}

/* ---- the model ----------------------------------------------------------- */

static double polynomial(const double *c, size_t n, double x)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum = sum * x + c[i];
    return sum;
}

/* Pruning removes channels on both sides of a product. */
static double position(const struct curve *curve, double macs, double level)
{
    return curve->axis == CURVE_MACS ? -0.5 * log(macs / curve->reference_macs)
                                     : level / 100;
}

static double latency_at(const double *slope, size_t n, double u, double batch)
{
    const double *p = slope + n;
    double small = batch < small_latency_batch ? 1 + p[SMALL_BATCH] : 1;
    double line = exp(polynomial(p + START_SLOPE, 2, u)) +
                  batch * exp(polynomial(slope, n, u)) * fmax(small, 0.1);

    return soft_max(line, exp(p[LATENCY_FLOOR]), 6);
}

static double memory_at(const double *slope, size_t n, double u, double batch)
{
    const double *p = slope + n;
    double small = batch < small_memory_batch ? exp(p[SMALL_CONTEXT]) : 0;
    double line = exp(p[CONTEXT]) + small +
                  exp(polynomial(p + REST_SLOPE, 2, u)) +
                  batch * exp(polynomial(slope, n, u));

    return soft_min(soft_max(line, exp(p[MEMORY_FLOOR]), 24), exp(p[CEILING]),
                    24);
}

static double curve_value_at(const struct curve *curve, const double *value,
                             double u, double batch)
{
    size_t n = slope_count(curve->axis);

    return curve->target == TARGET_LATENCY ? latency_at(value, n, u, batch)
                                           : memory_at(value, n, u, batch);
}

double curve_predict(const struct curve *curve, double macs, double level,
                     double batch)
{
    return curve_value_at(curve, curve->value, position(curve, macs, level),
                          batch);
}

/* ---- fitting ------------------------------------------------------------- */

struct curve_fitting {
    const struct curve *curve;
    const struct data_points *points;
    double *positions; /* one per point */
    double centre[CURVE_MAX_PARAMETERS], spread[CURVE_MAX_PARAMETERS];
    size_t n_parameters;
};

static void curve_residuals(const void *context, const double *value,
                            double *out)
{
    const struct curve_fitting *fitting = context;
    size_t n = fitting->points->n;

    for (size_t i = 0; i < n; i++) {
        const struct data_point *point = &fitting->points->items[i];

        out[i] = 0;
        if (point->is_bound)
            continue;
        out[i] = log(curve_value_at(fitting->curve, value,
                                    fitting->positions[i], point->batch) /
                     point->value);
        out[i] = least_squares_huber(out[i] / deviation, 1);
    }
    for (size_t i = 0; i < fitting->n_parameters; i++)
        out[n + i] = (value[i] - fitting->centre[i]) / fitting->spread[i];
}

/* Sorts the values; n > 0. */
static double median(double *values, size_t n)
{
    doubles_sort(values, n);
    return values[n / 2];
}

/* The median value per image of the larger batches. */
static enum assay_status guess_slope(const struct data_points *points,
                                     double *slope, struct error *err)
{
    double *values = mem_array(points->n + 1, sizeof *values);
    size_t n = 0;
    double middle;

    if (!values)
        return error_nomem(err, points->n * sizeof *values, "a fit");
    for (size_t i = 0; i < points->n; i++) {
        if (!points->items[i].is_bound)
            values[n++] = points->items[i].batch;
    }
    middle = fmin(median(values, n), 32);
    n = 0;
    for (size_t i = 0; i < points->n; i++) {
        const struct data_point *point = &points->items[i];

        if (!point->is_bound && point->batch >= middle)
            values[n++] = point->value / point->batch;
    }
    *slope = median(values, n);
    mem_free(values);
    return ASSAY_OK;
}

static void set_prior(struct curve_fitting *fitting, size_t place,
                      double centre, double spread)
{
    fitting->centre[place] = centre;
    fitting->spread[place] = spread;
}

static void curve_set_priors(struct curve_fitting *fitting, double slope)
{
    const struct data_points *points = fitting->points;
    size_t n = slope_count(fitting->curve->axis);
    double least = log(points_least(points));
    double most = log(points_most(points));
    bool is_full = points_have_bounds(points);

    for (size_t i = 0; i + 1 < n; i++)
        set_prior(fitting, i, 0, 2);
    set_prior(fitting, n - 1, log(slope), 1);
    if (fitting->curve->target == TARGET_LATENCY) {
        set_prior(fitting, n + START_SLOPE, -1, 1);
        set_prior(fitting, n + START, least + log(0.5), 1);
        set_prior(fitting, n + SMALL_BATCH, 0.1, 0.3);
        set_prior(fitting, n + LATENCY_FLOOR, least + log(0.9), 0.3);
        return;
    }
    set_prior(fitting, n + CONTEXT, least + log(0.67), 0.2);
    set_prior(fitting, n + SMALL_CONTEXT, least + log(0.15), 0.7);
    set_prior(fitting, n + MEMORY_FLOOR, least, 0.05);
    set_prior(fitting, n + CEILING, most + (is_full ? 0 : log(4)),
              is_full ? 0.02 : 0.3);
    set_prior(fitting, n + REST_SLOPE, -1, 1);
    set_prior(fitting, n + REST, least + log(0.02), 1);
}

static void set_reference(struct curve *curve, const struct data_points *points)
{
    for (size_t i = 0; i < points->n; i++)
        curve->reference_macs =
            fmax(curve->reference_macs,
                 description_macs(points->items[i].description));
}

enum assay_status curve_fit(struct curve *curve,
                            const struct data_points *points,
                            enum curve_axis axis, struct error *err)
{
    struct curve_fitting fitting = {.curve = curve, .points = points};
    struct least_squares problem = {.residuals = curve_residuals,
                                    .context = &fitting,
                                    .max_iterations = 200};
    double slope = 1;
    enum assay_status st;

    *curve = (struct curve){.target = points->target, .axis = axis};
    set_reference(curve, points);
    fitting.n_parameters = curve_count(curve->target, axis);
    fitting.positions = mem_array(points->n + 1, sizeof(double));
    if (!fitting.positions)
        return error_nomem(err, points->n * sizeof(double), "a fit");
    for (size_t i = 0; i < points->n; i++) {
        const struct description *own = points->items[i].description;

        fitting.positions[i] =
            position(curve, description_macs(own), (double)own->level);
    }
    st = guess_slope(points, &slope, err);
    if (!st) {
        curve_set_priors(&fitting, slope);
        memcpy(curve->value, fitting.centre, sizeof fitting.centre);
        problem.n_parameters = fitting.n_parameters;
        problem.n_residuals = points->n + fitting.n_parameters;
        st = least_squares_solve(&problem, curve->value, NULL, err);
    }
    mem_free(fitting.positions);
    return st;
}

/* ---- what is left over --------------------------------------------------- */

static const double bias_reach = 0.15; /* octaves */
static const double bias_strength = 2; /* rows that say "no bias" */
static const double bias_most = 0.15;  /* per row */

void batch_bias_add(struct batch_bias *bias, double batch, double miss)
{
    double at = log2(batch), nearest = INFINITY;
    size_t place = bias->n;

    for (size_t i = 0; i < bias->n; i++) {
        double distance = fabs(bias->log2_batch[i] - at);

        if (distance == 0 || (bias->n == BATCH_BIAS_MAX && distance < nearest))
            place = i;
        nearest = fmin(nearest, distance);
    }
    if (place == bias->n) {
        bias->log2_batch[place] = at;
        bias->n++;
    }
    bias->sum[place] += fmax(-bias_most, fmin(miss, bias_most));
    bias->count[place] += 1;
}

double batch_bias_at(const struct batch_bias *bias, double batch)
{
    double sum = 0, count = bias_strength;

    for (size_t i = 0; i < bias->n; i++) {
        double distance = (bias->log2_batch[i] - log2(batch)) / bias_reach;
        double weight = exp(-0.5 * distance * distance);

        sum += weight * bias->sum[i];
        count += weight * bias->count[i];
    }
    return sum / count;
}
