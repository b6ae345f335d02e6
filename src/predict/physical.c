/* predict/physical.c - see physical.h. */
#include "predict/physical.h"

#include "base/mem.h"
#include "predict/physical_internal.h"

#include <math.h>

const struct physical_class *physical_class(const struct physical *physical)
{
    bool is_latency = physical->target == TARGET_LATENCY;

    if (physical->multiprocessors > 0)
        return is_latency ? &gpu_latency_class : &gpu_memory_class;
    return is_latency ? &latency_class : &memory_class;
}

static bool points_are_walked(const struct data_points *points)
{
    for (size_t i = 0; i < points->n; i++) {
        const struct image_counts *counts =
            &points->items[i].description->counts;

        if (!(points->is_fused ? counts->own_inference[0] > 0
                               : counts->torch_training[0] > 0))
            return false;
    }
    return points->n > 0 && points->multiprocessors > 0;
}

struct physical physical_for(const struct data_points *points)
{
    struct physical made = {.target = points->target,
                            .stage = points->stage,
                            .multiprocessors = points->multiprocessors,
                            .is_fused = points->is_fused &&
                                        points->stage == STAGE_INFERENCE,
                            .is_own = points->is_fused,
                            .is_walked = points_are_walked(points)};
    size_t lacked = physical_class(&made)->lacked;

    if (lacked)
        made.log_value[lacked] = log(1e-9);
    return made;
}

size_t physical_count(const struct physical *physical)
{
    return physical_class(physical)->n_parameters;
}

size_t physical_fitted_count(const struct physical *physical)
{
    return physical_class(physical)->n_fitted;
}

const char *physical_name(const struct physical *physical, size_t i)
{
    return physical_class(physical)->priors[i].name;
}

const char *physical_unit(const struct physical *physical, size_t i)
{
    return physical_class(physical)->priors[i].unit;
}

double physical_lane(const struct physical *physical)
{
    return physical->multiprocessors > 0
               ? 1
               : round(exp(physical->log_value[physical_count(physical) - 1]));
}

bool physical_uses(const struct physical *physical, size_t i)
{
    enum devices of = physical_class(physical)->priors[i].of;

    return of == ON_ALL || (of == IN_LANES) == (physical_lane(physical) > 1);
}

enum assay_status physical_fit(struct physical *physical,
                               const struct data_points *points,
                               double n_effective, const struct physical *about,
                               struct error *err)
{
    *physical = physical_for(points);
    if (!(physical->multiprocessors > 0))
        physical->log_value[physical_count(physical) - 1] =
            log(fmax(points->lane, 1));
    return physical_class(physical)->fit(physical, points, n_effective, about,
                                         err);
}

double physical_predict(const struct physical *physical,
                        const struct description *description, double batch)
{
    return physical_class(physical)->predict(physical, description, batch);
}

double physical_demand(const struct physical *physical,
                       const struct description *description, double batch)
{
    return physical_class(physical)->demand(physical, description, batch);
}

double physical_limit(const struct physical *physical)
{
    const struct physical_class *class = physical_class(physical);

    return class->limit ? class->limit(physical) : (double)NAN;
}

double widened(double channels, double lane)
{
    return lane > 1 ? ceil(channels / lane) * lane : channels;
}

double widened_input(const struct conv_row *conv, bool is_first, double lane)
{
    return is_first ? (double)conv->in : widened((double)conv->in, lane);
}

double tiled(double width)
{
    return fmin(fmin(ceil(width / 32) * 32 * 1.3, ceil(width / 64) * 64 * 1.1),
                ceil(width / 128) * 128);
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
