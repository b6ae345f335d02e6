/* metrics/profiler_internal.h - what a profiler holds.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_PROFILER_INTERNAL_H
#define METRICS_PROFILER_INTERNAL_H

#include "metrics/detection_metrics.h"
#include "metrics/metric_child.h"
#include "metrics/model_internal.h"
#include "metrics/plugin.h"
#include "metrics/registry.h"

/* A key's last value. On its own, so that it stays where it is. */
struct kept_result {
    struct assay_result result;
    bool is_there;
    size_t function; /* of the registry, that computed it */
    char reason[256];
};

struct argument_value {
    const char *name, *value;
};

struct accuracy {
    uint64_t n, n_first, n_five;
};

struct assay_profiler {
    struct assay_model *model;
    struct assay_profiler_options options;
    struct registry registry;
    struct plugins plugins;
    struct kept_result **results; /* one a key of the registry */
    size_t n_results, results_capacity;
    struct arena memory; /* of what follows */
    struct argument_value *arguments;
    size_t n_arguments, arguments_capacity;
    const struct assay_dataset *dataset;
    struct argument_value own_arguments[2]; /* that the dataset gives */

    /* For functions that did not ask for data and times. */
    struct assay_parameter *bare_parameters;
    struct assay_layer *bare_layers;

    bool is_measured;
    struct assay_measured measured;

    struct accuracy accuracy; /* what the built-in evaluation counts */
    struct assay_metric_function accuracy_function;

    struct feed *feed; /* whose dataset it is; NULL: the user's own, or none */
    struct detection_metric boxes, masks;
    struct assay_metric_function boxes_function, masks_function;
};

/* One function at work. */
struct metric_job {
    size_t function; /* of the registry */
    const struct registered *registered;
    struct assay_metric_input input;
    struct assay_evaluated evaluated;
    const char **arguments;
    struct metric_child child;
    double *values;
    enum assay_status st;
    struct error err;
};

/* Runs functions, all with samples or none; what they come to is kept. Fails
 * only without memory. */
enum assay_status profiler_run(struct assay_profiler *profiler,
                               const size_t *functions, size_t n,
                               struct error *err);

/* Runs the model on random values, once. */
enum assay_status profiler_measure(struct assay_profiler *profiler,
                                   struct error *err);

/* Hands each sample of the dataset to the jobs that are still well. */
enum assay_status evaluation_run(struct assay_profiler *profiler,
                                 struct metric_job *jobs, size_t n,
                                 struct assay_evaluated *evaluated,
                                 struct error *err);
void metric_job_sample(struct metric_job *job,
                       const struct assay_sample *sample);

/* The built-in ones. */
extern const struct assay_metric_function metric_graph, metric_layers,
    metric_run, metric_inference;
/* That of a classifier's evaluation, which counts as it goes. */
struct assay_metric_function metric_accuracy(struct accuracy *accuracy);

#endif
