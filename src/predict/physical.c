/* predict/physical.c - see physical.h. */
#include "predict/physical.h"

#include "base/mem.h"
#include "predict/physical_internal.h"

#include <math.h>

static const struct prior *prior_of(enum target target, size_t i)
{
    return target == TARGET_LATENCY ? &latency_priors[i] : &memory_priors[i];
}

size_t physical_count(enum target target)
{
    return target == TARGET_LATENCY ? n_latency_priors : n_memory_priors;
}

const char *physical_name(enum target target, size_t i)
{
    return prior_of(target, i)->name;
}

const char *physical_unit(enum target target, size_t i)
{
    return prior_of(target, i)->unit;
}

double physical_lane(const struct physical *physical)
{
    return round(
        exp(physical->log_value[physical_count(physical->target) - 1]));
}

bool physical_uses(const struct physical *physical, size_t i)
{
    enum devices of = prior_of(physical->target, i)->of;

    return of == ON_ALL || (of == IN_LANES) == (physical_lane(physical) > 1);
}

enum assay_status physical_fit(struct physical *physical,
                               const struct data_points *points,
                               double n_effective, const struct physical *about,
                               struct error *err)
{
    *physical =
        (struct physical){.target = points->target, .stage = points->stage};
    physical->log_value[physical_count(points->target) - 1] =
        log(fmax(points->lane, 1));
    return points->target == TARGET_LATENCY
               ? latency_fit(physical, points, n_effective, about, err)
               : memory_fit(physical, points, n_effective, about, err);
}

double physical_predict(const struct physical *physical,
                        const struct description *description, double batch)
{
    return physical->target == TARGET_LATENCY
               ? latency_predict(physical, description, batch)
               : memory_predict(physical, description, batch);
}

double physical_demand(const struct physical *physical,
                       const struct description *description, double batch)
{
    return physical->target == TARGET_LATENCY
               ? latency_predict(physical, description, batch)
               : memory_demand(physical, description, batch);
}

double physical_limit(const struct physical *physical)
{
    return physical->target == TARGET_LATENCY ? (double)NAN
                                              : memory_limit(physical);
}

double widened(double channels, double lane)
{
    return lane > 1 ? ceil(channels / lane) * lane : channels;
}

double widened_input(const struct conv_row *conv, bool is_first, double lane)
{
    return is_first ? (double)conv->in : widened((double)conv->in, lane);
}

/* The factor of the corner: 1 if one number is much smaller. */
static double rounding(double ratio, double sharpness)
{
    return exp(log1p(pow(ratio, sharpness)) / sharpness);
}

double soft_max(double a, double b, double sharpness)
{
    return fmax(a, b) * rounding(fmin(a, b) / fmax(a, b), sharpness);
}

double soft_min(double a, double b, double sharpness)
{
    return fmin(a, b) / rounding(fmin(a, b) / fmax(a, b), sharpness);
}

double *point_weights(const struct data_points *points, double n_effective,
                      double deviation)
{
    double *weights = mem_array(points->n + 1, sizeof *weights);
    double *counts = mem_array(points->n_networks + 1, sizeof *counts);

    if (weights && counts) {
        for (size_t i = 0; i < points->n; i++)
            counts[points->items[i].network] += !points->items[i].is_bound;
        for (size_t i = 0; i < points->n; i++)
            weights[i] =
                sqrt(n_effective / fmax(counts[points->items[i].network], 1)) /
                deviation;
    } else {
        mem_free(weights);
        weights = NULL;
    }
    mem_free(counts);
    return weights;
}
