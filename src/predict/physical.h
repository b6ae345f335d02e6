/* predict/physical.h - a device as a few positive numbers.
 *
 * Latency: the padded multiply-adds of each convolution's passes at a rate for
 * its kind of kernel, the traffic of maps and elementwise layers at a
 * bandwidth, and costs per layer and parameter; or the time to launch it all,
 * whichever is more. Memory: what is there before the first layer, parameters,
 * activations and workspaces, between a floor and a ceiling.
 * docs/fingerprint.md has the formulas.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_PHYSICAL_H
#define PREDICT_PHYSICAL_H

#include "predict/points.h"

enum { PHYSICAL_MAX_PARAMETERS = 28 };

struct physical {
    enum target target;
    enum stage stage;
    double multiprocessors; /* > 0: a GPU, which has another model */
    bool is_fused;          /* norms and activations are part of convolutions in
                               inference */
    bool is_own;            /* of this program's engine */
    bool is_walked;         /* a GPU's pool was walked through for all networks
                               (own_memory.h, torch_memory.h) */
    double log_value[PHYSICAL_MAX_PARAMETERS];
};

/* One with nothing fitted, for such points. */
struct physical physical_for(const struct data_points *points);

/* Those that are fitted come first. */
size_t physical_count(const struct physical *physical);
size_t physical_fitted_count(const struct physical *physical);
const char *physical_name(const struct physical *physical, size_t i);
/* "ms per GMAC", "MB" */
const char *physical_unit(const struct physical *physical, size_t i);

/* How many channels are computed together: a width counts as the next multiple
 * of it. 1: the device pads in other ways. It is the last parameter, except of
 * a GPU. */
double physical_lane(const struct physical *physical);
/* Whether its predictions depend on the parameter: some are only for devices in
 * lanes, some only for others. */
bool physical_uses(const struct physical *physical, size_t i);

/* Fits by least squares of logarithms, with priors: every network counts as
 * n_effective rows, however many it has. about: a model of the same device to
 * centre narrower priors on; may be NULL. */
enum assay_status physical_fit(struct physical *physical,
                               const struct data_points *points,
                               double n_effective, const struct physical *about,
                               struct error *err);

/* Milliseconds per step, or MB. */
double physical_predict(const struct physical *physical,
                        const struct description *description, double batch);
/* Of memory: the demand if the device had no limit. */
double physical_demand(const struct physical *physical,
                       const struct description *description, double batch);
/* The demand from which on runs failed; NAN for latency, or if none failed. */
double physical_limit(const struct physical *physical);

#endif
